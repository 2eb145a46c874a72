"""Sentences about a selection of models, made from its facts."""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from gssl.evaluation.graph_gain import GraphGain
from gssl.evaluation.holdout import HeldOut
from gssl.evaluation.number_accuracy import NumberAccuracy
from gssl.selection.model_search import Facts, Selection
from gssl.selection.number_search import NumberFacts, NumberSelection
from gssl.selection.relations import RelationGain
from gssl.selection.set_search import SetFacts, SetSelection
from gssl.wording import listed, quoted, write_estimate, write_fixed, write_number, write_share

# fewer numbers promise more than they keep, and so do fewer nodes with several labels
_MANY_NUMBERS, _MANY_SETS = 100, 20
# relations listed by name
_MOST_RELATIONS = 5
# models listed by name
_MOST_MODELS = 3
# writes a difference and its standard error
Amount: TypeAlias = Callable[[float, float], str]
_NO_FEATURES = "There are no features that differ between nodes"


def explain(selection: Selection, classes: np.ndarray) -> str:
    """Say how accurate a selection is on hidden labels, what the graph adds, and which models predict."""
    facts = selection.facts
    sentences = [_accuracy(selection, classes), _graph(facts), _models(facts), _trees(facts)]
    sentences.insert(2, _relations(facts, _points) if facts.compared else "")
    return " ".join(sentence for sentence in sentences if sentence)


def _points(difference: float, error: float) -> str:
    return write_estimate(100 * difference, 100 * error, 1, " points")


def _of_r_squared(difference: float, error: float) -> str:
    return f"{write_estimate(difference, error, 2)} to R²"


def _log_likelihood(difference: float, error: float) -> str:
    return f"{write_estimate(difference, error, 2)} to the log-likelihood of a node"


def _listed_models(models: Sequence[str]) -> str:
    more = f"; and {len(models) - _MOST_MODELS} more" if len(models) > _MOST_MODELS else ""
    return f"({'; '.join(models[:_MOST_MODELS])}{more})"


def _predicting(count: int, models: Sequence[str]) -> str:
    if count == 1:
        return f"1 model predicts {_listed_models(models)}."
    return f"The average of {count} models that are about as good predicts {_listed_models(models)}."


def _accuracy(selection: Selection, classes: np.ndarray) -> str:
    hidden = selection.hidden
    tested = hidden.tested
    if not tested.any() or selection.facts.spread == "no time":
        return ""
    untested = int((np.bincount(hidden.truth) == 1).sum())
    nodes, truth, P = hidden.nodes[tested], hidden.truth[tested], selection.held_out[tested]
    return HeldOut(nodes, truth, P, classes, 0, untested).summary


def _graph(facts: Facts) -> str:
    gain = facts.graph_gain
    if gain is None:
        return ""
    if not isinstance(gain, GraphGain):
        return "No model that uses the graph is among the best: features alone predict."
    alone = f"features alone ({write_share(gain.without_graph, 1)})"
    # the models of features alone have no trees
    graph = "The graph" if facts.tree_weight is None else "Among linear models, the graph"
    if abs(gain.difference) < 2 * gain.standard_error:
        points = _points(gain.difference, gain.standard_error)
        return f"{graph} makes no clear difference: {points} over {alone}."
    verb = "costs" if gain.difference < 0 else "adds"
    return f"{graph} {verb} {_points(abs(gain.difference), gain.standard_error)} over {alone}."


def _relations(facts: Facts | NumberFacts | SetFacts, amount: Amount) -> str:
    """Say what each kind of links adds, and which of them models tell apart; nothing if there is one kind."""
    gains = sorted(facts.relation_gains, key=lambda gain: -gain.difference)
    if not gains:
        return ""

    def verdict(gain: RelationGain) -> str:
        adds = "add" if gain.difference > 0 else "cost"
        return f"{adds} {amount(abs(gain.difference), gain.standard_error)}"

    if len(gains) == 1:
        said = verdict(gains[0]) if gains[0].is_clear else "add nothing clear"
        return f"Directions of links {said}, and {'some' if facts.relations else 'no'} models use them."
    clear, rest = ([g for g in gains if g.is_clear is wanted] for wanted in (True, False))
    parts = [f"{quoted(gain.relation)} links {verdict(gain)}" for gain in clear[:_MOST_RELATIONS]]
    if len(clear) > _MOST_RELATIONS:
        parts.append(f"{len(clear) - _MOST_RELATIONS} more kinds make a clear difference")
    if rest:
        named = f"{listed(gain.relation for gain in rest)} links"
        names = named if len(rest) <= _MOST_RELATIONS else f"{len(rest)} {'other ' if clear else ''}kinds"
        parts.append(f"{names} add nothing clear")
    apart = f"Models read {listed(facts.relations)} links by themselves."
    return f"Tried one by one, {', '.join(parts)}. {apart if facts.relations else 'Models use their union.'}"


def _models(facts: Facts) -> str:
    if facts.winner is not None:
        rivals = "the best models of features" if facts.has_features else "links as features"
        better = write_fixed(100 * facts.winner.difference, 1)
        than = f"as good as {rivals}" if better == "0.0" else f"better by {better} points than {rivals}"
        return f"Labels alone, spread over the graph, are {than}, so LabelSpreading predicts."
    if facts.spread == "alone":
        return f"{_NO_FEATURES}: LabelSpreading spreads labels over the graph."
    if facts.spread in ("untested", "no time"):
        reason = "there was no time left" if facts.spread == "no time" else "no class has two labels"
        return (
            f"{_NO_FEATURES}, and {reason}, so nothing could be compared: LabelPropagation spreads labels "
            "over the graph."
        )
    sentences = [_average(facts)]
    if facts.spread == "half":
        sentences.append(
            "Neighbours differ in their features but form communities, so label spreading counts for most, "
            "and predict needs a graph that begins with the nodes of fit."
        )
    return " ".join(sentences)


