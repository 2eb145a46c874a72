"""Output files: Markdown, HTML and figures of each artefact, and one page about all of them."""

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from gssl.io import whole_file
from reproduction.causes import cause_of
from reproduction.spec import CITATIONS, Claim, Place
from reproduction.summary import Result, judge
from reproduction.tables import (
    LEGEND,
    claim_texts,
    command,
    number,
    paper_markdown,
    seeds_text,
    tolerance_text,
)

_BUDGET = """## The label budget

The public split of each citation graph has 20 training labels per class and 500 validation labels. The
paper lets OGC learn from both, as it says, while most methods beside it learn from the training labels and
use validation labels to choose settings. Most of OGC's published margin comes from there{measured}. So
every number below names its labels, and methods are compared only inside one budget; Table 8 shows both
budgets side by side."""

_COUNTED = (
    "Counted are published numbers. *Within* is within one point where numbers are percentages, and within "
    "the tolerance that the section names elsewhere; *above* and *below* differ by more. Numbers that depend "
    "on the machine or on settings that were never published are run and not judged."
)


def write_result(folder: str | Path, result: Result) -> list[Path]:
    """Write an artefact as Markdown, and as HTML and figures if gssl[reproduction] is installed."""
    written = [Path(folder) / f"{result.artefact.name}.md"]
    with whole_file(written[0]) as part:
        part.write_text(section(result), encoding="utf-8")
    if not _can_draw():
        return written
    from reproduction.figures import render_result, write_chart

    page = Path(folder) / f"{result.artefact.name}.html"
    with whole_file(page) as part:
        part.write_bytes(render_result(result))
    written.append(page)
    if result.artefact.x_title:
        written += write_chart(folder, result)
    return written


def _can_draw() -> bool:
    return all(find_spec(name) for name in ("altair", "jinja2", "vl_convert"))


def section(result: Result, figure: str = "") -> str:
    """Return an artefact as a Markdown section: table, note, claims, and figure if any."""
    artefact = result.artefact
    lines = [f"## {artefact.source}: {artefact.title}", ""]
    lines += [f"`{command(result)}` · {seeds_text(result)} · {artefact.unit} · {tolerance_text(result)}", ""]
    if figure:
        lines += [f"![{artefact.source}]({figure})", ""]
    lines += [paper_markdown(result), ""]
    if artefact.note:
        lines += [artefact.note, ""]
    lines += [f"- {text}" for text in claim_texts(result)]
    return "\n".join(lines).rstrip() + "\n"


def reproduction_page(results: Sequence[Result], figures: Mapping[str, str] | None = None) -> str:
    """Return a Markdown page about all artefacts, with every number that differs at the top."""
    head = ["# The paper, reproduced", ""]
    head += [
        "Written by `python -m reproduction page` from records of `python -m reproduction all`; do not edit.",
        "",
        LEGEND,
        "",
    ]
    table = ["| artefact | published | run | within | above | below | not judged | not run | command |"]
    table += ["|---|---:|---:|---:|---:|---:|---:|---:|---|"]
    totals = np.zeros(7, dtype=int)
    for result in results:
        artefact, counts = result.artefact, count_published(result)
        totals += counts
        fields = " | ".join(map(str, counts))
        table.append(f"| {artefact.source}: {artefact.title} | {fields} | `{command(result)}` |")
    table.append(f"| **all** | {' | '.join(map(str, totals))} | |")
    table += ["", _COUNTED, *_code_text(results), "", *_reasons(results)]
    listed = ["", "## Numbers that differ", "", *_differing(results), ""]
    sections = (section(result, (figures or {}).get(result.artefact.name, "")) for result in results)
    parts = [*head, *table, "", *in_short(results), *listed, budget_text(results), "", *sections]
    return "\n".join(parts)


