"""Label spreading: labels spread along links, and given ones may change; features are not used."""

import numpy as np
from scipy.sparse import csr_array

from gssl.methods.inputs import check_number
from gssl.methods.labels import UNLABELLED
from gssl.methods.propagation import LabelPropagation, precisions, writable
from gssl.methods.recurrences import run_steps, spreading_steps, symmetric_filters
from gssl.scale.execution import Execution


class LabelSpreading(LabelPropagation):
    r"""Mix every node's own label with the labels of its neighbours; given labels may change.

    .. math:: F \leftarrow \alpha D^{-1/2} A D^{-1/2} F + (1 - \alpha) Y

    The fixed point is :math:`F^* = (1 - \alpha)(I - \alpha S)^{-1} Y` with :math:`S = D^{-1/2} A D^{-1/2}`.
    It is computed by Chebyshev iteration, one pass over the graph per step, in single precision if ``tol`` is
    at least 1e-6. After k steps the error of every class is bounded by

    .. math:: \|F_c - F_c^*\| \le 2 \rho^k \|F_c^*\|, \qquad \rho = (1 - \sqrt{1 - \alpha^2}) / \alpha

    so a node whose two best scores differ by more than twice this bound has the class of the fixed point. Far
    from any label F is tiny and only ratios within a row matter, so the sum of every row must have converged,
    too, unless it is below 1e-30. A node with smaller scores takes the distribution of the nearest node with
    larger ones. Features are only used to build a graph if none is given.

    Parameters
    ----------
    spread : float, default=0.9
        α, the fraction that comes from the neighbours, in (0, 1).
    max_iter : int, default=10000
    tol : float, default=1e-5
        The iteration stops when the relative error bound of each class, and the relative error of every row
        sum, are at most this.

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

    def __init__(self, spread: float = 0.9, max_iter: int = 10000, tol: float = 1e-5) -> None:
        self.max_iter = max_iter
        self.tol = tol
        self.spread = spread

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number(self, "spread", low=0.0, high=1.0, open_ends=True)

    def _fixed_point(
        self, A: csr_array, codes: np.ndarray, reached: np.ndarray, execution: Execution
    ) -> tuple[np.ndarray, int]:
        labelled = np.flatnonzero(codes != UNLABELLED)
        given = np.full(len(labelled), 1.0 - self.spread)
        Y = csr_array((given, (labelled, codes[labelled])), (len(codes), len(self.classes_)))
        checkpoint = execution.checkpoint(Y, A)
        dtype = precisions(self.tol, checkpoint)[0]
        filters = symmetric_filters(A, dtype)
        steps, settled = spreading_steps(filters, labelled, self.spread, self.tol, self.max_iter)
        F = run_steps(filters, Y.astype(dtype), steps, execution, checkpoint)
        if not settled:
            self._warn_unsettled(self.max_iter)
        return np.maximum(F, 0.0, out=writable(F)), len(steps)
