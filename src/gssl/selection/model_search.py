"""The search behind AutoClassifier: candidates → near-best average → self-training → label spreading.

:func:`select_models` runs it from top to bottom and returns what predicts, with the facts about it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any, Literal

import numpy as np
from scipy.sparse import csr_array
from scipy.special import softmax

from gssl.evaluation.graph_gain import GraphGain
from gssl.evaluation.metrics import score_error
from gssl.methods import LabelPropagation, LabelSpreading
from gssl.methods.softmax import inverse_temperatures
from gssl.scale.execution import Execution
from gssl.scale.progress import step
from gssl.selection.comparison import Comparison
from gssl.selection.ensemble import Ensemble, Fit, FittedEnsemble, Targets
from gssl.selection.hidden_labels import HiddenLabels
from gssl.selection.leaderboard import Leaderboard, in_order
from gssl.selection.node_order import keys_with_labels, spread_nodes
from gssl.selection.pool import floored_log
from gssl.selection.relations import RelationGain, tree_walks, used_relations
from gssl.selection.rivals import SPREADS, Rival, beside, clear_winner, try_spreading
from gssl.selection.self_training import TEACHERS, taught_targets
from gssl.selection.trees import ClassInputs, Judgement, judge_trees, one_thread
from gssl.selection.trial import Labels, Trial, near_best, tabulate_trials
from gssl.selection.views import Views

# least number of hidden labels to report what the graph adds
_FEWEST_TESTED = 8
# self-training is used unless it costs more than this many standard errors. One would be too strict: the
# models were chosen on the same labels, which makes them look better without self-training
_HARMLESS = 2.0
# the inverse temperature, divided by the logarithm of the number of classes, if labels are too few to fit it
_FEW_SHARPNESS = 0.3
# least number of hidden labels to calibrate label spreading on
_FEWEST_CALIBRATED = 30
# the share of label spreading beside an average of models that have little to tell
_SPREAD_SHARE = 0.7
# distributions of label spreading are raised to this power, to be as confident as the average
_SPREAD_SHARPNESS = 1.5


@dataclass(frozen=True, eq=False)
class Facts:
    """What is known about a selection; :mod:`gssl.selection.wording` puts it into words.

    ``graph_gain`` is what the graph adds on hidden labels; None if unknown, "unused" if no model uses it.
    ``winner`` is the lead of label spreading if it predicts alone although there are features or links.
    """

    n_labels: int
    n_classes: int
    has_features: bool
    compared: bool
    models: Sequence[str] = ()
    n_models: int = 0
    taught: bool = False
    graph_gain: GraphGain | Literal["unused"] | None = None
    winner: GraphGain | None = None
    spread: Literal["alone", "half", "untested", "no time"] | None = None
    tree_weight: float | None = None
    relation_gains: Sequence[RelationGain] = ()
    relations: Sequence[str] = ()


@dataclass(frozen=True, eq=False)
class Selection:
    """What predicts: the ``average`` with its logits, label ``spreading`` (not fitted yet), or both.

    ``held_out`` are the distributions of the labels in ``hidden`` while they were hidden. Distributions of
    label spreading alone are raised to ``spread_power``. ``trees`` are pooled with the result.
    """

    hidden: HiddenLabels
    held_out: np.ndarray
    leaderboard: Leaderboard
    facts: Facts
    average: FittedEnsemble | None = None
    logits: np.ndarray | None = None
    spreading: LabelSpreading | LabelPropagation | None = None
    spread_power: float = 1.0
    trees: Judgement | None = None


def pool_trees(selection: Selection, views: Views, A: csr_array, codes: np.ndarray) -> Selection:
    """Return a selection with boosted trees, if these are clearly better together on hidden labels."""
    hidden = selection.hidden
    with step("trying trees"), one_thread():
        walks = tree_walks(selection.facts.relation_gains)
        inputs = tree_inputs(views, A, codes, hidden.labels, walks)
        trees = judge_trees(inputs, hidden, selection.held_out)
    if trees is None:
        return selection
    facts = replace(selection.facts, tree_weight=trees.pool.share)
    board = in_order([*selection.leaderboard, trees.entry])
    return replace(selection, trees=trees, held_out=trees.held_out, facts=facts, leaderboard=board)


def tree_inputs(
    views: Views, A: csr_array, codes: np.ndarray, labels: Labels, walks: Sequence[str]
) -> ClassInputs:
    """Return what trees are fitted to."""
    axes = views["unit"].axes if "unit" in views else np.zeros((views.own.shape[1], 0), views.dtype)
    return ClassInputs(views.own, A, labels.weights, labels.keys, axes, views.column_keys, walks, codes)


def select_models(
    views: Views,
    A: csr_array,
    codes: np.ndarray,
    class_weights: np.ndarray,
    depth: int,
    execution: Execution,
    deadline: float = np.inf,
) -> Selection:
    """Compare models on hidden labels, and fit those that predict to all labels."""
    keys = keys_with_labels(views.node_keys, A, codes)
    hidden = HiddenLabels.deal(codes, class_weights, keys)
    has_features = any(kind != "links" for kind in views)
    facts = Facts(len(hidden.nodes), hidden.n_classes, has_features, compared=not hidden.few)
    spreads = (LabelSpreading().spread,) if has_features else SPREADS

    def try_rivals() -> list[Rival]:
        return try_spreading(A, codes, hidden, spreads, views.dtype, execution, deadline)

    if not views:
        return _spread_labels(try_rivals(), hidden, facts)
    comparison = ClassComparison(views, A, hidden, depth, execution, deadline, spread_nodes(keys, TEACHERS))
    with step("comparing models"):
        trials, chosen = comparison.compare()
    facts = replace(facts, relation_gains=comparison.relation_gains)
    ensemble = comparison.ensemble(chosen)
    with step("self-training"):
        taught, logits = comparison.judge_self_training(ensemble)
    with step("spreading labels"):
        rivals = try_rivals()
    win = clear_winner(rivals, hidden, logits, has_features=has_features)
    board = [*(tabulate_trials(trials, chosen if win is None else []) if hidden.folds else ())]
    board += [replace(rival.entry, chosen=win is not None and rival is win[0]) for rival in rivals]
    if win is not None:
        rival, lead = win
        gain = comparison.graph_gain(trials, chosen, rival.P, spreads=True)
        facts = replace(facts, spread="alone", winner=lead, graph_gain=gain)
        return _spread_alone(rival, hidden, in_order(board), facts)

    targets = comparison.targets()
    if taught:
        with step("learning from unlabelled nodes"):
            (targets,) = taught_targets(ensemble, [targets], comparison.teachers)
    sharpness = _sharpness(hidden, logits)
    average = FittedEnsemble(ensemble, targets, hidden.labels, sharpness)
    held_out = softmax(sharpness * logits, axis=1)
    half = None
    if hidden.few and not comparison.is_smooth and comparison.has_communities:
        half = beside(rivals, hidden, logits)
    if half is not None:
        # a uniform row means that no label reaches the node
        held_out = averaged(held_out, half, np.ptp(half, axis=1) > 0)
    facts = replace(
        facts,
        models=list(dict.fromkeys(trial.name for trial in chosen)),
        n_models=len(chosen),
        taught=taught,
        relations=used_relations(chosen),
        graph_gain=comparison.graph_gain(trials, chosen, held_out, spreads=taught or half is not None),
        spread=None if half is None else "half",
    )
    return Selection(
        hidden,
        held_out,
        in_order(board),
        facts,
        average,
        logits=(sharpness * ensemble.logits([average.fit])[:, 0]).astype(views.dtype),
        spreading=None if half is None else LabelSpreading(),
    )


def averaged(P: np.ndarray, spread: np.ndarray, reached: np.ndarray) -> np.ndarray:
    """Average distributions with those of label spreading at the nodes that a label reaches."""
    sharp = spread[reached] ** _SPREAD_SHARPNESS
    both = P.copy()
    both[reached] = (1.0 - _SPREAD_SHARE) * P[reached] + _SPREAD_SHARE * sharp / sharp.sum(
        axis=1, keepdims=True
    )
    return both


def _spread_labels(rivals: Sequence[Rival], hidden: HiddenLabels, facts: Facts) -> Selection:
    """Let label spreading predict, for graphs without features that are too large to use links instead."""
    if not rivals:
        facts = replace(facts, spread="no time" if hidden.folds else "untested")
        model = LabelPropagation()
        return Selection(hidden, hidden.uniform_scores(), Leaderboard([]), facts, spreading=model)
    best = max(rivals, key=lambda rival: rival.entry.score)
    board = in_order(replace(rival.entry, chosen=rival is best) for rival in rivals)
    return _spread_alone(best, hidden, board, replace(facts, spread="alone"))


def _spread_alone(rival: Rival, hidden: HiddenLabels, board: Leaderboard, facts: Facts) -> Selection:
    """Let label spreading predict alone, as sure as hidden labels say."""
    labels, logs = hidden.labels, floored_log(rival.P)
    power = 1.0
    if hidden.tested.sum() >= _FEWEST_CALIBRATED:
        power = float(inverse_temperatures(logs[None], labels.Y, labels.weights, centre=1.0)[0][0])
    P = softmax(power * logs, axis=1)
    return Selection(hidden, P, board, facts, spreading=rival.model, spread_power=power)


def _sharpness(hidden: HiddenLabels, logits: np.ndarray) -> float:
    """Return the inverse temperature that maximises the likelihood of hidden labels."""
    if hidden.few:
        return float(_FEW_SHARPNESS * np.log(hidden.n_classes))
    labels = hidden.labels
    return float(inverse_temperatures(logits[None], labels.Y, labels.weights, centre=1.0)[0][0])


class ClassComparison(Comparison):
    """The steps for classes: self-training, and what the graph adds."""

    def __init__(self, views: Views, A: csr_array, hidden: HiddenLabels, *options: Any) -> None:
        super().__init__(views, A, hidden, *options)
        self.hidden: HiddenLabels = hidden

    def judge_self_training(self, ensemble: Ensemble) -> tuple[bool, np.ndarray]:
        """Return whether to self-train, and the logits of hidden labels for that choice.

        Self-training may cost up to two standard errors of accuracy on hidden labels if the best filter is a
        smooth one; otherwise it must improve the accuracy. With few labels, it is used on smooth graphs.
        """
        hidden = self.hidden
        if not hidden.folds:
            return self.is_smooth, hidden.uniform_scores()
        sets = self.shown_labels(ensemble)
        alone = self.hidden_logits(ensemble, sets)
        if perf_counter() > self.deadline:
            return False, alone
        taught = self.hidden_logits(ensemble, taught_targets(ensemble, sets, self.teachers))
        before, after = hidden.accuracy(alone), hidden.accuracy(taught)
        best = ensemble.members[0].filter
        if hidden.few:
            harmless = self.is_smooth
        elif best.uses_graph and not best.surprise:
            harmless = after >= before - _HARMLESS * score_error(before, hidden.labels.effective_number)
        else:
            harmless = after > before
        return harmless, taught if harmless else alone

    def shown_labels(self, ensemble: Ensemble) -> list[Targets]:
        """Return for each fold the labels that it does not hide."""
        return [self.targets(fold, ensemble.members) for fold in self.hidden.folds]

    def hidden_logits(self, ensemble: Ensemble, sets: Sequence[Targets]) -> np.ndarray:
        """Return the logits of each fold's labels from a fit to the targets without them."""
        fits: list[Fit] = [ensemble.solve(targets) for targets in sets]
        parts = [
            ensemble.logits_at(fit, self._positions[self.hidden.positions(fold)])
            for fold, fit in zip(self.hidden.folds, fits, strict=True)
        ]
        return self.hidden.gather(parts)

    def graph_gain(
        self, trials: Sequence[Trial], chosen: Sequence[Trial], P: np.ndarray, *, spreads: bool
    ) -> GraphGain | Literal["unused"] | None:
        """Compare distributions of hidden labels with the near-best models of features alone.

        These are averaged and hidden as all models are, but not self-trained, which would use the graph.
        ``spreads`` says whether labels or predictions were spread over the graph.
        """
        hidden = self.hidden
        if not hidden.folds or all(kind == "links" for kind in self.tables.views):
            return None
        if not spreads and not any(trial.filter.uses_graph or trial.kind == "links" for trial in chosen):
            return "unused"
        plain = [trial for trial in trials if not trial.filter.uses_graph and trial.kind != "links"]
        if not plain or hidden.tested.sum() < _FEWEST_TESTED:
            return None
        ensemble = self.ensemble(near_best(plain))
        return hidden.gain(P, self.hidden_logits(ensemble, self.shown_labels(ensemble)))
