"""The fast model of the labelling page: ridge regression on filtered directions, refitted after every label.

Also estimates the accuracy on unlabelled nodes from labels that were not drawn at random.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from gssl.evaluation.metrics import score_error
from gssl.methods import SSGC
from gssl.methods.ridge import Ridge, keep_class_mass, leave_one_out, mean_square
from gssl.methods.softmax import inverse_temperatures
from gssl.operators import Filters, multiply, normalized_adjacency
from gssl.selection.node_order import node_keys, stratified_part
from gssl.selection.trial import PENALTIES
from gssl.selection.views import Views

# directions of a view, hops of its filter, and columns filtered at a time
WIDTH, DEPTH, _TOGETHER = 128, 8, 64
# penalty and inverse temperature while no class has two labels
_PENALTY, _SHARPNESS = 0.1, 10.0
# maximum number of labels used to choose view and penalty
_JUDGES = 150
# precision of the prior that confidences are calibrated, and their minimum distance from 0 and 1
_PRIOR, _EDGE = 2.0, 1e-3
_NEWTON = 12


def filtered_directions(X: Any, A: csr_array) -> list[np.ndarray]:
    """Return the projections of nodes onto leading directions in float32, smoothed and unsmoothed.

    Without features, links are used instead, or random vectors for large graphs; both only smoothed.
    """
    n = A.shape[0]
    X = csr_array((n, 0), dtype=np.float32) if X is None else X.astype(np.float32, copy=False)
    views = Views(X, A)
    kind = next(iter(views), None)
    if kind is None:
        own = np.random.default_rng(0).standard_normal((n, WIDTH), dtype=np.float32)
    else:
        view = views[kind]
        own = np.asarray(view.features.times(view.axes[:, :WIDTH]), dtype=np.float32)
    if not A.nnz:
        return [own]
    smooth = _smoothed(own, A)
    return [smooth] if kind in (None, "links") else [smooth, own]


def _smoothed(V: np.ndarray, A: csr_array) -> np.ndarray:
    """Filter columns by SSGC, a few at a time."""
    filters, program = Filters(normalized_adjacency(A, np.float32)), SSGC(depth=DEPTH).program()
    U = np.empty_like(V)
    for start in range(0, V.shape[1], _TOGETHER):
        columns = slice(start, start + _TOGETHER)
        U[:, columns] = program.run(np.ascontiguousarray(V[:, columns]), lambda graph: filters)
    return U


@dataclass(frozen=True, eq=False)
class Answer:
    """Predictions for all nodes (``distributions``), and for each label while it was hidden (``hidden``).

    Rows of ``hidden`` are in the order of ``labelled``. ``judged`` is False if no label could be hidden.
    """

    labelled: np.ndarray
    codes: np.ndarray
    distributions: np.ndarray
    hidden: np.ndarray
    judged: bool
    rows: np.ndarray
    ridge: Ridge

    @property
    def hits(self) -> np.ndarray:
        """Mask of the labels that were predicted correctly while hidden."""
        return np.asarray(self.hidden.argmax(axis=1) == self.codes)

    def shares(self, node: int) -> np.ndarray:
        r"""Return the contribution of each label to the score of its class at a node.

        .. math:: s_j = B_i (B_L^\top B_L + \lambda I)^{-1} B_j^\top, \qquad Z_{ic} = \sum_{j: y_j = c} s_j
        """
        return np.asarray(self.ridge.influence(self.rows[[node]].astype(np.float64))[0])


class InteractiveModel:
    """Ridge regression on the view that predicts hidden labels best.

    The result does not depend on the order of the labels, so undo is exact.
    """

    def __init__(self, views: Sequence[np.ndarray]) -> None:
        self.views = list(views)
        self._keys = node_keys(self.views[0])

    def fit(self, labelled: np.ndarray, codes: np.ndarray, n_classes: int) -> Answer:
        """Classify all nodes from some labelled nodes, whose classes are ``codes``."""
        Y = np.eye(n_classes)[codes]
        judged = bool(np.bincount(codes).max() > 1)
        part = stratified_part(codes, self._keys[labelled], _JUDGES)
        best: tuple[float, Any] | None = None
        for rows in self.views if judged else self.views[:1]:
            U = rows[labelled].astype(np.float64)
            scale = mean_square(U)
            if not judged:
                best = 0.0, (rows, _PENALTY * scale, _SHARPNESS, np.zeros_like(Y))
                break
            predicted = keep_class_mass(leave_one_out(U, Y, scale * PENALTIES), Y)
            sharpness, losses = inverse_temperatures(predicted[:, part], Y[part], np.ones(len(part)))
            k = int(np.argmin(losses))
            if best is None or losses[k] < best[0]:
                best = float(losses[k]), (rows, scale * PENALTIES[k], float(sharpness[k]), predicted[k])
        assert best is not None
        rows, penalty, t, hidden = best[1]
        ridge = Ridge(rows[labelled].astype(np.float64), penalty)
        W = ridge.coefficients(Y)
        P = softmax_rows(multiply(rows, (t * W).astype(np.float32)))
        return Answer(labelled, codes, P, softmax_rows(t * hidden), judged, rows, ridge)


def estimate_accuracy(hidden: np.ndarray, hits: np.ndarray, confidences: np.ndarray) -> tuple[float, float]:
    r"""Estimate the accuracy on nodes without labels; return it with its standard error.

    .. math:: \frac1n \sum_i \sigma(a + b\, \mathrm{logit}\, p_i)

    p are the ``confidences`` of the nodes; a and b are fitted to the ``hits`` and confidences of ``hidden``
    labels. Suggested nodes are harder than most, so the mean of ``hits`` is far too low; at equal confidence,
    labelled nodes are about as hard as others.
    """
    if not len(confidences):
        return float(hits.mean()), score_error(float(hits.mean()), len(hits))
    x, z = _logit(hidden), _logit(confidences)
    design = np.stack([np.ones_like(x), x], axis=1)
    centre = theta = np.array([0.0, 1.0])
    H = curb = _PRIOR * np.eye(2)
    for _ in range(_NEWTON):
        p = _sigmoid(design @ theta)
        H = (design * (p * (1.0 - p))[:, None]).T @ design + curb
        theta = theta - np.linalg.solve(H, design.T @ (p - hits) + curb @ (theta - centre))
    q = _sigmoid(theta[0] + theta[1] * z)
    slope = q * (1.0 - q)
    gradient = np.array([slope.mean(), (slope * z).mean()])
    share = float(q.mean())
    # at least the standard error of as many labels drawn at random
    error = max(float(np.sqrt(gradient @ np.linalg.solve(H, gradient))), score_error(share, len(hits)))
    return share, error


def _logit(p: np.ndarray) -> np.ndarray:
    p = np.clip(p.astype(np.float64), _EDGE, 1.0 - _EDGE)
    return np.asarray(np.log(p / (1.0 - p)))


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(x, -30, 30))))


def softmax_rows(Z: np.ndarray) -> np.ndarray:
    """Return the softmax of rows in column-major order: reductions over a few long columns are fast."""
    T = np.ascontiguousarray(Z.T)
    T -= T.max(axis=0)
    np.exp(T, out=T)
    T /= T.sum(axis=0)
    return T.T


def top_two(P: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the most probable class of each row, its probability and that of the runner-up."""
    best, top = np.zeros(len(P), dtype=np.int64), P[:, 0].copy()
    second = np.full_like(top, 0.0)
    for code in range(1, P.shape[1]):
        column = P[:, code]
        np.maximum(second, np.minimum(column, top), out=second)
        best[column > top] = code
        np.maximum(top, column, out=top)
    return best, top, second
