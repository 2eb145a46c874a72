"""Compressed views of the features: a few hundred directions, whatever the width of X."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.sparse import csr_array, issparse

from gssl.selection.graph_features import Features

# nested widths that are tried
WIDTHS = (64, 128, 256)
# up to so many features, directions are exact
_EXACT = 384
# extra directions and passes of the randomised decomposition
_EXTRA, _PASSES = 32, 1
# rows that directions are computed from, at most, and numbers of a dense part of X
_ROWS, _NUMBERS = 6_000, 1 << 26
# beyond so many nodes, links are no features
_MOST_LINKED = 30_000
# singular values below this part of the largest are noise of rounding
_NOISE = 1e-4

Kind = Literal["unit", "raw", "standardized", "links"]


@dataclass(frozen=True, eq=False)
class View:
    """Features of one kind, and their principal directions in order: a prefix is a narrower view."""

    kind: str
    features: Features
    axes: np.ndarray

    @property
    def width(self) -> int:
        """The number of directions."""
        return int(self.axes.shape[1])

    @property
    def usual_width(self) -> int:
        """The width of the prefix that is tried first."""
        return min(WIDTHS[1], self.width)


def make_features(kind: str, X: Any, A: csr_array, n_links: int, scales: Any = None) -> Features:
    """Return the features of a kind; ``scales`` are the means and deviations of columns."""
    if kind == "links":
        return _links(A, n_links, X.dtype)
    if kind == "unit":
        return Features.unit(X)
    return Features.standardized(X, *scales) if kind == "standardized" else Features(X)


class Views(Mapping[str, View]):
    """The kinds of features that some inputs have, the usual one first; each is compressed when it is asked for."""

    def __init__(self, X: Any, A: csr_array) -> None:
        self._X, self._A = X, A
        n, d = X.shape
        dense = 0 if issparse(X) else max(1, d)
        self._nodes = sample_nodes(n, min(_ROWS, _NUMBERS // dense) if dense else _ROWS)
        self._made: dict[str, View] = {}
        self._kinds: list[Kind] = []
        if d and X[self._nodes].any() if dense else d and X.nnz:
            self._kinds.append("unit")
            lengths = _row_lengths(X[self._nodes])
            if np.ptp(lengths) > 1e-3 * lengths.max():
                self._kinds.append("raw")
            if dense:
                self._kinds.append("standardized")
        if A.nnz and n <= _MOST_LINKED:
            self._kinds.append("links")

    def __len__(self) -> int:
        return len(self._kinds)

    def __iter__(self) -> Iterator[str]:
        return iter(self._kinds)

    def __getitem__(self, kind: str) -> View:
        if kind not in self._made:
            self._made[kind] = self._make(kind)
        return self._made[kind]

    def _make(self, kind: str) -> View:
        if kind not in self._kinds:
            raise KeyError(kind)
        X, scales = self._X, None
        if kind == "standardized":
            part = np.array(X[self._nodes], dtype=np.float64)
            deviations = part.std(axis=0)
            deviations[deviations <= 1e-6 * np.abs(part).max(axis=0, initial=0.0)] = 1.0
            scales = part.mean(axis=0), deviations
        features = make_features(kind, X, self._A, X.shape[0], scales)
        if kind == "raw":
            # the same directions, whatever the lengths of rows
            return View(kind, features, self["unit"].axes)
        nodes = self._nodes if kind != "links" else sample_nodes(X.shape[0], _ROWS)
        return View(kind, features, principal_axes(features.rows(nodes), WIDTHS[-1]).astype(features.dtype))


def sample_nodes(n: int, most: int) -> np.ndarray:
    """Return all nodes, or a random sample that is the same in every run, in order."""
    if n <= most:
        return np.arange(n)
    return np.sort(np.random.default_rng(0).choice(n, most, replace=False))


def principal_axes(rows: Any, n_axes: int) -> np.ndarray:
    r"""Return the leading right singular vectors of some rows, as columns.

    Above a few hundred features by a randomised decomposition: :math:`Q = \mathrm{orth}(X X^\top \dots X \Omega)`.
    """
    m, d = rows.shape
    n_axes = min(n_axes, m, d)
    largest = float(np.abs(rows.data if issparse(rows) else rows).max(initial=0.0)) if n_axes else 0.0
    if not largest:
        return np.zeros((d, 0), rows.dtype)
    # squares may leave the range of the type; single precision is enough for directions
    rows = (rows / largest).astype(np.float32)
    if d <= _EXACT:
        gram = rows.T @ rows
        values, vectors = np.linalg.eigh(np.asarray(gram.toarray() if issparse(gram) else gram, np.float64))
        return _leading(values, vectors, n_axes).astype(rows.dtype)
    k = min(n_axes + _EXTRA, m, d)
    omega = np.random.default_rng(0).standard_normal((d, k)).astype(rows.dtype)
    Q = _orthonormal(rows @ omega)
    for _ in range(_PASSES):
        Q = _orthonormal(rows @ _orthonormal(rows.T @ Q))
    C = np.asarray(rows.T @ Q)
    values, vectors = np.linalg.eigh((C.T @ C).astype(np.float64))
    leading = _leading(values, vectors, n_axes)
    lengths = np.sqrt(np.maximum(values[::-1][: leading.shape[1]], np.finfo(np.float64).tiny))
    return np.asarray(C @ (leading / lengths).astype(C.dtype))


def _leading(values: np.ndarray, vectors: np.ndarray, n_axes: int) -> np.ndarray:
    """Return the eigenvectors of the largest values, leaving out those of rounding."""
    kept = min(n_axes, int((values > _NOISE**2 * values[-1]).sum()))
    return np.asarray(vectors[:, ::-1][:, :kept])


def _orthonormal(Q: Any) -> np.ndarray:
    """Orthonormalise columns through their Gram matrix."""
    Q = np.asarray(Q)
    values, vectors = np.linalg.eigh((Q.T @ Q).astype(np.float64))
    kept = values > max(values[-1], 0.0) * 1e-7
    return np.asarray(Q @ (vectors[:, kept] / np.sqrt(values[kept])).astype(Q.dtype))


def _links(A: csr_array, n_columns: int, dtype: Any) -> Features:
    """Return the links to the first nodes as features, rows of length one."""
    links = csr_array((A.data.astype(dtype), A.indices, A.indptr), shape=A.shape)
    return Features.unit(links[:, :n_columns] if n_columns < A.shape[1] else links)


def _row_lengths(rows: Any) -> np.ndarray:
    squares = rows.multiply(rows).sum(axis=1) if issparse(rows) else np.square(rows).sum(axis=1)
    return np.sqrt(np.asarray(squares, dtype=np.float64))
