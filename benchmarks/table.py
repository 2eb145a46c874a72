"""Format rows as Markdown and as JSON."""

import json
import platform
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from benchmarks import THREADS
from benchmarks.entry import Row

_PACKAGES = (
    "gssl", "numpy", "scipy", "numba", "scikit-learn", "torch", "torch-geometric", "scikit-network", "igraph",
    "pandas", "duckdb",
)  # fmt: skip


def markdown(rows: list[Row], *, quick: bool, elapsed: float) -> str:
    """Return the table as Markdown, with an introduction and the versions of packages."""
    kinds = [row.status for row in rows]
    counts = ", ".join(f"{kinds.count(kind)} {kind}" for kind in sorted(set(kinds), key=kinds.index))
    lines = [
        "# Benchmark of gssl",
        "",
        f"{'Quick look: small graphs. ' if quick else ''}{THREADS} threads for everybody, one run of "
        f"{elapsed / 60:.1f} minutes. A ratio (×) is the rival's time over ours, the median of the repeats "
        "with the least and the greatest; calls take turns, and the first of each is discarded. "
        f"{counts}.",
        "",
        "| name | what | ours | rival | ratio or figure | goal | | note |",
        "|---|---|---|---|---|---|---|---|",
    ]
    lines += [_line(row) for row in rows]
    missed = [row for row in rows if row.status == "MISS" and row.limit]
    lines += ["", *(f"- {row.name} misses its goal: {row.limit}." for row in missed)]
    lines += ["", ", ".join(f"{name} {number}" for name, number in _versions().items()), ""]
    return "\n".join(lines)


def as_json(rows: list[Row], *, quick: bool, elapsed: float, spent: dict[str, float]) -> str:
    """Return all measurements as JSON."""
    record: dict[str, Any] = {
        "quick": quick,
        "threads": THREADS,
        "seconds": round(elapsed, 1),
        "seconds_of": {name: round(value, 1) for name, value in spent.items()},
        "python": platform.python_version(),
        "machine": platform.machine(),
        "versions": _versions(),
        "rows": [{**asdict(row), "median": row.median, "status": row.status} for row in rows],
    }
    return json.dumps(record, indent=2, ensure_ascii=False) + "\n"


def figure(row: Row) -> str:
    """Format the median and range of a row."""
    if row.median is None:
        return "–"
    low, high = min(row.values), max(row.values)
    return f"{row.median:.3g} {row.unit} ({low:.3g}–{high:.3g})"


def _line(row: Row) -> str:
    status = f"**{row.status}**" if row.status in ("MISS", "FAILED") else row.status
    cells = (row.name, row.what, row.ours, row.rival, figure(row), row.goal, status, row.note)
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


def _versions() -> dict[str, str]:
    versions = {}
    for name in _PACKAGES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            versions[name] = "absent"
    return versions
