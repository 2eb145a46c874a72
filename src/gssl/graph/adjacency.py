"""Check an adjacency: one matrix, or one for each kind of links, whose union remembers them all."""

from collections.abc import Mapping
from numbers import Real
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

import numpy as np
from scipy.sparse import csr_array, issparse

from gssl.graph.simplify import (
    CleaningReport,
    asymmetric_pairs,
    clean_adjacency,
    declare_simple,
    is_declared,
    simplify,
)
from gssl.graph.validate import warn_user
from gssl.wording import listed, listed_counts, quoted

# whether links have a direction; "auto" where a matrix is not symmetric
Directed: TypeAlias = bool | Literal["auto"]
# the name of the one relation of a directed graph
ONE_KIND = "links"


class TypedAdjacency(csr_array):
    """The symmetric union of several relations, with the links of each.

    It is an ordinary adjacency to methods that do not tell links apart. A matrix that is computed from it has
    no relations.

    Attributes
    ----------
    relations : mapping of str to csr_array of shape (n, n)
        The links of each kind, without self-loops and duplicates. Entry (u, v) is a link from u to v; the
        matrix of a relation without directions is symmetric.
    """

    relations: Mapping[str, csr_array] = MappingProxyType({})

    @classmethod
    def of(cls, union: csr_array, relations: Mapping[str, csr_array]) -> "TypedAdjacency":
        """Return a checked union with its checked relations."""
        A: TypedAdjacency = _take_arrays(cls(union.shape, dtype=union.dtype), union)
        # in the order of their names, so that the caller's order does not matter
        A.relations = MappingProxyType({name: relations[name] for name in sorted(relations)})
        return A

    def __reduce__(self) -> Any:
        # a mapping proxy cannot be pickled
        return TypedAdjacency.of, (union_of(self), dict(self.relations))


def relations_of(A: Any) -> Mapping[str, csr_array]:
    """Return the relations of a graph; empty if all links are of one kind."""
    return A.relations if isinstance(A, TypedAdjacency) else TypedAdjacency.relations


def union_of(A: csr_array) -> csr_array:
    """Return a graph without its relations; the arrays are shared."""
    return _take_arrays(csr_array(A.shape, dtype=A.dtype), A) if isinstance(A, TypedAdjacency) else A


def _take_arrays(A: Any, of: csr_array) -> Any:
    # by reference, because SciPy would convert the row pointers of a graph in files
    A.data, A.indices, A.indptr = of.data, of.indices, of.indptr
    A.has_canonical_format = True
    return declare_simple(A) if is_declared(of) else A


def is_directed(relation: csr_array) -> bool:
    """Return whether the links of a checked relation, which is not modified, have directions."""
    if not hasattr(relation, "_directed"):
        declare_directed(relation, bool(len(asymmetric_pairs(relation))))
    return bool(relation._directed)


def declare_directed(relation: csr_array, directed: bool) -> csr_array:
    """Remember whether a relation has directions, which costs a transpose to find out; return it."""
    relation._directed = directed
    return relation


def check_adjacency(
    adjacency: Any,
    *,
    n_nodes: int | None = None,
    directed: Directed = False,
    relation_weight: Mapping[str, float] | None = None,
    allow_empty: bool = False,
) -> csr_array:
    r"""Return a clean adjacency, or raise an error that says what is wrong with it.

    Repairs (self-loops, duplicates, stored zeros, asymmetry; see :func:`clean_adjacency`) are reported in one
    :class:`GraphWarning` per kind, with a count. Links of several kinds become one graph, their union,

    .. math:: A = \max_r w_r \max(A_r, A_r^\top),

    which remembers each kind. Methods that do not tell links apart use the union.

    Parameters
    ----------
    adjacency : sparse matrix or array-like of shape (n, n), or mapping of str to such
        Weights of any real or boolean type, finite and not negative. Never modified. A mapping has a matrix
        for each kind of links.
    n_nodes : int, optional
        The expected number of nodes, e.g. the number of rows of X.
    directed : bool or "auto", default=False
        Whether entry (u, v) is a link from u to v that differs from one from v to u. False replaces an
        asymmetric A with max(A, Aᵀ). "auto" keeps the directions of matrices that are not symmetric, except
        those between two kinds of nodes, all of whose links lead from one to the other.
    relation_weight : mapping of str to float, optional
        The weights w of relations in the union, one if not given.
    allow_empty : bool, default=False
        Whether to accept a graph without edges.

    Returns
    -------
    csr_array, shape (n, n)
        Symmetric, sorted, without duplicates, zeros or self-loops; float32 if given as such, otherwise
        float64. It shares memory with a CSR input that is already clean: do not modify it. A
        :class:`TypedAdjacency` if there are several kinds of links, or directions.

    Examples
    --------
    >>> check_adjacency([[0, 1, 0], [1, 0, 1], [0, 1, 0]]).toarray()
    array([[0., 1., 0.],
           [1., 0., 1.],
           [0., 1., 0.]])
    >>> A = check_adjacency({"cites": [[0, 1], [0, 0]], "likes": [[0, 1], [1, 0]]}, directed=True)
    >>> A.toarray(), A.relations["cites"].toarray()
    (array([[0., 1.],
           [1., 0.]]), array([[0., 1.],
           [0., 0.]]))
    """
    A, messages = read_adjacency(adjacency, n_nodes, directed, relation_weight, allow_empty=allow_empty)
    for message in messages:
        warn_user(message)
    return A


