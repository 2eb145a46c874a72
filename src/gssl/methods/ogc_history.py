"""The history of OGC: the pull of every iteration, from which embeddings and losses are computed."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

import numpy as np

from gssl.graph.validate import without_warnings
from gssl.methods.base import GraphClassifier
from gssl.methods.inputs import FittedParameters
from gssl.methods.labels import decode_labels
from gssl.operators import Filters, Mixture, NormalizedAdjacency, Program, Pull, Step, mix, zeros
from gssl.operators.program import FiltersOf
from gssl.scale.execution import Task, current_execution
from gssl.scale.progress import report_progress


@dataclass(frozen=True)
class Steps:
    """The pull, loss and agreement of every iteration of a fit."""

    A_hat: NormalizedAdjacency
    beta: float
    pulls: list[Pull] = field(default_factory=list)
    loss: list[float] = field(default_factory=list)
    agreement: list[float] = field(default_factory=list)

    @property
    def identity(self) -> tuple[Any, ...]:
        """Everything the embeddings depend on besides features and graph."""
        return self.beta, [(pull.nodes, pull.R, pull.W) for pull in self.pulls]

    @property
    def program(self) -> Program:
        """The lazy convolutions of all iterations, into which the pulls are injected."""
        return Program([Step(Mixture.lazy(self.beta))] * len(self.pulls))

    def record(self, pull: Pull, facts: dict[str, float]) -> None:
        """Append an iteration."""
        self.pulls.append(pull)
        self.loss.append(facts["loss"])
        self.agreement.append(facts["agreement"])

    def embedding(self, X: Any, filters: FiltersOf, columns: slice) -> Any:
        """Return some columns of U after the last iteration."""
        return self.program.run(X, filters, self._pulls_on(columns), report_progress)

    def smoothing_losses(self, X: Any, filters: FiltersOf, columns: slice) -> Any:
        """Return the diagonal of Uᵀ(I − Â)U after each iteration, one row per iteration."""
        losses = zeros(X, n_rows=len(self.pulls))
        for k, state in enumerate(self.program.states(X, filters, self._pulls_on(columns))):
            losses[k] = (state.U * mix(filters(1), state.U, Mixture(smooth=-1.0, keep=1.0))).sum(0)
            report_progress(k + 1, len(self.pulls))
        return losses

    def _pulls_on(self, columns: slice) -> Callable[[int], Pull]:
        return lambda k: self.pulls[k].columns(columns)


class OGCHistory(FittedParameters, GraphClassifier):
    """``embedding_`` and ``history_`` of OGC, computed on first use because predictions do not need them."""

    coef_: np.ndarray
    n_iter_: int

    @abstractmethod
    def update_labels(self, y: Any) -> Self:
        """Fit to other labels of the same nodes."""

    @property
    def embedding_(self) -> np.ndarray:
        """U after the last iteration."""
        return np.asarray(self._replayed)

    @property
    def history_(self) -> dict[str, np.ndarray]:
        """Losses and agreement after each iteration."""
        return {
            "classification_loss": np.array(self._steps.loss),
            "smoothing_loss": self._smoothing,
            "agreement": np.array(self._steps.agreement),
        }

    @cached_property
    def _replayed(self) -> np.ndarray:
        """U after the last iteration."""
        # three buffers: X, and U before and after a step
        return self._replay(Task(self._steps.embedding, ("embedding", *self._steps.identity), buffers=3))

    @cached_property
    def _smoothing(self) -> np.ndarray:
        """The smoothing loss of the embeddings after each iteration."""
        by_column = self._replay(Task(self._steps.smoothing_losses, ("smoothing", *self._steps.identity)))
        return np.asarray(by_column.sum(axis=1, dtype=np.float64))

    def _replay(self, task: Task) -> np.ndarray:
        """Run a task on the features and graph of fit."""
        X, filters = self._kept_inputs().X, Filters(self._steps.A_hat)
        return current_execution(self, resumes=False).map_columns(task, X, lambda k: filters)

    @cached_property
    def _steps(self) -> Steps:
        """The iterations of fit; a loaded model that holds its inputs fits again to know them."""
        self._kept_inputs()  # raises if there are none
        y = decode_labels(self.classes_, self._fit_codes)
        with without_warnings():  # the first fit has issued them
            again = self._as_fitted().snapshot().update_labels(y)
        if not np.allclose(again.coef_, self.coef_, rtol=1e-3, atol=1e-5 * np.abs(self.coef_).max()):
            raise ValueError(
                "the fit of this loaded OGC cannot be repeated, because it had anchors or no random_state: "
                "fit it again."
            )
        steps: Steps = again._steps
        return steps
