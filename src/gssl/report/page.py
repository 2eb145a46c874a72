"""The report of a run as one HTML file; names are escaped, and one script is allowed by its hash."""

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module, resources
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from gssl.datasets.location import cache_dir
from gssl.evaluation import (
    Bin,
    Confusion,
    Health,
    HeldOut,
    confidence_histogram,
    expected_calibration_error,
    reliability,
)
from gssl.io import Predictions, whole_file
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
from gssl.wording import elided

EXTRA = ("jinja2", "vl_convert")


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
class Page:
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

    title: str
    command: str
    health: Health
    versions: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    notes: Sequence[str] = ()
    explain: str = ""
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


def check_extra() -> None:
    """Raise ImportError if a library that reports need is missing.

    Examples
    --------
    >>> check_extra()
    """
    for name in EXTRA:
        try:
            import_module(name)
        except ImportError as error:
            if (error.name or "").split(".")[0] != name:
                raise
            raise ImportError(
                f"a page needs {name}, which is not installed: pip install gssl[report].", name=name
            ) from error


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
    check_extra()
    html = _render(page)
    with whole_file(path) as part:
        part.write_bytes(html)


def _render(page: Page) -> bytes:
    """Return the page as the bytes of an HTML file."""
    # optional dependencies
    import jinja2
    from markupsafe import Markup

    from gssl.report import charts

    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters.update(
        percent=_percent, duration=_duration, words=_words, count="{:,}".format, short=elided
    )
    script, held_out, predictions = _script(), page.held_out, page.predictions
    confusion = page.confusion or (None if held_out is None else held_out.confusion)
    curve, legend = page.learning_curve, charts.map_classes(page.points, predictions)
    html = environment.from_string(read_template("page.html")).render(
        page=page,
        health=page.health,
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
        facts=_facts(page.health),
        curves=[(f"curve-{k}", name) for k, name in enumerate(page.history or {})],
        legend=legend,
        colours=len(charts.PALETTE),
        other=charts.OTHER,
        charts=Markup(_json(charts.draw(page))),
        style=Markup(read_template("page.css")),
        script=Markup(script),
        policy=_policy(script),
    )
    # a file name may contain a lone surrogate, which UTF-8 cannot encode
    return html.encode("utf-8", errors="xmlcharrefreplace")


def read_template(name: str) -> str:
    """Return the text of a template."""
    return resources.files("gssl.report").joinpath("templates", name).read_text(encoding="utf-8")


@cache
def _script() -> str:
    """Return page.js bundled with Vega; bundling takes a second or two, so the result is cached on disk."""
    source = read_template("page.js")
    key = hashlib.sha256(f"{version('vl-convert-python')}\n{source}".encode()).hexdigest()[:16]
    kept = cache_dir() / f"report-{key}.js"
    with suppress(OSError, UnicodeDecodeError):
        return kept.read_bytes().decode("utf-8")
    code = _bundle(source)
    with suppress(OSError), whole_file(kept) as part:
        part.write_bytes(code.encode("utf-8"))
    return code


def _bundle(source: str) -> str:
    """Return a script bundled with its imports, escaped for a script element."""
    import vl_convert

    code: str = vl_convert.javascript_bundle(source)
    # browsers normalise line endings before they compute the hash
    return code.replace("\r\n", "\n").replace("</script", "<\\/script").replace("<!--", "<\\!--")


def _policy(script: str) -> str:
    """Return a content security policy that allows this script, by its hash, and nothing else."""
    digest = base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")
    return (
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _json(value: Any) -> str:
    """Return data as ASCII JSON for a script element, with HTML characters escaped."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _facts(health: Health) -> list[tuple[str, str, str]]:
    """Return the name, value and remark of each fact about the graph."""
    degrees = health.degrees
    unreached = "a guess, without features" if health.n_features is None else "predicted from features alone"
    facts = [
        ("Edges", f"{health.n_edges:,}", ""),
        ("Features", "none" if health.n_features is None else f"{health.n_features:,}", ""),
        ("Components", f"{health.n_components:,}", f"the largest has {health.largest_component:,} nodes"),
        ("Isolated nodes", f"{health.n_isolated:,}", "without a neighbour"),
        (
            "Neighbours per node",
            f"{degrees['mean']:.1f}",
            f"median {degrees['median']:.0f}, 90 % have at most {degrees['p90']:.0f}, "
            f"maximum {degrees['max']:,.0f}",
        ),
        ("Nodes no label reaches", f"{health.n_unreached:,}", unreached),
    ]
    if health.homophily is None:
        facts.append(("Edges within a class", "unknown", "no edge joins two labelled nodes"))
    else:
        remark = f"of {health.n_labelled_edges:,} edges between labelled nodes"
        facts.append(("Edges within a class", _percent(health.homophily, 0), remark))
    return facts


def _percent(value: float | None, digits: int = 1) -> str:
    return "–" if value is None else f"{100 * value:.{digits}f} %"


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.1f} seconds"
    return f"{seconds / 60:.1f} minutes" if seconds < 5400 else f"{seconds / 3600:.1f} hours"


def _words(name: str) -> str:
    """Turn ``smoothing_loss`` into words."""
    text = name.replace("_", " ")
    return text[:1].upper() + text[1:]
