"""Sentences about a selection of models, made from its facts."""

from typing import Any

import numpy as np

from gssl.evaluation.graph_gain import GraphGain
from gssl.evaluation.holdout import HeldOut
from gssl.evaluation.number_accuracy import NumberAccuracy
from gssl.selection.model_search import Facts, Selection
from gssl.selection.number_search import NumberSelection
from gssl.wording import write_number

_NO_FEATURES = "There are no features that differ between nodes"


def explain(selection: Selection, classes: np.ndarray) -> str:
    """Say how accurate a selection is on hidden labels, what the graph adds, and which models predict."""
    facts = selection.facts
    sentences = [_accuracy(selection, classes), _graph(facts), _models(facts), _trees(facts)]
    return " ".join(sentence for sentence in sentences if sentence)


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
    points = (
        f"{100 * abs(gain.difference):.1f} ± {100 * gain.standard_error:.1f} points over features alone "
        f"({100 * gain.without_graph:.1f} %)."
    )
    # the models of features alone have no trees
    graph = "The graph" if facts.tree_weight is None else "Among linear models, the graph"
    if abs(gain.difference) < 2 * gain.standard_error:
        return f"{graph} makes no clear difference: {'−' if gain.difference < 0 else '+'}{points}"
    return f"{graph} {'costs' if gain.difference < 0 else 'adds'} {points}"


def _models(facts: Facts) -> str:
    if facts.winner is not None:
        rivals = "the best models of features" if facts.has_features else "links as features"
        return (
            f"Labels alone, spread over the graph, are better by {100 * facts.winner.difference:.1f} points "
            f"than {rivals}, so LabelSpreading predicts."
        )
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
        "Boosted trees on the features and labels of neighbours are pooled with it, with a weight of "
        f"{100 * facts.tree_weight:.0f} %, and predict needs a graph that begins with the nodes of fit."
    )


def _average(facts: Facts) -> str:
    if not facts.compared:
        models = "; ".join(facts.models)
        return (
            f"{facts.n_labels:,} labels in {facts.n_classes} classes are too few to compare models, so those "
            f"that suit such features are part of the average ({models})."
        )
    sentences = [] if facts.has_features else [f"{_NO_FEATURES}, so links take their place."]
    count = facts.n_models
    models = "1 model predicts" if count == 1 else f"The average of {count} near-best models predicts"
    sentences.append(f"{models} ({'; '.join(facts.models)}).")
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
        f"R² {score:.2f} ± {error:.2f} on {facts.n_numbers:,} hidden numbers; typical error "
        f"{write_number(accuracy.typical_error)}; always answering the mean would be off by "
        f"{write_number(accuracy.error_of_mean)}."
    ]
    if not accuracy.beats_mean:
        sentences.append("This is no better than always answering the mean.")
    if facts.graph_gain is not None:
        gain, spread = facts.graph_gain
        what = "adds" if gain > 0 else "costs"
        clear = f"The graph {what} {abs(gain):.2f} ± {spread:.2f} to R² among linear models."
        unclear = f"The graph makes no clear difference ({gain:+.2f} ± {spread:.2f} of R²)."
        sentences.append(clear if abs(gain) > 2 * spread else unclear)
    if model.number_scale.log:
        sentences.append("Logarithms are predicted, since hidden numbers are more likely this way.")
    count = facts.n_models
    if not facts.has_features:
        sentences.append(f"{_NO_FEATURES}.")
    if count:
        models = "1 model predicts" if count == 1 else f"The average of {count} near-best models predicts"
        sentences.append(f"{models} ({'; '.join(facts.models)}).")
    if selection.linear.residuals.reach:
        sentences.append("What it misses at known nodes is propagated over the graph.")
    if facts.tree_weight:
        sentences.append(f"Boosted trees have a weight of {100 * facts.tree_weight:.0f} % beside it.")
    sentences.append(f"{100 * accuracy.within.mean():.0f} % of hidden numbers lie within their intervals.")
    return " ".join(sentences)
