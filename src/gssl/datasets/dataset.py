"""The class of datasets, and random splits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_array, csr_array, issparse

from gssl.graph import check_finite, clean_adjacency

PARTS = ("train", "val", "test")


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """A graph with features, labels and named splits; checked once, then read-only.

    Parameters
    ----------
    name : str
        Its name in :func:`gssl.datasets.load`.
    adjacency : csr_array of shape (n, n)
        Symmetric, without self-loops; 1.0 at every edge of the graphs shipped here.
    features : csr_array or ndarray of shape (n, d)
        The identity for a graph without features (the paper's X = I).
    labels : ndarray of shape (n,)
        Class numbers; −1 means unknown.
    node_ids : ndarray of str, shape (n,)
    class_names : tuple of str
    splits : mapping
        Maps a split's name to its ``"train"``, ``"val"`` and ``"test"`` node numbers.

    Examples
    --------
    >>> from gssl.datasets import load
    >>> load("karate")
    Dataset('karate', nodes=34, edges=78, features=34, classes=2, splits=default)
    """

    name: str
    adjacency: csr_array
    features: csr_array | NDArray[Any]
    labels: NDArray[np.int64]
    node_ids: NDArray[np.str_]
    class_names: tuple[str, ...]
    splits: Mapping[str, Mapping[str, NDArray[np.int64]]]

    def __post_init__(self) -> None:
        checked = {
            "adjacency": _checked_adjacency(self.adjacency, self.name),
            "labels": _checked_labels(self.labels, self.name),
            "node_ids": _frozen(np.asarray(self.node_ids, dtype=np.str_)),
            "class_names": tuple(str(name) for name in self.class_names),
        }
        features = self.features
        if np.ndim(features) != 2 and not issparse(features):
            raise ValueError(f"{self.name}: features have {np.ndim(features)} dimensions, not 2.")
        check_finite(features, f"{self.name}: features")
        checked["features"] = _frozen_csr(csr_array(features)) if issparse(features) else _frozen(features)
        n_nodes = checked["adjacency"].shape[0]
        checked["splits"] = MappingProxyType(
            {
                split: _checked_split(parts, n_nodes, f"{self.name}, split {split!r}")
                for split, parts in self.splits.items()
            }
        )
        for field, value in checked.items():
            object.__setattr__(self, field, value)
        self._check_sizes()

    def _check_sizes(self) -> None:
        for field in ("features", "labels", "node_ids"):
            shape = getattr(self, field).shape
            if shape[0] != self.n_nodes or (field != "features" and len(shape) != 1):
                raise ValueError(
                    f"{self.name}: {field} has shape {shape} but the graph has {self.n_nodes} nodes; "
                    "give one entry for each node."
                )
        bad = np.flatnonzero((self.labels < -1) | (self.labels >= self.n_classes))
        if bad.size:
            raise ValueError(
                f"{self.name}: node {bad[0]} has label {self.labels[bad[0]]}, which is not one of the "
                f"{self.n_classes} classes; use 0 to {self.n_classes - 1}, or -1 for unknown."
            )

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return int(self.adjacency.shape[0])

    @property
    def n_edges(self) -> int:
        """Number of undirected edges."""
        return int(self.adjacency.nnz) // 2

    @property
    def n_features(self) -> int:
        """Number of feature columns."""
        return int(self.features.shape[1])

    @property
    def n_classes(self) -> int:
        """Number of named classes."""
        return len(self.class_names)

    def mask_labels(self, split: str, parts: Iterable[str] = ("train",)) -> NDArray[np.int64]:
        """Return the labels of the given parts of a split, −1 everywhere else.

        Examples
        --------
        >>> from gssl.datasets import load
        >>> y = load("karate").mask_labels("default", parts=("train",))
        >>> y[[0, 1, 33]]
        array([ 0, -1,  1])
        """
        if split not in self.splits:
            raise ValueError(f"{self.name} has no split {split!r}; it has {_listed(self.splits)}.")
        there = self.splits[split]
        y = np.full(self.n_nodes, -1, dtype=np.int64)
        for part in [parts] if isinstance(parts, str) else parts:
            if part not in there:
                raise ValueError(
                    f"{self.name}, split {split!r} has no part {part!r}; it has {_listed(there)}."
                )
            nodes = there[part]
            y[nodes] = self.labels[nodes]
        return y

    def normalized(self) -> Dataset:
        """Return a copy whose feature rows have L1 norm 1; zero rows stay zero.

        Examples
        --------
        >>> from gssl.datasets import load
        >>> float(load("cora").normalized().features[[0]].sum())
        1.0
        """
        features: Any = self.features.astype(np.result_type(self.features.dtype, np.float32))
        norms = np.asarray(abs(features).sum(axis=1))
        norms[norms == 0] = 1
        if issparse(features):
            features.data /= np.repeat(norms, np.diff(features.indptr))
        else:
            features /= norms[:, None]
        return replace(self, features=features)

    def __repr__(self) -> str:
        names = list(self.splits)
        splits = ", ".join(names) if len(names) <= 3 else f"{names[0]}…{names[-1]}"
        return (
            f"Dataset({self.name!r}, nodes={self.n_nodes}, edges={self.n_edges}, "
            f"features={self.n_features}, classes={self.n_classes}, splits={splits or 'none'})"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        # mapping proxies cannot be pickled, but the dicts behind them can
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        values["splits"] = {split: dict(parts) for split, parts in self.splits.items()}
        return type(self), tuple(values.values())


def draw_split(
    labels: ArrayLike,
    per_class: int = 20,
    n_val: int = 0,
    n_test: int | None = None,
    random_state: Any = 0,
) -> dict[str, NDArray[np.int64]]:
    """Draw training nodes class by class, then validation and test nodes from the rest.

    Parameters
    ----------
    labels : array of shape (n,)
        Class numbers; nodes with −1 are in no part.
    per_class : int
        Training nodes of each class.
    n_val : int
        Validation nodes, of any class.
    n_test : int or None
        Test nodes; all that are left if None.
    random_state : int or numpy Generator
        Same seed, same split.

    Returns
    -------
    dict
        Sorted node numbers under ``"train"``, ``"val"`` and ``"test"``.

    Examples
    --------
    >>> split = draw_split([0, 1, 0, 1, -1], per_class=1)
    >>> {part: nodes.size for part, nodes in split.items()}
    {'train': 2, 'val': 0, 'test': 2}
    """
    if per_class < 0 or n_val < 0 or (n_test is not None and n_test < 0):
        raise ValueError(f"A split cannot hold fewer than 0 nodes; got {per_class=}, {n_val=}, {n_test=}.")
    y = np.asarray(labels)
    shuffled = np.random.default_rng(random_state).permutation(np.flatnonzero(y >= 0))
    drawn = [np.empty(0, dtype=np.int64)]
    for label in np.unique(y[shuffled]):
        members = shuffled[y[shuffled] == label]
        if members.size < per_class:
            raise ValueError(
                f"Class {label} has {members.size} labelled nodes but per_class={per_class}; ask for fewer."
            )
        drawn.append(members[:per_class])
    train = np.concatenate(drawn)
    rest = shuffled[~np.isin(shuffled, train)]
    if n_val + (n_test or 0) > rest.size:
        raise ValueError(
            f"{n_val} validation and {n_test or 0} test nodes were asked for but {rest.size} labelled nodes "
            "are left after the training nodes; ask for fewer."
        )
    test = rest[n_val:] if n_test is None else rest[n_val : n_val + n_test]
    parts = {"train": train, "val": rest[:n_val], "test": test}
    return {part: np.sort(nodes).astype(np.int64) for part, nodes in parts.items()}


def draw_random(labels: ArrayLike, n_train: int, random_state: Any = 0) -> dict[str, NDArray[np.int64]]:
    """Draw training nodes of any class; all other labelled nodes are for testing.

    Parameters
    ----------
    labels : array of shape (n,)
        Class numbers; nodes with −1 are in no part.
    n_train : int
    random_state : int or numpy Generator
        Same seed, same split.

    Returns
    -------
    dict
        Sorted node numbers under ``"train"`` and ``"test"``.

    Examples
    --------
    >>> {part: nodes.size for part, nodes in draw_random([0, 1, 0, 1, -1], n_train=3).items()}
    {'train': 3, 'test': 1}
    """
    shuffled = np.random.default_rng(random_state).permutation(np.flatnonzero(np.asarray(labels) >= 0))
    if not 0 <= n_train <= shuffled.size:
        raise ValueError(f"{n_train} training nodes were asked for but {shuffled.size} nodes have a label.")
    return {"train": np.sort(shuffled[:n_train]), "test": np.sort(shuffled[n_train:])}


def default_names(count: int) -> NDArray[np.str_]:
    """Return the names "0", "1", … for nodes or classes without names."""
    return np.arange(count).astype(f"U{len(str(count))}")


def adjacency_from_edges(edges: NDArray[np.integer[Any]], n_nodes: int) -> csr_array:
    """Build the symmetric 0/1 adjacency of an edge list, without self-loops and duplicates."""
    if edges.ndim != 2 or edges.shape[1] != 2 or edges.dtype.kind not in "iu":
        raise ValueError(f"edges are {edges.dtype} of shape {edges.shape}, not m × 2 whole numbers")
    outside = np.flatnonzero(((edges < 0) | (edges >= n_nodes)).any(axis=1))
    if outside.size:
        row = outside[0]
        raise ValueError(f"edge {row} is {edges[row].tolist()} but nodes run from 0 to {n_nodes - 1}")
    index_dtype = np.int32 if n_nodes < 2**31 else np.int64
    u, v = edges[edges[:, 0] != edges[:, 1]].T.astype(index_dtype)
    rows, columns = np.concatenate([u, v]), np.concatenate([v, u])
    adjacency = coo_array((np.ones(rows.size), (rows, columns)), shape=(n_nodes, n_nodes)).tocsr()
    # duplicates were summed
    adjacency.data[:] = 1.0
    return adjacency


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names) or "none"


def _frozen(array: Any) -> NDArray[Any]:
    view = np.asarray(array).view()
    view.flags.writeable = False
    return view


def _frozen_csr(matrix: csr_array) -> csr_array:
    # many scikit-learn estimators reject 64-bit indices
    index_dtype = np.int32 if max(*matrix.shape, matrix.nnz) < 2**31 else np.int64
    positions = (part.astype(index_dtype, copy=False) for part in (matrix.indices, matrix.indptr))
    return csr_array((_frozen(matrix.data), *map(_frozen, positions)), shape=matrix.shape)


def _checked_adjacency(adjacency: Any, name: str) -> csr_array:
    try:
        matrix, report = clean_adjacency(adjacency)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error
    if report.self_loops or report.asymmetric:
        raise ValueError(
            f"{name}: the adjacency is not symmetric without self loops; "
            "pass it through gssl.graph.clean_adjacency first."
        )
    return _frozen_csr(matrix.astype(np.float64, copy=False))


def _checked_labels(labels: Any, name: str) -> NDArray[np.int64]:
    array = np.asarray(labels)
    if array.dtype.kind not in "iu":
        raise ValueError(f"{name}: labels are {array.dtype}, not whole numbers; number the classes from 0.")
    return _frozen(array.astype(np.int64, copy=False))


def _checked_split(parts: Mapping[str, Any], n_nodes: int, where: str) -> Mapping[str, NDArray[np.int64]]:
    unknown = set(parts) - set(PARTS)
    if unknown:
        raise ValueError(f"{where}: part {min(unknown)!r} is not one of {_listed(PARTS)}.")
    nodes = {part: np.array(parts[part], dtype=np.int64).reshape(-1) for part in PARTS if part in parts}
    together = np.concatenate([np.empty(0, dtype=np.int64), *nodes.values()])
    if together.size and not 0 <= together.min() <= together.max() < n_nodes:
        raise ValueError(f"{where}: a node number is outside 0 to {n_nodes - 1}; number the nodes from 0.")
    # a node in two parts could be both trained on and tested on
    if np.unique(together).size != together.size:
        raise ValueError(f"{where}: a node appears twice; name each node once, in one part.")
    return MappingProxyType({part: _frozen(numbers) for part, numbers in nodes.items()})
