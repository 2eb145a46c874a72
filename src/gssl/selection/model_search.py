"""The model search of AutoClassifier: candidates, their average, and label spreading as an alternative."""

from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from gssl.evaluation.graph_gain import GraphGain, compare_hits
from gssl.evaluation.holdout import balanced_fold_count, dealt_folds
from gssl.evaluation.metrics import score_error
from gssl.methods import LabelSpreading
from gssl.methods.labels import UNLABELLED, one_hot, rows_to_distributions
from gssl.methods.recurrences import chebyshev_steps, run_steps, symmetric_filters
from gssl.methods.softmax import inverse_temperatures
from gssl.scale.execution import IN_MEMORY, Checkpoint, Execution
from gssl.selection.average import Average
from gssl.selection.candidates import default_filters
from gssl.selection.filtered_rows import ROOM, FilteredRows
from gssl.selection.leaderboard import Entry
from gssl.selection.node_order import keys_with_labels, spread_nodes
from gssl.selection.self_training import TEACHERS, Ensemble, Fit, Targets, self_train, taught_targets
from gssl.selection.trial import Labels, Member, Trial, near_best, try_all, untried
from gssl.selection.views import Views

# spreads tried for label spreading without features; with features, only the default is tried
SPREADS = (0.5, 0.9, 0.99)
# number of folds, the number used if nodes × classes is large, and what counts as large
FOLDS, _FEW_FOLDS, _MANY = 3, 2, 1_000_000
# with fewer labels per class, label spreading is averaged in
_FEW = 3
# a rival wins with at least this many hidden labels and a lead of this many standard errors
_HIDDEN, _CLEAR = 30, 2.0
# least number of hidden labels to report what the graph adds
_TESTED = 8
NO_FEATURES = "There are no features that differ between nodes"
# self-training is used unless it costs more than this many standard errors. One would be too strict: the
# models were chosen on the same labels, which makes them look better without self-training
_HARMLESS = 2.0
# relative error allowed at the fixed point of label spreading, and the least number of steps: fewer would
# not reach far enough from a label
_MISSING, _FEWEST = 0.01, 16
# folds of label spreading run together up to this many columns: a hop over a few costs about as much as one
_COLUMNS = 32


@dataclass(frozen=True, eq=False)
class Found:
    """The fitted average: its members, and its logits for hidden labels."""

    trials: list[Trial]
    chosen: list[Trial]
    ensemble: Ensemble
    fit: Fit
    hidden: np.ndarray
    sharpness: float
    taught: bool
    targets: Targets


@dataclass(frozen=True, eq=False)
class Rival:
    """Label spreading, not fitted yet, and its distributions for hidden labels."""

    model: LabelSpreading
    entry: Entry
    P: np.ndarray


