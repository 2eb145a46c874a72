"""Label spreading judged on hidden labels."""

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any, TypeAlias

import numpy as np
from scipy.sparse import csr_array

from gssl.evaluation.holdout import label_folds
from gssl.methods.base import iterate, last
from gssl.methods.labels import UNLABELLED, rows_to_distributions
from gssl.operators import dense
from gssl.scale.execution import IN_MEMORY, Execution, Task
from gssl.selection.graph_operators import GraphOperator
from gssl.selection.leaderboard import Entry
from gssl.selection.trial import Labels, score_error

# nodes whose labels were hidden, and what was said about them
Hidden: TypeAlias = tuple[np.ndarray, np.ndarray]
# the part of the fixed point that may be missing, and the fewest and most steps towards it: few would not
# come far enough from a label to say anything
_MISSING = 0.01
_FEWEST, _MOST = 32, 1000
# folds are run side by side up to so many columns: a hop over few of them costs about as much as over one
_COLUMNS = 32


def judge_spreading(
    alpha: float,
    hop: GraphOperator,
    codes: np.ndarray,
    weigh: Callable[[np.ndarray], Labels],
    dtype: Any = np.float64,
    execution: Execution = IN_MEMORY,
) -> tuple[Entry, Hidden] | None:
    """Judge label spreading on hidden labels, if any class has two; None if not."""
    start = perf_counter()
    if np.bincount(codes[codes != UNLABELLED]).max() < 2:
        return None
    hidden = spread_hidden(hop, codes, alpha, dtype=dtype, execution=execution)
    return hidden_entry("LabelSpreading", f"alpha={alpha}", hidden, codes, weigh, start), hidden


def hidden_entry(
    model: str,
    settings: str,
    hidden: Hidden,
    codes: np.ndarray,
    weigh: Callable[[np.ndarray], Labels],
    start: float,
) -> Entry:
    """Enter what a model said about hidden labels into the table, with the seconds since it started."""
    nodes, P = hidden
    labels = weigh(codes[nodes])
    score = float(np.average(P.argmax(axis=1) == codes[nodes], weights=labels.weights))
    return Entry(
        model=model,
        settings=settings,
        score=score,
        standard_error=score_error(score, labels),
        squared_error=float(np.average(np.square(P - labels.Y).sum(axis=1), weights=labels.weights)),
        seconds=perf_counter() - start,
        chosen=False,
    )


def spread_hidden(
    hop: GraphOperator,
    codes: np.ndarray,
    alpha: float = 0.9,
    n_folds: int = 5,
    steps: int | None = None,
    dtype: Any = np.float64,
    execution: Execution = IN_MEMORY,
) -> Hidden:
    r"""Say what label spreading thinks of labels that were hidden from it, each of them once.

    .. math:: F \leftarrow \alpha D^{-1/2} A D^{-1/2} F + (1 - \alpha) Y
    """
    n_classes = int(codes.max()) + 1
    folds = label_folds(codes, n_folds, random_state=0)
    if steps is None:
        steps = int(np.clip(np.ceil(np.log(_MISSING) / np.log(alpha)), _FEWEST, _MOST))
    labelled = np.flatnonzero(codes != UNLABELLED)
    spread = _SpreadTask(hop.on(None), alpha, steps, labelled)
    task = Task(spread, spread.identity)
    said = []
    together = max(1, _COLUMNS // n_classes)
    for first in range(0, len(folds), together):
        group = folds[first : first + together]
        shown = [np.setdiff1d(labelled, hidden) for hidden in group]
        places = [k * n_classes + codes[nodes] for k, nodes in enumerate(shown)]
        values = np.full(sum(map(len, shown)), 1.0 - alpha, dtype)
        shape = len(codes), len(group) * n_classes
        Y = csr_array((values, (np.concatenate(shown), np.concatenate(places))), shape=shape)
        F = execution.map_columns(task, Y, lambda k: hop.filters).reshape(
            len(labelled), len(group), n_classes
        )
        said += [F[np.searchsorted(labelled, hidden), k] for k, hidden in enumerate(group)]
    nodes = np.concatenate(folds)
    order = np.argsort(nodes)
    return nodes[order], rows_to_distributions(np.concatenate(said)[order].astype(np.float64))


@dataclass(frozen=True, eq=False)
class _SpreadTask:
    """Spread some columns, and give the rows of some nodes."""

    hop: GraphOperator
    alpha: float
    steps: int
    nodes: np.ndarray

    @property
    def identity(self) -> tuple[Any, ...]:
        """What tells it from another task."""
        return ("spread", self.hop.mixture, self.hop.own, self.alpha, self.steps, self.nodes)

    def __call__(self, Y: Any, filters: Any, _: slice) -> np.ndarray:
        F = _spread(self.hop.on(filters(1)), dense(Y), self.alpha, self.steps)
        return np.asarray(F[self.nodes])


def _spread(hop: GraphOperator, Y: np.ndarray, alpha: float, steps: int) -> np.ndarray:
    def step(F: np.ndarray, _: int) -> np.ndarray:
        F = hop(F)
        F *= alpha
        F += Y
        return F

    return last(iterate(step, Y, range(steps)))
