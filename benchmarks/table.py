"""Format measured rows as Markdown and as JSON."""

import json
import platform
from importlib.metadata import version
from typing import Any

from benchmarks import THREADS
from benchmarks.row import Measured, Row

Line = tuple[Row, Measured]
_HEADS = ("name", "what", "gssl", "rival", "its time or size", "ratio or figure", "goal", "", "limit", "note")


def markdown(lines: list[Line], *, quick: bool, elapsed: float) -> str:
    """Return the table as Markdown, with an introduction."""
    kinds = [row.status(measured, quick=quick) for row, measured in lines]
    counts = ", ".join(f"{kinds.count(kind)} {kind}" for kind in sorted(set(kinds), key=kinds.index))
    texts = [
        "# Benchmark of gssl",
        "",
        f"gssl {version('gssl')}, Python {platform.python_version()}. "
        f"{'Quick look: small graphs, so that no goal applies. ' if quick else ''}"
        f"{THREADS} threads for everybody, one run of {elapsed / 60:.1f} minutes. A ratio (×) is the rival's "
        "time over ours, or ours over the rival's where the goal is a maximum: the median of the repeats, "
        f"with the least and the greatest. Calls take turns, and the first of each is discarded. {counts}.",
        "",
        _joined(_HEADS),
        "|" + "---|" * len(_HEADS),
        *(_line(row, measured, quick=quick) for row, measured in lines),
        "",
    ]
    return "\n".join(texts)


def as_json(lines: list[Line], *, quick: bool, elapsed: float, spent: dict[str, float]) -> str:
    """Return all measurements as JSON."""
    record: dict[str, Any] = {
        "quick": quick,
        "threads": THREADS,
        "seconds": round(elapsed, 1),
        "gssl": version("gssl"),
        "python": platform.python_version(),
        "machine": platform.machine(),
        "rows": [{**_fields(*line, quick=quick), "seconds": round(spent[line[0].name], 1)} for line in lines],
    }
    return json.dumps(record, indent=2, ensure_ascii=False) + "\n"


def figure(row: Row, measured: Measured) -> str:
    """Format the median and the range."""
    if measured.median is None:
        return "–"
    low, high = min(measured.values), max(measured.values)
    return f"{measured.median:.3g} {row.unit} ({low:.3g}–{high:.3g})"


def _fields(row: Row, measured: Measured, *, quick: bool) -> dict[str, Any]:
    stated = {name: value for name, value in vars(row).items() if name != "measure"}
    found = {name: value for name, value in vars(measured).items() if name != "problem"}
    status = row.status(measured, quick=quick)
    return {**stated, "version": row.version, **found, "median": measured.median, "status": status}


def _line(row: Row, measured: Measured, *, quick: bool) -> str:
    status = row.status(measured, quick=quick)
    shown = f"**{status}**" if status in ("MISS", "FAILED") else status
    beside = (row.name, row.what, measured.ours, row.versioned_rival, measured.theirs)
    return _joined((*beside, figure(row, measured), row.goal, shown, row.limit, measured.note))


def _joined(cells: tuple[str, ...]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"