class ModelSearch:
    """The labels of a fit, the folds that hide them, and the models compared on them."""

    def __init__(
        self,
        views: Views,
        A: csr_array,
        codes: np.ndarray,
        weights: np.ndarray,
        depth: int,
        execution: Execution,
        deadline: float,
    ) -> None:
        self.codes, self.n_classes, self.deadline = codes, len(weights), deadline
        self.views, self.dtype = views, views.dtype
        self.has_features = any(kind != "links" for kind in views)
        self.labelled = np.flatnonzero(codes != UNLABELLED)
        self.truth = codes[self.labelled]
        keys = keys_with_labels(views.node_keys, A, codes)
        Y = one_hot(self.truth, self.n_classes, np.float64)
        self.labels = Labels(Y, weights[self.truth], keys[self.labelled])
        n = len(codes)
        sample = spread_nodes(keys, TEACHERS)
        nodes = np.union1d(sample, self.labelled)
        self.rows = FilteredRows(views, A, self.dtype, nodes, depth, execution)
        if views.wants_span(len(self.labelled)):
            self.views = self.rows.span(self.labelled)
        self.places = np.searchsorted(nodes, self.labelled)
        self.teachers = np.searchsorted(nodes, sample)
        self.folds: list[np.ndarray] = []
        if np.bincount(self.truth).max() > 1:
            wanted = FOLDS if n * self.n_classes <= _MANY else _FEW_FOLDS
            self.folds = dealt_folds(codes, balanced_fold_count(self.truth, wanted), keys)
        self.few = len(self.labelled) < _FEW * self.n_classes

    def run(self) -> Found:
        """Try models, average the near-best, and self-train the average if that does no harm."""
        if self.folds:
            trials = try_all(self.rows, self.places, self.labels, self.deadline)
            chosen = near_best(trials)
        else:
            kind = next(iter(self.views))
            filters = default_filters(self.rows.depth)
            chosen = trials = [untried(self.rows, kind, f, self.places, self.labels) for f in filters]
        execution = self.rows.execution
        room = ROOM if execution.budget is None else min(ROOM, execution.budget // 4)
        ensemble = Ensemble(self.rows, chosen, room)
        taught, hidden = self._judge_self_training(ensemble)
        every = self._targets(self.labelled[:0])
        targets = taught_targets(ensemble, [every], self.teachers)[0] if taught else every
        fit = ensemble.solve(targets, exact=True)
        sharpness = self.sharpness(hidden) if self.folds else 1.0
        return Found(trials, chosen, ensemble, fit, hidden, sharpness, taught, targets)

    def average(self, found: Found) -> Average:
        """Return what is needed to explain and audit the average."""
        teachers = self.teachers if found.taught else self.teachers[:0]
        rows = self.rows
        kept = self.views, rows.A, self.dtype, rows.depth, rows.nodes
        return Average(
            *kept, found.chosen, found.targets, self.labels, self.places, teachers, found.sharpness
        ).keep_rows(rows)

    def _judge_self_training(self, ensemble: Ensemble) -> tuple[bool, np.ndarray]:
        """Return whether to self-train, and the logits of hidden labels for that choice.

        Self-training may cost up to two standard errors of accuracy on hidden labels if the best filter is a
        smooth one; otherwise it must improve the accuracy.
        """
        if not self.folds:
            return False, self.nothing_hidden()
        sets = self._hidden_sets(ensemble, self.folds)
        alone = self._logits_of(ensemble, self.folds, [ensemble.solve(targets) for targets in sets])
        if perf_counter() > self.deadline:
            return False, alone
        taught = self._logits_of(ensemble, self.folds, self_train(ensemble, sets, self.teachers))
        before, after = self.accuracy(alone), self.accuracy(taught)
        best = ensemble.members[0].filter
        if best.uses_graph and not best.surprise:
            harmless = after >= before - _HARMLESS * score_error(before, self.labels.effective_number)
        else:
            harmless = after > before
        return harmless, taught if harmless else alone

    def sharpness(self, logits: np.ndarray) -> float:
        """Return the inverse temperature that maximises the likelihood of hidden labels."""
        found, _ = inverse_temperatures(logits[None], self.labels.Y, self.labels.weights, centre=1.0)
        return float(found[0])

    def _targets(self, hidden: np.ndarray, members: Sequence[Member] = ()) -> Targets:
        """Return the labels except those of ``hidden`` nodes; links are refitted without them, too."""
        shown, places = ~np.isin(self.labelled, hidden), np.searchsorted(self.labelled, hidden)
        links = [member.map_without(places, self.labels) for member in members] or None
        return Targets(self.places[shown], self.labels.Y[shown], self.labels.weights[shown], links)

    def _hidden_sets(self, ensemble: Ensemble, folds: Sequence[np.ndarray]) -> list[Targets]:
        """Return the labels outside each fold."""
        return [self._targets(fold, ensemble.members) for fold in folds]

    def hidden_logits(self, ensemble: Ensemble, folds: Sequence[np.ndarray]) -> np.ndarray:
        """Return the logits of hidden labels, without self-training."""
        fits = [ensemble.solve(targets) for targets in self._hidden_sets(ensemble, folds)]
        return self._logits_of(ensemble, folds, fits)

    def _logits_of(self, ensemble: Ensemble, folds: Sequence[np.ndarray], fits: Sequence[Fit]) -> np.ndarray:
        """Return the logits of each fold's labels from the fit without them."""
        logits = self.nothing_hidden()
        for fold, each in zip(folds, fits, strict=True):
            places = np.searchsorted(self.labelled, fold)
            logits[places] = ensemble.logits_at(each, self.places[places])
        return logits

    def nothing_hidden(self) -> np.ndarray:
        """Return uniform distributions, the default for labels that no fold hides."""
        return np.full(self.labels.Y.shape, 1.0 / self.n_classes)

    def hits(self, said: np.ndarray) -> np.ndarray:
        """Return a mask of the labels that are predicted correctly."""
        return np.asarray(said.argmax(axis=1) == self.truth)

    def accuracy(self, said: np.ndarray) -> float:
        """Return the weighted accuracy on hidden labels."""
        tested = self.tested
        return float(np.average(self.hits(said)[tested], weights=self.labels.weights[tested]))

    @property
    def tested(self) -> np.ndarray:
        """Mask of the labels that are hidden in a fold."""
        return np.isin(self.labelled, np.concatenate([*self.folds, self.labelled[:0]]))

    def gain(self, said: np.ndarray, ours: np.ndarray) -> GraphGain:
        """Compare two models on hidden labels."""
        return compare_hits(self.hits(said)[self.tested], self.hits(ours)[self.tested])

    def without_graph(self, trials: Sequence[Trial]) -> np.ndarray | None:
        """Return the logits of hidden labels by the near-best models of features alone; None without any.

        These are averaged and hidden as all models are, but not self-trained, which would use the graph.
        """
        plain = [trial for trial in trials if not trial.filter.uses_graph and trial.kind != "links"]
        return self.hidden_logits(Ensemble(self.rows, near_best(plain)), self.folds) if plain else None

    def rivals(self) -> list[Rival]:
        """Evaluate label spreading on the folds, until the deadline."""
        found: list[Rival] = []
        if not self.folds:
            return found
        for spread in SPREADS if not self.has_features else (LabelSpreading().spread,):
            start = perf_counter()
            if start > self.deadline:
                break
            P = spread_hidden(
                self.rows.A,
                self.codes,
                spread,
                folds=self.folds,
                dtype=self.dtype,
                execution=self.rows.execution,
            )
            tested, score = self.tested, self.accuracy(P)
            logs = np.log(np.maximum((P * self.labels.Y).sum(axis=1), 1e-6))[tested]
            entry = Entry(
                model="LabelSpreading",
                settings=f"spread={spread}",
                score=score,
                standard_error=score_error(score, self.labels.effective_number),
                log_loss=-float(np.average(logs, weights=self.labels.weights[tested])),
                seconds=perf_counter() - start,
                chosen=False,
            )
            found.append(Rival(LabelSpreading(spread=spread), entry, P))
        return found


def clear_winner(rivals: Sequence[Rival], search: ModelSearch, ours: np.ndarray) -> Rival | None:
    """Return the rival that is clearly better than ``ours`` on hidden labels, or None.

    Without features, a rival that is equally good wins.
    """
    better: list[tuple[float, Rival]] = []
    for rival in rivals:
        gain = search.gain(rival.P, ours)
        clear = gain.n_labels >= _HIDDEN and gain.difference > _CLEAR * gain.standard_error
        if clear or (not search.has_features and gain.difference >= 0.0):
            better.append((gain.difference, rival))
    return max(better, key=lambda pair: pair[0])[1] if better else None


def spread_hidden(
    A: csr_array,
    codes: np.ndarray,
    alpha: float = 0.9,
    *,
    folds: Sequence[np.ndarray],
    dtype: Any = np.float64,
    execution: Execution = IN_MEMORY,
) -> np.ndarray:
    r"""Return the distributions of label spreading for labels, each hidden in one fold.

    .. math:: F = (1 - \alpha)(I - \alpha D^{-1/2} A D^{-1/2})^{-1} Y
    """
    n_classes = int(codes.max()) + 1
    rho = (1.0 - np.sqrt((1.0 - alpha) * (1.0 + alpha))) / alpha
    steps = chebyshev_steps(alpha, max(_FEWEST, int(np.ceil(np.log(_MISSING / 2.0) / np.log(rho)))))
    filters = symmetric_filters(A, dtype)
    labelled = np.flatnonzero(codes != UNLABELLED)
    P = np.full((len(labelled), n_classes), 1.0 / n_classes)
    together = max(1, _COLUMNS // n_classes)
    for first in range(0, len(folds), together):
        group = folds[first : first + together]
        shown = [np.setdiff1d(labelled, hidden) for hidden in group]
        columns = [k * n_classes + codes[nodes] for k, nodes in enumerate(shown)]
        values = np.full(sum(map(len, shown)), 1.0 - alpha, dtype)
        shape = len(codes), len(group) * n_classes
        B = csr_array((values, (np.concatenate(shown), np.concatenate(columns))), shape=shape)
        F = run_steps(filters, B, steps, execution, Checkpoint())
        for k, hidden in enumerate(group):
            rows = F[hidden, k * n_classes : (k + 1) * n_classes].astype(np.float64)
            P[np.searchsorted(labelled, hidden)] = rows_to_distributions(np.maximum(rows, 0.0))
    return P


def describe_graph(found: Found, search: ModelSearch, P: np.ndarray) -> str:
    """Say by how much the final model is better on hidden labels than features alone."""
    chosen = found.chosen
    if not found.taught and not any(trial.filter.uses_graph or trial.kind == "links" for trial in chosen):
        return "No model that uses the graph is among the best: features alone predict."
    plain = search.without_graph(found.trials)
    if plain is None or search.tested.sum() < _TESTED:
        return ""
    gain = search.gain(P, plain)
    error = f"± {100 * gain.standard_error:.1f} points"
    compared = f"features alone ({100 * gain.without_graph:.1f} %)"
    points = f"{100 * abs(gain.difference):.1f} {error} over {compared}."
    if abs(gain.difference) < 2 * gain.standard_error:
        return f"The graph makes no clear difference: {'−' if gain.difference < 0 else '+'}{points}"
    return f"The graph {'costs' if gain.difference < 0 else 'adds'} {points}"


def describe_models(found: Found, search: ModelSearch) -> str:
    """Say which models predict."""
    if not search.folds:
        return "No class has two labels, so nothing could be compared: smooth filters predict, untested."
    said = [] if search.has_features else [f"{NO_FEATURES}, so links take their place."]
    names = dict.fromkeys(trial.name for trial in found.chosen)
    count = len(found.chosen)
    models = "1 model predicts" if count == 1 else f"The average of {count} near-best models predicts"
    said.append(f"{models} ({'; '.join(names)}).")
    if found.taught:
        said.append("It also learns from its own predictions for unlabelled nodes.")
    return " ".join(said)
