"""What an average says about labels that it was not fitted to, by models that other labels have ranked."""

from collections.abc import Sequence

import numpy as np

from gssl.evaluation.holdout import fold_numbers
from gssl.selection.trial import Labels, Trial, average_distributions, compared, rank_pairs

FOLDS = 5


def nested_average(trials: Sequence[Trial], labels: Labels, n_folds: int = FOLDS) -> np.ndarray:
    """Choose near-best models on some labels, and ask them about the others."""
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
