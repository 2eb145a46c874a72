r"""Ridge regression in closed form, for any targets.

    W = (UᵀDU + λI)^-1 UᵀDY

D holds the weights of the rows of U. All that learns by least squares uses this file: heads, the models of
AutoClassifier, their explanations and audits, and the labelling page.
"""

from functools import cached_property

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

# maximum factor by which a missing label's class is weighted up
_MOST_RAISED = 3.0


class Ridge:
    r"""Ridge regression on some rows, factorised once for all targets.

    .. math:: W = (U^\top D U + \lambda I)^{-1} U^\top D Y

    The smaller of two systems is factorised: that of the columns, or with fewer rows than columns,
    :math:`D^{1/2} U U^\top D^{1/2} + \lambda I`.

    Parameters
    ----------
    U : ndarray of shape (m, d)
    penalty : float
        λ > 0.
    weights : ndarray of shape (m,), optional
        The diagonal of D; ones if None.

    Examples
    --------
    >>> fit = Ridge(np.array([[1.0, 0.0], [0.0, 1.0]]), penalty=1.0)
    >>> fit.coefficients(np.array([[2.0], [4.0]]))
    array([[1.],
           [2.]])
    """

    def __init__(self, U: np.ndarray, penalty: float, weights: np.ndarray | None = None) -> None:
        self._roots = None if weights is None else np.sqrt(weights).astype(U.dtype)[:, None]
        self._V = U if self._roots is None else self._roots * U
        self.penalty = penalty

    @cached_property
    def _dual(self) -> bool:
        return bool(self._V.shape[0] < self._V.shape[1])

    @cached_property
    def _factor(self) -> tuple[np.ndarray, bool]:
        try:
            return self._factorised(self._V)
        except LinAlgError:
            # products in single precision are too coarse for a small penalty
            return self._factorised(self._V.astype(np.float64), np.finfo(np.float64).eps)

    def _factorised(self, V: np.ndarray, rounding: float = 0.0) -> tuple[np.ndarray, bool]:
        system = (V @ V.T if self._dual else V.T @ V).astype(np.float64)
        system[np.diag_indices_from(system)] += self.penalty + rounding * np.trace(system)
        factor: tuple[np.ndarray, bool] = cho_factor(system, overwrite_a=True, check_finite=False)
        return factor

    def _solve(self, B: np.ndarray) -> np.ndarray:
        return np.asarray(cho_solve(self._factor, B, check_finite=False))

    def _weighted(self, Y: np.ndarray) -> np.ndarray:
        return Y if self._roots is None else self._roots * Y

    def coefficients(self, Y: np.ndarray) -> np.ndarray:
        """Return W for targets of shape (m, c)."""
        Y = self._weighted(Y.astype(self._V.dtype, copy=False))
        return np.asarray(self._V.T @ self._solve(Y) if self._dual else self._solve(self._V.T @ Y))

    def residuals(self, Y: np.ndarray) -> np.ndarray:
        """Return what predictions without each row miss, as :func:`leave_one_out` for one penalty."""
        V, Y = self._V, self._weighted(Y)
        if self._dual:
            inverse = self._solve(np.eye(len(V)))
            rest = np.asarray((inverse @ Y) / np.diag(inverse)[:, None])
        else:
            leverage = (V * self._solve(V.T).T).sum(axis=1)
            rest = (Y - V @ self._solve(V.T @ Y)) / np.maximum(1.0 - leverage, 1e-12)[:, None]
        return rest if self._roots is None else rest / self._roots

    def inverse_times(self, B: np.ndarray) -> np.ndarray:
        r"""Return :math:`(U^\top D U + \lambda I)^{-1} B`: how W moves with the gradients B of a row."""
        if self._dual:
            return np.asarray((B - self._V.T @ self._solve(self._V @ B)) / self.penalty)
        return self._solve(B)

    def influence(self, rows: np.ndarray) -> np.ndarray:
        r"""Return the weight of every target in the scores of some rows, of shape (rows, m).

        .. math:: H = R\, (U^\top D U + \lambda I)^{-1} U^\top D, \qquad R W = H Y
        """
        V = self._V
        H = self._solve(V @ rows.T).T if self._dual else (V @ self._solve(rows.T)).T
        return np.asarray(H if self._roots is None else H * self._roots[:, 0])


def ridge(U: np.ndarray, Y: np.ndarray, penalty: float, weights: np.ndarray | None = None) -> np.ndarray:
    """Return the W that minimises ``‖UW − Y‖² + penalty ‖U‖² ‖W‖²``, with weighted rows if given."""
    absolute = penalty * len(U) * mean_square(U, weights)
    return Ridge(U, max(absolute, np.finfo(U.dtype).tiny), weights).coefficients(Y)


