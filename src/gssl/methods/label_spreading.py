"""LabelSpreading: learning with local and global consistency (Zhou et al., 2004)."""

from typing import Any

import numpy as np
from scipy.sparse import csr_array, diags_array

from gssl.methods.label_propagation import LabelPropagation


class LabelSpreading(LabelPropagation):
    r"""Mix every node's own label with what its neighbours say; given labels may bend.

    .. math:: F \leftarrow \alpha D^{-1/2} A D^{-1/2} F + (1 - \alpha) Y

    The fixed point is :math:`(1 - \alpha)(I - \alpha D^{-1/2} A D^{-1/2})^{-1} Y`. Features are used only
    to build a graph where none is given.

    Parameters
    ----------
    alpha : float, default=0.9
        The part that comes from the neighbours, in (0, 1).
    max_iter : int, default=1000
    tol : float, default=1e-4
        The iteration stops when no entry of F moves by more.

    Attributes
    ----------
    transduction_ : ndarray of shape (n,)
        A class for every node.
    label_distributions_ : ndarray of shape (n, c)
    reached_ : bool ndarray of shape (n,)
        Whether a label is in the node's component. Where it is not, the distribution is uniform.
    n_iter_ : int
    classes_ : ndarray of shape (c,)
    n_features_in_ : int

    Examples
    --------
    >>> import gssl
    >>> data = gssl.datasets.load("karate")
    >>> y = data.mask_labels("default")
    >>> model = gssl.LabelSpreading().fit(data.features, y, adjacency=data.adjacency)
    >>> float((model.transduction_ == data.labels).mean()) > 0.9
    True
    """

    def __init__(self, alpha: float = 0.9, max_iter: int = 1000, tol: float = 1e-4) -> None:
        super().__init__(max_iter, tol)
        self.alpha = alpha

    def _update(self, A: csr_array, Y: np.ndarray, labelled: np.ndarray) -> Any:
        if not 0.0 < self.alpha < 1.0:
            raise ValueError(f"alpha must lie between 0 and 1, not {self.alpha!r}.")
        degree = A.sum(axis=1)
        scale = diags_array(np.divide(1.0, np.sqrt(degree), out=np.zeros_like(degree), where=degree > 0))
        S = csr_array(scale @ A @ scale)
        return lambda F: self.alpha * (S @ F) + (1.0 - self.alpha) * Y
