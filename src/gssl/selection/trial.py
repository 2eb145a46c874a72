"""Trials of views, filters and penalties, each evaluated by leave-one-out in closed form."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from time import perf_counter

import numpy as np

from gssl.evaluation.targets import Classes, Target, effective_number
from gssl.methods.ridge import leave_one_out, mean_square
from gssl.methods.softmax import ScoreMap
from gssl.selection.candidates import Filter
from gssl.selection.filtered_rows import FilteredRows
from gssl.selection.leaderboard import Entry, Leaderboard, in_order
from gssl.selection.node_order import stratified_part

# relative to the mean squared length of rows
PENALTIES = 10.0 ** np.arange(-2.5, 1.1, 0.5)
# the constant column of an intercept, relative to the mean length of rows
_CONSTANT = 1e3
# average at most AVERAGED models with a loss within _NEAR standard errors plus _CLOSE of the least
AVERAGED = 8
_NEAR, _CLOSE = 2.0, 0.01
# by how much the total log-likelihood of hidden labels must exceed that of unit rows
_SURPRISE = {
    "unit": 0.0,
    "raw": 0.5,
    "standardized": 0.5,
    "products": 0.5,
    "links": 5.0,
    "selves": 5.0,
    "spanned": 0.0,
}
_NAMES = {
    "unit": "",
    "raw": "features as given",
    "standardized": "standardised features",
    "products": "products of features",
    "links": "links as features",
    "selves": "links and nodes as features",
    "spanned": "all features",
}


@dataclass(frozen=True, eq=False)
class Labels:
    """Known answers, such as one-hot labels, their weights, the keys of their nodes, and their kind."""

    Y: np.ndarray
    weights: np.ndarray
    keys: np.ndarray
    target: Target = field(default_factory=Classes)

    def part(self, rows: np.ndarray) -> "Labels":
        """Return some of the labels."""
        return Labels(self.Y[rows], self.weights[rows], self.keys[rows], self.target)

    def sample(self, size: int) -> np.ndarray:
        """Choose about ``size`` labels that keep the class shares."""
        return stratified_part(self.Y.argmax(axis=1), self.keys, size)

    @property
    def effective_number(self) -> float:
        """The effective sample size: the number of equally weighted labels with the same variance."""
        return effective_number(self.weights)


@dataclass(frozen=True, eq=False)
class Member:
    """One filter of one view with its penalty and softmax map: what an average needs of a trial.

    ``penalty`` is absolute, ``predicted`` are leave-one-out scores of the ``evaluated`` labels, ``t`` is
    their inverse temperature, and ``map_penalty`` is that of their softmax map.
    """

    kind: str
    filter: Filter
    width: int
    penalty: float
    score_map: ScoreMap
    predicted: np.ndarray
    evaluated: np.ndarray
    t: float
    map_penalty: float

    def map_without(self, hidden: np.ndarray, labels: Labels) -> ScoreMap:
        """Fit the softmax map to the scores of all evaluated labels except the hidden ones."""
        shown = ~np.isin(self.evaluated, hidden)
        if not shown.any():
            return self.score_map
        part = labels.part(self.evaluated[shown])
        return labels.target.fit_map(self.predicted[shown], part.Y, part.weights, self.t, self.map_penalty)


@dataclass(frozen=True, eq=False)
class Trial(Member):
    """A member with its leave-one-out results.

    ``logs`` are log-likelihoods of labels, by a ridge and a map without each; ``loss`` is their negative mean
    plus the penalty of surprise. ``points`` compare models label by label (``Judged``).
    """

    logs: np.ndarray
    points: np.ndarray
    loss: float
    score: float
    error: float
    log_loss: float
    settings: str
    seconds: float

    @property
    def name(self) -> str:
        """The model and, unless it reads unit rows, the kind of its features."""
        return self.filter.model + (f", {_NAMES[self.kind]}" if _NAMES[self.kind] else "")


def try_filter(
    tables: FilteredRows,
    kind: str,
    filter_: Filter,
    width: int,
    positions: np.ndarray,
    labels: Labels,
    relative: np.ndarray = PENALTIES,
) -> Trial:
    """Evaluate a filter of a view by leave-one-out, for penalties relative to the mean squared length."""
    start = perf_counter()
    U = tables.rows(kind, filter_, width, positions)
    penalties = relative * mean_square(U, labels.weights)
    if labels.target.has_intercept:
        # a large constant is as good as one without a penalty
        constant = np.full((len(U), 1), _CONSTANT * np.sqrt(mean_square(U, labels.weights)))
        predicted = leave_one_out(np.hstack([U, constant]), labels.Y, penalties, labels.weights)
    else:
        predicted = leave_one_out(U, labels.Y, penalties, labels.weights)
    smooth = not filter_.surprise and not filter_.centred
    judged = labels.target.judge(predicted, labels.Y, labels.weights, smooth=smooth)
    loss = -float(np.average(judged.logs, weights=labels.weights))
    surprise = (filter_.surprise + _SURPRISE[kind]) / labels.effective_number
    settings = (filter_.settings, f"directions={width}", f"penalty={relative[judged.best]:.2g}")
    return Trial(
        kind=kind,
        filter=filter_,
        width=width,
        penalty=float(penalties[judged.best]),
        score_map=judged.map,
        predicted=judged.scores,
        evaluated=np.arange(len(labels.Y)),
        t=judged.t,
        map_penalty=judged.strength,
        logs=judged.logs,
        points=judged.points,
        loss=loss + surprise,
        score=judged.score,
        error=judged.error,
        log_loss=loss,
        settings=", ".join(part for part in settings if part),
        seconds=perf_counter() - start,
    )


def untried(tables: FilteredRows, kind: str, filter_: Filter, positions: np.ndarray, labels: Labels) -> Trial:
    """Return a candidate with default settings, for use when labels are too few to compare."""
    width = tables.views[kind].first_width
    U = tables.rows(kind, filter_, width, positions)
    nothing = np.zeros(len(U))
    return Trial(
        kind=kind,
        filter=filter_,
        width=width,
        penalty=0.1 * mean_square(U, labels.weights),
        score_map=labels.target.default_map(labels.Y.shape[1]),
        # nothing was predicted, so that the map stays the default one
        predicted=np.zeros((0, labels.Y.shape[1])),
        evaluated=np.arange(0),
        t=0.0,
        map_penalty=np.inf,
        logs=nothing,
        points=nothing,
        loss=0.0,
        score=0.0,
        error=0.0,
        log_loss=0.0,
        settings=filter_.settings,
        seconds=0.0,
    )


def near_best(trials: Sequence[Trial]) -> list[Trial]:
    """Choose the trials whose loss is close to the least.

    Choosing only the best would depend on a handful of labels; averaging is more stable.
    """
    order = sorted(trials, key=lambda trial: trial.loss)
    best, chosen = order[0], []
    for trial in order:
        error = float(np.std(best.logs - trial.logs)) / np.sqrt(len(best.logs))
        if trial.loss - best.loss <= _NEAR * error + _CLOSE:
            chosen.append(trial)
    return chosen[:AVERAGED]


def tabulate_trials(trials: Sequence[Trial], chosen: Sequence[Trial]) -> Leaderboard:
    """Return the leaderboard of trials."""
    return in_order(
        Entry(
            model=trial.name,
            settings=trial.settings,
            score=trial.score,
            standard_error=trial.error,
            log_loss=trial.log_loss,
            seconds=trial.seconds,
            chosen=any(trial is other for other in chosen),
        )
        for trial in trials
    )
