"""One HTML file that shows a run: written whole, opened from disk, no network."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from gssl.evaluation import Bin, Confusion, GraphGain, Health, HeldOut
from gssl.io import Prediction, whole_file

EXTRA = ("altair", "jinja2", "vl_convert")


@dataclass(frozen=True)
class MapPoint:
    """A node's place on the map and what is shown when it is pointed at."""

    id: str
    x: float
    y: float
    label: str
    confidence: float
    given: bool


@dataclass(frozen=True, eq=False)
class Page:
    """Everything that a page shows; a part that is None or empty is left out, or said to be missing.

    Parameters
    ----------
    title : str
    command : str
        Typed again, it gives the same result.
    health : Health
    versions : mapping of str to str
        From a package to its version.
    seconds : float
        How long the run took.
    notes : sequence of str
        Sentences the user should read: repairs of the graph, labels left out, warnings.
    gain : GraphGain, optional
        Whether the graph beats no graph.
    held_out : HeldOut, optional
        The accuracy on hidden labels, with its source.
    reliability : sequence of Bin
        Confidence against accuracy on nodes whose truth is known; usually the hidden labels.
    calibration_error : float, optional
        Their mean distance.
    history : mapping of str to array of shape (n_iter,), optional
        One curve each.
    confusion : Confusion, optional
        Where truth is given.
    confidences : sequence of Bin
        Confidences of all nodes, counted.
    points : sequence of MapPoint
        The map; fewer points than nodes are said to be a sample.
    next_labels : sequence of Prediction
        The least certain nodes, the first one most worth labelling.

    Examples
    --------
    >>> from gssl.evaluation import graph_health
    >>> page = Page("Two nodes", "gssl classify", graph_health([[0, 1], [1, 0]], ["a", None]))
    >>> page.health.n_edges
    1
    """

    title: str
    command: str
    health: Health
    versions: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    notes: Sequence[str] = ()
    gain: GraphGain | None = None
    held_out: HeldOut | None = None
    reliability: Sequence[Bin] = ()
    calibration_error: float | None = None
    history: Mapping[str, np.ndarray] | None = None
    confusion: Confusion | None = None
    confidences: Sequence[Bin] = ()
    points: Sequence[MapPoint] = ()
    next_labels: Sequence[Prediction] = ()


def write_page(path: str | Path, page: Page) -> None:
    """Write a page as one HTML file that needs no network, whole or not at all.

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
    check_extra()
    # here, since drawing is an extra
    from gssl.report.document import render

    html = render(page)
    with whole_file(path) as part:
        part.write_bytes(html)


def check_extra() -> None:
    """Refuse at once, not after the work, a page that cannot be drawn for want of a library.

    Examples
    --------
    >>> check_extra()
    """
    try:
        import gssl.report.document  # noqa: F401
    except ImportError as error:
        if (error.name or "").split(".")[0] not in EXTRA:
            raise
        raise ImportError(
            f"a page needs {error.name}, which is not installed: pip install gssl[report].", name=error.name
        ) from error