# (sentence, artefact, two rows whose difference it describes)
_SHORT = (
    ("On the same labels, OGC less GGCM with a ridge head", "splits", "OGC", "GGCM + ridge"),
    ("OGC less itself without SEB", "splits", "OGC", "OGC without SEB"),
    ("OGC less itself without validation labels", "splits", "OGC", "OGC, train only"),
    (
        "A GCN of many layers that starts from the identity less one that does not",
        "plugins",
        "plain, from the identity",
        "plain",
    ),
    (
        "The same GCN with SEB and IGC less one that starts from the identity without them",
        "plugins",
        "with both",
        "plain, from the identity",
    ),
)


def in_short(results: Sequence[Result]) -> list[str]:
    """Summarize the verdicts on the claims and the main differences between rows."""
    judged = [claim for result in results for claim in result.claims]
    words = {True: "hold", False: "do not hold"}
    counts = [f"{sum(claim.holds is kind for claim in judged)} {word}" for kind, word in words.items()]
    undecided = sum(claim.holds is None and claim.evidence != "not measured" for claim in judged)
    unmeasured = sum(claim.evidence == "not measured" for claim in judged)
    lines = ["## In short", ""]
    lines += [
        f"- Of {len(judged)} claims, {', '.join(counts)}, {undecided} are not decided by the seeds there "
        f"are, and {unmeasured} are not measured; each stands below its table with its evidence."
    ]
    by_name = {result.artefact.name: result for result in results}
    for text, name, more, less in _SHORT:
        found = _differences(by_name[name], more, less) if name in by_name else []
        if found:
            lines.append(f"- {text} (`{name}`): {'; '.join(found)}.")
    return lines


def _differences(result: Result, more: str, less: str) -> list[str]:
    """Return the differences of two rows in points, by graph or by depth, with their p-values."""
    values = {line.entry.place: line.values for line in result.lines if line.values}
    found = []
    for (group, row, column), first in values.items():
        second = values.get((group, less, column))
        if row != more or second is None or group not in ("", "GCN"):
            continue
        pair = Claim("", pairs=(((group, more, column), (group, less, column)),))
        gap = float(np.mean(first) - np.mean(second))
        sign = "+" if gap > 0 else ""
        evidence = judge(pair, values).evidence.removeprefix("not decided: ")
        place = column if not group else f"{column} layers"
        found.append(f"{place} {sign}{number(gap, 1)} ({evidence})")
    return found


def _differing(results: Sequence[Result]) -> list[str]:
    """List numbers that differ by more than the tolerance, with the run that explains them, if any."""
    found = {
        (result.artefact.name, line.entry.place): line.ours
        for result in results
        for line in result.lines
        if line.ours is not None
    }
    # (side, explained) -> (artefact, row, cause) -> numbers
    rows: dict[tuple[str, bool], dict[tuple[str, str, str], list[str]]] = {}
    for result in results:
        for line in result.having("miss") + result.having("above"):
            entry, name = line.entry, result.artefact.name
            side = "above" if (line.difference or 0.0) > 0 else "below"
            text, shown = cause_of(name, entry, line.ours or 0.0, found) or ("", None)
            numbers = [line.ours, entry.published, shown]
            ours, *others = [number(value, entry.digits) for value in numbers if value is not None]
            place = " ".join(part for part in (entry.group, entry.column) if part)
            kept = rows.setdefault((side, shown is not None), {}).setdefault((name, entry.row, text), [])
            seeds = "" if line.n_seeds > 1 or not (entry.cell and entry.cell.random) else ", one seed"
            kept.append(f"{place} {ours} ({'; '.join(others)}{seeds})")
    lines = []
    for (side, explained), kinds in sorted(rows.items(), key=lambda item: (item[0][0] != "below", item[0])):
        count = sum(map(len, kinds.values()))
        how = (
            "with a run that explains at least part of it, as ours (published; that run):"
            if explained
            else "unexplained, as ours (published):"
        )
        lines += [f"{count} {side}, {how}", ""]
        for (name, row, text), places in kinds.items():
            lines.append(f"- `{name}`, {row}{': ' if text else ''}{text}: {', '.join(places)}.")
        lines.append("")
    return lines or ["None.", ""]


