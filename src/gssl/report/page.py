"""The report of a classification as one HTML file."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

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
from gssl.report.document import Document, graph_facts, percent, write_document
from gssl.report.findings import (
    MAX_CLASSES,
    MAX_MATRIX,
    MAX_ROWS,
    class_rows,
    doubts,
    headline,
    matrix,
    reasons,
)
from gssl.selection import Audit, Explanation, LearningCurve, Suggestion


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


def write_page(path: str | Path, page: Page) -> None:
    """Write a page atomically as one HTML file that needs no network.

    Parameters
    ----------
    path : path ending in .html
    page : Page

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

    held_out, predictions = page.held_out, page.predictions
    confusion = page.confusion or (None if held_out is None else held_out.confusion)
    curve, legend = page.learning_curve, charts.map_classes(page.points, predictions)
    write_document(
        path,
        "page.html",
        page,
        charts.draw(page),
        headline=headline(page.health, predictions, held_out),
        classes=[] if predictions is None else class_rows(predictions, held_out),
        max_classes=MAX_CLASSES,
        confusion=confusion,
        matrix=[] if confusion is None else matrix(confusion),
        max_matrix=MAX_MATRIX,
        max_rows=MAX_ROWS,
        doubts=[] if predictions is None or page.audit is None else doubts(page.audit, predictions),
        reasons=[] if predictions is None else reasons(page.why, predictions, page.feature_names, legend),
        labels_needed="" if curve is None else curve.text(curve.next_target),
        calibration_error=expected_calibration_error(page.reliability) if page.reliability else None,
        facts=[*graph_facts(page.health, "label"), _homophily(page.health)],
        curves=[(f"curve-{k}", name) for k, name in enumerate(page.history or {})],
        legend=legend,
        colours=len(charts.PALETTE),
        other=charts.OTHER,
    )


def _homophily(health: Health) -> tuple[str, str, str]:
    """Return the fact about edges within a class."""
    if health.homophily is None:
        return "Edges within a class", "unknown", "no edge joins two labelled nodes"
    remark = f"of {health.n_labelled_edges:,} edges between labelled nodes"
    return "Edges within a class", percent(health.homophily, 0), remark
