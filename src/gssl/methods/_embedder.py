"""Methods without labels; most are a linear filter on the graph, applied to any columns, or transposed."""

from abc import ABCMeta, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from gssl.methods._base import iterate, last
from gssl.methods._inputs import check_features, check_graph, check_number, check_optional_features, dense
from gssl.operators import Filters, Mixture, mix, normalized_adjacency

FiltersOf = Callable[[int], Filters]


@dataclass(frozen=True)
class _Scales:
    """What is carried on, a buffer that is free, and the running total over scales."""

    U: Any
    spare: np.ndarray | None
    total: np.ndarray | None


class Embedder(TransformerMixin, BaseEstimator, metaclass=ABCMeta):
    """A graph and, if the method uses them, features in, a row of numbers for every node out."""

    # False: X only serves to build a graph where there is none, and may be None where there is one
    _uses_features: ClassVar[bool] = True

    @abstractmethod
    def _check_parameters(self) -> None:
        """Refuse parameters that make no sense."""

    @abstractmethod
    def _width(self, n_features: int) -> int:
        """Count the numbers that every node gets."""

    @abstractmethod
    def _learn(self, A: csr_array) -> None:
        """Learn what there is to learn from the graph of fit, and set ``n_iter_``."""

    @abstractmethod
    def _embed(self, X: Any, A: csr_array) -> np.ndarray:
        """Embed the nodes of a graph, or say why that is not possible."""

    def fit(self, X: Any, y: Any = None, *, adjacency: Any = None) -> Self:
        """Compute the embedding of every node.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            A method that does not use features takes None where there is a graph.
        y : ignored
        adjacency : array-like or sparse matrix of shape (n, n), optional
            Built from the nearest neighbours in X if None.

        Returns
        -------
        self
        """
        self._check_parameters()
        X = check_optional_features(self, X, adjacency, reset=True)
        self._fitted_on_graph = adjacency is not None
        A = check_graph(adjacency, X)
        self._learn(A)
        self.embedding_ = self._embed(X, A)
        return self

    def fit_transform(self, X: Any, y: Any = None, *, adjacency: Any = None) -> np.ndarray:
        """Fit and give the embedding of every node: see :meth:`fit`."""
        return self.fit(X, y, adjacency=adjacency).embedding_

    def transform(self, X: Any, *, adjacency: Any = None) -> np.ndarray:
        """Embed the nodes of another graph that has the same features, if the method can.

        The whole graph is embedded: give the nodes of fit again if the new ones are linked to them.
        """
        check_is_fitted(self)
        X = check_optional_features(self, X, adjacency, reset=False)
        if adjacency is None and self._fitted_on_graph:
            raise ValueError(
                f"this {type(self).__name__} was fitted with a graph: pass adjacency=, the graph over the "
                "rows of X, to transform."
            )
        return self._embed(X, check_graph(adjacency, X, allow_empty=True))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class GraphEmbedder(OneToOneFeatureMixin, Embedder):
    """Features and a graph in, smoothed features out.

    A subclass says which mixtures iteration k carries on and gathers, and whether all scales are averaged.
    Everything here is linear in X and treats columns alike, so the same steps serve features, scores of
    classes, and in reverse order the transposed filter.
    """

    depth: int
    alpha: float
    # True: output αX + (1−α)·mean of what was gathered; False: output what was carried on
    _multiscale: ClassVar[bool] = False

    @abstractmethod
    def _mixtures(self, k: int) -> tuple[Mixture, Mixture]:
        """Give what iteration k = 1, 2, … carries on, and what it gathers."""

    def _filters(self, A: csr_array, dtype: Any) -> FiltersOf:
        """Give the matrices of each iteration on one graph."""
        filters = Filters(normalized_adjacency(A, dtype))
        return lambda k: filters

    def _check_parameters(self) -> None:
        check_number(self, "depth", low=0, whole=True)
        if self._multiscale:
            check_number(self, "alpha", low=0.0, high=1.0)

    def _width(self, n_features: int) -> int:
        return n_features

    def _learn(self, A: csr_array) -> None:
        self.n_iter_ = self.depth

    def _embed(self, X: Any, A: csr_array) -> np.ndarray:
        return self._apply(X, self._filters(A, X.dtype))

    def _scales(self, X: Any, filters: FiltersOf) -> Iterator[_Scales]:
        """Run the iterations on the columns of X; two buffers take turns."""
        total = np.zeros(X.shape, X.dtype) if self._multiscale else None

        def step(state: _Scales, k: int) -> _Scales:
            carried, gathered = self._mixtures(k)
            added = gathered if self._multiscale else None
            U = mix(filters(k), state.U, carried, out=state.spare, gathered=added, total=total)
            return _Scales(U, None if state.U is X else state.U, total)

        yield from iterate(step, _Scales(X, None, total), range(1, self.depth + 1))

    def _apply(self, X: Any, filters: FiltersOf) -> np.ndarray:
        """Give the output of the whole filter, in the buffers of its iterations."""
        if not self.depth:
            return dense(X, copy=True)
        end = last(self._scales(X, filters))
        if end.total is None:
            return np.asarray(end.U)
        total = end.total
        total *= (1.0 - self.alpha) / self.depth
        _add(total, self.alpha, X)
        return total

    def _adjoint(self, E: csr_array, filters: FiltersOf) -> np.ndarray:
        r"""Apply the transposed filter to the columns of E.

        All matrices are symmetric, so it is the same steps in reverse order; over scales it is
        :math:`\sum_t C_1 \cdots C_{t-1} R_t E = R_1 E + C_1 (R_2 E + C_2 (\dots))`.
        """

        def step(V: np.ndarray, k: int) -> np.ndarray:
            carried, gathered = self._mixtures(k)
            V = mix(filters(k), V, carried)
            if self._multiscale:
                mix(filters(k), E, gathered, gathered=gathered, total=V)
            return V

        if not self.depth:
            return dense(E)
        start = np.zeros(E.shape, E.dtype) if self._multiscale else E
        V = last(iterate(step, start, range(self.depth, 0, -1)))
        if not self._multiscale:
            return np.asarray(V)
        V *= (1.0 - self.alpha) / self.depth
        _add(V, self.alpha, E)
        return np.asarray(V)

    def iter_embeddings(self, X: Any, *, adjacency: Any = None) -> Iterator[np.ndarray]:
        """Yield the embeddings after 0, 1, … ``depth`` iterations: one run serves all depths.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
        adjacency : array-like or sparse matrix of shape (n, n), optional
            Built from the nearest neighbours in X if None.

        Yields
        ------
        ndarray of shape (n, d)
        """
        self._check_parameters()
        X = check_features(self, X, reset=True)
        filters = self._filters(check_graph(adjacency, X), X.dtype)
        yield dense(X, copy=True)
        for k, state in enumerate(self._scales(X, filters), start=1):
            if state.total is None:
                yield state.U.copy()
                continue
            U = state.total * ((1.0 - self.alpha) / k)
            _add(U, self.alpha, X)
            yield U

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _add(U: np.ndarray, alpha: float, X: Any) -> None:
    """Add αX to U in place, without a dense copy of X."""
    if issparse(X):
        rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
        U[rows, X.indices] += alpha * X.data
        return
    for start in range(0, len(X), 4096):
        U[start : start + 4096] += alpha * X[start : start + 4096]
