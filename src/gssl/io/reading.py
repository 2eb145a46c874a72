"""The one front door: read a graph, features and labels of any source into a problem."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import coo_array, issparse, triu

from gssl.frames import backend_of
from gssl.graph import knn_graph
from gssl.graph.adjacency import is_directed, relations_of
from gssl.graph.mapped import iterate_blocks
from gssl.io.edge_tables import Edges, read_edges
from gssl.io.feature_kinds import read_by_kind
from gssl.io.feature_reading import FeaturePart, Features, map_features, read_features
from gssl.io.graph_store import GraphStore, open_graph_store
from gssl.io.interop import from_matrices, from_networkx, from_scipy
from gssl.io.joining import assemble
from gssl.io.label_tables import Answers, Labels, Nodes, read_labels, read_nodes
from gssl.io.preparation import Preparation, prepare_features
from gssl.io.problem import Problem, join_links
from gssl.io.table_columns import IDS
from gssl.io.table_reading import is_query, split_inside
from gssl.scale.progress import note, step
from gssl.wording import quoted

# a feature with a larger share of the sum of absolute values is noted
_DOMINANT = 0.95
# the relation of links to nearest neighbours, beside others
NEIGHBOURS = "nearest neighbours"


def read(
    edges: Any = None,
    *,
    features: Any = None,
    labels: Any = None,
    nodes: Any = None,
    graph: Any = None,
    text: str | Sequence[str] = (),
    knn: int | None = None,
    normalize: str = "auto",
    edge_type: str | None = None,
    directed: bool = False,
    relation_weight: Mapping[str, float] | None = None,
    edge_columns: Sequence[str] | Mapping[str, Sequence[str]] | None = None,
    label_columns: Sequence[str] | None = None,
    id_column: str | None = None,
    na: Sequence[str] | None = None,
    header: bool | None = None,
    two_sided: bool | None = None,
    answers: Answers = "classes",
    strict: bool = False,
    memory: Any = None,
    preparation: Preparation | None = None,
    known: Problem | None = None,
) -> Problem:
    """Read a graph, features and labels, join them by id, and fill and scale the features.

    This is what ``gssl classify`` and ``gssl regress`` read. A model is fitted to the result by
    ``model.fit(problem)``.

    Parameters
    ----------
    edges : path, glob, SQL, data frame, NetworkX, PyG or DGL graph, or matrix, optional
        A table of two ids and, optionally, a weight (:func:`gssl.io.read_edges`). A graph of NetworkX, PyG
        or DGL brings its own nodes, features and labels, an adjacency matrix its own nodes. Links of several
        kinds (relations) are a table with ``edge_type``, or a mapping of names to tables or to matrices; a
        matrix between two kinds of nodes is named like ``("author", "wrote", "paper")``.
    features : path, glob, SQL, data frame or array, or mapping of str to such, optional
        A table of ids and numbers, categories, lists or texts (:func:`gssl.io.read_features`); the ids of a
        pandas frame may be its index. With an adjacency matrix, a matrix with a row for each of its nodes;
        with a NetworkX graph, the names of node attributes, or a table with the ids of its nodes. A mapping
        has a table or matrix for each kind of nodes: columns of the same name are one feature, and others
        are zero for nodes of other kinds.
    labels : path, glob, SQL, data frame or array, optional
        A table of ids and labels (:func:`gssl.io.read_labels`). With an adjacency matrix, a label or a
        missing value for each node; with matrices between kinds of nodes, a mapping of kinds to such.
    nodes : path, glob, SQL or data frame, optional
        All nodes, in order.
    graph : path, optional
        A graph store in place of edges: see :func:`gssl.io.build_graph_store`.
    text : str or sequence of str, optional
        Columns of features to read as text. Columns of long, distinct texts are recognised.
    knn : int, optional
        Link each node to so many nearest neighbours by features, in addition to the edges.
    normalize : {"auto", "rows", "columns", "none"}, default="auto"
        How features are scaled: see :class:`gssl.io.Preparation`.
    edge_type : str, optional
        The column of the edges, or attribute of those of a NetworkX graph, that tells their relation.
    directed : bool, default=False
        Whether links lead from the first end to the second. Otherwise directions are ignored.
    relation_weight : mapping of str to float, optional
        The weights of relations in their union, which methods use that do not tell relations apart; one if
        not given.
    edge_columns, label_columns : sequence of str, optional
        The names of the columns; found by their names and contents if None. With several tables of edges,
        the former may be a mapping.
    id_column : str, optional
        The id column of the features.
    na : sequence of str, optional
        Texts that mean that there is no label, in place of the usual ones.
    header : bool, optional
        Whether text files name their columns in the first line; detected if None.
    two_sided : bool, optional
        Whether equal ids in both columns of the edges are two nodes; told by the names of the columns if
        None.
    answers : {"classes", "numbers", "sets"}, default="classes"
        What the labels are: classes for a classifier, numbers for a regressor, or sets of several labels per
        node, with a row of the table for each.
    strict : bool, default=False
        Raise on irregularities that are otherwise filled and noted.
    memory : number of bytes or str, optional
        Keep features in a temporary file, within this memory; those of several kinds of nodes stay in memory.
    preparation : Preparation, optional
        That of an earlier problem, to read new tables in the same way.
    known : Problem, optional
        That of a saved model: its nodes need no row of features.

    Returns
    -------
    Problem
        With ``notes`` about everything odd in the data. Links of several relations, or with directions, are
        a :class:`gssl.graph.TypedAdjacency`.

    Examples
    --------
    >>> import gssl, pandas as pd
    >>> people = pd.DataFrame({"id": ["ann", "bob", "cid"], "age": [31.0, None, 64.0]})
    >>> links = pd.DataFrame({"src": ["ann", "bob"], "dst": ["bob", "cid"]})
    >>> known = pd.DataFrame({"id": ["ann", "cid"], "label": ["cook", "spy"]})
    >>> problem = gssl.read(links, features=people, labels=known)
    >>> problem
    Problem(nodes=3, edges=2, features=2, labels=2)
    >>> problem.feature_names
    ('age', 'age=missing')
    >>> problem.notes[-1]
    "features: filled 1 missing cell with the median of the column: 'age' (1)."
    """
    of_graph = own = None
    link_options: Any = {"directed": directed, "relation_weight": relation_weight}
    if _is_graph(edges):
        given = link_options | {"edge_type": edge_type}
        of_graph, features, labels = _read_object(edges, features, labels, answers, given)
        own = _own_features(of_graph)
    _check_sources(edges, graph, features, knn, text, own)
    _check_relation_options(graph, {"edge_type": edge_type, **link_options})
    if of_graph is not None and all(part is None for part in (features, labels, nodes, known)):
        return _with_neighbours(_prepared(of_graph, own, normalize, preparation), knn)
    store = None if graph is None else open_graph_store(str(graph))
    frames = backend_of(*_each(edges), *_each(features), labels, nodes)
    name = _graph_name(*_each(edges), graph, *_each(features)) if of_graph is None else ""
    edges, features, labels, nodes = (
        _by_roles(source, role, id_column)
        for role, source in (("edges", edges), ("features", features), ("labels", labels), ("nodes", nodes))
    )
    listed = links = given = None
    table = own
    if nodes is not None:
        with step("reading nodes"):
            listed = read_nodes(nodes, header=header)
    if of_graph is not None:
        listed, links, given = _as_tables(of_graph, listed, relation_weight)
    elif edges is not None:
        with step("reading edges"):
            about: Any = {"header": header, "two_sided": two_sided, "strict": strict}
            links = read_edges(edges, edge_columns or None, edge_type=edge_type, **link_options, **about)
    if features is not None:
        with step("reading features"):
            encoding = None if preparation is None else preparation.encoding
            options: Any = {"id": id_column, "header": header, "encoding": encoding, "strict": strict}
            mapped = None if text or knn is not None else memory
            table = _read_table(features, text, store, mapped, options)
    if table is not None:
        with step("preparing features"):
            table, preparation = prepare_features(table, normalize, preparation, strict=strict)
    if labels is not None:
        with step("reading labels"):
            given = read_labels(labels, label_columns or None, na=na or None, header=header, answers=answers)
    for part in (listed, links, table, given):
        # now, because one may explain why joining fails
        note(*([] if part is None else part.notes))
    with step("joining tables"):
        graph_read = links if store is None else store
        problem = assemble(graph_read, table, given, nodes=listed, strict=strict, known=known)
    problem = replace(problem, preparation=preparation, frames=frames, name=name)
    # new nodes of a saved model are linked once all are joined
    problem = _with_neighbours(problem, knn) if known is None else problem
    notes = [*problem.notes, *_dominance_notes(problem)]
    note(*notes)
    return replace(problem, notes=notes)


def _check_sources(
    edges: Any, graph: Any, features: Any, knn: int | None, text: Any, own: Features | None
) -> None:
    """Raise unless there is one graph, and features if they are needed."""
    if graph is not None and (edges is not None or knn is not None):
        other = "edges" if edges is not None else "knn"
        raise ValueError(f"`graph` cannot be combined with `{other}`: leave one out.")
    if graph is None and edges is None and knn is None:
        raise ValueError("there is no graph: give `edges`, or `knn` with `features` to build one.")
    if knn is not None and features is None and own is None:
        raise ValueError("`knn` needs features: give `features`.")
    if text and features is None:
        raise ValueError("`text` needs a table of features: give `features`.")


def _check_relation_options(graph: Any, options: dict[str, Any]) -> None:
    """Raise on options of relations beside a graph store."""
    given = next((name for name, value in options.items() if value), None)
    if graph is not None and given is not None:
        raise ValueError(f"the relations of a graph store are those it was built with: leave out `{given}`.")


def _read_table(
    features: Any, text: Any, store: GraphStore | None, memory: Any, options: dict[str, Any]
) -> Features:
    """Read features into memory or, with a budget, into a file; those of several kinds into memory."""
    if isinstance(features, Mapping):
        return read_by_kind(features, text=text, **options)
    if memory is None:
        return read_features(features, text=text, **options)
    return map_features(features, store=store, memory_budget=memory, **options)


def link_neighbours(problem: Problem, knn: int) -> Problem:
    """Add links to nearest neighbours by features."""
    with step("finding neighbours"):
        A = problem.adjacency
        neighbours = knn_graph(problem.features, knn).astype(A.dtype)
        return replace(problem, adjacency=join_links(A, neighbours, NEIGHBOURS))


def _with_neighbours(problem: Problem, knn: int | None) -> Problem:
    return problem if knn is None else link_neighbours(problem, knn)


def _graph_name(*sources: Any) -> str:
    """Return the file name of the first source that was given, "a query", or nothing for a data frame."""
    source = next((one for one in sources if one is not None), "")
    if backend_of(source) is not None:
        return ""
    return "a query" if is_query(source) else Path(split_inside(str(source))[0]).name


def _each(source: Any) -> list[Any]:
    """Return the tables of a mapping, or the one table."""
    return list(source.values()) if isinstance(source, Mapping) else [source]


def _by_roles(source: Any, role: str, id_column: str | None) -> Any:
    """Name the data frames of a source by their role; other sources stay as they are."""
    if isinstance(source, Mapping):
        return {key: _by_roles(part, f"{role} of {quoted(key)}", id_column) for key, part in source.items()}
    return source if backend_of(source) is None else _by_role(source, role, id_column)


def _by_role(source: Any, role: str, id_column: str | None) -> Any:
    """Return a data frame by its role, a pandas one with the ids of its index first, if they are there."""
    from gssl.io.data_frames import NamedFrame

    index = getattr(source, "index", None)
    if role.startswith("edges") or backend_of(source) != "pandas" or index is None:
        return NamedFrame(source, role)
    if index.nlevels > 1:
        raise ValueError(
            f"{role}: the frame has an index of {index.nlevels} levels, and ids are one column: use "
            "reset_index()."
        )
    series = hasattr(source, "to_frame")
    table = source.to_frame() if series else source
    # a column of ids comes before an index without a name; that of a series is more likely its values
    ids = {str(name).lower() for name in table.columns} & ({"id"} if series else {*IDS})
    named = index.name is not None and index.name not in table.columns
    texts = not ids and (index.dtype == object or str(index.dtype) == "str")
    notes = () if named or texts or id_column is not None else _no_ids(table, role)
    # a first column of fractions cannot be the ids, which otherwise it is
    fractions = len(table.columns) and table.dtypes.iloc[0].kind == "f" and not ids
    if id_column in table.columns or not (named or texts or fractions or notes):
        return NamedFrame(table, role)
    if not (named or texts or notes):
        notes = (f"{role}: no column has ids, so the index of the frame is taken.",)
    # the column of ids comes first, whatever its name
    return NamedFrame(table.reset_index(names=[index.name if named else "id"]), role, notes)


def _no_ids(table: Any, role: str) -> tuple[str, ...]:
    """Return a note if the first column of pandas features is whole numbers that cannot be ids."""
    names = [str(name) for name in table.columns]
    # three columns may be an id, a feature and its value
    if not role.startswith("features") or len({*names} - {""}) < len(names) or len(names) in (0, 3):
        return ()
    named = names[0].lower().endswith("id") or any(name.lower() in IDS for name in names)
    if named or table.dtypes.iloc[0].kind not in "iu":
        return ()
    first = table.columns[0]
    # equal rows of one id are merged
    repeated = table[table[first].duplicated(keep=False)].astype(str).drop_duplicates()
    if not repeated[first].duplicated().any():
        return ()
    return (f"{role}: column {quoted(names[0])} has no distinct ids, so the index of the frame is taken.",)


def _is_graph(source: Any) -> bool:
    """Return whether edges are a graph object or matrices, and not tables."""
    return _is_matrix(source) or _is_pyg(source) or any(hasattr(source, name) for name in ("adj", "ndata"))


def _read_object(
    source: Any, features: Any, labels: Any, answers: Answers, link_options: dict[str, Any]
) -> tuple[Problem, Any, Any]:
    """Read a graph object with all that is no table, and return the tables of features and labels."""
    beside = [(part, None) if _is_table(part, source) else (None, part) for part in (features, labels)]
    (features, own_features), (labels, own_labels) = beside
    return _convert(source, own_features, own_labels, answers, link_options), features, labels


def _own_features(problem: Problem) -> Features | None:
    if problem.features is None:
        return None
    names = problem.feature_names or tuple(str(k) for k in range(problem.features.shape[1]))
    parts: tuple[FeaturePart, ...] = ()
    if problem.kinds is not None:
        counts = np.bincount(problem.kinds.sides(problem.node_ids), minlength=len(problem.kinds.columns))
        parts = tuple(
            FeaturePart(kind, int(count), frozenset(name for name in names if name.startswith(f"{kind}[")))
            for kind, count in zip(problem.kinds.columns, counts, strict=True)
        )
    return Features(problem.node_ids, problem.features, names, parts=parts)


def _prepared(
    problem: Problem, table: Features | None, normalize: str, preparation: Preparation | None
) -> Problem:
    """Return a graph object with its features prepared."""
    if table is None:
        return problem
    with step("preparing features"):
        table, preparation = prepare_features(table, normalize, preparation)
    notes = [*problem.notes, *table.notes]
    note(*notes)
    return replace(
        problem, features=table.matrix, feature_names=table.names, notes=notes, preparation=preparation
    )


def _is_table(source: Any, graph: Any) -> bool:
    """Return whether what is given beside a graph object is a table, not a matrix or names of attributes."""
    if isinstance(source, Path):
        return True
    if isinstance(source, str):
        return not _is_networkx(graph) or not any(source in graph.nodes[node] for node in graph)
    return (not _is_matrix(graph) or _has_kinds(graph)) and backend_of(source) is not None


def _is_matrix(source: Any) -> bool:
    """Return whether a source is a matrix, or several in a mapping."""
    if not isinstance(source, Mapping):
        return isinstance(source, np.ndarray) or issparse(source)
    matrices = [isinstance(key, tuple) or _is_matrix(part) for key, part in source.items()]
    if any(matrices) and not all(matrices):
        raise ValueError("`edges` are both tables and matrices: give one or the other.")
    return any(matrices)


def _has_kinds(source: Any) -> bool:
    """Return whether matrices are between kinds of nodes, and named so."""
    return isinstance(source, Mapping) and any(isinstance(key, tuple) for key in source)


def _is_networkx(source: Any) -> bool:
    # DGL graphs have "adj" as well
    return hasattr(source, "adj") and not hasattr(source, "ndata") and not _is_pyg(source)


def _is_pyg(source: Any) -> bool:
    return hasattr(source, "edge_index") or hasattr(source, "edge_types")


def _convert(
    source: Any, features: Any, labels: Any, answers: Answers, link_options: dict[str, Any]
) -> Problem:
    with step("reading the graph"):
        if _is_networkx(source):
            _refuse_rows(source, features, labels)
            return from_networkx(source, features=features, **link_options)
        if link_options.pop("edge_type") is not None:
            raise ValueError("`edge_type` names a column or an attribute of edges: leave it out.")
        if _has_kinds(source):
            return from_matrices(source, labels, features, answers=answers, **link_options)
        if _is_matrix(source):
            return from_scipy(source, labels, features, answers=answers, **link_options)
        _refuse_rows(source, features, labels)
        from gssl.io.tensor_graphs import from_dgl, from_pyg  # most sources are tables

        if _is_pyg(source):
            return from_pyg(source, **link_options)
        if link_options["relation_weight"]:
            raise ValueError("`relation_weight` needs relations, and the graph has none: leave it out.")
        return from_dgl(source, directed=link_options["directed"])


def _refuse_rows(source: Any, features: Any, labels: Any) -> None:
    """Raise on what is neither a table with ids nor, for NetworkX, the names of attributes."""
    names = isinstance(features, str | Sequence | np.ndarray) and all(isinstance(k, str) for k in features)
    named = names and _is_networkx(source)
    for role, part, taken in (("features", features, named), ("labels", labels, False)):
        if part is not None and not taken:
            raise ValueError(
                f"{role} beside a graph object must be a table with the ids of its nodes: give one, or leave "
                f"out `{role}`."
            )


def _as_tables(
    problem: Problem, listed: Nodes | None, relation_weight: Mapping[str, float] | None
) -> tuple[Nodes, Edges, Labels | None]:
    """Return the nodes, edges and labels of a graph object, to be joined with tables by their ids."""
    relations = relations_of(problem.adjacency)
    directed = any(map(is_directed, relations.values()))
    parts = [coo_array(A if directed else triu(A)) for A in relations.values() or (problem.adjacency,)]
    row, col, weights = (np.concatenate([getattr(part, k) for part in parts]) for k in ("row", "col", "data"))
    edges = Edges(problem.node_ids, row, col, weights, "the graph", problem.notes, directed=directed)
    if problem.kinds is not None:
        about = problem.kinds.columns, problem.kinds.sides(problem.node_ids)
        edges = replace(edges, columns=about[0], two_sided=True, sides=about[1])
    if relations:
        codes = np.repeat(np.arange(len(parts)), [part.nnz for part in parts])
        edges = replace(edges, relations=codes, relation_names=tuple(relations))
        edges = replace(edges, relation_weight=relation_weight)
    known = problem.given
    labels = Labels(problem.node_ids[known], problem.y[known], "the graph") if known.any() else None
    return listed or Nodes(problem.node_ids, "the graph"), edges, labels


def _dominance_notes(problem: Problem) -> list[str]:
    """Return a note if one feature dominates all others, such as a year beside word counts."""
    X = problem.features
    if X is None or X.shape[1] < 2 or not X.shape[0]:
        return []
    sizes = np.zeros(X.shape[1])
    for rows, columns in iterate_blocks(X):
        part = X if issparse(X) else X[rows, columns]
        sizes[columns] += np.asarray(abs(part).sum(axis=0, dtype=np.float64)).ravel()
    largest = int(sizes.argmax())
    share = sizes[largest] / sizes.sum() if sizes.any() else 0.0
    if share < _DOMINANT:
        return []
    name = problem.feature_names[largest]
    return [
        f"feature {quoted(name)} makes up {share:.1%} of all features and dominates the others: scale it or "
        "leave it out."
    ]