def mean_square(U: np.ndarray, weights: np.ndarray | None = None) -> float:
    """Return the mean squared length of weighted rows, the unit of relative penalties; one if it is zero."""
    squares = np.square(U) if weights is None else weights @ np.square(U)
    return float(squares.sum()) / max(1, len(U)) or 1.0


def leave_one_out(
    U: np.ndarray, Y: np.ndarray, penalties: np.ndarray, weights: np.ndarray | None = None
) -> np.ndarray:
    r"""Predict each row of Y by ridge regression on all other rows, for several penalties at once.

    .. math:: Y_i - \frac{Y_i - (HY)_i}{1 - H_{ii}}, \qquad H = Q \frac{\Lambda}{\Lambda + \lambda} Q^\top

    where :math:`Q \Lambda Q^\top` is the eigendecomposition of :math:`D^{1/2} U U^\top D^{1/2}`, computed
    once for all penalties. Features do not depend on labels, so this equals refitting without each label.

    Parameters
    ----------
    U : ndarray of shape (m, d)
        Rows with known targets.
    Y : ndarray of shape (m, c)
        Targets: one-hot labels, numbers, or 0/1 columns.
    penalties : ndarray of shape (p,)
        λ.
    weights : ndarray of shape (m,), optional
        Positive weights of the rows, the diagonal of D; ones if None.

    Returns
    -------
    ndarray of shape (p, m, c)

    Examples
    --------
    Two equal rows predict each other; the penalty λ = 1 halves the prediction from a single row:

    >>> leave_one_out(np.ones((2, 1)), np.eye(2), np.array([1.0]))
    array([[[0. , 0.5],
            [0.5, 0. ]]])
    """
    roots = None if weights is None else np.sqrt(weights)[:, None]
    values, Q = _spectrum(U if roots is None else roots * U)
    Y = Y if roots is None else roots * Y
    squares, projected = np.square(Q), Q.T @ Y
    # the part of each unit vector outside the span of the rows, where the prediction is zero
    unspanned = 1.0 - squares.sum(axis=1)
    predicted = np.empty((len(penalties), *Y.shape))
    for k, penalty in enumerate(penalties):
        shrunk = values / (values + penalty)
        # 1 − H_ii, summed directly: the subtraction would lose digits when the result is small
        rest = unspanned + squares @ (penalty / (values + penalty))
        # in place: with a thousand classes, new arrays would cost as much as the products
        residual = Q @ (shrunk[:, None] * projected)
        np.subtract(Y, residual, out=residual)
        residual /= rest[:, None]
        np.subtract(Y, residual, out=predicted[k])
    if roots is not None:
        predicted /= roots
    return predicted


def _spectrum(U: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the eigenvalues and eigenvectors of UUᵀ, via the smaller of UUᵀ and UᵀU.

    If U has fewer columns than rows, zero eigenvalues are left out.
    """
    m, d = U.shape
    # in units of the mean, so that the rounding of small features is that of large ones
    scale = float(np.square(U).sum()) / max(1, min(m, d)) or 1.0
    values, vectors = np.linalg.eigh((U @ U.T if m <= d else U.T @ U) / scale)
    values = np.maximum(values, 0.0)
    if m > d:
        kept = values > values[-1:].sum() * len(values) * np.finfo(np.float64).eps
        values = values[kept]
        vectors = (U @ vectors[:, kept]) / np.sqrt(values * scale)
    return values * scale, vectors


def keep_class_mass(predicted: np.ndarray, Y: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    r"""Correct leave-one-out predictions for the label that is missing from its own class.

    .. math:: \tilde Z_{ic} = \frac{n_c}{n_c - w_i} Z_{ic} \quad\text{where } c \text{ is the class of } i

    with the total weight :math:`n_c` of the labels of class c. Leaving out a label reduces the sum of targets
    of its class, which biases a predictor without intercept against the correct class. The correction is what
    refitting gives if the other labels of the class are weighted up to replace the missing one, by at most a
    factor of three. With few labels, the bias affects which models look good; it is largest for features with
    a nonzero mean.

    Parameters
    ----------
    predicted : ndarray of shape (..., m, c)
        From :func:`leave_one_out`.
    Y : ndarray of shape (m, c)
        One-hot labels.
    weights : ndarray of shape (m,), optional
        Of the labels; ones if None.

    Returns
    -------
    ndarray of shape (..., m, c)

    Examples
    --------
    >>> Y = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> keep_class_mass(np.full((3, 2), 0.3), Y)
    array([[0.6, 0.3],
           [0.6, 0.3],
           [0.3, 0.3]])
    """
    own = np.ones(len(Y)) if weights is None else weights
    mass = Y @ (own @ Y)
    rest = mass - own
    # nothing replaces the only label of a class
    alone = rest <= 1e-9 * mass
    factors = np.where(alone, 1.0, mass / np.maximum(rest, mass / _MOST_RAISED))
    return np.asarray(predicted * np.where(Y > 0, factors[:, None], 1.0))
