"""Graphs of PyTorch Geometric and DGL, by what they look like: neither library is imported."""

from operator import index
from typing import Any

import numpy as np
from scipy.sparse import coo_array

from gssl.io.matrices import make_problem
from gssl.io.problem import Problem

# as many as the kernels number
_MOST_NODES = 2**31


def from_pyg(data: Any, mask: str | None = "train_mask") -> Problem:
    """Take a graph from PyTorch Geometric's ``Data``.

    Parameters
    ----------
    data : object with ``edge_index`` and perhaps ``x``, ``y``, ``edge_weight``, ``num_nodes`` and masks
    mask : str or None, default="train_mask"
        The nodes whose labels are known: others have none. All labels count if None or if there is no such
        mask.

    Returns
    -------
    Problem

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> data = SimpleNamespace(edge_index=np.array([[0, 1], [1, 0]]), y=np.array([5, 6]),
    ...                        train_mask=np.array([True, False]))
    >>> from_pyg(data).y.tolist()
    ['5', None]
    """
    if getattr(data, "edge_index", None) is None:
        raise TypeError(f"{type(data).__name__} has no edge_index: give a PyTorch Geometric Data object.")
    edges = _array(data.edge_index, "edge_index")
    if edges.ndim != 2 or edges.shape[0] != 2:
        raise ValueError(f"edge_index has shape {edges.shape}: it must be 2 × edges.")
    columns = {name: _optional(data, name) for name in ("x", "y", "edge_weight")}
    known = None if mask is None else _optional(data, mask)
    return _problem(edges, columns, known, getattr(data, "num_nodes", None))


def from_dgl(
    graph: Any,
    features: str = "feat",
    label: str = "label",
    weight: str | None = None,
    mask: str | None = "train_mask",
) -> Problem:
    """Take a graph from DGL.

    Parameters
    ----------
    graph : object with ``edges()``, ``num_nodes()``, ``ndata`` and ``edata``
    features, label : str
        Names in ``ndata``; what is not there is not used.
    weight : str, optional
        A name in ``edata``.
    mask : str or None, default="train_mask"
        As in :func:`from_pyg`.

    Returns
    -------
    Problem

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> graph = SimpleNamespace(edges=lambda: (np.array([0]), np.array([1])), num_nodes=lambda: 2,
    ...                         ndata={"label": np.array([5, 6])})
    >>> from_dgl(graph).y.tolist()
    ['5', '6']
    """
    if not all(callable(getattr(graph, name, None)) for name in ("edges", "num_nodes")) or not hasattr(
        graph, "ndata"
    ):
        raise TypeError(f"{type(graph).__name__} has no edges(), num_nodes() and ndata: give a DGL graph.")
    source, target = (_array(ends, "edges()") for ends in graph.edges())
    if source.ndim != 1 or source.shape != target.shape:
        raise ValueError(f"edges() gives {source.shape} sources and {target.shape} targets: one of each.")
    nodes, links = graph.ndata, getattr(graph, "edata", {})
    if weight is not None and weight not in links:
        raise ValueError(f"the graph has no edge data {weight!r}; it has {', '.join(links) or 'none'}.")
    columns = {
        "x": _array(nodes[features], features) if features in nodes else None,
        "y": _array(nodes[label], label) if label in nodes else None,
        "edge_weight": None if weight is None else _array(links[weight], weight),
    }
    known = _array(nodes[mask], mask) if mask is not None and mask in nodes else None
    return _problem(np.stack([source, target]), columns, known, graph.num_nodes())


def _problem(
    edges: np.ndarray, columns: dict[str, np.ndarray | None], known: np.ndarray | None, n_nodes: Any
) -> Problem:
    x, y, weights = columns["x"], columns["y"], columns["edge_weight"]
    if edges.dtype.kind not in "iu":
        raise ValueError(f"edges are {edges.dtype}: they must be whole numbers, which name nodes from 0 on.")
    n = _count_nodes(n_nodes, [part for part in (x, y) if part is not None and part.ndim], edges)
    if edges.size and not 0 <= edges.min() <= edges.max() < n:
        raise ValueError(f"edges must be node numbers from 0 to {n - 1}; another was given.")
    values = np.ones(edges.shape[1]) if weights is None else _weights(weights, edges.shape[1])
    adjacency = coo_array((values, (edges[0], edges[1])), shape=(n, n))
    labels = None
    if y is not None:
        if y.ndim != 1 and (y.ndim != 2 or y.shape[1] != 1):
            raise ValueError(f"y has shape {y.shape}: one class per node is needed.")
        labels = y.reshape(-1).tolist()
        if known is not None:
            if known.dtype != np.bool_ or known.shape != (len(labels),):
                raise ValueError(
                    f"the mask is {known.dtype} of shape {known.shape}, not true or false per node."
                )
            labels = [label if chosen else None for label, chosen in zip(labels, known, strict=True)]
    return make_problem(adjacency, labels, x, None)


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
            f"there would be {n:,} nodes, and up to {_MOST_NODES:,} can be read: number nodes from 0 on "
            "without gaps."
        )
    return n


def _weights(weights: np.ndarray, n_edges: int) -> np.ndarray:
    if weights.dtype.kind not in "fiub" or weights.size != n_edges:
        raise ValueError(
            f"the weights are {weights.dtype} of shape {weights.shape} for {n_edges} edges: give one number "
            "for each."
        )
    return weights.reshape(-1).astype(np.float64)


def _optional(data: Any, name: str) -> np.ndarray | None:
    value = getattr(data, name, None)
    return None if value is None else _array(value, name)


def _array(tensor: Any, name: str) -> np.ndarray:
    """Give a tensor of any library as an array: off the graph of gradients, and on the CPU."""
    if str(getattr(tensor, "dtype", "")) == "torch.bfloat16":
        # NumPy has no such type, and every number of it is one in single precision
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
