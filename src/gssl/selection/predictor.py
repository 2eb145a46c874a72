"""The predictor of a trial, fitted to all labels once it is known to be wanted."""

from collections.abc import Sequence

import numpy as np
from scipy.linalg import solve

from gssl.selection.finalists import fit_logistic, row_spectrum
from gssl.selection.labelled_rows import LabelledRows
from gssl.selection.leave_one_out import dual_coefficients
from gssl.selection.trial import Labels, Trial


def predictor(
    rows: LabelledRows, trial: Trial, penalties: Sequence[float], labels: Labels
) -> tuple[np.ndarray, np.ndarray]:
    """Average the predictors that a trial gives with some penalties.

    Parameters
    ----------
    rows : LabelledRows
    trial : Trial
    penalties : sequence of float
    labels : Labels

    Returns
    -------
    theta : ndarray of shape (b·d, c)
        For the features of the trial's filter, blocks below each other.
    intercept : ndarray of shape (c,)
        Zero for ridges.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> from gssl.selection.filters import candidate_filters
    >>> from gssl.selection.search import try_filter
    >>> X = np.eye(2)
    >>> rows, labels = LabelledRows(X, csr_array((2, 2)), np.arange(2), depth=1), Labels(X, np.ones(2))
    >>> trial = try_filter(rows, candidate_filters(1)[0], labels)
    >>> predictor(rows, trial, [1.0], labels)[0]
    array([[0.5, 0. ],
           [0. , 0.5]])
    """
    U = rows.rows(trial.filter)
    if trial.head == "logistic":
        gram = row_spectrum(rows, trial, labels)
        found = [fit_logistic(U, labels, penalty, gram) for penalty in penalties]
        return np.mean([theta for theta, _ in found], axis=0), np.mean([b for _, b in found], axis=0)
    none = np.zeros(labels.Y.shape[1])
    roots = np.sqrt(labels.weights)[:, None]
    if trial.spectrum is not None:
        duals = roots * np.mean(
            [dual_coefficients(trial.spectrum, roots * labels.Y, penalty) for penalty in penalties], axis=0
        )
        if trial.gram is None:
            return U.T @ duals, none
    elif trial.gram is None:
        return ridge(U, labels, penalties), none
    else:
        duals = roots * _shrunk(roots * trial.gram * roots.T, roots * labels.Y, penalties, len(U))
    # Θ = UᵀUU_Lᵀα, and U is the filter of X
    scores = rows.filtered(trial.filter, rows.gathered(U.T @ duals))
    return rows.spread(rows.filtered(trial.filter, scores)), none


def ridge(U: np.ndarray, labels: Labels, penalties: Sequence[float]) -> np.ndarray:
    r"""Average ridge predictors of several penalties, by the smaller of two systems of equations.

    .. math:: \Theta = V^\top (V V^\top + \lambda s I)^{-1} R = (V^\top V + \lambda s I)^{-1} V^\top R

    with V and R the rows and one-hot labels times the roots of their weights, and s the mean squared norm of
    a row of V.

    Parameters
    ----------
    U : ndarray of shape (m, d)
    labels : Labels
    penalties : sequence of float

    Returns
    -------
    ndarray of shape (d, c)

    Examples
    --------
    >>> ridge(np.diag([1.0, 3.0]), Labels(np.eye(2), np.ones(2)), [0.2])
    array([[0.5, 0. ],
           [0. , 0.3]])
    """
    roots = np.sqrt(labels.weights)[:, None]
    V, R = roots * U, roots * labels.Y
    if len(V) <= V.shape[1]:
        return np.asarray(V.T @ _shrunk(V @ V.T, R, penalties, len(V)))
    return _shrunk(V.T @ V, V.T @ R, penalties, len(V))


def _shrunk(K: np.ndarray, R: np.ndarray, penalties: Sequence[float], n_rows: int) -> np.ndarray:
    """Average the solutions of (K + λsI)Z = R; K has the trace of the rows' Gram matrix."""
    scale = float(np.trace(K)) / n_rows or 1.0
    eye = np.eye(len(K))
    solved = [solve(K + penalty * scale * eye, R, assume_a="pos") for penalty in penalties]
    return np.asarray(np.mean(solved, axis=0))
