"""Models of their own, which predict instead of the average where they clearly beat it on hidden labels."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from gssl.evaluation.graph_gain import GraphGain, compare_hits
from gssl.evaluation.holdout import label_folds, refit_without
from gssl.methods import OGC, LabelSpreading
from gssl.methods.base import GraphClassifier
from gssl.methods.inputs import FeatureSizeError
from gssl.methods.labels import UNLABELLED
from gssl.scale.execution import part_of_run
from gssl.selection.labelled_rows import LabelledRows
from gssl.selection.leaderboard import Entry
from gssl.selection.spreading import Hidden, hidden_entry, judge_spreading
from gssl.selection.trial import Labels

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
