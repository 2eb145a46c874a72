"""What an average says about labels that it was not fitted to, by models that other labels have ranked."""

from collections.abc import Sequence

import numpy as np

from gssl.evaluation.holdout import fold_numbers
from gssl.selection.trial import Labels, Trial, average_distributions, compared, rank_pairs

FOLDS = 5


def nested_average(trials: Sequence[Trial], labels: Labels, n_folds: int = FOLDS) -> np.ndarray:
    r"""Choose near-best models on some labels, and ask them about the others.

    The models that did best on a label are not fair judges of it, even if none of them was fitted to it. So
    labels are dealt into folds, :math:`F_1, F_2, \dots`; models are ranked by their leave-one-out predictions
    outside of a fold, and the average of the near-best speaks about the labels inside:

    .. math:: P_{F} = \mathrm{average}\{P^{(j)}_{F} : j \in C_F\}, \qquad
              C_F = \text{near-best on } \{1, \dots, m\} \setminus F

    with the average of :func:`~gssl.selection.trial.average_distributions`.

    Only the ranking is nested. Which trials there are was decided by all labels, those inside included: how
    features are scaled, which filters are left of a screening, which are tried in the metric of all nodes,
    which get a logistic head and which of those all penalties. What is said about hidden labels may be a
    little too good for that.

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
    >>> from gssl.selection.trial import PENALTIES
    >>> Y = np.eye(2)[[0, 1, 0, 1]]
    >>> never = np.zeros(len(PENALTIES))
    >>> right = np.broadcast_to(Y, (len(PENALTIES), 4, 2))
    >>> plain = candidate_filters(1)[0]
    >>> trials = [Trial(plain, P, never, never, 0.0, PENALTIES) for P in (right, 1 - right)]
    >>> nested_average(trials, Labels(Y, np.ones(4))).argmax(axis=1)
    array([0, 1, 0, 1])
    """
    codes = labels.Y.argmax(axis=1)
    pairs = [(trial.head, said) for trial in trials for said in trial.predicted]
    judged = [compared(trial.predicted, trial.head, labels.Y) for trial in trials]
    hits, errors = (np.concatenate(parts) for parts in zip(*judged, strict=True))
    fold = fold_numbers(codes, n_folds)
    P = np.empty(labels.Y.shape)
    for k in range(n_folds):
        inside, outside = fold == k, fold != k
        judges = labels.part(np.flatnonzero(outside)) if outside.any() else labels
        rows = outside if outside.any() else inside
        scores = np.average(hits[:, rows], axis=1, weights=judges.weights)
        mean_errors = np.average(errors[:, rows], axis=1, weights=judges.weights)
        chosen = [pairs[place] for place in rank_pairs(scores, mean_errors, judges)]
        P[inside] = average_distributions([(head, said[inside]) for head, said in chosen])
    return P
