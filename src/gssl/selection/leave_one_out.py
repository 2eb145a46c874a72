"""Leave-one-out predictions of ridge regression in closed form."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Spectrum:
    r"""Eigendecomposition :math:`s\, Q \Lambda Q^\top` of the Gram matrix of labelled rows.

    Computed by :func:`spectrum`, once for all penalties. ``scale`` is s, the mean of the diagonal; penalties
    are relative to it.
    """

    values: np.ndarray
    vectors: np.ndarray
    scale: float


def spectrum(K: np.ndarray) -> Spectrum:
    r"""Decompose a Gram matrix :math:`K = U_L U_L^\top`, in units of its mean diagonal entry.

    Parameters
    ----------
    K : ndarray of shape (m, m)
        Symmetric and positive semi-definite.

    Returns
    -------
    Spectrum

    Examples
    --------
    >>> spectrum(np.diag([1.0, 3.0])).values
    array([0.5, 1.5])
    """
    scale = float(np.trace(K)) / max(1, len(K))
    if not scale > 0:
        scale = 1.0
    values, vectors = np.linalg.eigh(K / scale)
    return Spectrum(np.maximum(values, 0.0), vectors, scale)


def spectrum_of_rows(U: np.ndarray) -> Spectrum:
    r"""Decompose :math:`U U^\top` via the smaller of :math:`U U^\top` and :math:`U^\top U`.

    Parameters
    ----------
    U : ndarray of shape (m, d)

    Returns
    -------
    Spectrum
        If d < m, zero eigenvalues are left out.

    Examples
    --------
    >>> spectrum_of_rows(np.array([[1.0], [1.0], [2.0]])).values
    array([3.])
    """
    if U.shape[0] <= U.shape[1]:
        return spectrum(U @ U.T)
    gram = spectrum(U.T @ U)
    kept = gram.values > gram.values[-1:].sum() * len(gram.values) * np.finfo(np.float64).eps
    values, basis = gram.values[kept], gram.vectors[:, kept]
    # both matrices have the same trace, but not the same mean diagonal entry
    scale = gram.scale * U.shape[1] / len(U)
    vectors = (U @ basis) / np.sqrt(values * gram.scale)
    return Spectrum(values * gram.scale / scale, vectors, scale)


def leave_one_out(gram: Spectrum, Y: np.ndarray, penalties: np.ndarray) -> np.ndarray:
    r"""Predict each row of Y by ridge regression on all other rows, for several penalties at once.

    .. math:: Y_i - \frac{Y_i - (HY)_i}{1 - H_{ii}}, \qquad H = Q \frac{\Lambda}{\Lambda + \lambda} Q^\top

    The features of a node do not depend on its label, so this equals refitting without the label.

    Parameters
    ----------
    gram : Spectrum
    Y : ndarray of shape (m, c)
        One-hot labels.
    penalties : ndarray of shape (p,)
        λ, in units of the mean squared row norm.

    Returns
    -------
    ndarray of shape (p, m, c)

    Examples
    --------
    Two equal rows predict each other; the penalty λ = 1 halves the prediction from a single row:

    >>> leave_one_out(spectrum(np.ones((2, 2))), np.eye(2), np.array([1.0]))
    array([[[0. , 0.5],
            [0.5, 0. ]]])
    """
    Q, squares = gram.vectors, np.square(gram.vectors)
    projected = Q.T @ Y
    # the part of each unit vector outside the span of the rows, where the prediction is zero
    unspanned = 1.0 - squares.sum(axis=1)
    predicted = np.empty((len(penalties), *Y.shape))
    for k, penalty in enumerate(penalties):
        shrunk = gram.values / (gram.values + penalty)
        # 1 − H_ii, summed directly: the subtraction would lose digits when the result is small
        rest = unspanned + squares @ (penalty / (gram.values + penalty))
        # in place: with a thousand classes, new arrays would cost as much as the products
        residual = Q @ (shrunk[:, None] * projected)
        np.subtract(Y, residual, out=residual)
        residual /= rest[:, None]
        np.subtract(Y, residual, out=predicted[k])
    return predicted


def dual_coefficients(gram: Spectrum, Y: np.ndarray, penalty: float) -> np.ndarray:
    r"""Solve ridge regression for the weights of the labelled rows.

    .. math:: (K + \lambda s I)^{-1} Y, \qquad \Theta = U_L^\top (K + \lambda s I)^{-1} Y

    Components along zero eigenvalues that ``gram`` leaves out are zero; they do not affect Θ.

    Parameters
    ----------
    gram : Spectrum
    Y : ndarray of shape (m, c)
    penalty : float

    Returns
    -------
    ndarray of shape (m, c)

    Examples
    --------
    >>> dual_coefficients(spectrum(np.diag([1.0, 3.0])), np.eye(2), 0.5)
    array([[0.5 , 0.  ],
           [0.  , 0.25]])
    """
    Q = gram.vectors
    return np.asarray(Q @ ((Q.T @ Y) / (gram.scale * (gram.values + penalty))[:, None]))


def keep_class_mass(predicted: np.ndarray, Y: np.ndarray) -> np.ndarray:
    r"""Correct leave-one-out predictions for the label that is missing from its own class.

    .. math:: \tilde Z_{ic} = \frac{n_c}{n_c - 1} Z_{ic} \quad\text{where } c \text{ is the class of } i

    Leaving out a label reduces the sum of targets of its class, which biases a predictor without intercept
    against the correct class. The correction is what refitting gives if the other labels of the class are
    weighted up to replace the missing one. With few labels, the bias affects which models look good; it is
    largest for features with a nonzero mean.

    Parameters
    ----------
    predicted : ndarray of shape (..., m, c)
        From :func:`leave_one_out`.
    Y : ndarray of shape (m, c)
        One-hot labels.

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
    counts = Y.sum(axis=0)
    factors = np.divide(counts, counts - 1.0, out=np.ones_like(counts), where=counts > 1.0)
    rows, classes = np.nonzero(Y)
    kept = np.array(predicted)
    kept[..., rows, classes] *= 1.0 + Y[rows, classes] * (factors[classes] - 1.0)
    return kept
