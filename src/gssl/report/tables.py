"""Tables for the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from gssl.wording import printable, write_number, write_share

if TYPE_CHECKING:
    # for type checkers only, to keep commands fast to start
    from gssl.evaluation import Health, RelationHealth, Summary
    from gssl.io import Prediction, Predictions
    from gssl.selection import Suggestion


def comparison_table(summaries: Iterable[Summary], title: str) -> Table:
    """Return a rich table of methods side by side.

    Parameters
    ----------
    summaries : iterable of Summary
    title : str

    Examples
    --------
    >>> from gssl.evaluation import Summary
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
    """Return a rich table of predictions beside the truth.

    Parameters
    ----------
    rows : iterable of (Prediction, true label)
    title : str

    Examples
    --------
    >>> from gssl.io import Prediction
    >>> row = Prediction("007", "spy", 0.9, "spy", 0.9, "cook", False, True)
    >>> table = prediction_table([(row, "spy")], "Agents")
    >>> table.row_count
    1
    """
    table = Table(title=title, title_justify="left")
    for heading in ("id", "predicted", "confidence", "runner-up", "truth"):
        table.add_column(heading, justify="right" if heading == "confidence" else "left", overflow="fold")
    for row, truth in rows:
        table.add_row(
            # names are data, never rich markup
            Text(printable(row.id)),
            Text(printable(row.label)),
            f"{row.confidence:.2f}",
            Text(printable(row.runner_up)),
            Text(truth, style="" if truth == row.label else "red"),
        )
    return table


def classification_table(predictions: Predictions, title: str) -> Table:
    """Return a rich table of the number of nodes per label.

    Parameters
    ----------
    predictions : Predictions
    title : str

    Examples
    --------
    >>> import numpy as np
    >>> from gssl.io import tabulate
    >>> classification_table(tabulate(["007"], np.array([[0.1, 0.9]]), ["cook", "spy"]), "Agents").row_count
    1
    """
    table = Table(title=Text(title), title_justify="left")
    table.add_column("label", overflow="fold")
    columns = {
        "given": predictions.given.any(),
        "predicted": True,
        "mean confidence": True,
        "unreached": not predictions.reached.all(),
    }
    shown = [heading for heading, tells in columns.items() if tells]
    for heading in shown:
        table.add_column(heading, justify="right")
    for label in sorted(set(predictions.label)):
        mine = predictions.label == label
        new = mine & ~predictions.given
        confidence = f"{predictions.confidence[new].mean():.2f}" if new.any() else "–"
        cells = {
            "given": f"{(mine & predictions.given).sum():,}",
            "predicted": f"{new.sum():,}",
            "mean confidence": confidence,
            "unreached": f"{(mine & ~predictions.reached).sum():,}",
        }
        table.add_row(Text(printable(label) or "(none: unsure)"), *(cells[heading] for heading in shown))
    return table


def suggestion_table(rows: Iterable[tuple[str, Suggestion]], title: str) -> Table:
    """Return a rich table of nodes to label next, and why.

    Parameters
    ----------
    rows : iterable of (id, Suggestion)
    title : str

    Examples
    --------
    >>> from gssl.selection import Suggestion
    >>> row = "007", Suggestion(0, "spy", "cook", 0.55, 0.1, 12)
    >>> suggestion_table([row], "Agents").row_count
    1
    """
    table = Table(title=Text(title), title_justify="left")
    for heading in ("id", "why"):
        table.add_column(heading, overflow="fold")
    for node, suggestion in rows:
        table.add_row(Text(printable(node)), Text(printable(suggestion.why)))
    return table


def relation_table(relations: Sequence[RelationHealth]) -> Table:
    """Return a rich table of facts about the relations of a graph.

    Parameters
    ----------
    relations : sequence of RelationHealth

    Examples
    --------
    >>> from gssl.evaluation import RelationHealth
    >>> relation_table([RelationHealth("cites", True, 3, 4, 0.5, 2, None)]).row_count
    1
    """
    table = Table(title="Relations", title_justify="left")
    table.add_column("relation", overflow="fold")
    for heading in ("links", "nodes", "links within a class", "unlabelled nodes reached"):
        table.add_column(heading, justify="right")
    for one in relations:
        share = None if one.homophily is None else write_share(one.homophily)
        within = "unknown" if share is None else f"{share} of {one.n_labelled_links:,}"
        reach = "none to reach" if one.reach is None else write_share(one.reach)
        links = f"{one.n_links:,}{' directed' if one.directed else ''}"
        table.add_row(Text(printable(one.name)), links, f"{one.n_nodes:,}", within, reach)
    return table


def health_table(health: Health) -> Table:
    """Return a rich table of facts about a graph.

    Parameters
    ----------
    health : Health

    Examples
    --------
    >>> from gssl.evaluation import graph_health
    >>> health_table(graph_health([[0, 1], [1, 0]], ["a", None])).row_count > 5
    True
    """
    table = Table(title="The graph", title_justify="left", show_header=False)
    table.add_column("what")
    table.add_column("how much", justify="right", overflow="fold")
    rows = {
        "nodes": f"{health.n_nodes:,}",
        "edges": f"{health.n_edges:,}",
        "features": "none" if health.n_features is None else f"{health.n_features:,}",
        "components": f"{health.n_components:,} (largest: {health.largest_component:,} nodes)",
        "isolated nodes": f"{health.n_isolated:,}",
        "degrees": ", ".join(f"{name} {write_number(value)}" for name, value in health.degrees.items()),
        "labelled nodes": f"{health.n_labelled:,}",
        "nodes that no label reaches": f"{health.n_unreached:,}",
        "edges within a class": "unknown: no edge has two labels"
        if health.homophily is None
        else f"{write_share(health.homophily)} of {health.n_labelled_edges:,} edges with two labels",
    }
    for name, value in rows.items():
        table.add_row(name, value)
    for label, count in health.label_counts.items():
        table.add_row(Text(printable(f"labels of {label}")), f"{count:,}")
    return table
