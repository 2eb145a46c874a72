"""One graph with its features, labels and splits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from gssl.graph import check_finite, clean_adjacency

PARTS = ("train", "val", "test")


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """A graph with features, labels and named splits; checked once, then read-only.

    Parameters
    ----------
    name : str
        What :func:`gssl.datasets.load` calls it.
    adjacency : csr_array of shape (n, n)
        Symmetric, without self loops; 1.0 at every edge of the graphs shipped here.
    features : csr_array or ndarray of shape (n, d)
        A graph that comes without features has the identity (the paper's X = I).
    labels : ndarray of shape (n,)
        Class numbers; −1 is unknown.
    node_ids : ndarray of str, shape (n,)
    class_names : tuple of str
    splits : mapping
        From a split's name to its ``"train"``, ``"val"`` and ``"test"`` node numbers.

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
        """How many nodes there are."""
        return int(self.adjacency.shape[0])

    @property
    def n_edges(self) -> int:
        """How many undirected edges there are."""
        return int(self.adjacency.nnz) // 2

    @property
    def n_features(self) -> int:
        """How many feature columns there are."""
        return int(self.features.shape[1])

    @property
    def n_classes(self) -> int:
        """How many classes are named."""
        return len(self.class_names)

    def mask_labels(self, split: str, parts: Iterable[str] = ("train",)) -> NDArray[np.int64]:
        """Labels of the given parts of a split, −1 everywhere else.

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
        """Copy of the dataset whose feature rows have L1 norm 1; zero rows stay zero.

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
        # mapping proxies cannot be sent to another process, the dicts behind them can
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        values["splits"] = {split: dict(parts) for split, parts in self.splits.items()}
        return type(self), tuple(values.values())


def default_names(count: int) -> NDArray[np.str_]:
    """Names "0", "1", … for nodes or classes that have none.

    Examples
    --------
    >>> default_names(3).tolist()
    ['0', '1', '2']
    """
    return np.arange(count).astype(f"U{len(str(count))}")


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names) or "none"


def _frozen(array: Any) -> NDArray[Any]:
    view = np.asarray(array).view()
    view.flags.writeable = False
    return view


def _frozen_csr(matrix: csr_array) -> csr_array:
    # many scikit-learn estimators refuse 64-bit positions
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
        raise ValueError(f"{where}: node numbers run from 0 to {n_nodes - 1}; another was given.")
    # a node in two parts would be trained on and tested on
    if np.unique(together).size != together.size:
        raise ValueError(f"{where}: a node appears twice; name each node once, in one part.")
    return MappingProxyType({part: _frozen(numbers) for part, numbers in nodes.items()})
