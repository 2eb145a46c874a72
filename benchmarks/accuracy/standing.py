"""Compare AutoClassifier with fixed methods: means over draws and graphs, verdicts and tables."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.accuracy.cells import AUC, AUTO, CALIBRATION, GRAPH_FREE, HETEROPHILOUS, RECALL
from benchmarks.accuracy.tables import Grid

# points by which the automatic choice may be below the classifier without a graph
MARGIN = 1.0


@dataclass(frozen=True)
class Score:
    """One method on one graph over some draws: accuracies in percent, in the order of the draws.

    ``draws`` are the numbers of the draws, counted from zero if empty. ``wanted`` is the number of requested
    draws, which is larger if runs failed. ``values`` are all values of each draw.
    """

    graph: str
    method: str
    accuracies: tuple[float, ...]
    draws: tuple[int, ...] = ()
    wanted: int = 0
    values: tuple[Mapping[str, float], ...] = ()

    @property
    def by_draw(self) -> dict[int, float]:
        """The accuracy of each draw."""
        return dict(zip(self.draws or range(len(self.accuracies)), self.accuracies, strict=True))


@dataclass(frozen=True)
class Verdict:
    """A statement, and whether it is true; None if numbers are missing."""

    text: str
    holds: bool | None


@dataclass(frozen=True)
class Standing:
    """Scores of methods on graphs, the mean of each method over their common graphs, and verdicts."""

    scores: tuple[Score, ...]
    means: tuple[tuple[str, float], ...]
    averaged: tuple[str, ...]
    verdicts: tuple[Verdict, ...]


def rank_methods(scores: Iterable[Score], homophily: Iterable[tuple[str, float]]) -> Standing:
    r"""Average methods over graphs and evaluate the automatic choice.

    .. math:: \bar a_m = \frac1{|G|} \sum_{g \in G} \frac1{D_g} \sum_d a_{mgd}

    G are the graphs on which every method has a score, and :math:`D_g` is the number of draws of a graph for
    which all methods run there have one, so that methods are compared on the same draws. Three conditions
    are tested: the mean of the automatic choice is at least that of the best fixed method; on no graph is it
    more than a point below ridge regression without a graph; and on heterophilous graphs it is above every
    fixed method that uses the graph.
    """
    given = tuple(scores)
    table = _means_on_common_draws(given)
    graphs = list(dict.fromkeys(score.graph for score in given))
    methods = list(dict.fromkeys(score.method for score in given))
    shared = [graph for graph in graphs if all((graph, method) in table for method in methods)]
    means = {m: float(np.mean([table[graph, m] for graph in shared])) for m in methods} if shared else {}
    mixed = [graph for graph, value in homophily if value < HETEROPHILOUS and (graph, AUTO) in table]
    return Standing(
        scores=given,
        means=tuple(means.items()),
        averaged=tuple(shared),
        verdicts=(
            _beats_the_best(means),
            _near_features(table, graphs),
            _above_smoothing(table, mixed, methods),
        ),
    )


def _means_on_common_draws(scores: Sequence[Score]) -> dict[tuple[str, str], float]:
    """Average each method over the draws that all methods on a graph have; skip graphs without any."""
    table: dict[tuple[str, str], float] = {}
    for graph in dict.fromkeys(score.graph for score in scores):
        here = {score.method: score.by_draw for score in scores if score.graph == graph}
        common = sorted(set.intersection(*(set(by_draw) for by_draw in here.values())))
        if common:
            table |= {(graph, m): float(np.mean([by_draw[d] for d in common])) for m, by_draw in here.items()}
    return table


def _beats_the_best(means: dict[str, float]) -> Verdict:
    fixed = {method: mean for method, mean in means.items() if method != AUTO}
    text = "its mean over graphs is at least that of the best fixed method"
    if AUTO not in means or not fixed:
        return Verdict(text, None)
    best = max(fixed, key=lambda method: fixed[method])
    return Verdict(f"{text} ({means[AUTO]:.1f}; {best}: {fixed[best]:.1f})", means[AUTO] >= fixed[best])


def _near_features(table: dict[tuple[str, str], float], graphs: Sequence[str]) -> Verdict:
    text = f"on no graph is it more than {MARGIN:.1f} below {GRAPH_FREE}"
    gaps = {
        graph: table[graph, AUTO] - table[graph, GRAPH_FREE]
        for graph in graphs
        if (graph, AUTO) in table and (graph, GRAPH_FREE) in table
    }
    if not gaps:
        return Verdict(text, None)
    worst = min(gaps, key=lambda graph: gaps[graph])
    return Verdict(f"{text} (the worst: {worst}, {gaps[worst]:+.1f})", gaps[worst] >= -MARGIN)


def _above_smoothing(
    table: dict[tuple[str, str], float], graphs: Sequence[str], methods: Sequence[str]
) -> Verdict:
    text = f"where edge homophily is below {HETEROPHILOUS} it is above every fixed method that uses the graph"
    smoothing = [method for method in methods if method != AUTO and not method.startswith("graph-free")]
    pairs = [(graph, method) for graph in graphs for method in smoothing if (graph, method) in table]
    if not pairs:
        return Verdict(text, None)
    ahead = [
        f"{m} on {g}, {table[g, m] - table[g, AUTO]:+.1f}" for g, m in pairs if table[g, m] >= table[g, AUTO]
    ]
    where = f"not above: {'; '.join(ahead)}" if ahead else ", ".join(graphs)
    return Verdict(f"{text} ({where})", not ahead)


_NONE = "–"


def public_grid(scores: Iterable[tuple[str, Score]], seeds: str) -> Grid:
    """Tabulate scores on public splits, a row for each label budget and method."""
    table = {(budget, score.method, score.graph): _text(score) for budget, score in scores}
    graphs = dict.fromkeys(graph for *_, graph in table)
    budgets = dict.fromkeys(budget for budget, *_ in table)
    methods = dict.fromkeys(method for _, method, _ in table)
    rows = [(budget, method) for budget in budgets for method in methods]
    return Grid(
        "Accuracy % on the test nodes of the public splits, by the labels that were used; what is random: "
        f"{seeds}.",
        ("labels", "method", *graphs),
        tuple((*row, *(table.get((*row, graph), _NONE) for graph in graphs)) for row in rows),
    )


def standing_grid(standing: Standing, splits: Mapping[str, str], seeds: str) -> Grid:
    """Tabulate scores on draws of labels, a row for each graph, with the mean at the end."""
    table = {(score.graph, score.method): _text(score) for score in standing.scores}
    methods = list(dict.fromkeys(method for _, method in table))
    graphs = dict.fromkeys(graph for graph, _ in table)
    rows = [(g, splits[g], *(table.get((g, method), _NONE) for method in methods)) for g in graphs]
    means = dict(standing.means)
    if means:
        rows.append(
            (f"mean of {len(standing.averaged)}", "", *(f"{means[method]:.1f}" for method in methods))
        )
    title = f"Accuracy % on the test nodes, mean ± standard deviation between draws, {seeds}."
    if any(len(score.accuracies) < score.wanted for score in standing.scores):
        title += " Some runs failed: methods are compared on the draws of a graph that all of them have."
    return Grid(
        title,
        ("graph", "labels", *methods),
        tuple(rows),
    )


def quality_grid(scores: Iterable[tuple[str, Score]], seeds: str) -> Grid:
    """Tabulate mean recall, AUC and calibration error of scores, a row for each graph, labels and method."""
    names = {RECALL: "mean recall %", AUC: "AUC %", CALIBRATION: "calibration error"}
    rows = []
    for labels, score in scores:
        found = [[values[name] for values in score.values if name in values] for name in names]
        texts = (_mean_text(numbers, score.wanted) for numbers in found)
        rows.append((f"{score.graph}, {labels}", score.method, *texts))
    title = (
        "Mean recall over classes, area under the ROC curve of two classes, and expected calibration error "
        f"in points (10 bins) on the test nodes, mean ± standard deviation between draws, {seeds}."
    )
    return Grid(title, ("graph, labels", "method", *names.values()), tuple(rows))


def verdict_texts(standing: Standing) -> list[str]:
    """Return each condition on the automatic choice as text, with its outcome."""
    outcomes = {True: "holds", False: "missed", None: "not run"}
    return [f"{outcomes[verdict.holds]}: auto: {verdict.text}" for verdict in standing.verdicts]


def _text(score: Score) -> str:
    return _mean_text(score.accuracies, score.wanted)


def _mean_text(values: Sequence[float], wanted: int) -> str:
    if not values:
        return _NONE
    text = f"{np.mean(values):.1f}" if len(values) == 1 else f"{np.mean(values):.1f} ± {np.std(values):.1f}"
    return text if len(values) >= wanted else f"{text} ({len(values)} of {wanted} draws)"
