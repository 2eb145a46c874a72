"""Base classes of unsupervised methods: embedders in general, and linear filters of the features."""

from abc import ABCMeta, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from gssl.methods.inputs import (
    MOST_HOPS,
    FittedParameters,
    check_graph,
    check_number,
    check_optional_features,
)
from gssl.methods.state import features_and_graph
from gssl.methods.stored import INPUT, N_ITER, Stored
from gssl.operators import Filters, Program, dense, normalized_adjacency
from gssl.operators.program import FiltersOf
from gssl.scale.execution import BUFFERS, Execution, Task, current_execution
from gssl.scale.progress import report_progress


class Embedder(FittedParameters, TransformerMixin, BaseEstimator, metaclass=ABCMeta):
    """Embed every node, from a graph and features, without labels."""

    # whether fit learns from X; if not, X may be None, and only builds a graph if none is given
    uses_features: ClassVar[bool] = True
    # which of "fit" and "predict" read links; if none, an embedding depends on the node's own row alone
    _needs_graph: ClassVar[tuple[str, ...]] = ("fit", "predict")
    # whether it reads links of several kinds apart, and directions
    tells_relations: Any = False
    # whether it keeps the directions of a matrix: see gssl.graph.check_adjacency
    directed: Any = False
    # whether a column of the embedding depends on that column of X alone, so that slabs are independent
    runs_by_columns: ClassVar[bool] = False
    # whether torch can run the passes over the graph
    runs_on_torch: ClassVar[bool] = False
    # optional dependencies that fit needs
    _packages: ClassVar[tuple[str, ...]] = ()
    # what a saved model holds: see gssl.methods.stored
    _stored: ClassVar[tuple[Stored, ...]] = (
        *INPUT,
        N_ITER,
        Stored("embedding_", "float", ("n", "d"), optional=True),
        Stored("_fitted_on_graph", "flag"),
    )

    @abstractmethod
    def _check_parameters(self) -> None:
        """Check the parameters of the method; called by fit, and when a saved model is loaded."""

    @abstractmethod
    def embedding_width(self, n_features: int) -> int:
        """Return the number of columns of the embedding."""

    @abstractmethod
    def _learn(self, A: csr_array, X: Any) -> None:
        """Learn from the graph and features of fit, if the method learns anything, and set ``n_iter_``."""

    @abstractmethod
    def _filters(self, A: csr_array, dtype: Any) -> Any:
        """Return the data that ``_apply`` needs for a graph, computed once for all passes."""

    @abstractmethod
    def _apply(self, X: Any, filters: Any) -> Any:
        """Embed the nodes of the graph that the filters were made for."""

    def _embed(self, X: Any, filters: Any, execution: Execution) -> np.ndarray:
        """Run ``_apply``; subclasses may run it through the execution."""
        return np.asarray(self._apply(X, filters))

    @property
    def _hops(self) -> int | None:
        """The number of hops that a node's embedding depends on, None if it has no bound."""
        return None

    def fit(self, X: Any, y: Any = None, *, adjacency: Any = None) -> Self:
        """Compute the embedding of every node.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n, d)
            May be None if a graph is given and the method does not use features. A data frame with columns
            other than numbers is filled, encoded and scaled as :func:`gssl.read` does.
        y : ignored
        adjacency : array-like or sparse matrix of shape (n, n), optional
            Built from the nearest neighbours in X if None.

        Returns
        -------
        self
        """
        X, adjacency = features_and_graph(X, adjacency)
        self._check_parameters()
        execution = current_execution(self)
        X = check_optional_features(self, X, adjacency, reset=True)
        self._fitted_on_graph = adjacency is not None
        A = check_graph(self, adjacency, X, reset=True, build="fit" in self._needs_graph)
        self.__dict__.pop("embedding_", None)  # from an earlier fit: it would be sent to every worker
        self._learn(A, X)
        filters = self._filters(A, X.dtype)
        del A  # to free memory: only the filters are needed
        self.embedding_ = self._embed(X, filters, execution)
        self._keep_parameters()
        return self

    def fit_transform(self, X: Any, y: Any = None, *, adjacency: Any = None) -> np.ndarray:
        """Fit and return the embedding of every node: see :meth:`fit`."""
        return self.fit(X, y, adjacency=adjacency).embedding_

    def transform(self, X: Any, *, adjacency: Any = None) -> np.ndarray:
        """Embed the nodes of another graph with the same features, if the method supports it.

        The whole graph is embedded: include the nodes of fit if new nodes are linked to them.
        """
        check_is_fitted(self)
        X, adjacency = features_and_graph(X, adjacency)
        X = check_optional_features(self, X, adjacency, reset=False)
        needs_graph = "predict" in self._needs_graph
        if adjacency is None and needs_graph and self._fitted_on_graph:
            raise ValueError(
                f"this {type(self).__name__} was fitted with a graph: pass adjacency=, the graph over the "
                "rows of X, to transform."
            )
        fitted = self._as_fitted()
        A = check_graph(self, adjacency, X, reset=False, allow_empty=True, build=needs_graph)
        filters = fitted._filters(A, X.dtype)
        return fitted._embed(X, filters, current_execution(fitted, resumes=False))

    def __getattr__(self, name: str) -> Any:
        kind = type(self).__name__
        if name in (
            "predict",
            "predict_proba",
            "predictions",
            "transduction_",
            "label_distributions_",
            "snapshot",
        ):
            raise AttributeError(
                f"{kind} embeds nodes and does not classify them: use EmbeddingClassifier({kind}(...)), "
                f"which has {name}."
            )
        raise AttributeError(f"{kind!r} object has no attribute {name!r}")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


