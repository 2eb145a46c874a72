"""PPR: personalised PageRank of features, the propagation of APPNP (Gasteiger et al., 2019)."""

from typing import Any

from gssl.methods._inputs import check_number
from gssl.methods._stepwise import StepwiseEmbedder
from gssl.operators import Mixture


class PPR(StepwiseEmbedder):
    r"""Smooth features over the graph, and come back to the raw ones in every step.

    .. math:: U^{(0)} = X, \qquad U^{(k)} = (1 - \alpha) \hat A U^{(k-1)} + \alpha X

    It tends to :math:`\alpha (I - (1 - \alpha) \hat A)^{-1} X`, so it may go on for ever without smoothing
    everything away. APPNP puts the same steps behind a neural network that it trains through them; here they
    stand alone, as a linear filter.

    Parameters
    ----------
    depth : int, default=10
        K, the number of steps.
    alpha : float, default=0.1
        The probability of coming back; 0 is plain convolution, :class:`gssl.SGC`.
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
    >>> gssl.PPR().fit_transform(data.features, adjacency=data.adjacency).shape
    (34, 34)
    """

    def __init__(
        self, depth: int = 10, alpha: float = 0.1, backend: str = "numba", device: Any = None
    ) -> None:
        self.depth = depth
        self.alpha = alpha
        self.backend = backend
        self.device = device

    def _mixtures(self, k: int) -> tuple[Mixture, Mixture]:
        step = Mixture.page_rank(self.alpha)
        return step, step

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number(self, "alpha", low=0.0, high=1.0)
