"""SSGC: simple spectral graph convolution, S²GC (Zhu and Koniusz, 2021)."""

from typing import Any

from gssl.methods.sgc import SGC


class SSGC(SGC):
    r"""Average the features smoothed 1, 2, … K times, and keep a part of the raw ones.

    .. math:: U = \alpha X + (1 - \alpha) \frac1K \sum_{k=1}^{K} \hat A^k X

    Parameters
    ----------
    depth : int, default=16
        K, the number of convolutions.
    alpha : float, default=0.05
        The part of the raw features.
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
    >>> gssl.SSGC().fit_transform(data.features, adjacency=data.adjacency).shape
    (34, 34)
    """

    _multiscale = True

    def __init__(
        self, depth: int = 16, alpha: float = 0.05, backend: str = "numba", device: Any = None
    ) -> None:
        super().__init__(depth, backend, device)
        self.alpha = alpha
