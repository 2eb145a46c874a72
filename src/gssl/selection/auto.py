"""AutoClassifier: many small models tried on the labels that exist, the near-best averaged."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any, Self

import numpy as np
from scipy.sparse import csr_array
from scipy.special import softmax

from gssl.evaluation.graph_gain import GraphGain, compare_hits
from gssl.evaluation.holdout import HeldOut, balanced_fold_count, label_folds
from gssl.graph import GraphWarning
from gssl.methods import LabelPropagation, LabelSpreading
from gssl.methods.base import GraphClassifier, featured_nodes
from gssl.methods.inputs import FitInputs, check_number
from gssl.methods.labels import UNLABELLED, class_weights, one_hot
from gssl.operators import small_algebra
from gssl.scale.execution import IN_MEMORY, Execution, current_execution, part_of_run, without_resume
from gssl.selection.average import Average
from gssl.selection.candidates import default_filters
from gssl.selection.filtered_rows import ROOM, FilteredRows, polynomial_scores, terms
from gssl.selection.graph_features import operators
from gssl.selection.leaderboard import Entry, Leaderboard, in_order
from gssl.selection.links import inverse_temperatures
from gssl.selection.self_training import TEACHERS, Ensemble, Fit, Targets, self_train, taught_targets
from gssl.selection.spreading import spread_hidden
from gssl.selection.trial import (
    Labels,
    Trial,
    near_best,
    score_error,
    tabulate_trials,
    try_all,
    untried,
)
from gssl.selection.views import WIDTHS, Views, make_features, sample_nodes

# label spreading is tried with these where there are no features, and with the default where there are
SPREADS = (0.5, 0.9, 0.99)
# folds of hidden labels; fewer where all nodes and classes together are more than so many numbers
_FOLDS, _FEW_FOLDS, _MANY = 3, 2, 1_000_000
# below so many labels for each class, labels are spread over the graph beside the average
_FEW, _SHARP = 3, 3
# a rival needs so many hidden labels and a difference of so many standard errors
_HIDDEN, _CLEAR = 30, 2.0
# from so many hidden labels on, the worth of the graph is stated
_TESTED = 8
# unlabelled nodes teach unless that costs more than so many standard errors: models were chosen by labels
# that are hidden here, so what they say without teachers looks better than it is
_HARMLESS = 2.0
# what fitted coefficients are called, by kind of features
_COEF = {
    "unit": "unit_coef_",
    "raw": "coef_",
    "standardized": "standardized_coef_",
    "links": "link_coef_",
}


@dataclass(frozen=True)
class SelectionInputs(FitInputs):
    """What a fit leaves behind for other labels: also the compressed views, which do not depend on labels."""

    views: Views

    def __getstate__(self) -> dict[str, Any]:
        # what is compressed can be compressed again
        return {**self.__dict__, "views": Views(self.X, self.A)}


class AutoClassifier(GraphClassifier):
    r"""Try many graph filters on the labels at hand, and average those that are about as good as the best.

    Features are compressed once, to at most a few hundred directions. A model is a filter of a prefix of
    these directions with a ridge, and what it says about a label that it has not seen is known in closed form
    (:func:`gssl.selection.leave_one_out`): no label is set aside for validation. The average of the
    near-best models is one polynomial with matrix coefficients,

    .. math:: P = \mathrm{softmax}\Big( \sum_k T^k X M_k + b \Big),

    for T the smoothing operator, the one without self-loops, and inverse convolution fed with the graph
    itself, which is of use where neighbours differ. Unlabelled nodes teach, too: what the average says
    about them, smoothed over the graph and weighted by how sure it is, is a target beside the labels, if that
    does no harm to labels that are hidden meanwhile. :class:`gssl.LabelSpreading` predicts instead where it
    is clearly better on hidden labels, and has a part in the average where labels are few.

    Parameters
    ----------
    depth : int, default=16
        The most hops of any filter.
    class_weight : None, "balanced" or dict, default=None
        Whether each label counts the same, or each class, or a class as much as is said.
    priors : None, "labels", "uniform", dict or array-like of shape (c,), default=None
        The shares of the classes among the nodes that are predicted, if not those among the labels (weighted
        as ``class_weight`` says): distributions are corrected by the ratio of the two.
    time_budget : float, optional
        Seconds after which nothing new is tried. What is tried then depends on the machine.

    Attributes
    ----------
    transduction_ : ndarray of shape (n,)
        A class for every node.
    label_distributions_ : ndarray of shape (n, c)
        Calibrated by labels that were hidden.
    leaderboard_ : Leaderboard
        The models that were tried, with estimated score and standard error. Where labels are thousands, a
        part of them judges.
    explain_ : str
        How many hidden labels are right, what the graph adds, and which models predict.
    self_training_ : bool
        Whether unlabelled nodes teach.
    coef_, unit_coef_, standardized_coef_ : ndarray of shape (t, d, c)
        The coefficients M for rows as given, rows of length one and standardised columns, where such a model
        is averaged.
    link_coef_ : ndarray of shape (t, n, c)
        The same for links as features.
    intercept_ : ndarray of shape (c,)
    propagation_ : LabelSpreading or LabelPropagation
        What predicts instead of an average, or beside it where labels are few.
    reached_ : bool ndarray of shape (n,)
        Whether a label is in the node's component.
    n_iter_ : int
        The most hops.
    classes_ : ndarray of shape (c,)
    n_features_in_ : int

    Examples
    --------
    >>> import gssl
    >>> data = gssl.datasets.load("cora")
    >>> model = gssl.AutoClassifier(depth=4)
    >>> model = model.fit(data.features, data.mask_labels("default"), adjacency=data.adjacency)
    >>> "The graph adds" in model.explain_
    True
    """

    runs_by_columns = True
    _fit_inputs: SelectionInputs
    coef_: np.ndarray
    unit_coef_: np.ndarray
    standardized_coef_: np.ndarray
    link_coef_: np.ndarray
    intercept_: np.ndarray
    column_scales_: np.ndarray
    propagation_: GraphClassifier
    # what explains and audits the average; neither saved nor pickled
    _fitted_average: Average

    def __init__(
        self,
        depth: int = 16,
        class_weight: Any = None,
        priors: Any = None,
        time_budget: Any = None,
    ) -> None:
        self.depth = depth
        self.class_weight = class_weight
        self.priors = priors
        self.time_budget = time_budget

    def fit(self, X: Any, y: Any, *, adjacency: Any = None) -> Self:
        """Choose models by leave-one-out and predict every node.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d), or None
            Used as given, with rows of length one, or with standardised columns, whichever does better on the
            labels. None where there is a graph and nothing else.
        y : array-like of shape (n,)
            Labels; −1, None or NaN where there is none.
        adjacency : array-like or sparse matrix of shape (n, n), optional
            Built from the nearest neighbours in X if None.

        Returns
        -------
        self
        """
        self._check_parameters()
        execution = current_execution(self)
        if execution.resume is not None and self.time_budget is not None:
            raise ValueError(
                "AutoClassifier: what a time_budget leaves out depends on the clock, and resume repeats what "
                "was done: give either."
            )
        with self._rollback_on_error():
            self._forget()  # an earlier fit: this one may do without features
            X, A, codes = self._start(X, y, adjacency)
            execution.checkpoint(X, A, codes)  # refuses the folder of other inputs
            self._fit_inputs = SelectionInputs(X, A, Views(X, A))
            return self._choose(execution)

    def update_labels(self, y: Any) -> Self:
        """Choose anew by other labels of the same nodes: the result is that of a fit.

        Features and graph are not checked again, a graph of nearest neighbours is not built again, and
        features are not compressed again.

        Parameters
        ----------
        y : array-like of shape (n,)
            All labels, old and new; −1, None or NaN where there is none.

        Returns
        -------
        self

        Examples
        --------
        >>> import gssl
        >>> data = gssl.datasets.load("karate")
        >>> y = data.mask_labels("default")
        >>> model = gssl.AutoClassifier(depth=2).fit(data.features, y, adjacency=data.adjacency)
        >>> y[1] = data.labels[1]
        >>> model.update_labels(y).transduction_[1] == data.labels[1]
        np.True_
        """
        with self._rollback_on_error(), without_resume():
            self._restart(y)
            return self._choose(current_execution(self))

    def _choose(self, execution: Execution) -> Self:
        """Choose models for the inputs and labels that are kept, and predict every node."""
        inputs, codes = self._fit_inputs, self._fit_codes
        deadline = perf_counter() + (np.inf if self.time_budget is None else self.time_budget)
        self._forget()
        self._read_priors(None)  # to refuse them before the work
        self.n_iter_ = self.depth
        with small_algebra():
            search = _Search(inputs, codes, self._class_weights(), self.depth, execution, deadline)
            if not search.views:
                self._spread_labels(search)
            else:
                self._average(search)
        P, informed = self._score_graph(inputs.X, inputs.A, search.rows)
        return self._finish(P, informed, self._class_weights())

    def _average(self, search: "_Search") -> None:
        """Fit the average of the near-best models, or let a rival predict that is clearly better."""
        found = search.run()
        coefficients, b = found.coefficients
        for kind, M in coefficients.items():
            setattr(self, _COEF[kind], (found.sharpness * M).astype(search.dtype))
            if kind == "standardized":
                self.column_scales_ = search.rows.views[kind].features.scales
        self.intercept_ = (found.sharpness * b).astype(search.dtype)
        self.self_training_ = found.taught
        self._fitted_average = search.average(found)
        self._leave_one_out = softmax(found.sharpness * found.hidden, axis=1)
        self.leaderboard_ = tabulate_trials(found.trials, found.chosen) if search.folds else Leaderboard([])
        self.explain_ = explain(found, search)
        rivals = search.rivals()
        won = clear_winner(rivals, search, self._leave_one_out)
        entries = [replace(entry, chosen=entry.chosen and won is None) for entry in self.leaderboard_]
        entries += [replace(rival.entry, chosen=won is not None and rival is won[0]) for rival in rivals]
        self.leaderboard_ = in_order(entries)
        if won is not None:
            self._forget()
            self.self_training_ = False
            self._leave_one_out = won[0].P
            self._let_predict(won[0].model)
            self.explain_ = (
                f"Labels alone, spread over the graph, are better by {100 * won[1].difference:.1f} points "
                "than the best models of features, so LabelSpreading predicts."
            )
        elif search.few:
            self._let_predict(LabelSpreading())
            self.explain_ += (
                f" With {len(search.labelled):,} labels in {search.n_classes} classes little can be "
                "compared, so label spreading counts for half."
            )
        self._say_accuracy(search)

    def _say_accuracy(self, search: "_Search") -> None:
        """Put the accuracy on hidden labels, beside the share of the largest class, first."""
        tested = np.isin(search.labelled, np.concatenate([*search.folds, search.labelled[:0]]))
        if tested.any():
            untested = int((np.bincount(search.truth) == 1).sum())
            nodes, P = search.labelled[tested], self._leave_one_out[tested]
            held_out = HeldOut(nodes, search.truth[tested], P, self.classes_, 0, untested)
            self.explain_ = f"{held_out.summary} {self.explain_}"

    def _spread_labels(self, search: "_Search") -> None:
        """Spread labels over a graph that is too large for its links to be features."""
        rivals = search.rivals()
        self._leave_one_out = search.nothing_hidden()
        self.leaderboard_ = Leaderboard([])
        if not rivals:
            self._let_predict(LabelPropagation())
            self.explain_ = (
                "There are no features and no class has two labels, so nothing could be compared: "
                "LabelPropagation spreads labels over the graph."
            )
            return
        best = max(rivals, key=lambda rival: rival.entry.score)
        self._leave_one_out = best.P
        self._let_predict(best.model)
        self.leaderboard_ = in_order(replace(r.entry, chosen=r is best) for r in rivals)
        self.explain_ = "There are no features: LabelSpreading spreads labels over the graph."
        self._say_accuracy(search)

    def _let_predict(self, model: GraphClassifier) -> None:
        """Fit a model of its own to all labels."""
        with warnings.catch_warnings():
            # told once, by this fit
            warnings.simplefilter("ignore", GraphWarning)
            with part_of_run("predicts"):
                self.propagation_ = model.fit(None, self._fit_codes, adjacency=self._fit_inputs.A)

    def __getstate__(self) -> Any:
        return {name: value for name, value in super().__getstate__().items() if name != "_fitted_average"}

    def _forget(self) -> None:
        """Drop what predicts."""
        names = (
            *_COEF.values(),
            "intercept_",
            "column_scales_",
            "propagation_",
            "_leave_one_out",
            "_fitted_average",
        )
        for name in names:
            self.__dict__.pop(name, None)

    def _coefficients(self) -> dict[str, np.ndarray]:
        """Return the fitted coefficients by kind of features."""
        return {kind: getattr(self, name) for kind, name in _COEF.items() if hasattr(self, name)}

    @property
    def uses_features(self) -> bool:
        """Whether features are needed to predict; fit itself takes either."""
        return any(hasattr(self, name) for kind, name in _COEF.items() if kind != "links")

    @property
    def knows_nodes(self) -> bool:
        """Whether links to the nodes of fit, or their labels, have a part in what predicts."""
        return hasattr(self, "propagation_") or hasattr(self, "link_coef_") or not self.uses_features

    def _class_weights(self) -> np.ndarray:
        return class_weights(self.class_weight, self.classes_, self._fit_codes[self._fit_codes != UNLABELLED])

    def distributions_without(self, hidden: np.ndarray) -> np.ndarray:
        """Look up what was said about labels while they were hidden."""
        places = np.searchsorted(np.flatnonzero(self._fit_codes != UNLABELLED), hidden)
        return self._with_priors(self._leave_one_out[places])

    def _check_parameters(self) -> None:
        check_number(self, "depth", low=1, whole=True)
        if self.time_budget is not None:
            check_number(self, "time_budget", low=0.0)

    def propagated_columns(self, X: Any, A: csr_array, n_labelled: int, n_classes: int) -> int:
        n, d = (0, 0) if X is None else X.shape
        if not d:
            return n_classes
        kinds = 3 if hasattr(X, "indptr") else 4
        tables = kinds * len(terms(self.depth)) * (n_labelled + min(n, TEACHERS)) * min(d, WIDTHS[-1])
        # per node; the estimate counts three of what is carried
        return int(max(WIDTHS[0], 2 * _FOLDS * n_classes) + tables / (3 * max(1, n)))

    def _score_graph(
        self, X: Any, A: csr_array, rows: FilteredRows | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Score all nodes; what was made of this graph and these features in fit is taken from there."""
        kinds = self._coefficients()
        if not kinds:
            P, informed = self.propagation_._score_graph(X, A)
            return P, informed
        apply = operators(A, X.dtype) if rows is None else rows.operators
        execution = IN_MEMORY if rows is None else rows.execution
        room = ROOM if execution.budget is None else min(ROOM, execution.budget // 4)
        total: Any = self.intercept_
        for kind, M in kinds.items():
            if rows is None:
                if kind == "links":
                    self._grown_codes(A.shape[0])  # refuses a graph without the nodes of fit
                scales = getattr(self, "column_scales_", np.empty(0))
                features = make_features(kind, X, A, M.shape[1], scales)
            else:
                features = rows.views[kind].features
            total = total + polynomial_scores(M, features, apply, self.n_iter_, room)
        P = softmax(total, axis=1)
        informed = featured_nodes(A, X) if self.uses_features else np.zeros(len(P), dtype=bool)
        if "links" in kinds:
            informed = informed | (np.diff(A.indptr) > 0)
        if hasattr(self, "propagation_"):
            spread, reached = self.propagation_._score_graph(X, A)
            # as sure as the average is: spread labels are far from one and zero
            sharp = spread[reached] ** _SHARP
            P[reached] = 0.5 * P[reached] + 0.5 * sharp / sharp.sum(axis=1, keepdims=True)
            informed = informed | reached
        return P, informed


@dataclass(frozen=True, eq=False)
class _Found:
    """The average: its parts, and what it says about labels while they are hidden."""

    trials: list[Trial]
    chosen: list[Trial]
    coefficients: tuple[dict[str, np.ndarray], np.ndarray]
    hidden: np.ndarray
    sharpness: float
    taught: bool
    targets: Targets


@dataclass(frozen=True, eq=False)
class _Rival:
    """Label spreading, not fitted yet, and what it says about labels while they are hidden."""

    model: LabelSpreading
    entry: Entry
    P: np.ndarray


class _Search:
    """The labels of a fit, the folds in which they are hidden, and the models that are tried on them."""

    def __init__(
        self,
        inputs: SelectionInputs,
        codes: np.ndarray,
        weights: np.ndarray,
        depth: int,
        execution: Execution,
        deadline: float,
    ) -> None:
        self.codes, self.n_classes, self.deadline = codes, len(weights), deadline
        self.views, self.dtype = inputs.views, inputs.X.dtype
        self.has_features = any(kind != "links" for kind in inputs.views)
        self.labelled = np.flatnonzero(codes != UNLABELLED)
        self.truth = codes[self.labelled]
        self.labels = Labels(one_hot(self.truth, self.n_classes, np.float64), weights[self.truth])
        n = len(codes)
        sample = sample_nodes(n, TEACHERS)
        nodes = np.union1d(sample, self.labelled)
        self.rows = FilteredRows(inputs.views, inputs.A, self.dtype, nodes, depth, execution)
        if inputs.views.wants_span:
            powers = default_filters(depth)[0].blocks[0].powers
            self.views = inputs.views.with_span(self.rows.labelled_rows(self.labelled, powers))
            self.rows.views = self.views
        self.places = np.searchsorted(nodes, self.labelled)
        self.teachers = np.searchsorted(nodes, sample)
        self.folds: list[np.ndarray] = []
        if np.bincount(self.truth).max() > 1:
            wanted = _FOLDS if n * self.n_classes <= _MANY else _FEW_FOLDS
            self.folds = label_folds(codes, balanced_fold_count(self.truth, wanted), random_state=0)
        self.few = len(self.labelled) < _FEW * self.n_classes

    def run(self) -> _Found:
        """Try models, average the near-best, and let unlabelled nodes teach where that does no harm."""
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
        coefficients = ensemble.coefficients([ensemble.solve(targets, exact=True)])
        sharpness = self.sharpness(hidden) if self.folds else 1.0
        return _Found(trials, chosen, coefficients, hidden, sharpness, taught, targets)

    def average(self, found: _Found) -> Average:
        """Return what has to be kept of the average to explain and to audit it."""
        teachers = self.teachers if found.taught else self.teachers[:0]
        rows = self.rows
        kept = self.views, rows.A, self.dtype, rows.depth, rows.nodes
        return Average(
            *kept, found.chosen, found.targets, self.labels, self.places, teachers, found.sharpness
        ).keep_rows(rows)

    def _judge_self_training(self, ensemble: Ensemble) -> tuple[bool, np.ndarray]:
        """Return whether unlabelled nodes should teach, and the logits of hidden labels in that case.

        They should unless fewer hidden labels are right then, by more than a standard error.
        """
        hidden = self.nothing_hidden()
        if not self.folds:
            return False, hidden
        sets = [self._targets(fold, ensemble.members) for fold in self.folds]
        alone = self._hidden_logits(ensemble, [ensemble.solve(targets) for targets in sets])
        if perf_counter() > self.deadline or not self.rows.A.nnz:
            return False, alone
        taught = self._hidden_logits(ensemble, self_train(ensemble, sets, self.teachers))
        before, after = (
            float(np.average(self.hits(said), weights=self.labels.weights)) for said in (alone, taught)
        )
        # targets are smoothed: where no smooth filter is the best, that must be of use
        best = ensemble.members[0].filter
        if best.uses_graph and not best.surprise:
            harmless = after >= before - _HARMLESS * score_error(before, self.labels.effective_number)
        else:
            harmless = after > before
        return harmless, taught if harmless else alone

    def sharpness(self, logits: np.ndarray) -> float:
        """Return the inverse temperature under which hidden labels are most probable."""
        found, _ = inverse_temperatures(logits[None], self.labels.Y, self.labels.weights, usual=1.0)
        return float(found[0])

    def _targets(self, hidden: np.ndarray, members: Sequence[Trial] = ()) -> Targets:
        """Return all labels but those of some nodes, which are hidden from the links of members, too."""
        shown, places = ~np.isin(self.labelled, hidden), np.searchsorted(self.labelled, hidden)
        links = [member.link_without(places, self.labels) for member in members] or None
        return Targets(self.places[shown], self.labels.Y[shown], self.labels.weights[shown], links)

    def _hidden_logits(self, ensemble: Ensemble, fits: Sequence[Fit]) -> np.ndarray:
        logits = self.nothing_hidden()
        for fold, each in zip(self.folds, fits, strict=True):
            places = np.searchsorted(self.labelled, fold)
            logits[places] = ensemble.logits_at(each, self.places[places])
        return logits

    def nothing_hidden(self) -> np.ndarray:
        """Return what is said about labels that could not be hidden: nothing."""
        return np.full(self.labels.Y.shape, 1.0 / self.n_classes)

    def hits(self, said: np.ndarray) -> np.ndarray:
        """Return which of the labels were right while hidden."""
        return np.asarray(said.argmax(axis=1) == self.truth)

    def rivals(self) -> list[_Rival]:
        """Judge label spreading on the folds, until time is up."""
        found: list[_Rival] = []
        if not self.rows.A.nnz or not self.folds:
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
            weights, hits = self.labels.weights, self.hits(P)
            score = float(np.average(hits, weights=weights))
            logs = np.log(np.maximum((P * self.labels.Y).sum(axis=1), 1e-6))
            entry = Entry(
                model="LabelSpreading",
                settings=f"spread={spread}",
                score=score,
                standard_error=score_error(score, self.labels.effective_number),
                log_loss=-float(np.average(logs, weights=weights)),
                seconds=perf_counter() - start,
                chosen=False,
            )
            found.append(_Rival(LabelSpreading(spread=spread), entry, P))
        return found


def clear_winner(
    rivals: Sequence[_Rival], search: _Search, ours: np.ndarray
) -> tuple[_Rival, GraphGain] | None:
    """Return the rival that is clearly better than ours on hidden labels, if any is.

    Without features there is no reason to prefer ours: then a rival that is as good wins.
    """
    tested = (
        np.isin(search.labelled, np.concatenate(search.folds)) if search.folds else np.zeros(0, dtype=bool)
    )
    best: tuple[_Rival, GraphGain] | None = None
    for rival in rivals:
        gain = compare_hits(search.hits(rival.P)[tested], search.hits(ours)[tested])
        clear = tested.sum() >= _HIDDEN and gain.difference > _CLEAR * gain.standard_error
        if (clear or (not search.has_features and gain.difference >= 0.0)) and (
            best is None or gain.difference > best[1].difference
        ):
            best = rival, gain
    return best


def explain(found: _Found, search: _Search) -> str:
    """Say in words what the graph is worth and which models predict."""
    if not search.folds:
        return "No class has two labels, so nothing could be compared: smooth filters predict, untested."
    said = [] if search.has_features else ["There are no features, so links take their place."]
    hits, tested = search.hits(found.hidden), np.isin(search.labelled, np.concatenate(search.folds))
    plain = [trial for trial in found.trials if not trial.filter.uses_graph and trial.kind != "links"]
    if plain and len(plain[0].hits) == len(hits) and search.has_features and tested.sum() >= _TESTED:
        without = max(plain, key=lambda trial: trial.score).hits[tested]
        gain = compare_hits(hits[tested], without)
        points = f"{100 * abs(gain.difference):.1f} ± {100 * gain.standard_error:.1f} points"
        compared = f"features alone ({100 * without.mean():.1f} %)"
        if abs(gain.difference) < 2 * gain.standard_error:
            said.append(f"The graph makes no clear difference over {compared}: {points}.")
        else:
            said.append(f"The graph {'adds' if gain.difference > 0 else 'costs'} {points} over {compared}.")
    names = dict.fromkeys(trial.name for trial in found.chosen)
    count = len(found.chosen)
    models = "1 model predicts" if count == 1 else f"The average of {count} near-best models predicts"
    said.append(f"{models} ({'; '.join(names)}).")
    if found.taught:
        said.append("It also learns from its own predictions for unlabelled nodes.")
    return " ".join(said)
