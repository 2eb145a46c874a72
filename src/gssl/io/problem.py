"""A graph, its features and labels, joined by node id."""

from dataclasses import dataclass, field, replace
from html import escape
from typing import Any, TypeAlias

import numpy as np
from scipy.sparse import coo_array, csr_array, issparse, vstack

from gssl.frames import Backend, html_table, installed_backend
from gssl.graph.adjacency import ONE_KIND, TypedAdjacency, is_directed, relations_of, union_of
from gssl.graph.mapped import nonzero_rows
from gssl.io.edge_sides import NodeKinds
from gssl.io.number_predictions import NumberPredictions, list_numbers, predict_numbers
from gssl.io.predictions import Predictions, list_predictions, predict_graph
from gssl.io.preparation import Preparation
from gssl.io.set_predictions import SetPredictions, list_sets, predict_sets
from gssl.methods.inputs import has_graph_of_fit
from gssl.methods.regressor import GraphRegressor
from gssl.operators import dense
from gssl.wording import write_number

AnyPredictions: TypeAlias = Predictions | NumberPredictions | SetPredictions


@dataclass(frozen=True, eq=False, repr=False)
class Problem:
    """The inputs of a method, all in the same node order.

    Attributes
    ----------
    node_ids : object ndarray of str, shape (n,)
    adjacency : csr_array of shape (n, n)
        Symmetric, without self-loops. Links of several relations, or with directions, are a
        :class:`gssl.graph.TypedAdjacency`.
    features : csr_array or ndarray of shape (n, d), or None
    y : object ndarray of shape (n,)
        A label or None. Labels from tables are text.
    notes : list of str
        Irregularities in the data, in plain words.
    feature_names : tuple of str
    preparation : Preparation or None
        How the features were filled and scaled.
    kinds : NodeKinds or None
        Which node is of which kind, if the columns of the edges name several; its ``resolve`` finds the
        nodes that another table of labels names.
    frames : str or None
        The library of the data frames that it was read from: "pandas", "polars" or "pyarrow".
    name : str
        The file that the graph was read from, for titles.
    """

    node_ids: np.ndarray
    adjacency: csr_array
    features: csr_array | np.ndarray | None
    y: np.ndarray
    notes: list[str] = field(default_factory=list)
    feature_names: tuple[str, ...] = ()
    preparation: Preparation | None = None
    kinds: NodeKinds | None = None
    frames: Backend | None = None
    name: str = ""

    @property
    def given(self) -> np.ndarray:
        """A mask of the labelled nodes."""
        return np.array([label is not None for label in self.y], dtype=bool)

    def __repr__(self) -> str:
        d = "no" if self.features is None else str(self.features.shape[1])
        relations = relations_of(self.adjacency)
        kinds = f"relations={len(relations)}, " if relations else ""
        return (
            f"Problem(nodes={len(self.node_ids)}, edges={self.adjacency.nnz // 2}, {kinds}features={d}, "
            f"labels={int(self.given.sum())})"
        )

    def _repr_html_(self) -> str:
        given = [label for label in self.y if label is not None]
        if given and all(isinstance(label, float) for label in given):
            low, middle, high = (write_number(float(x)) for x in np.quantile(given, [0.0, 0.5, 1.0]))
            names, classes = np.array(["numbers"]), f"<p>Numbers from {low} to {high}, median {middle}.</p>"
        else:
            # of several labels per node, each counts
            flat = [str(label) for one in given for label in (one if isinstance(one, tuple) else (one,))]
            names, counts = np.unique(flat, return_counts=True)
            classes = html_table({"class": names.tolist(), "labels": counts.tolist()})
        notes = "".join(f"<li>{escape(text)}</li>" for text in self.notes)
        links = {name: count_links(relation) for name, relation in relations_of(self.adjacency).items()}
        relations = html_table({"relation": list(links), "links": list(links.values())}) if links else ""
        return f"<p>{escape(repr(self))}</p>{relations}{classes if len(names) else ''}<ul>{notes}</ul>"

    def tabulate(self, model: Any) -> Any:
        """Return the predictions of a model for these nodes: see ``model.predictions``."""
        predictions, backend = predictions_of(model, self), self.frames or installed_backend()
        return predictions if backend is None else predictions.to_frame(backend)


def is_problem_of_fit(model: Any, problem: Problem, *, begins: bool = False) -> bool:
    """Return whether a problem has, or begins with, the nodes of a model's fit.

    That is judged by their labels and, unless there may be more nodes, by their numbers of links.
    """
    expected, y = model.fit_answers, problem.y
    if len(y) < len(expected) or (len(y) > len(expected) and not begins):
        return False
    if not begins and not has_graph_of_fit(model, problem.adjacency):
        return False
    return all(model.is_answer(y[k], answer) for k, answer in enumerate(expected))


def predictions_of(model: Any, problem: Problem) -> AnyPredictions:
    """Return the predictions of a fitted model for a problem, that of fit or another one."""
    if is_problem_of_fit(model, problem):
        if isinstance(model, GraphRegressor):
            return list_numbers(model, problem.node_ids)
        if hasattr(model, "label_sets_"):
            return list_sets(model, problem.node_ids)
        return list_predictions(model, problem.node_ids, problem.given)
    known = is_problem_of_fit(model, problem, begins=True)
    if model.knows_nodes and not known:
        raise ValueError(
            f"this {type(model).__name__} uses the labels of the nodes it was fitted to: give the problem of "
            "fit, or join new nodes to it with gssl.io.extend(problem, new)."
        )
    return predict_any(model, problem, known=known)


