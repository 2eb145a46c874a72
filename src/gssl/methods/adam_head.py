"""AdamHead: softmax regression by the paper's own protocol."""

from typing import Any, Self

import numpy as np
from scipy.special import softmax

from gssl.methods.heads import LinearHead, with_ones
from gssl.methods.inputs import check_features, check_number, generator, scale_features
from gssl.methods.labels import one_hot
from gssl.methods.stored import Stored
from gssl.operators import dense, small_algebra, soft_labels


class AdamHead(LinearHead):
    r"""Softmax regression trained as in the paper: Adam, fixed epochs, of which validation selects the best.

    .. math:: \min_{W, b} \sum_i -w_i \log \mathrm{softmax}(U_i W + b)_{y_i}, \qquad \sum_i w_i = 1

    W and b are initialised uniformly in ±1/√d, weight decay is added to their gradients, and every step uses
    all rows. Without validation rows the last epoch is kept.

    Parameters
    ----------
    learning_rate : float, default=0.2
    epochs : int, default=100
    weight_decay : float, default=1e-5
    random_state : int, Generator, RandomState or None, default=None
    class_weight : None, "balanced" or dict, default=None
        See :class:`gssl.LogisticHead`.

    Examples
    --------
    >>> import numpy as np
    >>> U, y = np.array([[1.0, 0.0], [0.0, 1.0]]), ["a", "b"]
    >>> AdamHead(random_state=0).fit(U, y).predict(U).tolist()
    ['a', 'b']
    """

    _stored = (Stored("best_epoch_", "whole"),)

    def __init__(
        self,
        learning_rate: float = 0.2,
        epochs: int = 100,
        weight_decay: float = 1e-5,
        random_state: Any = None,
        class_weight: Any = None,
    ) -> None:
        self.learning_rate = learning_rate
        self.epochs = epochs
        self.weight_decay = weight_decay
        self.random_state = random_state
        self.class_weight = class_weight

    def fit(self, U: Any, y: Any, validation: tuple[Any, Any] | None = None) -> Self:
        """Train on labelled rows; ``validation`` is a pair (rows, labels) that only selects the epoch."""
        self._check_parameters()
        U, codes, w = self._start(U, y)
        U = with_ones(U)
        d, c = U.shape[1] - 1, len(self.classes_)
        bound = 1.0 / np.sqrt(d)
        W = generator(self.random_state).uniform(-bound, bound, size=(d + 1, c)).astype(U.dtype)
        Y = one_hot(codes, c, U.dtype)
        if validation is not None:
            rows = dense(check_features(self, validation[0], reset=False))
            validation = (scale_features(rows, self._exponent), validation[1])
        judge = _Judge(validation, self.classes_)
        best, self.best_epoch_ = W, 0
        with small_algebra():
            # the last row is the bias, so that Adam updates a single matrix
            for epoch, trained in enumerate(self._epochs(U, Y, W, w.astype(U.dtype)), start=1):
                if judge.prefers(trained):
                    best, self.best_epoch_ = trained, epoch
        return self._finish(best[:-1], best[-1])

    def _check_parameters(self) -> None:
        check_number(self, "epochs", low=1, whole=True)
        for name in ("learning_rate", "weight_decay"):
            check_number(self, name, low=0.0)

    def _epochs(self, U: np.ndarray, Y: np.ndarray, W: np.ndarray, w: np.ndarray) -> Any:
        """Yield W after each Adam step (Kingma and Ba, 2015, with its default moments)."""
        first, second = np.zeros_like(W), np.zeros_like(W)
        for t in range(1, self.epochs + 1):
            R = w[:, None] * (soft_labels(U @ W, "cross_entropy") - Y)
            gradient = U.T @ R + self.weight_decay * W
            first = 0.9 * first + 0.1 * gradient
            second = 0.999 * second + 0.001 * gradient**2
            step = (first / (1 - 0.9**t)) / (np.sqrt(second / (1 - 0.999**t)) + 1e-8)
            W = W - self.learning_rate * step
            yield W

    def distributions(self, scores: np.ndarray) -> np.ndarray:
        """Return the softmax of scores."""
        return np.asarray(softmax(scores, axis=1))


class _Judge:
    """Track the best validation accuracy; ties go to the earlier epoch."""

    def __init__(self, validation: tuple[Any, Any] | None, classes: np.ndarray) -> None:
        self.best = -1.0
        self.rows: Any = None
        if validation is not None:
            self.rows = with_ones(validation[0])
            self.labels = np.asarray(validation[1])
            self.classes = classes

    def prefers(self, W: np.ndarray) -> bool:
        if self.rows is None:
            return True
        accuracy = float((self.classes[(self.rows @ W).argmax(axis=1)] == self.labels).mean())
        better = accuracy > self.best
        self.best = max(accuracy, self.best)
        return better
