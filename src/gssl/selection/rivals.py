"""Models of their own, which predict instead of the average where they clearly beat it on hidden labels."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any, TypeAlias

import numpy as np
from scipy.sparse import csr_array

from gssl.evaluation.graph_gain import GraphGain, compare_hits
from gssl.evaluation.holdout import label_folds, refit_without
from gssl.methods import OGC, LabelSpreading
from gssl.methods.base import GraphClassifier, iterate, last
from gssl.methods.inputs import FeatureSizeError
from gssl.methods.labels import UNLABELLED, rows_to_distributions
from gssl.operators import dense
from gssl.scale.execution import IN_MEMORY, Execution, Task, part_of_run
from gssl.selection.graph_features import GraphOperator
from gssl.selection.labelled_rows import LabelledRows
from gssl.selection.trial import Entry, Labels, score_error

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


FOLDS = 5
# so many standard errors are a clear difference
_CLEAR = 2.0

Weigh = Callable[[np.ndarray], Labels]


@dataclass(frozen=True, eq=False)
class Rival:
    """A model that is not fitted yet, its place in the table, and what it said about hidden labels."""

    model: GraphClassifier
    entry: Entry
    hidden: Hidden

    def gain(self, codes: np.ndarray, ours: np.ndarray) -> GraphGain:
        """Compare it, on the labels that were hidden from it, with which of ours were right."""
        nodes, P = self.hidden
        return compare_hits(P.argmax(axis=1) == codes[nodes], ours[nodes])


def judge_rivals(
    rows: LabelledRows,
    X: Any,
    codes: np.ndarray,
    ours: np.ndarray,
    weigh: Weigh,
    deadline: float,
) -> list[Rival]:
    """Judge label spreading on five folds of labels, and OGC on one of them, until time is up.

    OGC is tried where it could win: where one without a mistake would clearly beat ours.
    """
    found: list[Rival] = []
    if not rows.A.nnz or np.bincount(codes[codes != UNLABELLED]).max() < 2:
        return found
    if perf_counter() <= deadline:
        spreading = LabelSpreading()
        hop = rows.operators["hop"]
        judged = judge_spreading(spreading.spread, hop, codes, weigh, rows.X.dtype, rows.execution)
        found += [Rival(spreading, *judged)] if judged is not None else []
    fold = label_folds(codes, FOLDS, random_state=0)[0]
    # on a few labels, or where few of ours are wrong, not even one without a mistake would be clearly better
    could_win = _is_clear(compare_hits(np.ones(len(fold), dtype=bool), ours[fold]))
    if X is not None and could_win and perf_counter() <= deadline:
        found += _judge_ogc((X, rows.A), codes, fold, weigh)
    return found


def clear_winner(
    rivals: Sequence[Rival], codes: np.ndarray, ours: np.ndarray
) -> tuple[Rival, GraphGain] | None:
    """Return the one that beats ours by two standard errors and most of all, if any does."""
    gains = [(rival, rival.gain(codes, ours)) for rival in rivals]
    clear = [(rival, gain) for rival, gain in gains if _is_clear(gain)]
    return max(clear, key=lambda pair: pair[1].difference - _CLEAR * pair[1].standard_error, default=None)


def hide_from_ogc(X: Any, A: csr_array, codes: np.ndarray, folds: Sequence[np.ndarray]) -> Hidden:
    """Say what OGC thinks of labels that were hidden from it: one fit for each fold."""
    said = []
    classes = np.arange(codes.max() + 1)
    for k, fold in enumerate(folds):
        with part_of_run(f"ogc-{k + 1}-of-{len(folds)}"):
            P = refit_without(fold, OGC(random_state=0), X, A, classes, codes)
        said.append(P.astype(np.float64))
    nodes = np.concatenate(folds)
    order = np.argsort(nodes)
    return nodes[order], np.concatenate(said)[order]


def _judge_ogc(
    inputs: tuple[Any, csr_array], codes: np.ndarray, fold: np.ndarray, weigh: Weigh
) -> list[Rival]:
    start = perf_counter()
    try:
        hidden = hide_from_ogc(*inputs, codes, [fold])
    except FeatureSizeError:
        # an average may still predict
        return []
    return [Rival(OGC(random_state=0), hidden_entry("OGC", "", hidden, codes, weigh, start), hidden)]


def _is_clear(gain: GraphGain) -> bool:
    return gain.difference > _CLEAR * gain.standard_error
