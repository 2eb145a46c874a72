"""The search for several labels per node: filters of features and links → sigmoid maps → a pool with trees.

:func:`select_for_sets` runs it from top to bottom and returns what predicts, with the facts about it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import csr_array
from scipy.special import expit

from gssl.evaluation.holdout import dealt_folds
from gssl.evaluation.targets import LabelSets, fit_sigmoids, score_sets
from gssl.methods import PPR, SGC, HopFilter, NoGraph
from gssl.methods.label_sets import UNKNOWN
from gssl.methods.softmax import ScoreMap
from gssl.scale.execution import Execution
from gssl.scale.progress import step
from gssl.selection.candidates import STACKED, Filter, centred, make_filter
from gssl.selection.comparison import Comparison
from gssl.selection.ensemble import FittedEnsemble
from gssl.selection.hidden_labels import HiddenAnswers
from gssl.selection.leaderboard import Entry, Leaderboard, in_order
from gssl.selection.node_order import keys_with_labels
from gssl.selection.relations import RelationGain, tree_walks, try_relations, used_relations
from gssl.selection.trees import SetInputs, Trees, one_thread
from gssl.selection.trial import PENALTIES, Labels, Trial, tabulate_trials, try_filter
from gssl.selection.views import Views

# scores of wide features need more shrinking than those of a few directions
_PENALTIES = np.concatenate([PENALTIES, [10.0**1.5, 100.0]])
# the largest weight of a member of the pool, and the least at which it stays
_MOST, _LEAST = 3.0, 0.02
# members of the pool are the best of this many for each kind of features
_EACH = 2
# fewest known nodes to try trees with
_FEWEST_TREES = 100
# labels at which a threshold is half its own, half the common one
_SHRUNK = 50.0
_TINY = 1e-3
# strength of the prior of the maps of trees, in labels
_PRIOR = 5.0


@dataclass(frozen=True, eq=False)
class HiddenSets(HiddenAnswers):
    """The known label sets; ``truth`` has rows of 0 and 1, and ``known`` is a mask of known cells."""

    truth: np.ndarray
    known: np.ndarray

    @classmethod
    def deal(cls, cells: np.ndarray, keys: np.ndarray) -> "HiddenSets":
        """Deal the nodes with known cells into folds; unknown cells of theirs get the share of the label."""
        nodes = np.flatnonzero((cells != UNKNOWN).any(axis=1))
        known = cells[nodes] != UNKNOWN
        shares = (cells[nodes] * known).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
        truth = np.where(known, cells[nodes], shares)
        codes = np.where((cells != UNKNOWN).any(axis=1), 0, -1)
        labels = Labels(truth - shares, np.ones(len(nodes)), keys[nodes], LabelSets(shares))
        return cls(nodes, labels, dealt_folds(codes, min(3, len(nodes)), keys), truth, known)


@dataclass(frozen=True, eq=False)
class SetFacts:
    """What is known about a selection."""

    n_nodes: int
    models: Sequence[str]
    tree_weight: float
    graph_gain: tuple[float, float] | None
    relation_gains: Sequence[RelationGain] = ()
    relations: Sequence[str] = ()


@dataclass(frozen=True, eq=False)
class SetSelection:
    """What predicts: the ``average``, whose maps hold the weights of the pool, and trees with their map."""

    hidden: HiddenSets
    held_out: np.ndarray
    thresholds: np.ndarray
    leaderboard: Leaderboard
    facts: SetFacts
    average: FittedEnsemble | None
    constant: np.ndarray
    trees: Trees | None = None
    tree_map: np.ndarray | None = None


def set_filters(kind: str, depth: int) -> list[Filter]:
    """List the filters to try for a kind of features."""
    own, one, two = NoGraph(), HopFilter(depth=1), HopFilter(depth=2)
    if kind == "selves":
        listed = [make_filter("no graph", [own]), make_filter("SGC", [SGC(depth=1)])]
    elif kind == "links":
        listed = [make_filter("no graph", [own]), make_filter(STACKED, [own, one])]
    else:
        listed = [
            make_filter("no graph", [own]),
            make_filter(STACKED, [own, one]),
            make_filter(STACKED, [own, one, two]),
            make_filter("SGC", [SGC(depth=2)]),
            make_filter("PPR", [PPR(depth=depth)]),
        ]
    return [centred(each) for each in listed if each.depth <= depth]


def deal_sets(cells: np.ndarray, views: Views, A: csr_array) -> HiddenSets:
    """Deal known label sets into folds that do not depend on the order of nodes."""
    codes = np.where((cells != UNKNOWN).any(axis=1), 0, -1)
    return HiddenSets.deal(cells, keys_with_labels(views.node_keys, A, codes))


def select_for_sets(
    views: Views, A: csr_array, cells: np.ndarray, depth: int, execution: Execution, deadline: float = np.inf
) -> SetSelection:
    """Compare models on hidden labels, and fit those that predict to all labels."""
    hidden = deal_sets(cells, views, A)
    comparison = Comparison(views, A, hidden, depth, execution, deadline, hidden.nodes[:0])
    at = np.searchsorted(comparison.tables.nodes, hidden.nodes)
    trials: list[Trial] = []
    plain: list[Trial] = []
    relation_gains: list[RelationGain] = []

    def try_each(kind: str, filters: Sequence[Filter], width: int) -> list[Trial]:
        tried: list[Trial] = []
        for filter_ in filters:
            if (trials or tried) and perf_counter() > deadline:
                break
            tried.append(try_filter(comparison.tables, kind, filter_, width, at, hidden.labels, _PENALTIES))
        return tried

    first_kind = next(iter(views), None)
    with step("comparing models"):
        for kind in views:
            tried = try_each(kind, set_filters(kind, depth), views[kind].width)
            trials += sorted(tried, key=lambda trial: trial.loss)[:_EACH]
            own = next((trial for trial in tried if not trial.filter.uses_graph), None)
            if comparison.tables.of_relations and kind == first_kind and own is not None:
                best = min(tried, key=lambda trial: trial.loss)
                typed, relation_gains = try_relations(comparison.tables, own, best, partial(try_each, kind))
                # the best of relations are members like those of another kind of features
                better = [trial for trial in typed if trial.loss < best.loss]
                trials += sorted(better, key=lambda trial: trial.loss)[:_EACH]
            plain += [trial for trial in tried if not trial.filter.uses_graph and not _is_link(trial)]
    shares = (hidden.truth.sum(axis=0) + 0.5) / (len(hidden.nodes) + 1.0)
    base = np.log(shares / (1.0 - shares))
    scores = _scores(trials)
    entries: list[Entry] = []
    trees = tree_map = None
    start = perf_counter()
    if len(hidden.nodes) >= _FEWEST_TREES and start <= deadline:
        inputs = set_inputs(views, A, hidden, tree_walks(relation_gains))
        if inputs.fits:
            with step("trying trees"), one_thread():
                odds = log_odds(inputs.held_out())
                trees = inputs.fit_all()
            tree_map = np.stack(fit_sigmoids(odds, hidden.truth, hidden.labels.weights, _PRIOR))
            scores.append(odds * tree_map[0] + tree_map[1])
            entries.append(_entry(scores[-1], hidden, perf_counter() - start))
    weights, shifts = pool_weights(scores, base, hidden) if scores else (np.zeros(0), np.zeros(len(base)))
    gain = _gain(scores, weights, shifts, base, hidden, _scores(plain))
    constant = base * (1.0 - weights.sum()) + shifts
    members = []
    for trial, weight in zip(trials, weights, strict=False):
        if weight >= _LEAST:
            members.append(replace(trial, score_map=_scaled(trial.score_map, float(weight))))
    # the average divides by their number
    members = [replace(m, score_map=_scaled(m.score_map, len(members))) for m in members]
    tree_weight = 0.0
    if trees is not None and tree_map is not None:
        tree_weight = float(weights[-1])
        trees, tree_map = (trees, tree_weight * tree_map) if tree_weight >= _LEAST else (None, None)
    pooled = constant + sum(w * t for w, t in zip(weights, scores, strict=True) if w >= _LEAST)
    held_out = expit(pooled)
    chosen = [trial for trial, weight in zip(trials, weights, strict=False) if weight >= _LEAST]
    entries = [replace(entry, chosen=trees is not None) for entry in entries]
    board = in_order([*tabulate_trials(trials, chosen), *entries])
    facts = SetFacts(
        n_nodes=len(hidden.nodes),
        models=list(dict.fromkeys(member.name for member in members)),
        tree_weight=0.0 if trees is None else tree_weight / max(float(weights.sum()), 1e-9),
        graph_gain=gain,
        relation_gains=relation_gains,
        relations=used_relations(members),
    )
    average = comparison.fitted(members) if members else None
    return SetSelection(
        hidden,
        held_out,
        choose_thresholds(held_out, hidden),
        board,
        facts,
        average,
        constant,
        trees,
        tree_map,
    )


def _scores(trials: Sequence[Trial]) -> list[np.ndarray]:
    """Return the log-odds of hidden labels."""
    return [trial.score_map.logits(trial.predicted) for trial in trials]


def _is_link(trial: Trial) -> bool:
    return trial.kind in ("links", "selves")


def _scaled(score_map: ScoreMap, factor: float) -> ScoreMap:
    return ScoreMap(factor * score_map.A, factor * score_map.b)


def log_odds(P: np.ndarray) -> np.ndarray:
    """Return the log-odds of probabilities, which are never 0 or 1."""
    P = np.clip(P, _TINY, 1.0 - _TINY)
    return np.asarray(np.log(P / (1.0 - P)))


def pool_weights(
    scores: Sequence[np.ndarray], base: np.ndarray, hidden: HiddenSets
) -> tuple[np.ndarray, np.ndarray]:
    r"""Fit the weights of some log-odds, common to all labels, by the likelihood of hidden ones.

    .. math:: \mathrm{logit}_k = b^0_k + b_k + \sum_j w_j (t_{jk} - b^0_k), \qquad 0 \le w_j \le 3

    ``base`` are the log-odds :math:`b^0` of the shares of labels. Returns w and b.
    """
    T = np.stack([each - base for each in scores])
    Y, known = hidden.truth, hidden.known
    J, q = len(T), Y.shape[1]

    def loss(theta: np.ndarray) -> tuple[float, np.ndarray]:
        logits = base + theta[J:] + np.tensordot(theta[:J], T, axes=1)
        residual = np.where(known, expit(logits) - Y, 0.0)
        value = np.where(known, np.logaddexp(0.0, logits) - Y * logits, 0.0).sum()
        gradient = np.concatenate([np.tensordot(T, residual, axes=2), residual.sum(axis=0) + theta[J:]])
        return float(value + 0.5 * theta[J:] @ theta[J:]), gradient

    start = np.concatenate([np.full(J, 1.0 / J), np.zeros(q)])
    bounds: Any = [(0.0, _MOST)] * J + [(None, None)] * q
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds).x
    weights = np.where(found[:J] >= _LEAST, found[:J], 0.0)
    return weights, found[J:]


def choose_thresholds(P: np.ndarray, hidden: HiddenSets) -> np.ndarray:
    r"""Choose the probability from which on a node gets a label, by F1 on hidden labels.

    That of a label with few known nodes is drawn towards the one that suits all labels together:

    .. math:: \mathrm{logit}\, t_k = \frac{n_k\, \mathrm{logit}\, t^0_k + 50\, \mathrm{logit}\, t}{n_k + 50}
    """
    Y, known = hidden.truth > 0.5, hidden.known
    common = _best_threshold(P[known], Y[known])
    counts = (Y & known).sum(axis=0)
    own = np.array([_best_threshold(P[known[:, k], k], Y[known[:, k], k]) for k in range(P.shape[1])])
    own, common = np.clip(own, 1e-4, 1 - 1e-4), min(max(common, 1e-4), 1 - 1e-4)
    odds = (counts * np.log(own / (1 - own)) + _SHRUNK * np.log(common / (1 - common))) / (counts + _SHRUNK)
    return np.asarray(expit(odds))


def _best_threshold(p: np.ndarray, truth: np.ndarray) -> float:
    """Return the probability that maximises F1, half-way between two values."""
    order = np.argsort(-p, kind="stable")
    hits = np.cumsum(truth[order])
    f1 = 2.0 * hits / (np.arange(1, len(p) + 1) + max(int(truth.sum()), 1))
    # equal probabilities cannot be told apart
    ends = np.append(np.diff(p[order]) < 0, True)
    best = int(np.argmax(np.where(ends, f1, -1.0)))
    below = p[order[best + 1]] if best + 1 < len(p) else 0.0
    return float(0.5 * (p[order[best]] + below))


def _entry(logits: np.ndarray, hidden: HiddenSets, seconds: float) -> Entry:
    logs, score, error = score_sets(logits, hidden.truth, hidden.labels.weights)
    return Entry("random trees", "", score, error, -float(logs.mean()), seconds, False)


def _gain(
    scores: Sequence[np.ndarray],
    weights: np.ndarray,
    shifts: np.ndarray,
    base: np.ndarray,
    hidden: HiddenSets,
    plain: Sequence[np.ndarray],
) -> tuple[float, float] | None:
    """Return by how much the log-likelihood per node exceeds that of features alone, with its error."""
    if not plain:
        return None
    alone, moved = pool_weights(plain, base, hidden)

    def logs(w: np.ndarray, b: np.ndarray, parts: Sequence[np.ndarray]) -> np.ndarray:
        logits = base + b + sum(one * (part - base) for one, part in zip(w, parts, strict=True))
        Y = hidden.truth
        return np.asarray(np.where(hidden.known, Y * logits - np.logaddexp(0.0, logits), 0.0).sum(axis=1))

    change = logs(weights, shifts, scores) - logs(alone, moved, plain)
    return float(change.mean()), float(change.std() / np.sqrt(len(change)))


def set_inputs(views: Views, A: csr_array, hidden: HiddenSets, walks: Sequence[str]) -> SetInputs:
    """Return what trees are fitted to."""
    X, axes = views.own, np.zeros((views.own.shape[1], 0), views.dtype)
    if "unit" in views:
        axes = views["unit"].axes
    weights, keys = hidden.labels.weights, hidden.labels.keys
    return SetInputs(X, A, weights, keys, axes, views.column_keys, walks, hidden.nodes, hidden.truth)
