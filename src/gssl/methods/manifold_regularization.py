"""ManifoldRegularization: least squares with a smoothness penalty (Belkin, Niyogi and Sindhwani, 2006)."""

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.exceptions import ConvergenceWarning

from gssl.graph.mapped import nonzero_rows
from gssl.graph.validate import warn_user
from gssl.methods.base import GraphClassifier
from gssl.methods.inputs import FittedParameters, check_number
from gssl.methods.labels import UNLABELLED, nearest_distribution, one_hot
from gssl.methods.neighbourhood import EVERY, Nodes
from gssl.methods.recurrences import conjugate_gradients
from gssl.methods.state import replaces_state
from gssl.methods.stored import COEF
from gssl.operators import multiply


class ManifoldRegularization(FittedParameters, GraphClassifier):
    r"""Fit a linear function of the features to the labels, and keep it smooth along the edges.

    Laplacian-regularised least squares with a linear kernel, for m labelled nodes and L = D − A:

    .. math:: \min_W \frac1m \sum_{i \text{ labelled}} \|x_i W - y_i\|^2 + \gamma_A s \|W\|^2
              + \frac{2\gamma_I}{\sum_{ij} A_{ij}} \mathrm{tr}(W^\top X^\top L X W), \qquad
              s = \frac1m \sum_{i \text{ labelled}} \|x_i\|^2

    The last term is γ_I times the mean of :math:`\|x_i W - x_j W\|^2` over the edges, so the number of nodes
    and the unit of the weights do not matter. γ_A is in units of s, as in :class:`gssl.RidgeHead`, which is
    the case γ_I = 0. The d × d system is solved by conjugate gradients, which only need products with X and
    A. Unlabelled nodes contribute only through their edges. The model is a function of the features, so new
    nodes need no graph.

    Parameters
    ----------
    gamma_ambient : float, default=0.03
        γ_A, the penalty on large coefficients.
    gamma_intrinsic : float, default=2.0
        γ_I, the penalty on differences along edges. Real links allow a larger value, such as 5 with a γ_A of
        0.001, than a nearest-neighbour graph, which contains no information beyond X.
    max_iter : int, default=10000
    tol : float, default=1e-6
        The iteration stops when the residual of each class is at most this fraction of the initial one.

    Attributes
    ----------
    coef_ : ndarray of shape (d, c)
        W.
    transduction_ : ndarray of shape (n,)
        A class for every node.
    label_distributions_ : ndarray of shape (n, c)
        The distributions nearest to XW.
    reached_ : bool ndarray of shape (n,)
        Whether a label is in the node's component.
    n_iter_ : int
    classes_ : ndarray of shape (c,)
    n_features_in_ : int

    Examples
    --------
    >>> import gssl
    >>> data = gssl.datasets.load("karate")
    >>> y = data.mask_labels("default")
    >>> model = gssl.ManifoldRegularization().fit(data.features, y, adjacency=data.adjacency)
    >>> float((model.transduction_ == data.labels).mean()) > 0.9
    True
    """

    _needs_graph = ("fit",)
    _stored = (COEF,)

    def __init__(
        self,
        gamma_ambient: float = 0.03,
        gamma_intrinsic: float = 2.0,
        max_iter: int = 10000,
        tol: float = 1e-6,
    ) -> None:
        self.gamma_ambient = gamma_ambient
        self.gamma_intrinsic = gamma_intrinsic
        self.max_iter = max_iter
        self.tol = tol

    @replaces_state
    def fit(self, X: Any, y: Any = None, *, adjacency: Any = None) -> Self:
        """Solve for W.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
        y : array-like of shape (n,)
            Labels; −1, None or NaN where there is none.
        adjacency : array-like or sparse matrix of shape (n, n), optional
            Built from the nearest neighbours in X if None.

        Returns
        -------
        self
        """
        self._check_parameters()
        X, A, codes = self._start(X, y, adjacency)
        self.coef_ = self._solve(X.astype(np.float64), A.astype(np.float64), codes).astype(X.dtype)
        self._keep_parameters()
        return self._finish(*self._score_graph(X, A))

    def _check_parameters(self) -> None:
        check_number(self, "gamma_ambient", low=0.0, high=np.inf, open_ends=True)
        check_number(self, "gamma_intrinsic", low=0.0)
        check_number(self, "max_iter", low=1, whole=True)
        check_number(self, "tol", low=0.0)

    def _solve(self, X: Any, A: csr_array, codes: np.ndarray) -> np.ndarray:
        """Return W in double precision; features are scaled to a curvature of about one."""
        labelled = np.flatnonzero(codes != UNLABELLED)
        X_m, Y = X[labelled], one_hot(codes[labelled], len(self.classes_), X.dtype)
        m = len(labelled)
        # divide weights by their sum, but first by the largest, so that the sum does not overflow
        parts = A.data / A.data.max(initial=np.finfo(np.float64).tiny)
        A = csr_array((parts / max(parts.sum(), 1.0), A.indices, A.indptr), shape=A.shape)
        degree = A.sum(axis=1)[:, None]
        ridge = max(self.gamma_ambient * _squares(X_m).sum() / m, np.finfo(np.float64).tiny)
        edges = 2.0 * self.gamma_intrinsic
        # the diagonal without the products x_i x_j over edges, which can at most double it
        diagonal = _squares(X_m) / m + ridge + edges * _squares(X, degree)
        unit = 1.0 / np.sqrt(diagonal)[:, None]
        back, back_m = _transposed(X), _transposed(X_m)

        def image(V: np.ndarray) -> np.ndarray:
            W = unit * V
            F = multiply(X, W)
            steep = back(degree * F - multiply(A, F))
            return np.asarray(unit * (back_m(multiply(X_m, W)) / m + ridge * W + edges * steep))

        V, self.n_iter_, settled = conjugate_gradients(image, unit * back_m(Y) / m, self.tol, self.max_iter)
        if not settled:
            warn_user(
                f"ManifoldRegularization has not settled in {self.max_iter} iterations: raise max_iter or "
                "gamma_ambient.",
                ConvergenceWarning,
            )
        return np.asarray(unit * V)

    def propagated_columns(self, X: Any, A: csr_array, n_labelled: int, n_classes: int) -> int:
        """Return one column per class."""
        return n_classes

    def _score_graph(self, X: Any, A: csr_array, nodes: Nodes = EVERY) -> tuple[np.ndarray, np.ndarray]:
        scores = multiply(X, self.coef_.astype(X.dtype))
        return nearest_distribution(scores)[nodes], nonzero_rows(X)[nodes]


def _transposed(X: Any) -> Callable[[np.ndarray], np.ndarray]:
    """Return the map V → XᵀV; a sparse X is transposed once, because products by rows use all threads."""
    if not issparse(X):
        return lambda V: np.asarray(X.T @ V)
    turned = csr_array(X.T)
    return lambda V: multiply(turned, V)


def _squares(X: Any, weights: np.ndarray | None = None) -> np.ndarray:
    """Return the weighted sum of squares of each column, without copying a dense X."""
    n = X.shape[0]
    w = np.ones(n) if weights is None else weights[:, 0]
    if issparse(X):
        return np.asarray(X.power(2).T @ w)
    return np.asarray(np.einsum("i,ij,ij->j", w, X, X))
