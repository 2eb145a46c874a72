"""GGCM: multi-scale graph structure preserving graph convolution (Alg. 3)."""

from typing import Any

from gssl.methods.ggc import GGC
from gssl.operators import Mixture


class GGCM(GGC):
    r"""Average structure-preserving embeddings over all scales (Sect. 4.2, Alg. 3).

    .. math:: U^{(k)} = \mathrm{smo}_k(U^{(k-1)}), \qquad
              U_M^{(k)} = \alpha X + (1 - \alpha) \frac1k \sum_{t=1}^{k}
              \tfrac12 \left(\mathrm{smo}_t(U^{(t-1)}) + \mathrm{sharp}_t(U^{(t-1)})\right)

    Only the smooth branch is carried on; the mean over scales is the output.

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
        See :class:`gssl.GGC`.
    alpha : float, default=0.15
        The part of the raw features.
    random_state : int, Generator, RandomState or None, default=None
        Used only where negatives are sampled.
    backend : {"numba", "torch"}, default="numba"
    device : str or torch.device, optional
        See :class:`gssl.OGC`.

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

    _multiscale = True

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
        backend: str = "numba",
        device: Any = None,
    ) -> None:
        super().__init__(depth, beta, decay, igc_beta, igc_decay, negatives, random_state, backend, device)
        self.alpha = alpha

    def _mixtures(self, k: int) -> tuple[Mixture, Mixture]:
        smooth = self._smooth(k)
        return smooth, (smooth + self._sharp(k)) / 2.0