def _trees(facts: Facts) -> str:
    if facts.tree_weight is None:
        return ""
    return (
        "Boosted trees on the features and labels of neighbours are averaged with it, with a weight of "
        f"{write_share(facts.tree_weight)}, and predict needs a graph that begins with the nodes of fit."
    )


def _average(facts: Facts) -> str:
    if not facts.compared:
        return (
            f"{facts.n_labels:,} labels in {facts.n_classes} classes are too few to compare models, so those "
            f"that suit such features are averaged {_listed_models(facts.models)}."
        )
    sentences = [] if facts.has_features else [f"{_NO_FEATURES}, so links take their place."]
    sentences.append(_predicting(facts.n_models, facts.models))
    if facts.taught:
        sentences.append("It also learns from its own predictions for unlabelled nodes.")
    return " ".join(sentences)


def explain_numbers(
    selection: NumberSelection, truth: np.ndarray, held_out: np.ndarray, intervals: np.ndarray, model: Any
) -> str:
    """Say how good a selection is on hidden numbers, what the graph adds, and which models predict."""
    facts = selection.facts
    accuracy = NumberAccuracy(truth, held_out, intervals[:, 0], intervals[:, 1])
    score, error = accuracy.r_squared
    sentences = [
        f"R² {write_estimate(score, error, 2, most=1.0)} on {facts.n_numbers:,} hidden numbers; typical "
        f"error {write_number(accuracy.typical_error)}; always answering the mean would be off by "
        f"{write_number(accuracy.error_of_mean)}."
    ]
    if not facts.compared:
        sentences = [f"{facts.n_numbers} known numbers are too few to say how good the predictions are."]
    elif not accuracy.beats_mean:
        sentences.append("This is no better than always answering the mean.")
    if facts.compared and facts.n_numbers < _MANY_NUMBERS:
        sentences.append("So few numbers promise too much: models were chosen on the same ones.")
    if facts.graph_gain is not None:
        gain, spread = facts.graph_gain
        verb, amount = "adds" if gain > 0 else "costs", _of_r_squared(abs(gain), spread)
        small = abs(gain) <= 2 * spread or write_fixed(gain, 2) == "0.00"
        said = "makes no clear difference" if small else f"{verb} {amount}"
        sentences.append(f"Among linear models, the graph {said}.")
    shown = _relations(facts, _of_r_squared) if facts.compared else ""
    sentences += [shown] if shown else []
    if model.number_scale.log:
        why = ", since hidden numbers are more likely this way" if model.scale == "auto" else ""
        sentences.append(f"Logarithms are predicted{why}.")
    if not facts.has_features:
        sentences.append(f"{_NO_FEATURES}.")
    if facts.n_models:
        sentences.append(_predicting(facts.n_models, facts.models))
    if selection.linear.residuals.reach:
        over = f"{quoted(selection.linear.field_of)} links" if selection.linear.field_of else "the graph"
        sentences.append(f"Its errors at known nodes are also corrected at nodes near them, over {over}.")
    if facts.tree_weight:
        sentences.append(f"Boosted trees have a weight of {write_share(facts.tree_weight)} beside it.")
    if facts.compared:
        sentences.append(
            f"{write_share(float(accuracy.within.mean()))} of hidden numbers lie within their intervals."
        )
    else:
        sentences.append("The intervals promise more than so few numbers can tell.")
    return " ".join(sentences)


def explain_sets(selection: SetSelection, classes: np.ndarray) -> str:
    """Say how good label sets are on hidden labels, what the graph adds, and which models predict."""
    hidden, facts = selection.hidden, selection.facts
    P, Y, known = selection.held_out, hidden.truth > 0.5, hidden.known
    said = (selection.thresholds <= P) & known
    truth = Y & known
    both = (said & truth).sum(axis=0)
    micro = 2.0 * both.sum() / max(1, said.sum() + truth.sum())
    macro = float(np.mean(2.0 * both / np.maximum(said.sum(axis=0) + truth.sum(axis=0), 1)))
    sentences = [
        f"On hidden labels of {facts.n_nodes:,} nodes, F1 is {micro:.2f} over all {len(classes)} labels and "
        f"{macro:.2f} on average over labels."
    ]
    if facts.n_nodes < _MANY_SETS:
        sentences = [f"{facts.n_nodes} labelled nodes are too few to say how good the predictions are."]
    if facts.graph_gain is not None:
        gain, error = facts.graph_gain
        more = "more" if gain > 0 else "less"
        clear = f"The graph makes hidden labels {more} likely than features alone."
        sentences.append(clear if abs(gain) > 2 * error else "The graph adds nothing clear.")
    shown = _relations(facts, _log_likelihood)
    sentences += [shown] if shown and facts.n_nodes >= _MANY_SETS else []
    if facts.models:
        sentences.append(f"An average of models predicts {_listed_models(facts.models)}.")
    if facts.tree_weight:
        sentences.append(f"Randomised trees have a weight of {write_share(facts.tree_weight)} in it.")
    return " ".join(sentences)
