"""The search behind AutoRegressor: filters → near-best average → trees → residuals → the pool of both halves.

:func:`select_for_numbers` runs it from top to bottom and returns what predicts, with the facts about it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from time import perf_counter

import numpy as np
from scipy.sparse import csr_array

from gssl.evaluation.holdout import dealt_folds
from gssl.evaluation.targets import Numbers, r_squared
from gssl.graph.adjacency import relations_of
from gssl.methods.ridge import leave_one_out, mean_square
from gssl.scale.execution import Execution
from gssl.scale.progress import step
from gssl.selection.candidates import default_candidates
from gssl.selection.comparison import Comparison
from gssl.selection.ensemble import FittedEnsemble
from gssl.selection.filtered_rows import FilteredRows
from gssl.selection.hidden_labels import HiddenAnswers
from gssl.selection.leaderboard import Entry, Leaderboard, in_order
from gssl.selection.neighbour_columns import Neighbourhood
from gssl.selection.node_order import keys_with_labels
from gssl.selection.relations import RelationGain, tree_walks, used_relations
from gssl.selection.residuals import REACHES, Residuals, judge_residuals, relation_field
from gssl.selection.trees import STRIDE, NumberInputs, Trees, one_thread
from gssl.selection.trial import Labels, Trial, near_best, tabulate_trials
from gssl.selection.views import Views

# folds in which residuals are hidden, and in which trees are fitted; the models of the latter predict
_FOLDS, _TREE_FOLDS = 10, 5
# fewest numbers to try trees with, and the least weight at which they stay
_FEWEST_TREES, _LEAST_WEIGHT = 50, 0.05
# relations over which residuals are propagated for all reaches, at the most
_FIELDS = 3
# with fewer numbers, models are not compared
_FEW = 10
# numbers that differ by a smaller factor have about the same logarithms; the penalty to compare them with
_WIDE, _PENALTY = 3.0, 0.1
# the largest logarithm of a number
_MOST_LOG = 700.0
# how far means may be from medians
_FACTORS = (0.5, 3.0)
# how much more likely logarithms must be, per number
_CLEARLY = 0.05


@dataclass(frozen=True, eq=False)
class NumberScale:
    """How numbers become standardised values, and values numbers: logarithms first if ``log``."""

    log: bool
    centre: float
    spread: float

    @classmethod
    def of(cls, numbers: np.ndarray, *, log: bool) -> "NumberScale":
        """Return the scale of some numbers."""
        values = np.log(numbers) if log else numbers
        # squares may overflow or underflow
        unit = 2.0 ** (np.frexp(np.abs(values).max())[1] - 1) if values.any() else 1.0
        scaled = values / unit
        return cls(log, float(unit * scaled.mean()), float(unit * scaled.std()) or 1.0)

    def values(self, numbers: np.ndarray) -> np.ndarray:
        """Return standardised values."""
        return np.asarray(((np.log(numbers) if self.log else numbers) - self.centre) / self.spread)

    def numbers(self, values: np.ndarray) -> np.ndarray:
        """Return the numbers of standardised values."""
        plain = self.centre + self.spread * values
        return np.asarray(np.exp(np.clip(plain, -_MOST_LOG, _MOST_LOG)) if self.log else plain)


@dataclass(frozen=True, eq=False)
class HiddenNumbers(HiddenAnswers):
    """The known numbers, standardised, and the folds of nodes that are hidden together."""

    @classmethod
    def deal(cls, values: np.ndarray, keys: np.ndarray) -> "HiddenNumbers":
        """Deal the known values, NaN elsewhere, into folds by the keys of their nodes."""
        nodes = np.flatnonzero(~np.isnan(values))
        codes = np.where(np.isnan(values), -1, 0)
        labels = Labels(values[nodes, None], np.ones(len(nodes)), keys[nodes], Numbers())
        return cls(nodes, labels, dealt_folds(codes, min(_FOLDS, len(nodes)), keys))

    @property
    def few(self) -> bool:
        """Whether there are too few numbers to compare models on them."""
        return len(self.nodes) < _FEW

    def score(self, held_out: np.ndarray) -> tuple[float, float]:
        """Return R² of held-out values and its standard error."""
        return r_squared(self.labels.Y[:, 0], held_out, self.labels.weights)


@dataclass(frozen=True, eq=False)
class Half:
    """One half of the pool: held-out values of known nodes, and residuals that are propagated.

    ``field_of`` names the relation over which they are; all links if it is empty.
    """

    held_out: np.ndarray
    residuals: Residuals
    field_of: str = ""


@dataclass(frozen=True, eq=False)
class NumberFacts:
    """What is known about a selection; :mod:`gssl.selection.wording` puts it into words.

    ``graph_gain`` is the difference of R² to features alone with its standard error, None if unknown.
    """

    n_numbers: int
    has_features: bool
    compared: bool
    models: Sequence[str]
    n_models: int
    tree_weight: float
    graph_gain: tuple[float, float] | None
    relation_gains: Sequence[RelationGain] = ()
    relations: Sequence[str] = ()


@dataclass(frozen=True, eq=False)
class NumberSelection:
    """What predicts: the ``average`` of filters, ``trees`` with their weight, and the residuals of both."""

    hidden: HiddenNumbers
    held_out: np.ndarray
    leaderboard: Leaderboard
    facts: NumberFacts
    average: FittedEnsemble | None
    linear: Half
    trees: "FoldTrees | None" = None
    boosted: Half | None = None
    weight: float = 0.0

    @property
    def gap(self) -> np.ndarray:
        """By how much both halves differ at the known nodes."""
        other = self.linear if self.boosted is None else self.boosted
        return np.asarray(np.abs(other.held_out - self.linear.held_out))


def deal_numbers(values: np.ndarray, views: Views, A: csr_array) -> HiddenNumbers:
    """Deal known values into folds that do not depend on the order of nodes."""
    codes = np.where(np.isnan(values), -1, 0)
    return HiddenNumbers.deal(values, keys_with_labels(views.node_keys, A, codes))


def select_for_numbers(
    views: Views, A: csr_array, values: np.ndarray, depth: int, execution: Execution, deadline: float = np.inf
) -> NumberSelection:
    """Compare models on hidden numbers, and fit those that predict to all numbers."""
    hidden = deal_numbers(values, views, A)
    Y, weights = hidden.labels.Y[:, 0], hidden.labels.weights
    positions = [hidden.positions(fold) for fold in hidden.folds]

    def half(held_out: np.ndarray, field_of: str | None = None) -> Half:
        e = Y - held_out

        def judged(relations: Sequence[str], reaches: Sequence[float] = REACHES) -> dict[str, Residuals]:
            inputs = hidden.nodes, positions, e, weights, reaches
            return {one: judge_residuals(relation_field(A, one), *inputs) for one in relations}

        def error(residuals: Residuals) -> float:
            return float(weights @ np.square(e - residuals.corrections))

        with step("propagating residuals"):
            relations = [*relations_of(A)] if len(relations_of(A)) > 1 else []
            if field_of is None and len(relations) > _FIELDS:
                near = judged(relations, REACHES[:1])
                relations = sorted(relations, key=lambda one: error(near[one]))[:_FIELDS]
            fields = judged(["", *relations] if field_of is None else [field_of])
        best = min(fields, key=lambda one: error(fields[one]))
        return Half(held_out + fields[best].corrections, fields[best], best)

    board: list[Entry] = []
    chosen: list[Trial] = []
    relation_gains: list[RelationGain] = []
    average, gain, fitted = None, None, np.zeros(A.shape[0])
    if views:
        comparison = Comparison(views, A, hidden, depth, execution, deadline, hidden.nodes[:0])
        with step("comparing models"):
            trials, chosen = comparison.compare()
        relation_gains = comparison.relation_gains
        # what products of columns explain, neighbours may explain as well
        plain = [trial for trial in trials if trial.kind != "products"]
        sets = [chosen] if len(plain) == len(trials) else [chosen, near_best(plain)]
        averages = [comparison.fitted(members) for members in sets]
        halves = [half(held_out_average(each)) for each in averages]
        best = int(np.argmax([hidden.score(each.held_out)[0] for each in halves]))
        average, linear, chosen = averages[best], halves[best], sets[best]
        fitted = average.ensemble.logits([average.fit])[:, 0, 0].astype(np.float64)
        fitted[hidden.nodes] = Y - linear.residuals.e
        board += tabulate_trials(trials, chosen)
        gain = _graph_gain(comparison, trials, linear.held_out, hidden)
    else:
        linear = half(np.zeros(len(Y)))
    trees, boosted, weight = None, None, 0.0
    if perf_counter() <= deadline:
        start = perf_counter()
        with step("trying trees"):
            walks = tree_walks(relation_gains)
            trees = fit_trees(number_inputs(views, A, values, hidden.labels, fitted, walks), hidden)
        if trees is not None:
            boosted = half(trees.held_out, linear.field_of)
            weight = pool_weight(Y, linear.held_out, boosted.held_out)
            score, error = hidden.score(boosted.held_out)
            settings = f"rounds={trees.rounds}, weight={weight:.2f}"
            loss = float(np.mean(np.square(Y - boosted.held_out)))
            kept = weight >= _LEAST_WEIGHT
            board.append(
                Entry("boosted trees", settings, score, error, loss, perf_counter() - start, chosen=kept)
            )
            if not kept:
                trees, boosted, weight = None, None, 0.0
    held_out = linear.held_out
    if boosted is not None:
        held_out = (1.0 - weight) * linear.held_out + weight * boosted.held_out
    facts = NumberFacts(
        n_numbers=len(Y),
        has_features=any(kind != "links" for kind in views),
        compared=not hidden.few,
        models=list(dict.fromkeys(trial.name for trial in chosen)),
        n_models=len(chosen),
        tree_weight=weight,
        graph_gain=gain,
        relation_gains=relation_gains,
        relations=used_relations(chosen),
    )
    return NumberSelection(hidden, held_out, in_order(board), facts, average, linear, trees, boosted, weight)


def held_out_average(average: FittedEnsemble) -> np.ndarray:
    """Return the mean of the leave-one-out values of all members."""
    m, labels = len(average.labels.Y), average.labels
    parts = [
        leave_one_out(U[:m], labels.Y, np.array([member.penalty]), labels.weights)[0, :, 0]
        for member, U in zip(average.members, average.rows, strict=True)
    ]
    return np.asarray(np.mean(parts, axis=0))


def _graph_gain(
    comparison: Comparison, trials: Sequence[Trial], held_out: np.ndarray, hidden: HiddenNumbers
) -> tuple[float, float] | None:
    """Compare R² with that of the near-best models of features alone."""
    plain = [trial for trial in trials if not trial.filter.uses_graph and trial.kind != "links"]
    if hidden.few or not plain:
        return None
    without, Y = comparison.fitted(near_best(plain)), hidden.labels.Y[:, 0]
    squares = np.square(Y - held_out_average(without)) - np.square(Y - held_out)
    return float(squares.mean() / Y.var()), float(squares.std() / (Y.var() * np.sqrt(len(Y))))


def pool_weight(Y: np.ndarray, linear: np.ndarray, other: np.ndarray) -> float:
    r"""Return the weight w in [0, 1] with which :math:`(1 - w) a + w b` is nearest to Y."""
    change = other - linear
    total = float(change @ change)
    return float(np.clip(change @ (Y - linear) / total, 0.0, 1.0)) if total else 0.0


@dataclass(frozen=True, eq=False)
class FoldTrees:
    """Boosted trees, one model for each fold that was hidden; their mean predicts."""

    models: list[Trees]
    rounds: int
    # whether predictions of linear models are a column
    reads_linear: bool
    held_out: np.ndarray = field(default_factory=lambda: np.zeros(0))

    def values(self, X: object, A: csr_array, linear: np.ndarray) -> np.ndarray:
        """Return the values of all nodes of a graph that begins with the nodes of fit.

        ``linear`` are the values of linear models for its nodes.
        """
        first = self.models[0]
        extra = linear[:, None] if self.reads_linear else None
        nearby = Neighbourhood(X, A, first.axes, first.order, extra, first.walks)
        rows = np.arange(A.shape[0])
        with one_thread():
            return np.asarray(np.mean([trees.of_rows(nearby, rows)[:, 0] for trees in self.models], axis=0))


def number_inputs(
    views: Views, A: csr_array, values: np.ndarray, labels: Labels, linear: np.ndarray, walks: Sequence[str]
) -> NumberInputs:
    """Return what trees are fitted to; ``linear`` are the values of linear models."""
    axes = views["unit"].axes if "unit" in views else np.zeros((views.own.shape[1], 0), views.dtype)
    own, keys = views.own, views.column_keys
    return NumberInputs(own, A, labels.weights, labels.keys, axes, keys, walks, values, linear)


def fit_trees(inputs: NumberInputs, hidden: HiddenNumbers, rounds: int | None = None) -> FoldTrees | None:
    """Fit trees without each fold, with the number of rounds that predicts hidden numbers best.

    None if there are too few numbers. A given number of rounds is that of an earlier fit.
    """
    if len(hidden.nodes) < _FEWEST_TREES or not inputs.fits:
        return None
    folds = inputs.folds(_TREE_FOLDS)
    if len(folds) < 2:
        return None
    most = inputs.most_rounds if rounds is None else rounds
    with one_thread():
        models = [inputs.fit_rounds(most, fold) for fold in folds]
    if rounds is not None:
        return FoldTrees(models, rounds, inputs.extra is not None)
    with one_thread():
        parts = [trees.stages(inputs.nearby, fold)[..., 0] for trees, fold in zip(models, folds, strict=True)]
    stages = np.concatenate(parts, axis=1)
    at = hidden.positions(np.concatenate(folds))
    errors = np.square(stages - hidden.labels.Y[at, 0]) @ hidden.labels.weights[at]
    best = int(np.argmin(errors))
    held_out = np.zeros(len(hidden.nodes))
    held_out[at] = stages[best]
    rounds = (best + 1) * STRIDE
    cut = [trees.cut(rounds) for trees in models]
    return FoldTrees(cut, rounds, inputs.extra is not None, held_out)


def mean_factor(truth: np.ndarray, medians: np.ndarray) -> float:
    r"""Return the factor that turns medians of a log scale into means: :math:`\sum y q / \sum q^2`."""
    squares = float(medians @ medians)
    return float(np.clip(truth @ medians / squares, *_FACTORS)) if squares else 1.0


def prefers_logarithms(views: Views, A: csr_array, numbers: np.ndarray, depth: int) -> bool:
    """Return whether hidden logarithms are more likely than hidden numbers, both with normal errors.

    Squared errors of the numbers must not be larger, either. Both are compared for the filters that suit most
    graphs, with one factorisation.
    """
    nodes = np.flatnonzero(~np.isnan(numbers))
    known = numbers[nodes]
    if not views or known.max() <= _WIDE * known.min():
        return False
    both = [NumberScale.of(known, log=log) for log in (False, True)]
    Y = np.stack([scale.values(known) for scale in both], axis=1)
    tables = FilteredRows(views, A, views.dtype, nodes, depth)
    kind = next(iter(views))
    likelihoods, squares = [], []
    for filter_ in (*default_candidates(depth), *default_candidates(depth, smooth=False)):
        U = tables.rows(kind, filter_, views[kind].first_width)
        predicted = leave_one_out(U, Y, np.array([_PENALTY * mean_square(U)]))[0]
        residuals, unit = Y - predicted, known.max()
        plain, medians = (scale.numbers(each) / unit for scale, each in zip(both, predicted.T, strict=True))
        means = medians * mean_factor(known / unit, medians)
        squares.append([float(np.square(known / unit - each).mean()) for each in (plain, means)])
        variances = np.square(residuals).mean(axis=0) * np.square([scale.spread for scale in both])
        likelihoods.append(-0.5 * np.log(variances))
    linear, log = np.max(likelihoods, axis=0)
    if np.subtract(*np.min(squares, axis=0)) < 0:
        return False
    # the density of a logarithm is that of its number times the number
    return bool(log - np.log(known).mean() > linear + _CLEARLY)