def read_adjacency(
    adjacency: Any,
    n_nodes: int | None = None,
    directed: Directed = False,
    relation_weight: Mapping[str, float] | None = None,
    *,
    allow_empty: bool = False,
) -> tuple[csr_array, list[str]]:
    """Return what :func:`check_adjacency` does, and a sentence for each kind of repair."""
    if directed not in (True, False, "auto"):
        raise ValueError(f'directed must be True, False or "auto", not {directed!r}.')
    relations: dict[str, csr_array] = {}
    messages: list[str] = []
    if relations_of(adjacency):
        # checked when it was made
        relations, adjacency = dict(relations_of(adjacency)), union_of(adjacency)
    elif isinstance(adjacency, Mapping) and not issparse(adjacency):
        relations, messages = _read_relations(adjacency, directed)
        adjacency = _union(relations, {})
    elif directed:
        simple, self_loops, duplicates, zeros = simplify(adjacency)
        if _has_directions(simple, directed):
            relations, adjacency = {ONE_KIND: simple}, simple.maximum(simple.T.tocsr())
            messages = CleaningReport(self_loops, duplicates, 0, zeros).messages()
    if relation_weight is not None:
        if not relations:
            raise ValueError("relation_weight needs links of several kinds: give a matrix for each.")
        adjacency = _union(relations, relation_weight)
    union, report = clean_adjacency(adjacency)
    n = union.shape[0]
    if n == 0:
        raise ValueError("the adjacency has zero nodes: give at least one.")
    if n_nodes is not None and n != n_nodes:
        raise ValueError(f"the adjacency has {n} nodes but {n_nodes} are expected: one node per row of X.")
    if not union.nnz and not allow_empty:
        raise ValueError(
            "the graph has no edges between different nodes: check the edge list or build a kNN graph."
        )
    return TypedAdjacency.of(union, relations) if relations else union, messages + report.messages()


def _read_relations(
    matrices: Mapping[Any, Any], directed: Directed
) -> tuple[dict[str, csr_array], list[str]]:
    """Return the links of each kind, symmetric unless they have directions, and sentences about repairs."""
    if not matrices:
        raise ValueError("the adjacency has no relations: give the matrix of at least one.")
    relations: dict[str, csr_array] = {}
    messages: list[str] = []
    for name, matrix in matrices.items():
        if not isinstance(name, str) or not name:
            raise TypeError(
                f"a relation is named {name!r}: give its name as text. Matrices between two kinds of nodes, "
                "named like ('author', 'wrote', 'paper'), are joined by gssl.read."
            )
        try:
            simple, self_loops, duplicates, zeros = simplify(matrix)
        except (TypeError, ValueError) as error:
            raise type(error)(f"relation {quoted(name)}: {error}") from error
        asymmetric = 0
        if _has_directions(simple, directed):
            relations[name] = simple
        else:
            # links between two kinds of nodes are listed in one direction
            asymmetric = 0 if _leads_one_way(simple) else len(asymmetric_pairs(simple))
            relations[name] = clean_adjacency(simple)[0]
        report = CleaningReport(self_loops, duplicates, asymmetric, zeros)
        messages += [f"relation {quoted(name)}: {message}" for message in report.messages()]
    sizes = {name: relation.shape[0] for name, relation in relations.items()}
    if len(set(sizes.values())) > 1:
        raise ValueError(
            f"relations have different numbers of nodes ({listed_counts(sizes)}): give n × n matrices."
        )
    return relations, messages


def _has_directions(simple: csr_array, directed: Directed) -> bool:
    if directed == "auto":
        return is_directed(simple) and not _leads_one_way(simple)
    return directed and is_directed(simple)


def _leads_one_way(relation: csr_array) -> bool:
    """Return whether no node has links both from and to it, as between authors and papers."""
    into = np.bincount(relation.indices, minlength=relation.shape[0]) > 0
    return not bool((into & (np.diff(relation.indptr) > 0)).any())


def _union(relations: Mapping[str, csr_array], relation_weight: Mapping[str, float] | None) -> csr_array:
    weights = dict(relation_weight or {})
    strange = [name for name in weights if name not in relations]
    if strange:
        raise ValueError(f"relation_weight names {quoted(strange[0])}: give some of {listed(relations)}.")
    total: Any = None
    for name, relation in relations.items():
        weight = weights.get(name, 1.0)
        if isinstance(weight, bool) or not isinstance(weight, Real) or not 0 <= float(weight) < np.inf:
            raise ValueError(
                f"the weight of relation {quoted(name)} must be a number from 0 on, not {weight!r}."
            )
        part = relation.maximum(relation.T.tocsr()) if is_directed(relation) else relation
        part = part if weight == 1 else part * float(weight)
        total = part if total is None else total.maximum(part)
    union = csr_array(total)
    union.eliminate_zeros()
    return union