def count_published(result: Result) -> tuple[int, ...]:
    """Count published numbers: all, run, within tolerance, above it, below it, not judged, and not run."""
    lines = [line for line in result.lines if line.entry.published is not None]
    run = [line for line in lines if line.ours is not None]
    hit = sum(line.verdict == "hit" for line in run)
    above = sum(line.verdict in ("above", "miss") and (line.difference or 0.0) > 0 for line in run)
    below = sum(line.verdict == "miss" and (line.difference or 0.0) < 0 for line in run)
    unjudged = len(run) - hit - above - below
    return len(lines), len(run), hit, above, below, unjudged, len(lines) - len(run)


def _code_text(results: Sequence[Result]) -> list[str]:
    """Report how many runs are by code that has changed since."""
    lines = [line for result in results for line in result.lines]
    runs = {line.entry.cell.key(0): line for line in lines if line.n_seeds and line.entry.cell is not None}
    old, count = (sum(getattr(line, name) for line in runs.values()) for name in ("n_old", "n_seeds"))
    if not old:
        return []
    return [
        "",
        f"{old} of {count} runs are by earlier code, that is, something they use has changed since, were it "
        "only a message; `--renew` repeats them.",
    ]


def _reasons(results: Sequence[Result]) -> list[str]:
    """List the reasons why published numbers were not run, with counts."""
    found: dict[str, dict[str, int]] = {}
    for result in results:
        for line in result.lines:
            if line.entry.published is not None and line.ours is None:
                rows = found.setdefault(line.reason, {})
                place = f"{line.entry.row} (`{result.artefact.name}`)"
                rows[place] = rows.get(place, 0) + 1
    lines = ["## Not run", ""]
    for reason, rows in sorted(found.items(), key=lambda item: -sum(item[1].values())):
        named = ", ".join(f"{place} {count}" for place, count in rows.items())
        lines.append(f"- {sum(rows.values())} × {reason}: {named}.")
    return lines if found else [*lines, "Nothing."]


def budget_text(results: Sequence[Result]) -> str:
    """Describe how much of OGC's lead is due to its labels, with measured numbers of Table 1 if available."""
    measured: dict[Place, tuple[float, int]] = {}
    repeat = ""
    for result in results:
        if result.artefact.name == "table1":
            repeat = command(result)
            lines = [line for line in result.lines if line.ours is not None]
            measured = {line.entry.place: (line.ours or 0.0, line.n_seeds) for line in lines}
    rows = [[("", row, graph) for graph in CITATIONS] for row in ("OGC, train only", "OGC")]
    if not all(place in measured for places in rows for place in places):
        return _BUDGET.format(measured="")
    alone, both = (" / ".join(number(measured[place][0], 1) for place in places) for places in rows)
    seeds = min(measured[place][1] for places in rows for place in places)
    return _BUDGET.format(
        measured=f": from the training labels alone OGC has {alone} on {' / '.join(CITATIONS)}, and {both} "
        f"with the validation labels (public split, {seeds} seeds, `{repeat}`)"
    )


def write_reproduction(path: str | Path, results: Sequence[Result]) -> None:
    """Write the page about all artefacts, and figures beside it if gssl[reproduction] is installed."""
    drawn = [result for result in results if result.artefact.x_title and _measured(result)]
    figures: dict[str, str] = {}
    for result in drawn if _can_draw() else []:
        from reproduction.figures import draw_svg

        place = Path("figures") / f"{result.artefact.name}.svg"
        with whole_file(Path(path).parent / place) as part:
            part.write_bytes(draw_svg(result))
        figures[result.artefact.name] = place.as_posix()
    with whole_file(path) as part:
        part.write_text(reproduction_page(results, figures), encoding="utf-8")


def _measured(result: Result) -> bool:
    return any(line.ours is not None for line in result.lines)
