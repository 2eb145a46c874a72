"""Charts as Vega-Lite specifications.

Names from the user's data are only used as *values*, never in field names, titles or expressions, so that no
name is interpreted as a path, a format or code.
"""

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np

from gssl.evaluation import Bin, Confusion
from gssl.report.page import MapPoint, Page

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
MAX_BARS = 40
MAX_NUMBERED = 20
Spec = dict[str, Any]

_UNIT = alt.Scale(domain=[0, 1])
_SNUG = alt.Scale(nice=False, zero=False)


def draw(page: Page) -> dict[str, Spec]:
    """Return the charts of a report by name, leaving out those without data."""
    specs: dict[str, Spec] = {}
    if page.health.label_counts:
        specs["labels"] = label_bars(page.health.label_counts)
    for place, values in enumerate((page.history or {}).values()):
        specs[f"curve-{place}"] = curve(values)
    if page.confusion is not None:
        specs["confusion"] = confusion_heatmap(page.confusion)
    if page.confidences:
        specs["confidences"] = histogram(page.confidences)
    if page.reliability:
        specs["reliability"] = reliability_curve(page.reliability)
    if page.points:
        specs["map"] = node_scatter(page.points, map_classes(page.points))
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


def label_bars(counts: dict[str, int]) -> Spec:
    """Draw the number of labels per class, the most frequent classes first."""
    order = sorted(counts, key=lambda name: -counts[name])[:MAX_BARS]
    rows = [{"place": place, "label": name, "count": counts[name]} for place, name in enumerate(order)]
    sort = alt.EncodingSortField(field="place", order="ascending")
    bars = (
        _over_rows()
        .mark_bar(color=ACCENT, cornerRadiusEnd=2, height={"band": 0.7})
        .encode(
            x=alt.X("count:Q", title="labels", axis=alt.Axis(tickMinStep=1, format=",d", tickCount=5)),
            y=alt.Y("label:N", sort=sort, title=None, axis=alt.Axis(ticks=False, domain=False)),
            tooltip=[
                alt.Tooltip("label:N", title="class"),
                alt.Tooltip("count:Q", title="labels", format=",d"),
            ],
        )
    )
    return _finish(bars, rows, height=26 * len(rows))


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


def confusion_heatmap(confusion: Confusion) -> Spec:
    """Draw true classes as rows and predicted ones as columns, shaded by the share of the row."""
    names, counts = confusion.classes, confusion.counts
    totals = np.maximum(counts.sum(axis=1), 1)
    rows = [
        {
            "i": i,
            "j": j,
            "truth": names[i],
            "predicted": names[j],
            "count": int(counts[i, j]),
            "part": float(counts[i, j] / totals[i]),
        }
        for i in range(len(names))
        for j in range(len(names))
    ]
    axis: dict[str, Any] = {"ticks": False, "domain": False, "grid": False}
    by_row, by_column = (alt.EncodingSortField(field=place, order="ascending") for place in "ij")
    base = _over_rows().encode(
        x=alt.X("predicted:N", sort=by_column, title="predicted", axis=alt.Axis(labelAngle=-45, **axis)),
        y=alt.Y("truth:N", sort=by_row, title="true", axis=alt.Axis(**axis)),
        tooltip=[
            alt.Tooltip("truth:N", title="true"),
            alt.Tooltip("predicted:N", title="predicted"),
            alt.Tooltip("count:Q", title="nodes", format=",d"),
            alt.Tooltip("part:Q", title="of the true class", format=".0%"),
        ],
    )
    shade = alt.Opacity("part:Q", scale=alt.Scale(domain=[0, 1], range=[0.03, 0.85]), legend=None)
    cells = base.mark_rect(color=ACCENT, cornerRadius=2).encode(opacity=shade)
    numbers = base.mark_text(color="currentColor", fontSize=12, tooltip=None).encode(
        text=alt.Text("count:Q", format=",d"),
        opacity=alt.condition("datum.count > 0", alt.value(1.0), alt.value(0.25)),
    )
    chart = cells + numbers if len(names) <= MAX_NUMBERED else cells
    return _finish(chart, rows, height=max(120, min(36 * len(names), 640)))


def histogram(bins: Sequence[Bin]) -> Spec:
    """Draw the number of nodes per bin of confidence."""
    rows = [{"low": b.low, "high": b.high, "count": b.count, "zero": 0} for b in bins]
    bars = (
        _over_rows()
        .mark_rect(color=ACCENT, xOffset=0.5, x2Offset=-0.5)
        .encode(
            x=alt.X("low:Q", title="confidence", scale=_UNIT, axis=_percent_axis(grid=False)),
            x2="high:Q",
            y=alt.Y("count:Q", title="nodes", axis=alt.Axis(format="~s", tickCount=5)),
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


def map_classes(points: Sequence[MapPoint]) -> list[tuple[str, str, int]]:
    """Return name, colour and number of points of each class on the map, most frequent first."""
    counts: dict[str, int] = {}
    for point in points:
        counts[point.label] = counts.get(point.label, 0) + 1
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
    bare = alt.Axis(labels=False, ticks=False, grid=False, domain=False, title=None)
    dots = (
        _over_rows()
        .mark_point(filled=True, shape="circle")
        .encode(
            x=alt.X("x:Q", axis=bare, scale=alt.Scale(nice=False, padding=8)),
            y=alt.Y("y:Q", axis=bare, scale=alt.Scale(nice=False, padding=8)),
            color=alt.Color("place:N", scale=colour, legend=None),
            opacity=alt.condition("chosen < 0 || datum.place === chosen", certainty, alt.value(0.05)),
            size=alt.condition(given, alt.value(80), alt.value(30)),
            stroke=alt.condition(given, alt.value("currentColor"), alt.value("transparent")),
            strokeWidth=alt.value(1.4),
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
