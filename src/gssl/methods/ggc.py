"""GGC and GGCM: graph structure preserving graph convolution (Alg. 2), over many scales (Alg. 3)."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from gssl.graph import check_adjacency, sample_negatives
from gssl.methods.inputs import check_number, generator, scale_weights
from gssl.methods.linear_filters import LinearFilter
from gssl.operators import (
    Filters,
    complement_negatives,
    inverse_convolution,
    lazy_convolution,
    normalized_adjacency,
    normalized_negatives,
)


class GGC(LinearFilter):
    r"""Pull linked nodes together and push unlinked ones apart in each iteration (Sect. 4.2, Alg. 2).

    .. math:: U^{(k)} = \tfrac12 \left(\mathrm{smo}_k(U^{(k-1)}) + \mathrm{sharp}_k(U^{(k-1)})\right)

    where smo is the lazy graph convolution (:func:`gssl.operators.lazy_convolution`) and sharp the lazy
    inverse graph convolution (:func:`gssl.operators.inverse_convolution`). Their moving probabilities
    decay: :math:`\beta_k = \beta \cdot \mathrm{decay}^{k-1}`.

    Parameters
    ----------
    depth : int, default=16
        K, the number of iterations.
    beta, decay : float, default=1.0
        Moving probability of the convolution, and its factor after each iteration.
    igc_beta : float, default=1.0
    igc_decay : float, default=0.5
        The same for the inverse convolution.
    negatives : "complement", float or sparse matrix of shape (n, n), default="complement"
        The pairs to push apart. ``"complement"``: all unlinked pairs, exactly, which on a sparse graph nearly
        subtracts the degree-weighted column mean. A number: a new random sample in each iteration, as in the
        paper, of this multiple of the number of edges; unlike in the authors' scripts, it never contains a
        real edge. A matrix: the links of a graph over the same nodes, for instance the graph itself where
        linked nodes differ (heterophily).
    random_state : int, Generator, RandomState or None, default=None
        Used only if negatives are sampled.

    Attributes
    ----------
    embedding_ : ndarray of shape (n, d)
    n_iter_ : int
    n_features_in_ : int

    Examples
    --------
    >>> import gssl
    >>> data = gssl.datasets.load("karate")
    >>> gssl.GGC(depth=4).fit_transform(data.features, adjacency=data.adjacency).shape
    (34, 34)
    """

    def __init__(
        self,
        depth: int = 16,
        beta: float = 1.0,
        decay: float = 1.0,
        igc_beta: float = 1.0,
        igc_decay: float = 0.5,
        negatives: Any = "complement",
        random_state: Any = None,
    ) -> None:
        self.depth = depth
        self.beta = beta
        self.decay = decay
        self.igc_beta = igc_beta
        self.igc_decay = igc_decay
        self.negatives = negatives
        self.random_state = random_state

    def step(self, k: int, U: Any, X: Any, graph: Filters) -> tuple[Any, Any]:
        """Take iteration k of Algorithm 2."""
        smo, sharp = self.smooth(k, U, graph), self.sharpen(k, U, graph)
        U = (smo + sharp) / 2
        return U, U

    def smooth(self, k: int, U: Any, graph: Filters) -> Any:
        """Pull linked nodes together by the lazy convolution of iteration k."""
        return lazy_convolution(graph.A_hat, U, self.beta * self.decay ** (k - 1))

    def sharpen(self, k: int, U: Any, graph: Filters) -> Any:
        """Push unlinked nodes apart by the lazy inverse convolution of iteration k."""
        return inverse_convolution(graph.N_hat, U, self.igc_beta * self.igc_decay ** (k - 1))

    def buffers(self) -> int:
        # negatives other than the complement need a pass of their own, and a buffer for its product
        return super().buffers() + (0 if _is_complement(self.negatives) else 1)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        for name in ("beta", "decay", "igc_beta", "igc_decay"):
            check_number(self, name, low=0.0, high=1.0)
        if _is_complement(self.negatives) or issparse(self.negatives):
            return
        multiple = self.negatives
        numbers = int | float | np.integer | np.floating
        if not isinstance(multiple, numbers) or isinstance(multiple, bool) or not 0 < multiple <= 1e9:
            raise ValueError(
                'negatives must be "complement" or a positive multiple of the number of edges, up to a '
                f"billion, or a sparse matrix, not {multiple!r}."
            )

    @property
    def _draws(self) -> bool:
        """Whether negatives are drawn, so that ``random_state`` matters."""
        return not (_is_complement(self.negatives) or issparse(self.negatives))

    def _matrices(self, A: csr_array, dtype: Any) -> Callable[[int], Filters]:
        A_hat = normalized_adjacency(A, dtype)
        if not self._draws:
            same = Filters(A_hat, self._fixed_negatives(A, dtype))
            return lambda k: same
        # one seed per iteration, so that drawing its sample again gives the same one
        seeds = generator(self.random_state).integers(2**63, size=self.depth)

        def sampled(k: int) -> Filters:
            N = sample_negatives(A, self.negatives, random_state=int(seeds[k - 1]))
            return Filters(A_hat, normalized_negatives(N.astype(dtype)))

        return sampled

    def _fixed_negatives(self, A: csr_array, dtype: Any) -> Any:
        """Return the normalised negatives of every iteration: the complement, or the given graph."""
        if not issparse(self.negatives):
            return complement_negatives(A, dtype)
        if self.negatives.shape != A.shape:
            raise ValueError(
                f"negatives has shape {self.negatives.shape}, but the graph has {A.shape[0]} nodes: give a "
                "graph over the same nodes."
            )
        N = scale_weights(check_adjacency(self.negatives, allow_empty=True))
        return normalized_negatives(N.astype(dtype))


def _is_complement(negatives: Any) -> bool:
    return isinstance(negatives, str) and negatives == "complement"


class GGCM(GGC):
    r"""Average structure-preserving embeddings over all scales (Sect. 4.2, Alg. 3).

    .. math:: U^{(k)} = \mathrm{smo}_k(U^{(k-1)}), \qquad
              U_M^{(k)} = \alpha X + (1 - \alpha) \frac1k \sum_{t=1}^{k}
              \tfrac12 \left(\mathrm{smo}_t(U^{(t-1)}) + \mathrm{sharp}_t(U^{(t-1)})\right)

    Only the smooth branch enters the next iteration; the mean over scales is the output.

    Parameters
    ----------
    depth : int, default=16
        K, the number of iterations.
    beta, decay : float, default=1.0
        Moving probability of the convolution, and its factor after each iteration.
    igc_beta : float, default=1.0
    igc_decay : float, default=0.5
        The same for the inverse convolution.
    negatives : "complement", float or sparse matrix of shape (n, n), default="complement"
        See :class:`gssl.GGC`.
    alpha : float, default=0.15
        The weight of the raw features.
    random_state : int, Generator, RandomState or None, default=None
        Used only if negatives are sampled.

    Attributes
    ----------
    embedding_ : ndarray of shape (n, d)
    n_iter_ : int
    n_features_in_ : int

    Examples
    --------
    >>> import gssl
    >>> data = gssl.datasets.load("karate")
    >>> U = gssl.GGCM(depth=8).fit_transform(data.features, adjacency=data.adjacency)
    >>> U.shape
    (34, 34)
    """

    multiscale = True

    def __init__(
        self,
        depth: int = 16,
        beta: float = 1.0,
        decay: float = 1.0,
        igc_beta: float = 1.0,
        igc_decay: float = 0.5,
        negatives: Any = "complement",
        alpha: float = 0.15,
        random_state: Any = None,
    ) -> None:
        super().__init__(depth, beta, decay, igc_beta, igc_decay, negatives, random_state)
        self.alpha = alpha

    def step(self, k: int, U: Any, X: Any, graph: Filters) -> tuple[Any, Any]:
        """Take iteration k of Algorithm 3: carry on the smooth branch, gather the mean of both branches."""
        smo, sharp = self.smooth(k, U, graph), self.sharpen(k, U, graph)
        return smo, (smo + sharp) / 2
