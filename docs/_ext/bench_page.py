"""The page about speed and memory, written at each build from the record of a run of ``make bench``."""

import json
from pathlib import Path
from typing import Any

import altair as alt
from altair_charts import INK, draw

RECORD = Path(__file__).parents[1] / "records" / "benchmarks.json"
# rows that were measured since, each by its own command
APART = RECORD.with_name("measured_apart.md")
# what a row's name begins with, under the heading where it stands
PARTS = {
    "One hop over the graph": ("hop", "order"),
    "OGC": ("ogc-",),
    "Negatives": ("ggcm-", "sample-negatives"),
    "Label space, and nodes that arrive later": ("label-space", "unseen"),
    "Beside other libraries": ("sgc-pyg", "ssgc-pyg", "spreading", "propagation"),
    "Choosing by itself": ("selection",),
    "Memory and growth": ("memory", "growth", "budget", "slabs", "dask", "plan"),
    "Tables, import and command line": ("read-", "build-", "import", "help"),
}
# what keeps the rows of a part from their goal, where the record does not say it
LIMITS = {
    "Memory and growth": "rows of neighbours come from memory once U is larger than the last cache",
    "Label space, and nodes that arrive later": "both take milliseconds, most of them outside of the passes",
}
_STATUS = {"MISS": "**miss**", "FAILED": "**failed**", "info": ""}


def part_of(name: str) -> str:
    """Return the heading under which a row stands; a new kind of row is not lost."""
    return next((title for title, begins in PARTS.items() if name.startswith(begins)), "Others")


def page(record: dict[str, Any]) -> str:
    """Write a record of the benchmark as Markdown, misses first."""
    rows = record["rows"]
    kinds = [row["status"] for row in rows]
    versions = ", ".join(f"{name} {number}" for name, number in record["versions"].items())
    lines = [
        "# Speed and memory",
        "",
        f"`make bench` runs gssl and every other library in one go, here with {record['threads']} threads in "
        f"{record['seconds'] / 60:.0f} minutes, and writes a record from which this page is generated. Calls "
        "alternate, the first of each is discarded, and only calls that do the same work are compared. "
        "A ratio (×) is the other library's time divided by ours: the median of the repeats, with minimum "
        "and maximum. Above 1 gssl is faster. Ratios carry over to other machines better than seconds.",
        "",
        f"{kinds.count('reached')} goals were reached, {kinds.count('MISS')} were missed; the other "
        f"{kinds.count('info')} rows have none.",
        "",
        "```{image} _static/sample/ratios.svg",
        ":class: dark-light",
        ":alt: A bar for each rival, how many times as long as gssl it takes.",
        ":width: 100%",
        "```",
        "",
        "## Misses",
        "",
        *_misses(rows),
        "",
    ]
    for title in [*PARTS, "Others"]:
        chosen = [row for row in rows if part_of(row["name"]) == title]
        if chosen:
            lines += [f"## {title}", "", *_table(chosen), ""]
    lines += ["## Measured apart", "", APART.read_text(encoding="utf-8").rstrip(), ""]
    lines += [
        "## Notes",
        "",
        "`python -m benchmarks --only NAME` measures a row again.",
        "",
        *_notes(rows),
        "",
    ]
    lines += ["## Versions", "", f"Python {record['python']} on {record['machine']}; {versions}.", ""]
    return "\n".join(lines)


def _misses(rows: list[dict[str, Any]]) -> list[str]:
    missed = [row for row in rows if row["status"] in ("MISS", "FAILED")]
    told = [
        f"- {_text(row['what'])}: {_figure(row)}, the goal was {_goal(row)}{_limit(row)}." for row in missed
    ]
    return told or ["None."]


def _limit(row: dict[str, Any]) -> str:
    # records of earlier runs do not say it
    limit = row.get("limit") or LIMITS.get(part_of(row["name"]), "")
    return f"; {_text(limit)}" if limit else ""


def _table(rows: list[dict[str, Any]]) -> list[str]:
    lines = ["| what | gssl | beside | ratio or figure | goal | |", "|---|---|---|---|---|---|"]
    for row in rows:
        status = _STATUS.get(row["status"], row["status"])
        cells = (row["what"], _whole(row["ours"]), row["rival"] or "–", _figure(row), _whole(_goal(row)))
        name = f" (`{row['name']}`)"
        what, *rest = (_text(cell) for cell in cells)
        lines.append("| " + " | ".join([what + name, *rest, status]) + " |")
    return lines


def _notes(rows: list[dict[str, Any]]) -> list[str]:
    told = [row for row in rows if row["note"]]
    return [f"- `{row['name']}`, {_text(row['rival'] or row['ours'])}: {_text(row['note'])}" for row in told]


def _text(cell: str) -> str:
    return cell.replace("|", "\\|").replace("\n", " ").replace("*", "\\*")


def _whole(cell: str) -> str:
    # a number and its unit stay on one line
    return cell.replace(" ", "\N{NO-BREAK SPACE}")


def _figure(row: dict[str, Any]) -> str:
    if row["median"] is None:
        return "–"
    low, high = min(row["values"]), max(row["values"])
    return _whole(f"{row['median']:.3g} {row['unit']}") + f" ({low:.3g}–{high:.3g})"


def _goal(row: dict[str, Any]) -> str:
    if row["at_least"] is not None:
        return f"≥ {row['at_least']:g} {row['unit']}"
    return "–" if row["at_most"] is None else f"≤ {row['at_most']:g} {row['unit']}"


def draw_ratios(record: dict[str, Any], path: Path) -> None:
    """Draw the ratios, in the colours of the manual."""
    bars = [
        {"race": f"{row['name']}: {row['rival'].split(':')[0]}", "ratio": row["median"]}
        for row in record["rows"]
        if row["unit"] == "×" and row["median"] is not None
    ]
    base = alt.Chart(alt.InlineData(values=bars), width=430, height={"step": 16}).encode(
        y=alt.Y("race:N", title=None, sort="-x")
    )
    scale = alt.Scale(type="log", domain=[0.1, 200], clamp=True)
    title = "times as long as gssl (logarithmic)"
    points = base.mark_point(filled=True, size=60, opacity=1).encode(
        x=alt.X("ratio:Q", scale=scale, title=title, axis=alt.Axis(format="~g", values=[0.1, 1, 10, 100])),
        color=alt.condition("datum.ratio >= 1", alt.value("#2f7fb8"), alt.value("#c2571a")),
    )
    even = alt.Chart(alt.InlineData(values=[{"ratio": 1}])).mark_rule(color=INK, strokeDash=[4, 3])
    chart = points + even.encode(x=alt.X("ratio:Q", scale=scale))
    draw(chart.to_dict(), path)


def write_page(app: Any) -> None:
    """Write the page and its picture before pages are read."""
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    (Path(app.srcdir) / "benchmarks.md").write_text(page(record), encoding="utf-8")
    draw_ratios(record, Path(app.srcdir) / "_static" / "sample" / "ratios.svg")


def setup(app: Any) -> dict[str, bool]:
    """Write the page when a build begins."""
    app.connect("builder-inited", write_page)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
