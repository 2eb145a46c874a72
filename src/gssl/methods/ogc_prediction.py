"""Predictions of OGC for nodes that were not seen in fit."""

import math
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from gssl.graph.mapped import take_rows
from gssl.methods.labels import nearest_distribution
from gssl.methods.neighbourhood import EVERY, Nodes, neighbourhood
from gssl.methods.ogc_history import OGCHistory
from gssl.methods.ridge import ridge
from gssl.operators import (
    Filters,
    Loss,
    Mixture,
    NormalizedAdjacency,
    Program,
    Step,
    multiply,
    soft_labels,
)
from gssl.operators.program import AtNodes, FiltersOf
from gssl.scale.execution import Task, current_execution
from gssl.scale.progress import report_progress

# predictor for graphs without the nodes of fit: mean number of hops, maximum number of rows, ridge penalty
_UNSEEN_HOPS, _UNSEEN_ROWS, _UNSEEN_PENALTY = 3, 4096, 1e-3


class OGCPrediction(OGCHistory):
    r"""Repeat the iterations of fit if the graph begins with its nodes, otherwise use a second predictor.

    The convolution P acts on rows and W on columns, so only scores are convolved:

    .. math:: U W = P^k X W + \sum_t P^{k-1-t} S R_t (W_t^\top W)

    The second predictor is ridge regression of the scores of fit on features smoothed over three hops.
    """

    beta: float
    loss: Loss
    max_iter: int

    def _distributions(self, scores: np.ndarray) -> np.ndarray:
        Z = soft_labels(scores, self.loss)
        return nearest_distribution(Z) if self.loss == "squared" else np.asarray(Z)

    def _score_graph(self, X: Any, A: csr_array, nodes: Nodes = EVERY) -> tuple[np.ndarray, np.ndarray]:
        part = neighbourhood(X, A, nodes, self._hops)
        if self._begins_with_fit(X):
            scores = self._repeated_scores(part.X, part.A_hat, part.nodes)
        else:
            scores = self._unseen_scores(part.X, part.A_hat)
        return self._as_fitted()._distributions(scores)[part.positions], part.informed

    @property
    def _hops(self) -> int:
        return max(self.n_iter_, self._unseen_steps) if self._as_fitted().beta else 0

    def _repeated_scores(self, X: Any, A_hat: NormalizedAdjacency, nodes: np.ndarray) -> np.ndarray:
        """Return UW of some nodes by the iterations of fit, pulls included."""
        anchors = np.flatnonzero(self._anchored)
        rows = np.flatnonzero(np.isin(nodes, anchors))
        pulls = self._anchor_scores[1:, np.searchsorted(anchors, nodes[rows])]
        return self._run(self.n_iter_, X, self.coef_, A_hat, lambda k: AtNodes(rows, pulls[k]))

    def _unseen_scores(self, X: Any, A_hat: NormalizedAdjacency) -> np.ndarray:
        """Return the scores of the second predictor."""
        return self._run(self._unseen_steps, X, self._unseen_coef, A_hat)

    def _run(
        self, n_steps: int, X: Any, W: np.ndarray, A_hat: NormalizedAdjacency, inject: Any = None
    ) -> np.ndarray:
        """Convolve the scores XW."""
        filters = current_execution(self, resumes=False).place(Filters(A_hat))
        scores = multiply(X, W.astype(X.dtype))
        return np.asarray(self._lazy(n_steps).run(scores, lambda k: filters, inject, report_progress))

    def _lazy(self, n_steps: int) -> Program:
        return Program([Step(Mixture.lazy(self._as_fitted().beta))] * n_steps)

    @property
    def _unseen_steps(self) -> int:
        fitted = self._as_fitted()
        return min(math.ceil(_UNSEEN_HOPS / fitted.beta), fitted.max_iter) if fitted.beta else 1

    def _begins_with_fit(self, X: Any) -> bool:
        """Return whether the anchors of fit are at the same positions, judged by their scores XW."""
        if X.shape[0] < len(self._anchored):
            return False
        known = self._anchor_scores[0]
        scores = _row_scores(X, np.flatnonzero(self._anchored), self.coef_)
        return bool((np.abs(scores - known) <= 1e-3 * np.abs(known).max(initial=0.0)).all())

    @cached_property
    def _anchored(self) -> np.ndarray:
        """A mask of the anchors among the nodes of fit."""
        anchored = np.zeros(self._kept_inputs().X.shape[0], dtype=bool)
        anchored[self._steps.pulls[0].nodes] = True
        return anchored

    @cached_property
    def _anchor_scores(self) -> np.ndarray:
        """The scores XW of the anchors, followed by what the pull of each iteration adds to them."""
        pulls, W = self._steps.pulls, self.coef_
        first = _row_scores(self._kept_inputs().X, pulls[0].nodes, W)
        return np.stack([first, *(pull.R @ (pull.W.T @ W) for pull in pulls)])

    @cached_property
    def _unseen_coef(self) -> np.ndarray:
        """The predictor for graphs without the nodes of fit, fitted to the scores of at most 4,096 nodes."""
        X, program = self._kept_inputs().X, self._lazy(self._unseen_steps)
        n = X.shape[0]
        nodes = np.unique(np.linspace(0, n - 1, num=min(n, _UNSEEN_ROWS), dtype=np.int64))

        def smoothed_rows(X: Any, filters: FiltersOf, columns: slice) -> Any:
            return program.run(X, filters, on_step=report_progress)[nodes]

        identity = ("smoothed rows", self._unseen_steps, self._as_fitted().beta)
        U = self._replay(Task(smoothed_rows, identity, buffers=3))
        scores = self._repeated_scores(X, self._steps.A_hat, np.arange(n))
        return ridge(U, scores[nodes], _UNSEEN_PENALTY)

    def _forget(self) -> None:
        """Remove what was computed on first use after an earlier fit."""
        for name in ("_replayed", "_smoothing", "_anchored", "_anchor_scores", "_unseen_coef"):
            self.__dict__.pop(name, None)


def _row_scores(X: Any, nodes: np.ndarray, W: np.ndarray) -> np.ndarray:
    return np.asarray(multiply(take_rows(X, nodes), W.astype(X.dtype)))
