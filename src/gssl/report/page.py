"""The report of a classification as one HTML file."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gssl.evaluation import (
    Bin,
    Confusion,
    Health,
    HeldOut,
    confidence_histogram,
    expected_calibration_error,
    reliability,
)
from gssl.io import Predictions
from gssl.report.document import Document, graph_facts, shared_facts, write_document
from gssl.report.findings import (
    FIRST_ROWS,
    MAX_ROWS,
    accuracy_facts,
    class_rows,
    confusion_cells,
    confusion_facts,
    curve_facts,
    doubts,
    headline,
    pictures,
    reasons,
)
from gssl.selection import Audit, Explanation, LearningCurve, Suggestion
from gssl.wording import write_share

_BLIND = (
    "The model is no better than always answering the largest class. Do not rely on these labels: give more "
    "labels, or better features."
)


@dataclass(frozen=True)
class MapPoint:
    """A node's position on the map, and the texts of its tooltip."""

    id: str
    x: float
    y: float
    label: str
    confidence: float
    given: bool


@dataclass(frozen=True, eq=False)
class Page(Document):
    """The contents of a report; parts that are None or empty are left out.

    Parameters
    ----------
    title : str
        What was classified.
    command : str
        The command line that reproduces the run.
    health : Health
    versions : mapping of str to str
        Versions by package.
    seconds : float
        Duration of the run.
    notes : sequence of str
        Notes about the data, such as repairs of the graph.
    explain : str
        What the graph adds, and which models predict.
    predictions : Predictions, optional
        Of all nodes.
    held_out : HeldOut, optional
        The model's predictions for hidden labels.
    history : mapping of str to array of shape (n_iter,), optional
        One curve per entry.
    confusion : Confusion, optional
        For known true labels; if None, that of hidden labels is shown.
    points : sequence of MapPoint
        The map, of all nodes or a sample.
    next_labels : sequence of (id, Suggestion)
        The nodes most worth labelling, the best one first.
    audit : Audit, optional
        Which given labels look wrong.
    why : sequence of Explanation
        Of a few nodes.
    feature_names : sequence of str
        To name features in ``why``.
    learning_curve : LearningCurve, optional

    Examples
    --------
    >>> from gssl.evaluation import graph_health
    >>> page = Page("Two nodes", "gssl classify", graph_health([[0, 1], [1, 0]], ["a", None]))
    >>> page.health.n_edges
    1
    """

    predictions: Predictions | None = None
    held_out: HeldOut | None = None
    history: Mapping[str, np.ndarray] | None = None
    confusion: Confusion | None = None
    points: Sequence[MapPoint] = ()
    next_labels: Sequence[tuple[str, Suggestion]] = ()
    audit: Audit | None = None
    why: Sequence[Explanation] = ()
    feature_names: Sequence[str] = ()
    learning_curve: LearningCurve | None = None

    @property
    def reliability(self) -> list[Bin]:
        """Accuracy by confidence, on hidden labels."""
        held = self.held_out
        return [] if held is None else reliability(held.truth, held.distributions, held.classes)

    @property
    def confidences(self) -> list[Bin]:
        """Histogram of the confidences of nodes without a given label."""
        rows = self.predictions
        return [] if rows is None else confidence_histogram(rows.model_confidence[~rows.given])


def write_page(path: str | Path, page: Page, data: str | Path | None = None) -> None:
    """Write a page atomically as one HTML file that needs no network.

    Parameters
    ----------
    path : path ending in .html
    page : Page
    data : path, optional
        Where to write the data of the page as JSON.

    Examples
    --------
    >>> import tempfile
    >>> from gssl.evaluation import graph_health
    >>> file = Path(tempfile.mkdtemp()) / "page.html"
    >>> write_page(file, Page("a < b", "gssl", graph_health([[0, 1], [1, 0]], ["a", None])))
    >>> "<title>a &lt; b</title>" in file.read_text(encoding="utf-8")
    True
    """
    from gssl.report import charts

    facts, drawn = page_facts(page), charts.draw(page)
    legend = charts.map_classes(page.points, page.predictions)
    matrix = confusion_cells(facts["confusion"])
    explained = [] if page.predictions is None else pictures(page.why, page.predictions, legend)
    write_document(
        path,
        "page.html",
        facts,
        drawn,
        data,
        sections=_sections(facts, drawn),
        first=FIRST_ROWS,
        max_rows=MAX_ROWS,
        largest=max((row.predicted for row in facts["classes"]), default=1) or 1,
        matrix=matrix,
        pictures=explained,
        graph=[*graph_facts(page.health, "label"), _homophily(page.health)],
        curves=list(page.history or {}),
        legend=legend,
        n_drawn=len(page.points),
        colours=len(charts.PALETTE),
        other=charts.OTHER,
    )


def page_facts(page: Page) -> dict[str, Any]:
    """Return what a page tells, apart from the rows of its charts."""
    held_out, predictions, curve = page.held_out, page.predictions, page.learning_curve
    blind = held_out is not None and not held_out.beats_largest_class
    return {
        **shared_facts(
            page, "classes", headline(page.health, predictions, held_out), _BLIND if blind else ""
        ),
        "accuracy": None if held_out is None else accuracy_facts(held_out),
        "classes": [] if predictions is None else class_rows(predictions, held_out),
        "confusion": confusion_facts(page.confusion or (None if held_out is None else held_out.confusion)),
        "labels_to_check": None
        if page.audit is None or predictions is None
        else {
            "summary": page.audit.summary,
            "n_contradicted": page.audit.n_contradicted,
            "contradicted": doubts(page.audit, predictions)[:MAX_ROWS],
        },
        "why": [] if predictions is None else reasons(page.why, predictions, page.feature_names),
        "learning_curve": None if curve is None else curve_facts(curve),
        "worth_labelling": [
            {
                "id": node,
                "label": pick.label,
                "confidence": pick.confidence,
                "runner_up": pick.runner_up,
                "similar_nodes": pick.speaks_for,
            }
            for node, pick in page.next_labels
        ],
        "calibration_error": expected_calibration_error(page.reliability) if page.reliability else None,
    }


def _sections(facts: Mapping[str, Any], drawn: Mapping[str, Any]) -> dict[str, str]:
    """Return the headings of sections that have contents, by id."""
    shown = {
        "classes": ("Classes", facts["classes"]),
        "confusion": ("What is mistaken for what", facts["confusion"]),
        "doubts": ("Labels to check", facts["labels_to_check"]),
        "why": ("Why it says that", facts["why"]),
        "learning": ("How many more labels", "learning" in drawn),
        "next": ("Worth labelling next", facts["worth_labelling"]),
        "map": ("Map", "map" in drawn),
        "confidence": ("Confidence", {"confidences", "reliability"} & set(drawn)),
        "graph": ("Graph", True),
        "iterations": ("Iterations", "curve-0" in drawn),
        "run": ("How this was made", True),
    }
    return {name: heading for name, (heading, there) in shown.items() if there}


def _homophily(health: Health) -> tuple[str, str, str]:
    """Return the fact about edges within a class."""
    if health.homophily is None:
        return "Edges within a class", "unknown", "no edge joins two labelled nodes"
    remark = f"of {health.n_labelled_edges:,} edges between labelled nodes"
    return "Edges within a class", write_share(health.homophily), remark
