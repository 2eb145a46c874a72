"""Graphs of PyTorch Geometric and DGL, by what they look like: neither library is imported."""

from typing import Any

import numpy as np
from scipy.sparse import coo_array

from gssl.io.matrices import make_problem
from gssl.io.problem import Problem


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
    edges = _array(data.edge_index)
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
    if not hasattr(graph, "edges") or not hasattr(graph, "ndata"):
        raise TypeError(f"{type(graph).__name__} has no edges() and ndata: give a DGL graph.")
    source, target = graph.edges()
    nodes = graph.ndata
    if weight is not None and weight not in graph.edata:
        raise ValueError(f"the graph has no edge data {weight!r}; it has {', '.join(graph.edata) or 'none'}.")
    columns = {
        "x": _array(nodes[features]) if features in nodes else None,
        "y": _array(nodes[label]) if label in nodes else None,
        "edge_weight": None if weight is None else _array(graph.edata[weight]),
    }
    known = _array(nodes[mask]) if mask is not None and mask in nodes else None
    return _problem(np.stack([_array(source), _array(target)]), columns, known, int(graph.num_nodes()))


def _problem(
    edges: np.ndarray, columns: dict[str, np.ndarray | None], known: np.ndarray | None, n_nodes: int | None
) -> Problem:
    x, y, weights = columns["x"], columns["y"], columns["edge_weight"]
    sizes = [len(part) for part in (x, y) if part is not None]
    n = int(n_nodes or (sizes[0] if sizes else edges.max(initial=-1) + 1))
    if edges.dtype.kind not in "iu" or (edges.size and not 0 <= edges.min() <= edges.max() < n):
        raise ValueError(f"edges must be node numbers from 0 to {n - 1}; another was given.")
    values = np.ones(edges.shape[1]) if weights is None else weights.reshape(-1).astype(np.float64)
    adjacency = coo_array((values, (edges[0], edges[1])), shape=(n, n))
    labels = None
    if y is not None:
        y = y.reshape(len(y), -1)
        if y.shape[1] != 1:
            raise ValueError(f"y has shape {y.shape}: one class per node is needed.")
        labels = y[:, 0].tolist()
        if known is not None:
            if known.dtype != np.bool_ or known.shape != (len(labels),):
                raise ValueError(
                    f"the mask is {known.dtype} of shape {known.shape}, not true or false per node."
                )
            labels = [label if chosen else None for label, chosen in zip(labels, known, strict=True)]
    return make_problem(adjacency, labels, x, None)


def _optional(data: Any, name: str) -> np.ndarray | None:
    value = getattr(data, name, None)
    return None if value is None else _array(value)


def _array(tensor: Any) -> np.ndarray:
    """Give a tensor of any library as an array: off the graph of gradients, and on the CPU."""
    for step in ("detach", "cpu", "numpy"):
        if not isinstance(tensor, np.ndarray) and hasattr(tensor, step):
            tensor = getattr(tensor, step)()
    return np.asarray(tensor)
