"""The page and the chart of the leaderboard."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.leaderboard.methods import AS_ONE, AUTO, METHODS
from benchmarks.leaderboard.standing import Contest, behind, mean_of, mean_ranks

FAMILIES = {
    "classes": ("One class per node", "accuracy %"),
    "numbers": ("Numbers", "R² × 100, 30 % of the numbers known"),
    "labelsets": ("Several labels per node", "macro average precision %"),
    "relations": ("Typed and directed links", "the measure of each row"),
}
_NONE = "–"
_INTRO = Path(__file__).with_name("intro.md")
# (graph, budget, what, score, source)
PUBLISHED = (
    ("planetoid/cora", "public", "GRAND, on a GPU, tuned", 85.4, "Feng et al. 2020"),
    ("planetoid/citeseer", "public", "GRAND, on a GPU, tuned", 75.4, "Feng et al. 2020"),
    ("planetoid/pubmed", "public", "GRAND, on a GPU, tuned", 82.7, "Feng et al. 2020"),
    ("planetoid/cora", "public", "GCN, tuned", 85.1, "Luo et al. 2024"),
    ("planetoid/citeseer", "public", "GCN, tuned", 73.1, "Luo et al. 2024"),
    ("planetoid/pubmed", "public", "GCN, tuned", 81.1, "Luo et al. 2024"),
    ("planetoid/cora", "public", "GraphAny", 79.4, "Zhao et al. 2024"),
    ("planetoid/citeseer", "public", "GraphAny", 68.4, "Zhao et al. 2024"),
    ("planetoid/cora", "public", "NodePFN", 82.1, "as its authors report"),
    ("planetoid/pubmed", "public", "NodePFN", 78.0, "as its authors report"),
    ("relations/acm", "20 per class", "HeCo, macro F1", 88.6, "Wang et al. 2021"),
    ("relations/acm", "40 per class", "HeCo, macro F1", 87.6, "Wang et al. 2021"),
    ("relations/acm", "60 per class", "HeCo, macro F1", 89.0, "Wang et al. 2021"),
)


def page(given: list[Contest], seconds: float, left_out: Iterable[str] = ()) -> str:
    """Return the page in Markdown: how, where gssl loses, ranks, all scores, published numbers.

    ``left_out`` names problems that have not been run by all methods.
    """
    parts = [
        _INTRO.read_text(encoding="utf-8"),
        f"{_sums(given)}\nAll runs together took {seconds / 3600:.1f} hours of CPU time.\n",
    ]
    if left_out:
        parts += [f"**Not run yet** by all methods, and not counted: {', '.join(left_out)}.\n"]
    parts += ["## Where an alternative is better\n", _behind(given)]
    parts += ["## Ranks\n", _ranks(given), "![score against CPU seconds](figures/leaderboard.svg)\n"]
    for name, (title, measure) in FAMILIES.items():
        here = [contest for contest in given if contest.family == name]
        if here:
            parts += [f"## {title}\n", f"{measure[0].upper()}{measure[1:]}; the best of a row is bold.\n"]
            parts += [_scores(here), _cost(here)]
    parts += ["## Published numbers of the same splits\n", _published(given)]
    return "\n".join(parts).rstrip() + "\n"


def _table(headings: Iterable[str], rows: Iterable[Iterable[str]], left: int = 1) -> str:
    headings = tuple(headings)
    rule = ["---" if k < left else "---:" for k in range(len(headings))]
    return "".join(f"| {' | '.join(row)} |\n" for row in (headings, rule, *map(tuple, rows)))


def _sums(given: list[Contest]) -> str:
    typed = [contest for contest in given if {AUTO, AS_ONE} <= contest.scores.keys()]
    joined = sum(contest.scores[AS_ONE] > contest.scores[AUTO] for contest in typed)
    first = f"{len(given) - len(behind(given))} of {len(given)} contests"
    text = f"gssl's automatic model is the best, or within 0.05 points of it, in {first}."
    if typed:
        text += f" Joining all links is better than telling them apart in {joined} of {len(typed)}."
    return text


def _behind(given: list[Contest]) -> str:
    rows = []
    for contest in behind(given):
        best = max(contest.rivals, key=lambda name: contest.rivals[name])
        ours = f"{contest.scores[AUTO]:.1f}" if AUTO in contest.scores else contest.stopped[AUTO]
        scores = ours, f"{contest.rivals[best]:.1f}", f"{contest.lead:.1f}"
        rows.append((contest.name, contest.budget, best, *scores, str(contest.draws)))
    return _table(("problem", "known", "better", "gssl", "it", "points", "draws"), rows, left=3)


def _ranks(given: list[Contest]) -> str:
    text = "Mean rank (1 is best) with an interval of 95 % over graphs. "
    text += "A run that failed or was given up has the last rank.\n\n"
    groups: dict[str, list[Contest]] = {}
    for contest in given:
        if contest.family == "classes":
            groups.setdefault(f"classes, {contest.budget}", []).append(contest)
        groups.setdefault(FAMILIES[contest.family][0].lower(), []).append(contest)
    tables = {name: mean_ranks(group) for name, group in groups.items() if "public" not in name}
    methods = [name for name in METHODS if name != AS_ONE]
    rows = [
        (method, *(_rank(table[method]) if method in table else _NONE for table in tables.values()))
        for method in methods
    ]
    counts = (f"{name} ({len(groups[name])})" for name in tables)
    return text + _table(("", *counts), rows)


def _rank(values: tuple[float, float, float]) -> str:
    mean, low, high = values
    return f"{mean:.1f} [{low:.1f}, {high:.1f}]"


def _methods(given: list[Contest]) -> list[str]:
    return [m for m in METHODS if any(m in contest.values or m in contest.stopped for contest in given)]


def _scores(given: list[Contest]) -> str:
    methods = _methods(given)
    rows = []
    for contest in given:
        best = max(contest.scores.values())
        cells = []
        for method in methods:
            score = contest.scores.get(method)
            if score is None:
                cells.append(_reason(contest.stopped.get(method, "")))
            else:
                cells.append(f"**{score:.1f}**" if score > best - 0.05 else f"{score:.1f}")
        what = contest.name.split("/")[1] + (f", {contest.measure}" if contest.family == "relations" else "")
        rows.append((what, contest.budget, *cells))
    return _table(("problem", "known", *methods), rows, left=2)


def _reason(text: str) -> str:
    """Write why there is no score: a time, a failure, or that the method does not apply."""
    if text.startswith("more than"):
        return text.replace("more than", ">")
    return "failed" if text else _NONE


def _cost(given: list[Contest]) -> str:
    """CPU seconds, memory and calibration of each method over the contests that all methods have finished."""
    finished = [contest for contest in given if not contest.stopped]
    methods = _methods(given)
    whats = {
        "CPU seconds, median": ("seconds", np.median, 2),
        "CPU seconds, longest": ("seconds", np.max, 0),
        "megabytes, median": ("megabytes", np.median, 0),
        "calibration, mean": ("calibration", np.mean, 1),
    }
    rows = []
    for what, (key, of, digits) in whats.items():
        cells = []
        for method in methods:
            values = [c.values[method][key] for c in finished if key in c.values.get(method, {})]
            cells.append(f"{of(values):.{digits}f}" if len(values) == len(finished) and values else _NONE)
        rows.append((what, *cells))
    return f"Over the {len(finished)} rows that all methods have finished:\n\n" + _table(("", *methods), rows)


def _published(given: list[Contest]) -> str:
    ours = {(contest.name, contest.budget): contest for contest in given}
    rows = []
    for name, budget, what, score, source in PUBLISHED:
        contest = ours.get((name, budget))
        if contest is not None and AUTO in contest.scores:
            rows.append((name, budget, what, f"{score:.1f}", f"{contest.scores[AUTO]:.1f}", source))
    note = (
        "GRAND and the GCN chose settings and epochs by 500 validation labels, which gssl does not use;\n"
        "GraphAny and NodePFN were trained on other graphs.\n\n"
    )
    return note + _table(("problem", "known", "what", "published", "gssl", "source"), rows, left=3)


def draw(given: list[Contest], path: Path) -> None:
    """Draw mean accuracy against median CPU seconds, over the rows that all methods have finished."""
    import altair as alt

    finished = [c for c in given if c.family == "classes" and not c.stopped and c.budget != "public"]
    points: list[dict[str, Any]] = []
    for budget in dict.fromkeys(contest.budget for contest in finished):
        here = [contest for contest in finished if contest.budget == budget]
        for method in _methods(here):
            score = mean_of(here, method, "accuracy")
            seconds = float(np.median([contest.values[method]["seconds"] for contest in here]))
            points.append({"method": method, "known": budget, "accuracy": score, "seconds": seconds})
    base = alt.Chart(alt.Data(values=points)).encode(
        x=alt.X("seconds:Q", title="CPU seconds, median", scale=alt.Scale(type="log")),
        y=alt.Y("accuracy:Q", title="accuracy %, mean over graphs", scale=alt.Scale(zero=False)),
    )
    ours = alt.datum.method == AUTO
    dots = base.mark_circle(size=90, opacity=1).encode(
        color=alt.condition(ours, alt.value("#c2410c"), alt.value("#64748b"))
    )
    names = base.mark_text(align="left", dx=8, fontSize=11, color="#64748b").encode(text="method:N")
    panel = alt.layer(dots, names).properties(width=360, height=240)
    order = list(dict.fromkeys(point["known"] for point in points))
    chart = panel.facet(facet=alt.Facet("known:N", title=None, sort=order), columns=2)
    chart.resolve_scale(y="independent").configure(background="#ffffff").save(path)
