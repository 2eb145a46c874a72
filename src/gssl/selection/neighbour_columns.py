"""Columns of nodes for trees: their own features, and the features and known answers of their neighbours."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from scipy.sparse import csr_array, issparse

from gssl.selection.candidates import links_of

# up to this many features, all are columns, with two hops, minima and maxima; else WORDS chosen ones and
# their neighbours' means, and DIRECTIONS principal directions and theirs
FEW_FEATURES, WORDS, DIRECTIONS = 32, 128, 32
# columns are rounded to so many steps, up or down at a point where no simple fraction lies
_STEPS, _MIDDLE = 1 << 13, 0.5137

# features of the node, and features to average over its neighbours, by every walk
Chosen: TypeAlias = tuple[np.ndarray, ...]


class Neighbourhood:
    """Columns of a graph's nodes, made for the rows that are asked for.

    ``walks`` names operators of single relations, such as ``out:cites``, whose neighbours count apart.
    """

    def __init__(
        self,
        X: Any,
        A: csr_array,
        axes: np.ndarray,
        order: np.ndarray,
        extra: np.ndarray | None = None,
        walks: Sequence[str] = (),
    ) -> None:
        self.A, self.axes, self.order = A, axes, order
        # further columns of all nodes, such as predictions of another model
        self.extra = np.zeros((A.shape[0], 0)) if extra is None else extra
        self.X, self._given = X[:, order], X
        self.degrees = np.diff(A.indptr)
        self.walk = random_walk(A)
        self.links = [links_of(A, name) for name in walks]
        self.walks = [random_walk(links) for links in self.links]

    @cached_property
    def way_back(self) -> np.ndarray:
        """The probability that a walk of two hops ends where it began."""
        return np.asarray(self.walk.multiply(self.walk.T).sum(axis=1)).reshape(-1, 1)

    @cached_property
    def fixed(self) -> np.ndarray:
        """The columns of all nodes that depend neither on labels nor on a choice of features."""
        log_degrees = np.log1p(self.degrees)[:, None].astype(np.float32)
        columns = [log_degrees, self.walk @ log_degrees, self.extra]
        columns += [np.log1p(np.diff(links.indptr))[:, None].astype(np.float32) for links in self.links]
        if 0 < self.X.shape[1] <= FEW_FEATURES:
            Z = _dense(self.X)
            once = self.walk @ Z
            columns += [Z, once, self.walk @ once, self._extreme(np.minimum, Z), self._extreme(np.maximum, Z)]
            columns += [walk @ Z for walk in self.walks]
        elif self.X.shape[1]:
            Z = np.asarray(self._given @ self.axes, dtype=np.float32)
            columns += [Z, self.walk @ Z, *(walk @ Z for walk in self.walks)]
        return _rounded(np.hstack(columns))

    def _extreme(self, of: np.ufunc, Z: np.ndarray) -> np.ndarray:
        """Return the least or greatest value among neighbours; NaN without neighbours."""
        extremes = np.full(Z.shape, np.nan, np.float32)
        linked = np.flatnonzero(self.degrees)
        for k in range(Z.shape[1] if len(linked) else 0):
            extremes[linked, k] = of.reduceat(Z[self.A.indices, k], self.A.indptr[linked])
        return extremes

    def answer_columns(self, answers: np.ndarray, known: np.ndarray) -> np.ndarray:
        """Return the mean answers one and two hops away, and by each relation, never counting a node's own.

        ``answers`` has a row for every node, such as one-hot labels; only those of the ``known`` nodes count.
        """
        M = np.zeros((len(answers), answers.shape[1] + 1), np.float32)
        M[known, :-1], M[known, -1] = answers[known], 1.0
        prior = M[known, :-1].mean(axis=0)
        one, *others = (_unweighted(links) @ M for links in (self.A, *self.links))
        # a walk of two hops may return to its own answer
        two = self.walk @ (self.walk @ M) - self.way_back * M
        two[:, -1] = np.maximum(two[:, -1], 0.0)
        # shrunk towards the mean of all answers where few are near
        sums = [(one, 1.0), (two, 0.01), *((other, 1.0) for other in others)]
        means = [(S[:, :-1] + w * prior) / (S[:, -1:] + w) for S, w in sums]
        # differences of means may be rounding errors
        columns = np.hstack([*means, *(S[:, -1:] for S, _ in sums)])
        return np.asarray(np.floor(columns * _STEPS + _MIDDLE) / _STEPS, dtype=np.float32)

    def choose(self, rows: np.ndarray, basis: np.ndarray) -> Chosen:
        """Choose features, and features to average over neighbours, by their F statistics at some nodes.

        The orthogonal columns of ``basis`` span the answers of these nodes and the constant.
        """
        d, nearby = self.X.shape[1], (self.walk, *self.walks)
        if d <= FEW_FEATURES:
            return tuple(np.arange(0) for _ in range(1 + len(nearby)))
        parts = (self.X[rows], *(walk[rows] @ self.X for walk in nearby))
        F = np.concatenate([_f_statistics(Z, basis) for Z in parts])
        best = np.sort(np.argsort(-F, kind="stable")[:WORDS])
        return tuple(best[(best >= k * d) & (best < (k + 1) * d)] - k * d for k in range(len(parts)))

    def columns(self, rows: np.ndarray, chosen: Chosen, answers: np.ndarray) -> np.ndarray:
        """Return the columns of some nodes."""
        own, *nearby = chosen
        parts = [self.fixed[rows], answers[rows]]
        if len(own):
            parts.append(_dense(self.X[rows][:, own]))
        for walk, near in zip((self.walk, *self.walks), nearby, strict=True):
            if len(near):
                parts.append(_rounded(_dense(walk[rows] @ self.X[:, near])))
        return np.hstack(parts)


def random_walk(A: csr_array) -> csr_array:
    """Return the matrix whose rows are the shares of links from a node; zeros if it has none."""
    sums = np.asarray(A.sum(axis=1), dtype=np.float64).ravel()
    shares = np.repeat(1.0 / np.where(sums > 0, sums, 1.0), np.diff(A.indptr)) * A.data
    return csr_array((shares.astype(np.float32), A.indices, A.indptr), shape=A.shape)


def _unweighted(A: csr_array) -> csr_array:
    return csr_array((np.ones(A.nnz, np.float32), A.indices, A.indptr), shape=A.shape)


def _f_statistics(Z: Any, basis: np.ndarray) -> np.ndarray:
    """Return the ratio of the variances within and outside the span of a basis of every column."""
    sums, counts = np.asarray(Z.T @ basis), np.maximum(np.square(basis).sum(axis=0), 1e-9)
    squares = np.asarray(Z.multiply(Z).sum(axis=0)).ravel() if issparse(Z) else np.square(Z).sum(axis=0)
    centre = np.square(np.asarray(Z.sum(axis=0)).ravel()) / len(basis)
    between = (sums**2 / counts).sum(axis=1) - centre
    return np.asarray(between / np.maximum(squares - centre - between, 1e-9 * np.maximum(squares, 1e-6)))


def _rounded(Z: np.ndarray) -> np.ndarray:
    """Round to some bits after the first, so that the order of a sum decides no split."""
    mantissa, exponent = np.frexp(Z)
    return np.asarray(np.ldexp(np.floor(mantissa * _STEPS + _MIDDLE) / _STEPS, exponent), dtype=np.float32)


def _dense(Z: Any) -> np.ndarray:
    return np.asarray(Z.toarray() if issparse(Z) else Z, dtype=np.float32)
