"""SGC: simple graph convolution (Wu et al., 2019)."""

from typing import Any

from gssl.methods._stepwise import StepwiseEmbedder
from gssl.operators import Mixture


class SGC(StepwiseEmbedder):
    r"""Smooth features over the graph a fixed number of times (Sect. 2.2).

    .. math:: U = \hat A^K X

    Parameters
    ----------
    depth : int, default=2
        K, the number of convolutions.
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
    >>> gssl.SGC(depth=2).fit_transform(data.features, adjacency=data.adjacency).shape
    (34, 34)
    """

    def __init__(self, depth: int = 2, backend: str = "numba", device: Any = None) -> None:
        self.depth = depth
        self.backend = backend
        self.device = device

    def _mixtures(self, k: int) -> tuple[Mixture, Mixture]:
        smooth = Mixture.lazy(1.0)
        return smooth, smooth
