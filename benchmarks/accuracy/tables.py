"""Tables of calibration, coverage and label curves, for a terminal or in Markdown."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.table import Table
from rich.text import Text

from benchmarks.accuracy.worth import CalibrationRecord, CoverageRecord, CurvePoint
from reproduction.tables import markdown_table


@dataclass(frozen=True)
class Grid:
    """A title, headings, and rows of text, one field for each heading."""

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def terminal(self) -> Table:
        """Return the table for a terminal."""
        table = Table(title=Text(self.title), title_justify="left")
        for k, heading in enumerate(self.headings):
            table.add_column(heading, justify="right" if k > 1 else "left")
        for row in self.rows:
            table.add_row(*map(Text, row))
        return table

    def markdown(self) -> str:
        """Return the table as Markdown."""
        return f"{self.title}\n\n{markdown_table((self.headings, *self.rows), 2)}\n"


def calibration_grid(records: Iterable[tuple[str, CalibrationRecord]], title: str) -> Grid:
    """Average calibration errors over draws, in the order in which graphs and methods appear."""
    headings = ("graph", "method", "accuracy %", "ECE before", "ECE after", "worst draw", "loss before")
    rows = []
    for (graph, method), group in _grouped((g, r.method, r) for g, r in records).items():
        kinds = [record.calibration for record in group]
        rows.append(
            (
                graph,
                method,
                _percent(group, "accuracy"),
                _percent(group, "error_before"),
                _percent(group, "error_after"),
                f"{100 * max(record.error_after for record in group):.1f}",
                f"{np.mean([record.loss_before for record in group]):.2f}",
                f"{np.mean([record.loss_after for record in group]):.2f}",
                ", ".join(f"{kind} {kinds.count(kind)}" for kind in sorted(set(kinds))),
            )
        )
    return Grid(title, (*headings, "loss after", "chosen"), tuple(rows))


def coverage_grid(records: Iterable[tuple[str, CoverageRecord]], title: str) -> Grid:
    """Average the coverage and size of label sets over draws."""
    headings = ("graph", "sets", "coverage %", "worst class %", "labels per set", "one label %")
    rows = tuple(
        (
            graph,
            method,
            _percent(group, "coverage"),
            _percent(group, "worst_class"),
            f"{np.mean([record.mean_size for record in group]):.2f}",
            _percent(group, "singles"),
        )
        for (graph, method), group in _grouped((g, r.method, r) for g, r in records).items()
    )
    return Grid(title, headings, rows)


def curve_grid(points: Iterable[tuple[str, CurvePoint]], title: str) -> Grid:
    """Average accuracy over runs for each number of labels, with a column for each way of choosing."""
    groups = _grouped((g, p.how, p) for g, p in points)
    ways = list(dict.fromkeys(how for _, how in groups))
    rows = []
    for graph in dict.fromkeys(graph for graph, _ in groups):
        budgets = sorted({point.n_labels for how in ways for point in groups.get((graph, how), [])})
        for budget in budgets:
            at = [[p for p in groups.get((graph, how), []) if p.n_labels == budget] for how in ways]
            rows.append(
                (graph, str(budget), *(_percent(those, "accuracy") if those else "–" for those in at))
            )
    return Grid(title, ("graph", "labels", *ways), tuple(rows))


def _grouped(records: Iterable[tuple[str, str, Any]]) -> dict[tuple[str, str], list[Any]]:
    groups: dict[tuple[str, str], list[Any]] = {}
    for graph, method, record in records:
        groups.setdefault((graph, method), []).append(record)
    return groups


def _percent(records: Sequence[Any], field: str) -> str:
    values = [100 * getattr(record, field) for record in records]
    return f"{np.mean(values):.1f} ± {np.std(values):.1f}"
