"""HeatKernel: diffusion of the features over the graph for a given time."""

import numpy as np
from scipy.sparse import csr_array
from scipy.special import gammaln

from gssl.methods.embedder import GraphEmbedder
from gssl.methods.inputs import check_number
from gssl.operators import Mixture, Program
from gssl.operators.program import polynomial


class HeatKernel(GraphEmbedder):
    r"""Let features diffuse over the graph for some time (Kondor and Lafferty, 2002).

    .. math:: U = e^{-t (I - \hat A)} X \approx \frac1c \sum_{k=0}^{K} \frac{t^k}{k!} \hat A^k X, \qquad
              c = \sum_{k=0}^{K} \frac{t^k}{k!}

    A node is mixed with others that are about t hops away, with weights of a Poisson distribution, whereas
    :class:`gssl.PPR` has weights that decay from the first hop on.

    Parameters
    ----------
    depth : int, default=16
        K, the number of terms; about 2t or more are enough.
    time : float, default=4.0
        t, the mean number of hops.

    Attributes
    ----------
    embedding_ : ndarray of shape (n, d)
    n_iter_ : int
    n_features_in_ : int

    Examples
    --------
    >>> import gssl
    >>> data = gssl.datasets.load("karate")
    >>> gssl.HeatKernel(time=2.0).fit_transform(data.features, adjacency=data.adjacency).shape
    (34, 34)
    """

    def __init__(self, depth: int = 16, time: float = 4.0) -> None:
        self.depth = depth
        self.time = time

    def program(self, A: csr_array | None = None) -> Program:
        """Return the truncated series."""
        k = np.arange(self.depth + 1)
        log_time = np.log(self.time) if self.time > 0 else -np.inf
        with np.errstate(invalid="ignore"):
            logs = np.where(k > 0, k * log_time, 0.0) - gammaln(k + 1)
        powers = np.exp(logs - logs.max())
        return polynomial(powers / powers.sum(), Mixture(smooth=1.0))

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number(self, "time", low=0.0)
