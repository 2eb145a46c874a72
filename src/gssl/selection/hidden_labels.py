"""Labels that are hidden fold by fold, and how well models predict them."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gssl.evaluation.graph_gain import GraphGain, compare_hits
from gssl.evaluation.holdout import balanced_fold_count, dealt_folds
from gssl.evaluation.metrics import score_error
from gssl.methods.labels import UNLABELLED, one_hot
from gssl.selection.leaderboard import Entry
from gssl.selection.trial import Labels

# number of folds, the number used if nodes × classes is large, and what counts as large
FOLDS, _FEW_FOLDS, _LARGE = 3, 2, 1_000_000
# with fewer labels per class on average, models are not compared
FEW = 3


@dataclass(frozen=True, eq=False)
class HiddenAnswers:
    """The nodes with known answers, and the folds of nodes that are hidden together.

    Scores have a row for every such node. There are no folds if nothing can be hidden.
    """

    nodes: np.ndarray
    labels: Labels
    folds: list[np.ndarray]

    @property
    def few(self) -> bool:
        """Whether there are too few answers to compare models on them."""
        return not self.folds

    @cached_property
    def tested(self) -> np.ndarray:
        """Mask of the answers that are hidden in a fold."""
        return np.isin(self.nodes, np.concatenate([*self.folds, self.nodes[:0]]))

    def positions(self, nodes: np.ndarray) -> np.ndarray:
        """Return the rows of some nodes with known answers."""
        return np.searchsorted(self.nodes, nodes)

    def uniform_scores(self) -> np.ndarray:
        """Return the same score for all columns, the default for answers that no fold hides."""
        return np.full(self.labels.Y.shape, 1.0 / self.labels.Y.shape[1])

    def gather(self, parts: Sequence[np.ndarray]) -> np.ndarray:
        """Put the scores of each fold in the rows of its answers."""
        scores = self.uniform_scores()
        for fold, part in zip(self.folds, parts, strict=True):
            scores[self.positions(fold)] = part
        return scores


@dataclass(frozen=True, eq=False)
class HiddenLabels(HiddenAnswers):
    """The same for classes: there are no folds if no class has two labels."""

    truth: np.ndarray

    @classmethod
    def deal(cls, codes: np.ndarray, class_weights: np.ndarray, keys: np.ndarray) -> "HiddenLabels":
        """Deal the labels into folds by the keys of their nodes."""
        nodes, n_classes = np.flatnonzero(codes != UNLABELLED), len(class_weights)
        truth = codes[nodes]
        labels = Labels(one_hot(truth, n_classes, np.float64), class_weights[truth], keys[nodes])
        folds: list[np.ndarray] = []
        if np.bincount(truth).max() > 1:
            wanted = FOLDS if len(codes) * n_classes <= _LARGE else _FEW_FOLDS
            folds = dealt_folds(codes, balanced_fold_count(truth, wanted), keys)
        return cls(nodes, labels, folds, truth)

    @property
    def few(self) -> bool:
        """Whether there are too few labels to compare models on them."""
        return len(self.nodes) < FEW * self.n_classes or not self.folds

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return int(self.labels.Y.shape[1])

    def hits(self, scores: np.ndarray) -> np.ndarray:
        """Return which labels are predicted correctly; a tie of k classes is a k-th of a hit."""
        # otherwise the first class would get all labels that no other label reaches
        tied = scores == scores.max(axis=1, keepdims=True)
        return np.asarray(tied[np.arange(len(tied)), self.truth] / tied.sum(axis=1))

    def accuracy(self, scores: np.ndarray) -> float:
        """Return the weighted accuracy on hidden labels."""
        tested = self.tested
        return float(np.average(self.hits(scores)[tested], weights=self.labels.weights[tested]))

    def log_loss(self, P: np.ndarray) -> float:
        """Return the weighted mean of −log P of hidden labels."""
        logs = np.log(np.maximum((P * self.labels.Y).sum(axis=1), 1e-6))[self.tested]
        return -float(np.average(logs, weights=self.labels.weights[self.tested]))

    def entry(self, model: str, settings: str, P: np.ndarray, seconds: float, *, chosen: bool) -> Entry:
        """Return the line of a leaderboard for distributions of hidden labels."""
        score = self.accuracy(P)
        error = score_error(score, self.labels.effective_number)
        return Entry(model, settings, score, error, self.log_loss(P), seconds, chosen)

    def gain(self, scores: np.ndarray, others: np.ndarray) -> GraphGain:
        """Return by how much the accuracy of ``scores`` exceeds that of ``others``."""
        return compare_hits(self.hits(scores)[self.tested], self.hits(others)[self.tested])
