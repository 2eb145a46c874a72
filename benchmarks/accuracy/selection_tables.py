"""What the automatic choice is worth beside fixed methods, as tables and sentences."""

from collections.abc import Iterable, Mapping

from benchmarks.accuracy.standing import Score, Standing
from benchmarks.accuracy.tables import Grid

_NONE = "–"


def public_grid(scores: Iterable[tuple[str, Score]], seeds: str) -> Grid:
    """Put scores on public splits side by side, a row for each budget of labels and method.

    Parameters
    ----------
    scores : iterable of (budget, Score)
    seeds : str
        Of the methods that are random, in words.

    Returns
    -------
    Grid

    Examples
    --------
    >>> grid = public_grid([("train", Score("cora", "OGC", (81.0, 83.0)))], "seeds 0–1")
    >>> grid.title.split("; ")[1]
    'what is random: seeds 0–1.'
    >>> print(grid.markdown().splitlines()[-1])
    | train | OGC | 82.0 ± 1.0 |
    """
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
    """Put the scores of methods on draws of labels side by side, a row for each graph, the mean at the end.

    Parameters
    ----------
    standing : Standing
    splits : mapping of graph to how its labels were drawn
    seeds : str
        Which draws, in words.

    Returns
    -------
    Grid

    Examples
    --------
    >>> standing = Standing((Score("g", "OGC", (81.0, 83.0)),), (("OGC", 82.0),), ("g",), ())
    >>> print(standing_grid(standing, {"g": "folds"}, "seeds 0–1").markdown())
    Accuracy % on the test nodes, mean ± standard deviation between draws, seeds 0–1.
    <BLANKLINE>
    | graph | labels | OGC |
    | --- | --- | ---: |
    | g | folds | 82.0 ± 1.0 |
    | mean of 1 | | 82.0 |
    <BLANKLINE>
    """
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


def verdict_texts(standing: Standing) -> list[str]:
    """Say what was asked of the automatic choice and whether it is so.

    Parameters
    ----------
    standing : Standing

    Returns
    -------
    list of str

    Examples
    --------
    >>> from benchmarks.accuracy.standing import Verdict
    >>> verdict_texts(Standing((), (), (), (Verdict("it is best", False), Verdict("it is quick", None))))
    ['missed: auto: it is best', 'not run: auto: it is quick']
    """
    said = {True: "holds", False: "missed", None: "not run"}
    return [f"{said[verdict.holds]}: auto: {verdict.text}" for verdict in standing.verdicts]


def _text(score: Score) -> str:
    found = len(score.accuracies)
    text = f"{score.mean:.1f}" if found == 1 else f"{score.mean:.1f} ± {score.spread:.1f}"
    return text if found >= score.wanted else f"{text} ({found} of {score.wanted} draws)"
