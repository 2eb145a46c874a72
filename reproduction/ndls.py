"""NDLS as published: smooth features, train a perceptron, smooth its predictions."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone

from gssl.evaluation import accuracy
from gssl.methods import NDLS
from reproduction.spec import Cell, part


@part
@dataclass(eq=False, repr=False)
class NDLSClassifier(BaseEstimator):
    r"""Smooth features, fit a classifier to them, and smooth its predictions (Zhang et al., 2021).

    .. math:: U = \mathrm{NDLS}_\epsilon(X), \qquad Z = \mathrm{softmax}(f(U)), \qquad
        \hat Z = \mathrm{NDLS}_{\epsilon'}(Z)

    The maximum number of steps in the last equation is chosen from ``label_depths`` on validation nodes;
    0 is Z itself. Without validation nodes the first is used. The authors' script differs: it smooths by
    D̃⁻¹(A + I) up to 200 times, stops by distances between features, smooths logarithms of Z in 19 ways, and
    keeps the best accuracy on *test* nodes.
    """

    model: Any
    depth: int = 32
    epsilon: float = 0.03
    alpha: float = 0.15
    label_epsilon: float = 0.05
    label_depths: Sequence[int] = (0, 2, 4, 8, 16)

    def fit(self, X: Any, y: Any, *, adjacency: Any, validation: Any = None) -> Self:
        """Fit the classifier, then choose the number of smoothing steps for its predictions."""
        U = NDLS(self.depth, self.epsilon, self.alpha).fit_transform(X, adjacency=adjacency)
        self.model_ = model = clone(self.model).fit(U, y, adjacency=adjacency, validation=validation)
        self.n_iter_, self.best_epoch_ = model.n_iter_, model.best_epoch_
        judges = np.asarray([] if validation is None else validation, dtype=np.int64)
        Z = model.label_distributions_
        smooth = NDLS(max(self.label_depths), self.label_epsilon, self.alpha)
        smoothed = list(smooth.iter_embeddings(Z, adjacency=adjacency))
        best = -1.0
        for depth in self.label_depths:
            predicted = model.classes_[smoothed[depth].argmax(axis=1)]
            score = accuracy(np.asarray(y)[judges], predicted[judges]) if len(judges) else 0.0
            if score > best:
                best, self.label_depth_, self.transduction_ = score, depth, predicted
        return self


def ndls(dataset: str) -> Cell:
    """Return NDLS with the width, dropout, learning rate and epochs of its authors' script."""
    params = {"learning_rate": 0.1, "epochs": 200, "patience": None}
    settings = {"method": "NDLSClassifier", "params": {"model": {"method": "MLP", "params": params}}}
    return Cell("network", dataset, settings, slow=True)
