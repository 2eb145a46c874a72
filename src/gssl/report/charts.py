"""Charts as Vega-Lite specifications.

Names from the user's data are only used as *values*, never in field names, titles or expressions, so that no
name is interpreted as a path, a format or code.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np

from gssl.evaluation import Bin
from gssl.io import Predictions
from gssl.report.page import MapPoint, Page
from gssl.selection import LearningCurve

# of medium lightness, legible in light and dark mode
ACCENT = "#4f7fd0"
PALETTE = (
    ACCENT,
    "#e0803c",
    "#3f9f70",
    "#cf5563",
    "#8d6fca",
    "#bd9a24",
    "#2fa3b5",
    "#d272ab",
    "#8f7355",
    "#6d8f2f",
)
OTHER = "#8b929b"
_MANY_RINGS, _SMALL_RING = 500, {"size": 42, "width": 0.9}
Spec = dict[str, Any]

_UNIT = alt.Scale(domain=[0, 1])
_SNUG = alt.Scale(nice=False, zero=False)


def draw(page: Page) -> dict[str, Spec]:
    """Return the charts of a report by name, leaving out those without data."""
    specs: dict[str, Spec] = {}
    for place, values in enumerate((page.history or {}).values()):
        specs[f"curve-{place}"] = curve(values)
    if page.confidences:
        specs["confidences"] = histogram(page.confidences)
    if page.reliability:
        specs["reliability"] = reliability_curve(page.reliability)
    if page.learning_curve is not None:
        specs["learning"] = learning_band(page.learning_curve)
    if page.points:
        specs["map"] = node_scatter(page.points, map_classes(page.points, page.predictions))
    return specs


def _over_rows() -> Any:
    """Return a chart over the dataset "rows", which :func:`_finish` adds."""
    return alt.Chart(alt.NamedData(name="rows"))


def _finish(chart: Any, rows: Sequence[Spec], height: int | None = None) -> Spec:
    """Return the specification of a chart with its data, added last because Altair validates every row."""
    chart = chart.properties(width="container", **({} if height is None else {"height": height}))
    spec: Spec = chart.to_dict()
    spec.setdefault("datasets", {})["rows"] = list(rows)
    return spec


def _percent_axis(**settings: Any) -> Any:
    return alt.Axis(format=".0%", values=[0, 0.2, 0.4, 0.6, 0.8, 1.0], **settings)


def curve(values: Any) -> Spec:
    """Draw one quantity over the iterations, without values that are not finite."""
    numbers = np.asarray(values, dtype=np.float64).ravel()
    rows = [{"k": k, "value": float(v)} for k, v in enumerate(numbers, start=1) if np.isfinite(v)]
    # with few iterations, Vega would put ticks at fractions
    ticks: dict[str, Any] = (
        {"values": list(range(1, len(numbers) + 1))} if len(numbers) <= 8 else {"tickCount": 6}
    )
    line = (
        _over_rows()
        .mark_line(color=ACCENT, strokeWidth=2, point={"filled": True, "size": 26, "color": ACCENT})
        .encode(
            x=alt.X("k:Q", title="iteration", scale=_SNUG, axis=alt.Axis(grid=False, format="d", **ticks)),
            y=alt.Y("value:Q", title=None, scale=alt.Scale(zero=False), axis=alt.Axis(tickCount=5)),
            tooltip=[
                alt.Tooltip("k:Q", title="iteration"),
                alt.Tooltip("value:Q", title="value", format=".4~g"),
            ],
        )
    )
    return _finish(line, rows, height=180)


def histogram(bins: Sequence[Bin]) -> Spec:
    """Draw the number of nodes per bin of confidence."""
    rows = [{"low": b.low, "high": b.high, "count": b.count, "zero": 0} for b in bins]
    bars = (
        _over_rows()
        .mark_rect(color=ACCENT, xOffset=0.5, x2Offset=-0.5)
        .encode(
            x=alt.X("low:Q", title="confidence", scale=_UNIT, axis=_percent_axis(grid=False)),
            x2="high:Q",
            y=alt.Y("count:Q", title="nodes", axis=alt.Axis(format=",d", tickCount=5)),
            y2="zero:Q",
            tooltip=[
                alt.Tooltip("low:Q", title="from", format=".0%"),
                alt.Tooltip("high:Q", title="to", format=".0%"),
                alt.Tooltip("count:Q", title="nodes", format=",d"),
            ],
        )
    )
    return _finish(bars, rows, height=240)


def reliability_curve(bins: Sequence[Bin]) -> Spec:
    """Draw accuracy against confidence; on the diagonal, confidence is calibrated."""
    rows = [{"confidence": b.confidence, "accuracy": b.accuracy, "count": b.count} for b in bins]
    diagonal = (
        alt.Chart(alt.InlineData(values=[{"t": 0}, {"t": 1}]))
        .mark_line(color="currentColor", opacity=0.7, strokeDash=[4, 4], strokeWidth=1)
        .encode(x=alt.X("t:Q"), y=alt.Y("t:Q"))
    )
    base = _over_rows().encode(
        x=alt.X("confidence:Q", title="confidence", scale=_UNIT, axis=_percent_axis()),
        y=alt.Y("accuracy:Q", title="accuracy", scale=_UNIT, axis=_percent_axis()),
    )
    line = base.mark_line(color=ACCENT, strokeWidth=1.5)
    dots = base.mark_circle(color=ACCENT, opacity=0.9).encode(
        size=alt.Size("count:Q", scale=alt.Scale(range=[40, 320]), legend=None),
        tooltip=[
            alt.Tooltip("confidence:Q", title="confidence", format=".0%"),
            alt.Tooltip("accuracy:Q", title="accuracy", format=".0%"),
            alt.Tooltip("count:Q", title="labels", format=",d"),
        ],
    )
    return _finish(diagonal + line + dots, rows, height=240)


def learning_band(found: LearningCurve) -> Spec:
    """Draw accuracy against the number of labels with its uncertainty, up to four times as many as given."""
    numbers = np.unique(np.geomspace(found.sizes[0], min(4 * found.n_labels, found.n_nodes), 40).astype(int))
    rows = [
        {"n": int(n), "accuracy": a, "low": low, "high": high, "now": found.n_labels}
        for n, (a, low, high) in ((n, found.at(n)) for n in numbers)
    ]
    x = alt.X(
        "n:Q", title="labels", scale=alt.Scale(type="log", nice=False), axis=alt.Axis(grid=False, format=",d")
    )
    base = _over_rows().encode(x=x)
    y = alt.Y("accuracy:Q", title="accuracy", scale=alt.Scale(zero=False), axis=alt.Axis(format=".0%"))
    band = base.mark_area(color=ACCENT, opacity=0.16).encode(y=alt.Y("low:Q", title="accuracy"), y2="high:Q")
    line = base.mark_line(color=ACCENT, strokeWidth=2).encode(y=y)
    measured = [{"n": int(n), "accuracy": float(a)} for n, a in zip(found.sizes, found.accuracy, strict=True)]
    dots = alt.Chart(alt.InlineData(values=measured)).mark_circle(color=ACCENT, size=46).encode(x=x, y=y)
    now = base.mark_rule(color="currentColor", strokeDash=[4, 4], opacity=0.6).encode(
        x=alt.X("now:Q", aggregate="max")
    )
    return _finish(band + now + line + dots, rows, height=240)


def map_classes(
    points: Sequence[MapPoint], predictions: Predictions | None = None
) -> list[tuple[str, str, int]]:
    """Return name, colour and number of nodes of each class on the map, most frequent first.

    All nodes count, also those that are not on the map; without ``predictions``, the points.
    """
    counts = Counter(point.label for point in points)
    if predictions is not None:
        # where the model abstains, the map shows what it says
        shown = Counter(np.where(predictions.label == "", predictions.model_says, predictions.label).tolist())
        counts = Counter({name: shown[name] for name in counts})
    order = sorted(counts, key=lambda name: (-counts[name], name))
    return [
        (name, PALETTE[place] if place < len(PALETTE) else OTHER, counts[name])
        for place, name in enumerate(order)
    ]


def node_scatter(points: Sequence[MapPoint], classes: Sequence[tuple[str, str, int]]) -> Spec:
    """Draw the map of nodes: colour shows the class, opacity the confidence, a ring a given label."""
    place = {name: position for position, (name, _, _) in enumerate(classes)}
    rows = [
        {
            "id": point.id,
            "x": round(point.x, 4),
            "y": round(point.y, 4),
            "label": point.label,
            "confidence": round(point.confidence, 4),
            "given": "yes" if point.given else "no",
            "place": place[point.label],
        }
        # rings on top
        for point in sorted(points, key=lambda point: point.given)
    ]
    chosen = alt.param(name="chosen", value=-1)
    colour = alt.Scale(domain=list(range(len(classes))), range=[colour for _, colour, _ in classes])
    certainty = alt.Opacity(
        "confidence:Q", scale=alt.Scale(domain=[0, 1], range=[0.2, 1.0], clamp=True), legend=None
    )
    given = "datum.given === 'yes'"
    # many rings hide each other
    ring = {"size": 80, "width": 1.4} if sum(point.given for point in points) <= _MANY_RINGS else _SMALL_RING
    bare = alt.Axis(labels=False, ticks=False, grid=False, domain=False, title=None)
    dots = (
        _over_rows()
        .mark_point(filled=True, shape="circle")
        .encode(
            x=alt.X("x:Q", axis=bare, scale=alt.Scale(nice=False, padding=8)),
            y=alt.Y("y:Q", axis=bare, scale=alt.Scale(nice=False, padding=8)),
            color=alt.Color("place:N", scale=colour, legend=None),
            opacity=alt.condition("chosen < 0 || datum.place === chosen", certainty, alt.value(0.05)),
            size=alt.condition(given, alt.value(ring["size"]), alt.value(30)),
            stroke=alt.condition(given, alt.value("currentColor"), alt.value("transparent")),
            strokeWidth=alt.value(ring["width"]),
            tooltip=[
                alt.Tooltip("id:N", title="id"),
                alt.Tooltip("label:N", title="label"),
                alt.Tooltip("confidence:Q", title="confidence", format=".0%"),
                alt.Tooltip("given:N", title="label given"),
            ],
        )
        .add_params(chosen)
    )
    return _finish(dots, rows)
