"""Linear filters with one pass over the graph per iteration: the base class, SGC, SSGC, PPR and NoGraph."""

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from scipy.sparse import csr_array

from gssl.methods.base import iterate, last
from gssl.methods.embedder import GraphEmbedder
from gssl.methods.inputs import check_graph, check_number
from gssl.methods.label_space import Products
from gssl.operators import (
    EMBEDDING,
    FEATURES,
    Filters,
    Mixture,
    add_scaled,
    dense,
    lazy_convolution,
    mix,
    zeros,
)
from gssl.scale.execution import FiltersOf


@dataclass(frozen=True)
class _Scales:
    """The embedding that is carried on, a free buffer, and the running total over scales."""

    U: Any
    spare: Any
    total: Any


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

    def _reach(self) -> int | None:
        steps = [mixture for k in range(1, self.depth + 1) for mixture in self.mixtures(k)]
        # sharpening depends on unlinked nodes at any distance
        return None if any(mixture.sharp for mixture in steps) else self.depth

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.multiscale:
            check_number(self, "alpha", low=0.0, high=1.0)

    def buffers(self) -> int:
        # X, two alternating buffers, and the total over scales
        return 4 if self.multiscale else 3

    def scales(self, X: Any, filters: FiltersOf) -> Iterator[_Scales]:
        """Run the iterations on the columns of X, alternating between two buffers."""
        total = zeros(X) if self.multiscale else None

        def step(state: _Scales, k: int) -> _Scales:
            carried, gathered = self.mixtures(k)
            added = gathered if self.multiscale else None
            U = mix(filters(k), state.U, carried, out=state.spare, gathered=added, total=total, X=X)
            return _Scales(U, None if state.U is X else state.U, total)

        yield from iterate(step, _Scales(X, None, total), range(1, self.depth + 1))

    def _apply(self, X: Any, filters: FiltersOf) -> Any:
        """Run all iterations and return the output, in one of their buffers."""
        if not self.depth:
            return dense(X, copy=True)
        end = last(self.scales(X, filters))
        if end.total is None:
            return end.U
        total = end.total
        total *= (1.0 - self.alpha) / self.depth
        add_scaled(total, self.alpha, X)
        return total

    def _adjoint(self, E: Any, filters: FiltersOf) -> Any:
        """Apply the transposed filter to the columns of E, which stay sparse as long as that is cheaper."""
        if not self.depth:
            return dense(E)
        steps = range(self.depth, 0, -1)
        mixtures = {k: self.mixtures(k) for k in steps}
        restarts = any(mixture.restart for pair in mixtures.values() for mixture in pair)
        restarted = zeros(E) if restarts else None
        sharpens = any(carried.sharp for carried, _ in mixtures.values())
        first = filters(self.depth)
        # a restart reads V, which must include the rank-one part then
        products = Products(E, first, whole=restarts and self.multiscale)
        n_sparse = 0 if sharpens else products.sparse_steps()

        def step(V: Any, k: int) -> Any:
            carried, gathered = mixtures[k]
            if restarted is not None:
                add_scaled(restarted, carried.restart, V)
            graph = first if k == self.depth else filters(k)
            carried = replace(carried, restart=0.0)
            V = products.step(graph, V, carried, sparse=self.depth - k < n_sparse)
            if self.multiscale:
                V = products.add(graph, gathered, V)
                if restarted is not None:
                    add_scaled(restarted, gathered.restart, E)
            return V

        start = E
        if self.multiscale:
            start = csr_array(E.shape, dtype=E.dtype) if n_sparse else zeros(E)
        V = products.finish(last(iterate(step, start, steps)))
        if restarted is not None:
            V += restarted
        if self.multiscale:
            V *= (1.0 - self.alpha) / self.depth
            add_scaled(V, self.alpha, E)
        return V

    def _embeddings(self, X: Any, filters: FiltersOf) -> Iterator[Any]:
        """Yield the output for each depth."""
        for k, state in enumerate(self.scales(X, filters), start=1):
            if state.total is None:
                yield dense(state.U, copy=True)
                continue
            U = state.total * ((1.0 - self.alpha) / k)
            add_scaled(U, self.alpha, X)
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
    _uses_graph: ClassVar[bool] = False

    def step(self, k: int, U: Any, X: Any, graph: Filters) -> tuple[Any, Any]:
        """Leave U as it is."""
        return U, U

    def _graph(self, adjacency: Any, X: Any, *, allow_empty: bool = False) -> csr_array:
        if adjacency is None:
            return csr_array((X.shape[0], X.shape[0]), dtype=X.dtype)
        return check_graph(adjacency, X, allow_empty=allow_empty)
