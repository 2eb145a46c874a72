"""SGC: simple graph convolution (Wu et al., 2019)."""

from typing import Any

import numpy as np
from scipy.sparse import csr_array

from gssl.methods._base import Convolution, GraphEmbedder
from gssl.operators import lazy_convolution, normalized_adjacency


class SGC(GraphEmbedder):
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

    def _convolution(self, A: csr_array, dtype: Any) -> Convolution:
        A_hat = normalized_adjacency(A).astype(dtype)

        def convolve(U: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
            U = lazy_convolution(A_hat, U)
            return U, U

        return convolve
