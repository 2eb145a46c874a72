"""GGC: graph structure preserving graph convolution (Alg. 2)."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from gssl.graph import sample_negatives
from gssl.methods._base import Convolution, GraphEmbedder
from gssl.methods._inputs import check_number, generator
from gssl.operators import (
    complement_negatives,
    inverse_convolution,
    lazy_convolution,
    normalized_adjacency,
    normalized_negatives,
)


class GGC(GraphEmbedder):
    r"""Draw linked nodes together and push unlinked ones apart, again and again (Sect. 4.2, Alg. 2).

    .. math:: U^{(k)} = \tfrac12 \left(\mathrm{smo}_k(U^{(k-1)}) + \mathrm{sharp}_k(U^{(k-1)})\right)

    where smo is the lazy graph convolution (:func:`gssl.operators.lazy_convolution`) and sharp the lazy
    inverse graph convolution (:func:`gssl.operators.inverse_convolution`). Their moving probabilities
    decay: :math:`\beta_k = \beta \cdot \mathrm{decay}^{k-1}`.

    Parameters
    ----------
    depth : int, default=16
        K, the number of iterations.
    beta, decay : float, default=1.0
        Moving probability of the convolution, and what it is multiplied by after each iteration.
    igc_beta : float, default=1.0
    igc_decay : float, default=0.5
        The same for the inverse convolution.
    negatives : "complement" or float, default="complement"
        The unlinked pairs to push apart: all of them, exactly; or a fresh random sample in each
        iteration, as in the paper, of this multiple of the number of edges. Unlike the authors' scripts
        a sample never holds a real edge.
    random_state : int, Generator, RandomState or None, default=None
        Used only where negatives are sampled.

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

    def _convolution(self, A: csr_array, dtype: Any) -> Convolution:
        branches = self._branches(A, dtype)

        def convolve(U: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
            smooth, sharp = branches(U, k)
            U = (smooth + sharp) / 2.0
            return U, U

        return convolve

    def _branches(self, A: csr_array, dtype: Any) -> Convolution:
        """Give the smooth and the sharp branch of one iteration."""
        for name in ("beta", "decay", "igc_beta", "igc_decay"):
            check_number(self, name, low=0.0, high=1.0)
        A_hat = normalized_adjacency(A).astype(dtype)
        negatives = self._negatives(A, dtype)

        def branches(U: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
            smooth = lazy_convolution(A_hat, U, self.beta * self.decay ** (k - 1))
            sharp = inverse_convolution(negatives(k), U, self.igc_beta * self.igc_decay ** (k - 1))
            return smooth, sharp

        return branches

    def _negatives(self, A: csr_array, dtype: Any) -> Callable[[int], Any]:
        """Give the normalised negative graph of each iteration."""
        if isinstance(self.negatives, str) and self.negatives == "complement":
            complement = complement_negatives(A, dtype)
            return lambda k: complement
        if not isinstance(self.negatives, int | float) or self.negatives is True or self.negatives <= 0:
            raise ValueError(
                'negatives must be "complement" or a positive multiple of the number of edges, '
                f"not {self.negatives!r}."
            )
        seeds = generator(self.random_state).integers(2**63, size=self.depth)
        return lambda k: normalized_negatives(
            sample_negatives(A, self.negatives, random_state=int(seeds[k - 1])).astype(dtype)
        )
