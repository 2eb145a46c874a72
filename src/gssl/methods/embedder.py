"""Methods without labels; most are a linear filter on the graph, applied to any columns, or transposed."""

from abc import ABCMeta, abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar, Self

import numpy as np
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from gssl.methods.inputs import check_graph, check_number, check_optional_features
from gssl.operators import Filters, dense, normalized_adjacency
from gssl.scale.execution import BUFFERS, Execution, FiltersOf, Task, current_execution


class Embedder(TransformerMixin, BaseEstimator, metaclass=ABCMeta):
    """A graph and, if the method uses them, features in, a row of numbers for every node out."""

    # False: X only serves to build a graph where there is none, and may be None where there is one
    _uses_features: ClassVar[bool] = True
    # False: a row's embedding depends on that row alone
    _uses_graph: ClassVar[bool] = True
    # True: a column of the embedding depends on that column of X alone, so slabs of them can run apart
    runs_by_columns: ClassVar[bool] = False
    # whether torch can run its passes
    runs_on_torch: ClassVar[bool] = False
    # packages of an extra without which it cannot be fitted
    _packages: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def _check_parameters(self) -> None:
        """Refuse parameters that make no sense."""

    @abstractmethod
    def _width(self, n_features: int) -> int:
        """Count the numbers that every node gets."""

    @abstractmethod
    def _learn(self, A: csr_array, X: Any) -> None:
        """Learn what there is to learn from the graph and features of fit, and set ``n_iter_``."""

    @abstractmethod
    def _filters(self, A: csr_array, dtype: Any) -> Any:
        """Return what embedding asks of a graph, once for all passes, or say why that graph cannot be."""

    @abstractmethod
    def _apply(self, X: Any, filters: Any) -> Any:
        """Embed the nodes of the graph that the filters were made for."""

    def _embed(self, X: Any, filters: Any, execution: Execution) -> np.ndarray:
        """Embed like ``_apply``, by an execution if the method can be run by another than its own."""
        return np.asarray(self._apply(X, filters))

    def _reach(self) -> int | None:
        """Count the hops within which lies all that a node's embedding depends on; None: no number does."""
        return None

    def _graph(self, adjacency: Any, X: Any, *, allow_empty: bool = False) -> csr_array:
        """Check a graph over the rows of X, or make what stands for it where there is none."""
        return check_graph(adjacency, X, allow_empty=allow_empty)

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
        execution = current_execution(self)
        X = check_optional_features(self, X, adjacency, reset=True)
        self._fitted_on_graph = adjacency is not None
        A = self._graph(adjacency, X)
        self.__dict__.pop("embedding_", None)  # of an earlier fit: a task would carry it to every worker
        self._learn(A, X)
        filters = self._filters(A, X.dtype)
        del A  # the filters have what they need of it, and embeddings take much memory
        self.embedding_ = self._embed(X, filters, execution)
        return self

    def fit_transform(self, X: Any, y: Any = None, *, adjacency: Any = None) -> np.ndarray:
        """Fit and return the embedding of every node: see :meth:`fit`."""
        return self.fit(X, y, adjacency=adjacency).embedding_

    def transform(self, X: Any, *, adjacency: Any = None) -> np.ndarray:
        """Embed the nodes of another graph that has the same features, if the method can.

        The whole graph is embedded: give the nodes of fit again if the new ones are linked to them.
        """
        check_is_fitted(self)
        X = check_optional_features(self, X, adjacency, reset=False)
        if adjacency is None and self._uses_graph and self._fitted_on_graph:
            raise ValueError(
                f"this {type(self).__name__} was fitted with a graph: pass adjacency=, the graph over the "
                "rows of X, to transform."
            )
        filters = self._filters(self._graph(adjacency, X, allow_empty=True), X.dtype)
        return self._embed(X, filters, current_execution(self, resumes=False))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class GraphEmbedder(OneToOneFeatureMixin, Embedder):
    """Features and a graph in, smoothed features out.

    A subclass says how its filter is applied, transposed, and followed from one depth to the next; most are a
    ``LinearFilter``. Every filter is linear in X and treats columns alike, so it serves features and scores.
    """

    depth: int
    runs_by_columns = True
    runs_on_torch = True

    @abstractmethod
    def _embeddings(self, X: Any, filters: FiltersOf) -> Iterator[Any]:
        """Yield the output of the filter after 1, 2, … ``depth`` iterations, each in an array of its own."""

    @abstractmethod
    def _adjoint(self, E: Any, filters: FiltersOf) -> Any:
        """Apply the transposed filter to the columns of E."""

    def buffers(self) -> int:
        """Count the arrays as large as X that ``_apply`` holds at once, X among them."""
        return BUFFERS

    def _check_parameters(self) -> None:
        check_number(self, "depth", low=0, whole=True)

    def _embed(self, X: Any, filters: FiltersOf, execution: Execution) -> np.ndarray:
        task = Task(lambda X, filters, _: self._apply(X, filters), ("embed", repr(self)), self.buffers())
        return execution.map_columns(task, X, filters)

    def _embed_adjoint(self, E: csr_array, filters: FiltersOf, execution: Execution) -> np.ndarray:
        """Apply the transposed filter by an execution."""
        task = Task(lambda E, filters, _: self._adjoint(E, filters), ("adjoint", repr(self)))
        return execution.map_columns(task, E, filters)

    def _width(self, n_features: int) -> int:
        return n_features

    def _learn(self, A: csr_array, X: Any) -> None:
        self.n_iter_ = self.depth

    def _filters(self, A: csr_array, dtype: Any) -> FiltersOf:
        """Return the matrices of each iteration on one graph."""
        filters = Filters(normalized_adjacency(A, dtype))
        return lambda k: filters

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
        X = check_optional_features(self, X, adjacency, reset=True)
        filters = self._filters(self._graph(adjacency, X), X.dtype)
        yield dense(X, copy=True)
        task = Task(lambda X, filters, _: self._embeddings(X, filters), ("depths", repr(self)))
        yield from current_execution(self, resumes=False).each(task, X, filters)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
