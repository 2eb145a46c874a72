"""What a fit of OGC leaves behind, from which its embeddings can be computed again."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gssl.methods._base import iterate
from gssl.methods._execution import FiltersOf, FinishedStep
from gssl.methods._known_rows import KnownRows
from gssl.operators import Mixture, NormalizedAdjacency, alike, mix, zeros


@dataclass(frozen=True)
class Replay:
    """The pull and the predictor of every step: embeddings are computed when somebody asks for them."""

    A_hat: NormalizedAdjacency
    lazy: Mixture
    anchors: np.ndarray
    known: KnownRows
    pulls: list[tuple[np.ndarray, np.ndarray]] = field(default_factory=list)
    loss: list[float] = field(default_factory=list)
    agreement: list[float] = field(default_factory=list)

    @property
    def identity(self) -> tuple[Any, ...]:
        """What tells these embeddings from others of the same features and graph."""
        return self.lazy, self.anchors, self.pulls

    def note(self, step: FinishedStep) -> None:
        """Remember what a step moves the embeddings by, and the history."""
        self.pulls.append((step.pull, step.W))
        self.loss.append(step.facts["loss"])
        self.agreement.append(step.facts["agreement"])

    def replay(self, X: Any, filters: FiltersOf, columns: slice) -> Iterator[Any]:
        """Yield some columns of the embeddings after each iteration."""

        def step(U: Any, k: int) -> Any:
            pull, W = self.pulls[k]
            U = mix(filters(k), U, self.lazy)
            U[self.anchors] -= alike(pull @ W[columns].T, U)
            return U

        return iterate(step, X, range(len(self.pulls)))

    def smoothing_losses(self, X: Any, filters: FiltersOf, columns: slice) -> Any:
        """Give tr(Uᵀ(I − Â)U) after each iteration, as one row, column by column."""
        losses = zeros(X, n_rows=len(self.pulls))
        for k, U in enumerate(self.replay(X, filters, columns)):
            losses[k] = (U * mix(filters(k), U, Mixture(smooth=-1.0, keep=1.0))).sum(0)
        return losses
