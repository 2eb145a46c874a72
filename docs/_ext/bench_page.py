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
    "Beside other libraries": ("sgc-pyg", "ssgc-pyg", "spreading", "propagation"),
    "Shortcuts beside the long way": ("ggcm-", "negatives", "sample-", "label-space", "programs", "unseen"),
    "Choosing by itself, and other questions": ("selection", "answers"),
    "Memory and growth": ("memory", "growth", "budget", "slabs", "dask"),
    "Tables, import and command line": ("read-", "build-", "import", "help"),
}
_STATUS = {"MISS": "miss", "FAILED": "failed", "info": ""}


def part_of(name: str) -> str:
    """Return the heading under which a row stands; a new kind of row is not lost."""
    return next((title for title, begins in PARTS.items() if name.startswith(begins)), "Others")


def page(record: dict[str, Any]) -> str:
    """Write a record of the benchmark as Markdown, misses first."""
    rows = record["rows"]
    kinds = [row["status"] for row in rows]
    lines = [
        "# Speed and memory",
        "",
        f"`make bench` runs gssl and every other library in one go, here with {record['threads']} threads in "
        f"{record['seconds'] / 60:.0f} minutes, and writes a record from which this page is generated. Calls "
        "alternate, the first of each is discarded, and only calls that do the same work are compared. "
        "A ratio (×) with a minimum as its goal is the rival's time divided by ours, so above 1 gssl is "
        "faster; with a maximum it is ours divided by the rival's. Shown is the median of the repeats, "
        "with minimum and maximum. Ratios carry over to other machines better than seconds.",
        "",
        f"{kinds.count('reached')} goals were reached, {kinds.count('MISS')} were missed.",
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
    lines += [f"gssl {record['gssl']}, Python {record['python']} on {record['machine']}.", ""]
    return "\n".join(lines)


def _misses(rows: list[dict[str, Any]]) -> list[str]:
    missed = [row for row in rows if row["status"] in ("MISS", "FAILED")]
    told = [
        f"- {_text(row['what'])}: {_figure(row)}, the goal was {_goal(row)}; {_text(row['limit'])}."
        for row in missed
    ]
    return told or ["None."]


def _table(rows: list[dict[str, Any]]) -> list[str]:
    heads = "| what | gssl | rival | its time or size | ratio or figure | goal | | limit |"
    lines = [heads, "|---" * 8 + "|"]
    for row in rows:
        status = _STATUS.get(row["status"], row["status"])
        what = f"{row['what']} (`{row['name']}`)"
        times = _whole(row["ours"]), _rival(row), _whole(row["theirs"])
        cells = (what, *times, _figure(row), _whole(_goal(row)), status, row["limit"])
        lines.append("| " + " | ".join(_text(cell) for cell in cells) + " |")
    return lines


def _rival(row: dict[str, Any]) -> str:
    return f"{row['rival']} ({row['package']} {row['version']})" if row["version"] else row["rival"]


def _notes(rows: list[dict[str, Any]]) -> list[str]:
    return [f"- `{row['name']}`, {_text(row['rival'])}: {_text(row['note'])}" for row in rows if row["note"]]


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
        {"race": f"{row['name']}: {row['rival']}", "ratio": row["median"]}
        for row in record["rows"]
        # where the goal is a maximum, the ratio is ours over the rival's
        if row["unit"] == "×" and row["median"] is not None and row["at_most"] is None
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
