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
    """Average the predictors that a trial gives with some penalties."""
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