def predict_any(model: Any, problem: Problem, *, known: bool) -> AnyPredictions:
    """Predict a graph that is not that of fit; if ``known``, it begins with its nodes, which keep answers."""
    if isinstance(model, GraphRegressor):
        return predict_numbers(model, problem, known=known)
    if hasattr(model, "label_sets_"):
        return predict_sets(model, problem, known=known)
    return predict_graph(model, problem, known=known)


def extend(known: Problem, new: Problem) -> tuple[Problem, np.ndarray]:
    """Join new nodes and edges to a known problem, whose nodes come first and keep features and labels.

    Parameters
    ----------
    known, new : Problem
        In memory, with the same features. If ``new`` has none, its nodes get zeros. Labels of ``new`` are not
        used. If ``known`` has relations, links of ``new`` join those of the same name, and others become one
        more relation.

    Returns
    -------
    Problem
    int ndarray
        The positions of the nodes of ``new`` in it.

    Examples
    --------
    >>> from gssl.io import from_scipy
    >>> known = from_scipy([[0, 1], [1, 0]], node_ids=["a", "b"], features=[[1.0], [2.0]])
    >>> new = from_scipy([[0, 1], [1, 0]], node_ids=["c", "a"], features=[[3.0], [0.0]])
    >>> problem, positions = extend(known, new)
    >>> problem.node_ids.tolist(), problem.features.tolist(), positions.tolist()
    (['a', 'b', 'c'], [[1.0], [2.0], [3.0]], [2, 0])
    >>> problem.adjacency.toarray()[0].tolist()
    [0.0, 1.0, 1.0]
    """
    positions = positions_of(new.node_ids, known)
    fresh = positions < 0
    n_known, n_fresh = len(known.node_ids), int(np.count_nonzero(fresh))
    positions[fresh] = np.arange(n_known, n_known + n_fresh)
    n = n_known + n_fresh
    adjacency = place_links(known.adjacency, np.arange(n_known), n)
    adjacency = join_links(adjacency, place_links(_named_as(new, known), positions, n), ONE_KIND)
    X = known.features
    if X is not None:
        empty = csr_array((n_fresh, X.shape[1]), dtype=X.dtype)
        rows = empty if new.features is None else new.features[fresh].astype(X.dtype)
        X = csr_array(vstack([X, rows])) if issparse(X) else np.vstack([X, dense(rows)])
    return replace(
        known,
        node_ids=np.concatenate([known.node_ids, new.node_ids[fresh]]),
        adjacency=adjacency,
        features=X,
        y=np.concatenate([known.y, np.full(n_fresh, None, dtype=object)]),
        notes=new.notes,
        kinds=new.kinds or known.kinds,
    ), positions


def _named_as(new: Problem, known: Problem) -> csr_array:
    """Return the links of new nodes with relations only if known ones have some.

    Links without a name are of the one relation, if there is one.
    """
    names, links = list(relations_of(known.adjacency)), relations_of(new.adjacency)
    if not names:
        return union_of(new.adjacency)
    if len(names) > 1 or (links and list(links) != [ONE_KIND]):
        return new.adjacency
    return TypedAdjacency.of(union_of(new.adjacency), {names[0]: links.get(ONE_KIND, new.adjacency)})


def place_links(A: csr_array, nodes: np.ndarray, n_nodes: int) -> csr_array:
    """Return a graph, with its relations, as links between some nodes of a larger one."""
    if relations := relations_of(A):
        placed = {name: place_links(relation, nodes, n_nodes) for name, relation in relations.items()}
        return TypedAdjacency.of(place_links(union_of(A), nodes, n_nodes), placed)
    entries = A.tocoo()
    ends = nodes[entries.row], nodes[entries.col]
    return coo_array((entries.data, ends), shape=(n_nodes, n_nodes)).tocsr()


def join_links(A: csr_array, B: csr_array, name: str) -> csr_array:
    """Join the links of two graphs relation by relation; those of B are of one relation if it has none.

    Where both have a link, the larger weight counts. Without relations in A and B, there are none.
    """
    relations = dict(relations_of(A))
    union = csr_array(union_of(A).maximum(union_of(B)))
    if not relations:
        return union
    for key, other in (relations_of(B) or {name: B}).items():
        same = relations.get(key)
        relations[key] = other if same is None else csr_array(same.maximum(other))
    return TypedAdjacency.of(union, relations)


def count_links(relation: csr_array) -> int:
    """Return the number of links of a relation; without directions, each is stored twice."""
    return int(relation.nnz if is_directed(relation) else relation.nnz // 2)


def positions_of(ids: np.ndarray, problem: Problem) -> np.ndarray:
    """Return the node numbers of ids, −1 for those that the problem does not have."""
    numbers = {node: k for k, node in enumerate(problem.node_ids)}
    return np.array([numbers.get(node, -1) for node in ids], dtype=np.int64)


def differing_rows(known: Problem, new: Problem) -> np.ndarray:
    """Return for every row of features that ``new`` has of a known node whether it differs."""
    if known.features is None or new.features is None:
        return np.empty(0, dtype=bool)
    positions = positions_of(new.node_ids, known)
    common = np.flatnonzero((positions >= 0) & nonzero_rows(new.features))
    difference = abs(new.features[common] - known.features[positions[common]])
    largest = dense(difference.max(axis=1)).ravel()
    return np.asarray(largest > 1e-4 * max(1.0, float(abs(known.features).max())))