@dataclass(frozen=True, eq=False)
class GraphFilter:
    """A program, the matrices of the graph that it runs on, and their transposes if these differ."""

    program: Program
    matrices: FiltersOf
    transposed: FiltersOf | None = None


class GraphEmbedder(OneToOneFeatureMixin, Embedder):
    """Smooth features by a linear filter on the graph, which a subclass returns as a program.

    A program treats all columns in the same way, so it can be applied to features or to class scores, and its
    transpose gives single rows. Most subclasses are a ``LinearFilter``.
    """

    depth: int
    runs_by_columns = True
    runs_on_torch = True

    @abstractmethod
    def program(self, A: csr_array | None = None) -> Program:
        """Return the filter as a program; A is the graph, if the filter depends on it."""

    def programs(self, A: csr_array) -> Iterator[Program]:
        """Yield the filters of depth 1, 2, … ``depth``."""
        for depth in range(1, self.depth + 1):
            yield clone(self).set_params(depth=depth).program(A)

    def buffers(self) -> int:
        """Return how many arrays as large as X a run holds at once, including X."""
        return BUFFERS

    def _cost(self, n: int, links: int, width: int) -> int:
        """Return the number of multiply-adds of a run: see :meth:`gssl.operators.Program.cost`."""
        return self.program().cost(n, links, width)

    def _check_parameters(self) -> None:
        check_number(self, "depth", low=0, high=MOST_HOPS, whole=True)

    def _filters(self, A: csr_array, dtype: Any) -> GraphFilter:
        return GraphFilter(self.program(A), self._matrices(A, dtype))

    def _matrices(self, A: csr_array, dtype: Any) -> FiltersOf:
        """Return the matrices of each iteration on one graph."""
        filters = Filters(normalized_adjacency(A, dtype))
        return lambda k: filters

    def _apply(self, X: Any, filters: GraphFilter) -> Any:
        return filters.program.run(X, filters.matrices, on_step=report_progress)

    def _embed(self, X: Any, filters: GraphFilter, execution: Execution) -> np.ndarray:
        return self._run(filters.program, X, filters, execution, "embed", self.buffers())

    def _embed_transposed(self, E: csr_array, filters: GraphFilter, execution: Execution) -> np.ndarray:
        """Run the transposed program on the columns of E."""
        turned = GraphFilter(filters.program, filters.transposed or filters.matrices)
        return self._run(turned.program.transpose(), E, turned, execution, "transposed", BUFFERS)

    def _run(
        self, program: Program, X: Any, filters: GraphFilter, execution: Execution, name: str, buffers: int
    ) -> np.ndarray:
        def run(X: Any, matrices: FiltersOf, _: slice) -> Any:
            return self._apply(X, GraphFilter(program, matrices))

        return execution.map_columns(Task(run, (name, repr(self)), buffers), X, filters.matrices)

    def embedding_width(self, n_features: int) -> int:
        """Return the number of features."""
        return n_features

    def _learn(self, A: csr_array, X: Any) -> None:
        self.n_iter_ = self.depth

    @property
    def _hops(self) -> int | None:
        # a subgraph is normalised as Â, so other matrices need the whole graph
        own_matrices = type(self)._matrices is not GraphEmbedder._matrices
        return None if own_matrices else self.program().hops

    def _embeddings(self, X: Any, A: csr_array, matrices: FiltersOf) -> Iterator[Any]:
        """Yield the output after 1, 2, … ``depth`` iterations, each in an array of its own."""
        for program in self.programs(A):
            yield program.run(X, matrices)

    def iter_embeddings(self, X: Any, *, adjacency: Any = None) -> Iterator[np.ndarray]:
        """Yield the embeddings after 0, 1, … ``depth`` iterations.

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
        A = check_graph(self, adjacency, X, reset=True, build="fit" in self._needs_graph)
        yield dense(X, copy=True)
        task = Task(lambda X, matrices, _: self._embeddings(X, A, matrices), ("depths", repr(self)))
        yield from current_execution(self, resumes=False).each(task, X, self._matrices(A, X.dtype))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
