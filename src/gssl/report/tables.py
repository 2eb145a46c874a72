"""Tables for a terminal."""

from collections.abc import Iterable

from rich.table import Table
from rich.text import Text

from gssl.evaluation import Summary
from gssl.io import Prediction


def comparison_table(summaries: Iterable[Summary], title: str) -> Table:
    """Draw methods side by side.

    Parameters
    ----------
    summaries : iterable of Summary
    title : str

    Returns
    -------
    rich.table.Table

    Examples
    --------
    >>> table = comparison_table([Summary("OGC", "train", 0.8, 0.01, 24.0, 1.0)], "Cora")
    >>> table.row_count
    1
    """
    table = Table(title=title, title_justify="left")
    table.add_column("method")
    for heading in ("accuracy %", "± draws", "iterations", "seconds"):
        table.add_column(heading, justify="right")
    rows = list(summaries)
    best = max(row.accuracy for row in rows)
    for row in rows:
        table.add_row(
            Text(row.method),
            f"{100 * row.accuracy:.1f}",
            f"{100 * row.spread:.1f}",
            f"{row.n_iter:.0f}",
            f"{row.seconds:.2f}",
            style="bold" if row.accuracy == best else None,
        )
    return table


def prediction_table(rows: Iterable[tuple[Prediction, str]], title: str) -> Table:
    """Draw a few predictions beside the truth.

    Parameters
    ----------
    rows : iterable of (Prediction, true label)
    title : str

    Returns
    -------
    rich.table.Table

    Examples
    --------
    >>> table = prediction_table([(Prediction("007", "spy", 0.9, "cook", False, True), "spy")], "Agents")
    >>> table.row_count
    1
    """
    table = Table(title=title, title_justify="left")
    for heading in ("id", "predicted", "confidence", "runner-up", "truth"):
        table.add_column(heading, justify="right" if heading == "confidence" else "left", overflow="fold")
    for row, truth in rows:
        table.add_row(
            # names are data, never rich markup
            Text(row.id),
            Text(row.label),
            f"{row.confidence:.2f}",
            Text(row.runner_up),
            Text(truth, style="" if truth == row.label else "red"),
        )
    return table
