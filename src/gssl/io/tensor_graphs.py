"""Convert graphs of PyTorch Geometric and DGL, whose parts are tensors, to problems."""

from collections.abc import Mapping
from operator import index
from typing import Any

import numpy as np
from scipy.sparse import coo_array

from gssl.io.interop import from_matrices, from_scipy
from gssl.io.problem import Problem

# the kernels index nodes with int32
_MOST_NODES = 2**31


def from_pyg(
    data: Any,
    mask: str | None = "train_mask",
    *,
    directed: bool = False,
    relation_weight: Mapping[str, float] | None = None,
) -> Problem:
    """Build a problem from a PyTorch Geometric ``Data`` or ``HeteroData`` object.

    Parameters
    ----------
    data : object with ``edge_index`` and optionally ``x``, ``y``, ``edge_weight``, ``num_nodes`` and masks
        A ``HeteroData`` has such objects by ``node_types`` and ``edge_types``: see :func:`from_matrices`.
    mask : str or None, default="train_mask"
        The mask of labelled nodes; labels of other nodes are ignored. All labels are used if None or if
        there is no such mask.
    directed : bool, default=False
        Whether to keep the directions of edges.
    relation_weight : mapping of str to float, optional
        The weights of relations in their union: see :func:`gssl.graph.check_adjacency`.

    Returns
    -------
    Problem

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> data = SimpleNamespace(edge_index=np.array([[0, 1], [1, 0]]), y=np.array([5, 6]),
    ...                        train_mask=np.array([True, False]))
    >>> from_pyg(data).y.tolist()
    [5, None]
    """
    options: Any = {"directed": directed, "relation_weight": relation_weight}
    if hasattr(data, "edge_types"):
        return _from_hetero(data, mask, options)
    edges = _edge_index(data)
    columns = {name: _optional(data, name) for name in ("x", "y", "edge_weight")}
    known = None if mask is None else _optional(data, mask)
    return _tensor_problem(edges, columns, known, getattr(data, "num_nodes", None), options)


def _edge_index(data: Any) -> np.ndarray:
    if getattr(data, "edge_index", None) is None:
        raise TypeError(f"{type(data).__name__} has no edge_index: give a PyTorch Geometric Data object.")
    edges = _tensor_array(data.edge_index, "edge_index")
    if edges.ndim != 2 or edges.shape[0] != 2:
        raise ValueError(f"edge_index has shape {edges.shape}: it must be 2 × edges.")
    if edges.dtype.kind not in "iu":
        raise ValueError(f"edges are {edges.dtype}: node numbers must be integers, starting at 0.")
    return edges


def _from_hetero(data: Any, mask: str | None, options: dict[str, Any]) -> Problem:
    """Join the kinds of nodes and edges of a ``HeteroData``."""
    edges = {tuple(key): _edge_index(data[key]) for key in data.edge_types}
    kinds = list(data.node_types)
    columns = {kind: {name: _optional(data[kind], name) for name in ("x", "y")} for kind in kinds}
    sizes = {}
    for kind in kinds:
        ends = [ends[0] for key, ends in edges.items() if key[0] == kind]
        ends += [ends[1] for key, ends in edges.items() if key[2] == kind]
        arrays = [part for part in columns[kind].values() if part is not None and part.ndim]
        named = np.concatenate([*ends, np.empty(0, np.int64)])
        sizes[kind] = _count_nodes(getattr(data[kind], "num_nodes", None), arrays, named)
    matrices = {}
    for key, pair in edges.items():
        shape = sizes[key[0]], sizes[key[2]]
        for ends, size in zip(pair, shape, strict=True):
            if ends.size and not 0 <= ends.min() <= ends.max() < size:
                raise ValueError(f"a node number of {key!r} is outside 0 to {size - 1}: number nodes from 0.")
        weights = _optional(data[key], "edge_weight")
        values = np.ones(pair.shape[1]) if weights is None else _tensor_weights(weights, pair.shape[1])
        matrices[key] = coo_array((values, (pair[0], pair[1])), shape=shape)
    linked = {kind for key in matrices for kind in key[::2]}
    features = {kind: part["x"] for kind, part in columns.items() if part["x"] is not None and kind in linked}
    labels = {
        kind: _tensor_labels(part["y"], None if mask is None else _optional(data[kind], mask))
        for kind, part in columns.items()
        if part["y"] is not None and kind in linked
    }
    return from_matrices(matrices, labels, features, **options)


