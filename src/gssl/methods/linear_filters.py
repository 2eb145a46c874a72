"""Linear filters with one pass over the graph per iteration: the base class, SGC, SSGC, PPR and NoGraph."""

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, ClassVar

from scipy.sparse import csr_array

from gssl.methods.embedder import GraphEmbedder
from gssl.methods.inputs import check_number
from gssl.operators import (
    EMBEDDING,
    FEATURES,
    Filters,
    Mixture,
    Program,
    Step,
    add_scaled,
    dense,
    lazy_convolution,
)
from gssl.operators.program import FiltersOf


class LinearFilter(GraphEmbedder):
    """A filter of K iterations; a subclass defines a single one in :meth:`step`."""

    alpha: float
    # True: output αX + (1−α)·mean of the gathered embeddings; False: output the last carried embedding
    multiscale: ClassVar[bool] = False

    @abstractmethod
    def step(self, k: int, U: Any, X: Any, graph: Filters) -> tuple[Any, Any]:
        """Return what iteration k = 1, 2, … carries on, and what it adds to the mean over scales.

        Use the functions of :mod:`gssl.operators`, which also work on arrays. Fit calls this with symbols for
        U and X, and computes the resulting expressions in one pass over the graph.
        """

    def mixtures(self, k: int) -> tuple[Mixture, Mixture]:
        """Return iteration k as weights of ÂU, N̂U, U and X."""
        carried, gathered = self.step(k, EMBEDDING, FEATURES, Filters(None))
        return carried, gathered

    def program(self, A: csr_array | None = None) -> Program:
        """Return the iterations as the steps of a program."""
        share = (1.0 - self.alpha) / max(1, self.depth) if self.multiscale else 0.0
        steps, keep = [], self.alpha if self.multiscale else 0.0
        for k in range(1, self.depth + 1):
            carried, gathered = self.mixtures(k)
            # only sampled negatives differ between iterations
            graph = k if getattr(self, "_draws", False) else 1
            restart = Mixture(keep=carried.restart)
            gather = share * replace(gathered, restart=0.0)
            steps.append(Step(replace(carried, restart=0.0), restart, gather, graph=graph))
            keep += share * gathered.restart
        if not steps:
            return Program(())
        return Program(steps, end=0.0 if self.multiscale else 1.0, keep=keep)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.multiscale:
            check_number(self, "alpha", low=0.0, high=1.0)

    def buffers(self) -> int:
        return self.program().buffers

    def _embeddings(self, X: Any, A: csr_array, matrices: FiltersOf) -> Iterator[Any]:
        """Yield the output for each depth, from a single run."""
        restarts = 0.0
        for k, state in enumerate(self.program(A).states(X, matrices), start=1):
            if state.total is None:
                yield dense(state.U, copy=True)
                continue
            restarts += self.mixtures(k)[1].restart
            U = state.total * (self.depth / k)
            add_scaled(U, self.alpha + (1.0 - self.alpha) * restarts / k, X)
            yield U


class SGC(LinearFilter):
    r"""Smooth features over the graph a fixed number of times (Sect. 2.2).

    .. math:: U = \hat A^K X

    Parameters
    ----------
    depth : int, default=2
        K, the number of convolutions.

    Attributes
    ----------
    embedding_ : ndarray of shape (n, d)
    n_iter_ : int
    n_features_in_ : int

    Examples
    --------
    >>> import gssl
    >>> data = gssl.datasets.load("karate")
    >>> gssl.SGC(depth=2).fit_transform(data.features, adjacency=data.adjacency).shape
    (34, 34)
    """

    def __init__(self, depth: int = 2) -> None:
        self.depth = depth

    def step(self, k: int, U: Any, X: Any, graph: Filters) -> tuple[Any, Any]:
        """Smooth once."""
        U = lazy_convolution(graph.A_hat, U)
        return U, U


class SSGC(SGC):
    r"""Average the features smoothed 1, 2, … K times, and add a fraction of the raw ones.

    .. math:: U = \alpha X + (1 - \alpha) \frac1K \sum_{k=1}^{K} \hat A^k X

    Parameters
    ----------
    depth : int, default=16
        K, the number of convolutions.
    alpha : float, default=0.05
        The weight of the raw features.

    Attributes
    ----------
    embedding_ : ndarray of shape (n, d)
    n_iter_ : int
    n_features_in_ : int

    Examples
    --------
    >>> import gssl
    >>> data = gssl.datasets.load("karate")
    >>> gssl.SSGC().fit_transform(data.features, adjacency=data.adjacency).shape
    (34, 34)
    """

    multiscale = True

    def __init__(self, depth: int = 16, alpha: float = 0.05) -> None:
        super().__init__(depth)
        self.alpha = alpha


class PPR(LinearFilter):
    r"""Smooth features over the graph, and restart from the raw ones with some probability in every step.

    .. math:: U^{(0)} = X, \qquad U^{(k)} = (1 - \alpha) \hat A U^{(k-1)} + \alpha X

    It converges to :math:`\alpha (I - (1 - \alpha) \hat A)^{-1} X`, so it does not over-smooth at any depth.
    APPNP applies the same steps to the output of a neural network, which is trained through them; here they
    are a linear filter of the features.

    Parameters
    ----------
    depth : int, default=10
        K, the number of steps.
    alpha : float, default=0.1
        The restart probability; 0 is plain convolution, :class:`gssl.SGC`.

    Attributes
    ----------
    embedding_ : ndarray of shape (n, d)
    n_iter_ : int
    n_features_in_ : int

    Examples
    --------
    >>> import gssl
    >>> data = gssl.datasets.load("karate")
    >>> gssl.PPR().fit_transform(data.features, adjacency=data.adjacency).shape
    (34, 34)
    """

    def __init__(self, depth: int = 10, alpha: float = 0.1) -> None:
        self.depth = depth
        self.alpha = alpha

    def step(self, k: int, U: Any, X: Any, graph: Filters) -> tuple[Any, Any]:
        """Smooth once, and mix in X."""
        U = (1.0 - self.alpha) * lazy_convolution(graph.A_hat, U) + self.alpha * X
        return U, U

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number(self, "alpha", low=0.0, high=1.0)


class NoGraph(LinearFilter):
    r"""Return the features unchanged, for baselines without a graph.

    .. math:: U = X

    ``EmbeddingClassifier(NoGraph(), head="ridge")`` is plain ridge regression and ``head="logistic"`` plain
    softmax regression on the labelled rows. A given graph is validated but not used. If none is given, none
    is built, and prediction needs none either.

    Attributes
    ----------
    embedding_ : ndarray of shape (n, d)
        A dense copy of X.
    n_iter_ : int
        0.
    n_features_in_ : int

    Examples
    --------
    >>> import gssl
    >>> model = gssl.EmbeddingClassifier(gssl.NoGraph(), head="ridge")
    >>> model.fit([[1.0, 0.0], [0.0, 1.0], [0.9, 0.2]], ["spy", "cook", None]).transduction_.tolist()
    ['spy', 'cook', 'spy']
    >>> model.predict([[0.1, 0.8]]).tolist()
    ['cook']
    """

    depth: int = 0  # not a parameter: there is nothing to repeat
    _needs_graph: ClassVar[tuple[str, ...]] = ()

    def step(self, k: int, U: Any, X: Any, graph: Filters) -> tuple[Any, Any]:
        """Leave U as it is."""
        return U, U
