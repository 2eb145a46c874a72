"""What an average of chosen models says about labels that neither fitted nor chose it."""

from collections.abc import Sequence

import numpy as np

from gssl.selection.leave_one_out import keep_class_mass
from gssl.selection.search import Labels, Trial, rank_pairs

FOLDS = 5


def nested_average(trials: Sequence[Trial], labels: Labels, n_folds: int = FOLDS) -> np.ndarray:
    r"""Choose near-best models on some labels, and ask them about the others.

    The models that did best on a label are not fair judges of it, even if none of them was fitted to it. So
    labels are dealt into folds, :math:`F_1, F_2, \dots`; models are ranked by their leave-one-out predictions
    outside of a fold, and the average of the near-best speaks about the labels inside:

    .. math:: P_{F} = \frac1{|C_F|} \sum_{j \in C_F} P^{(j)}_{F}, \qquad
              C_F = \text{near-best on } \{1, \dots, m\} \setminus F

    Parameters
    ----------
    trials : sequence of Trial
        All of them saw the same labels.
    labels : Labels
    n_folds : int, default=5

    Returns
    -------
    ndarray of shape (m, c)

    Examples
    --------
    >>> from gssl.selection.filters import candidate_filters
    >>> from gssl.selection.search import PENALTIES
    >>> Y = np.eye(2)[[0, 1, 0, 1]]
    >>> never = np.zeros(len(PENALTIES))
    >>> right = np.broadcast_to(Y, (len(PENALTIES), 4, 2))
    >>> plain = candidate_filters(1)[0]
    >>> trials = [Trial(plain, False, P, P, never, never, 0.0) for P in (right, 1 - right)]
    >>> nested_average(trials, Labels(Y, np.ones(4))).argmax(axis=1)
    array([0, 1, 0, 1])
    """
    codes = labels.Y.argmax(axis=1)
    corrected = np.concatenate([keep_class_mass(trial.predicted, labels.Y) for trial in trials])
    hits = corrected.argmax(axis=2) == codes
    errors = np.square(corrected - labels.Y).sum(axis=2)
    left_out = np.concatenate([trial.predicted for trial in trials])
    fold = deal(codes, n_folds)
    P = np.empty(labels.Y.shape)
    for k in range(n_folds):
        inside, outside = fold == k, fold != k
        judges = labels.part(np.flatnonzero(outside)) if outside.any() else labels
        rows = outside if outside.any() else inside
        scores = np.average(hits[:, rows], axis=1, weights=judges.weights)
        mean_errors = np.average(errors[:, rows], axis=1, weights=judges.weights)
        P[inside] = left_out[rank_pairs(scores, mean_errors, judges)][:, inside].mean(axis=0)
    return P


def deal(codes: np.ndarray, n_folds: int) -> np.ndarray:
    """Give each label a fold; those of a class go to different folds as far as there are enough.

    Parameters
    ----------
    codes : int ndarray of shape (m,)
    n_folds : int

    Returns
    -------
    int ndarray of shape (m,)

    Examples
    --------
    >>> deal(np.array([0, 0, 1, 0, 1]), 2)
    array([0, 1, 1, 0, 0])
    """
    order = np.argsort(codes, kind="stable")
    fold = np.empty(len(codes), dtype=np.int64)
    fold[order] = np.arange(len(codes)) % n_folds
    return fold