def from_dgl(
    graph: Any,
    features: str = "feat",
    label: str = "label",
    weight: str | None = None,
    mask: str | None = "train_mask",
    *,
    directed: bool = False,
) -> Problem:
    """Build a problem from a DGL graph.

    Parameters
    ----------
    graph : object with ``edges()``, ``num_nodes()``, ``ndata`` and ``edata``
    features, label : str
        Keys of ``ndata``; missing ones are ignored.
    weight : str, optional
        A key of ``edata``.
    mask : str or None, default="train_mask"
        As in :func:`from_pyg`.
    directed : bool, default=False
        Whether to keep the directions of edges.

    Returns
    -------
    Problem

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> graph = SimpleNamespace(edges=lambda: (np.array([0]), np.array([1])), num_nodes=lambda: 2,
    ...                         ndata={"label": np.array([5, 6])})
    >>> from_dgl(graph).y.tolist()
    [5, 6]
    """
    if not all(callable(getattr(graph, name, None)) for name in ("edges", "num_nodes")) or not hasattr(
        graph, "ndata"
    ):
        raise TypeError(f"{type(graph).__name__} has no edges(), num_nodes() and ndata: give a DGL graph.")
    source, target = (_tensor_array(ends, "edges()") for ends in graph.edges())
    if source.ndim != 1 or source.shape != target.shape:
        raise ValueError(
            f"edges() gives sources of shape {source.shape} and targets of shape {target.shape}: give one "
            "source and one target for each edge."
        )
    nodes, links = graph.ndata, getattr(graph, "edata", {})
    if weight is not None and weight not in links:
        raise ValueError(f"the graph has no edge data {weight!r}; it has {', '.join(links) or 'none'}.")
    columns = {
        "x": _tensor_array(nodes[features], features) if features in nodes else None,
        "y": _tensor_array(nodes[label], label) if label in nodes else None,
        "edge_weight": None if weight is None else _tensor_array(links[weight], weight),
    }
    known = _tensor_array(nodes[mask], mask) if mask is not None and mask in nodes else None
    edges = np.stack([source, target])
    if edges.dtype.kind not in "iu":
        raise ValueError(f"edges are {edges.dtype}: node numbers must be integers, starting at 0.")
    return _tensor_problem(edges, columns, known, graph.num_nodes(), {"directed": directed})


def _tensor_problem(
    edges: np.ndarray,
    columns: dict[str, np.ndarray | None],
    known: np.ndarray | None,
    n_nodes: Any,
    options: dict[str, Any],
) -> Problem:
    x, y, weights = columns["x"], columns["y"], columns["edge_weight"]
    n = _count_nodes(n_nodes, [part for part in (x, y) if part is not None and part.ndim], edges)
    if edges.size and not 0 <= edges.min() <= edges.max() < n:
        raise ValueError(f"a node number of edges is outside 0 to {n - 1}: number the nodes from 0.")
    values = np.ones(edges.shape[1]) if weights is None else _tensor_weights(weights, edges.shape[1])
    adjacency = coo_array((values, (edges[0], edges[1])), shape=(n, n))
    return from_scipy(adjacency, None if y is None else _tensor_labels(y, known), x, **options)


def _tensor_labels(y: np.ndarray, known: np.ndarray | None) -> list[Any]:
    """Return the classes of nodes, None where a mask of known ones is false."""
    if y.ndim != 1 and (y.ndim != 2 or y.shape[1] != 1):
        raise ValueError(f"y has shape {y.shape}: one class per node is needed.")
    labels = y.reshape(-1).tolist()
    if known is None:
        return labels
    if known.dtype != np.bool_ or known.shape != (len(labels),):
        raise ValueError(f"the mask is {known.dtype} of shape {known.shape}, not true or false per node.")
    return [label if chosen else None for label, chosen in zip(labels, known, strict=True)]


def _count_nodes(n_nodes: Any, parts: list[np.ndarray], edges: np.ndarray) -> int:
    if n_nodes is None:
        n = len(parts[0]) if parts else int(edges.max()) + 1 if edges.size else 0
    else:
        try:
            n = index(n_nodes)
        except TypeError as error:
            raise ValueError(f"num_nodes is {n_nodes!r}: give a whole number.") from error
    if not 0 <= n < _MOST_NODES:
        raise ValueError(
            f"there would be {n:,} nodes, and gssl needs fewer than {_MOST_NODES:,}: number nodes from 0 "
            "without gaps."
        )
    return n


def _tensor_weights(weights: np.ndarray, n_edges: int) -> np.ndarray:
    if weights.dtype.kind not in "fiub" or weights.size != n_edges:
        raise ValueError(
            f"the weights are {weights.dtype} of shape {weights.shape} for {n_edges} edges: give one number "
            "for each."
        )
    return weights.reshape(-1).astype(np.float64)


def _optional(data: Any, name: str) -> np.ndarray | None:
    value = getattr(data, name, None)
    return None if value is None else _tensor_array(value, name)


def _tensor_array(tensor: Any, name: str) -> np.ndarray:
    """Convert a tensor of any library to a NumPy array, detached from autograd and on the CPU."""
    if str(getattr(tensor, "dtype", "")) == "torch.bfloat16":
        # NumPy has no bfloat16; float32 represents all of its values exactly
        tensor = tensor.float()
    try:
        for step in ("detach", "cpu", "numpy"):
            if not isinstance(tensor, np.ndarray) and hasattr(tensor, step):
                tensor = getattr(tensor, step)()
        return np.asarray(tensor)
    except (TypeError, ValueError, RuntimeError) as error:
        raise ValueError(
            f"{name} cannot be read as an array of numbers: give a dense tensor, or an array."
        ) from error
