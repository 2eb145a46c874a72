"""Charts as Vega-Lite specifications.

Names from the user's data are used only as *values*, never in field names, titles or expressions, so that
they are not interpreted as paths, formats or code.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from gssl.evaluation import Bin
from gssl.io import Predictions
from gssl.report.page import MapPoint, Page
from gssl.selection import LearningCurve

# colours of medium lightness, legible in light and dark mode
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
# with more labels, rings are smaller, so that they do not hide each other
_MANY_RINGS = 500
Spec = dict[str, Any]

_UNIT = {"domain": [0, 1]}
_CLOSE = {"nice": False, "zero": False}
_CERTAINTY = {"domain": [0, 1], "range": [0.2, 1.0], "clamp": True}


def draw(page: Page) -> dict[str, Spec]:
    """Return the charts of a report by name, leaving out those without data."""
    specs: dict[str, Spec] = {}
    for k, values in enumerate((page.history or {}).values()):
        specs[f"curve-{k}"] = curve(values)
    if page.confidences:
        specs["confidences"] = confidence_bars(page.confidences)
    if page.reliability:
        specs["reliability"] = reliability_curve(page.reliability)
    if page.learning_curve is not None:
        specs["learning"] = learning_band(page.learning_curve)
    if page.points:
        specs["map"] = node_scatter(page.points, map_classes(page.points, page.predictions))
    return specs


def chart(rows: Sequence[Spec], *layers: Spec, height: int | None = None) -> Spec:
    """Return a chart of layers that share the same rows."""
    spec: Spec = {"data": {"name": "rows"}, "datasets": {"rows": list(rows)}}
    spec |= layers[0] if len(layers) == 1 else {"layer": list(layers)}
    return spec | {"width": "container"} | ({} if height is None else {"height": height})


def layer(mark: Spec, **encoding: Any) -> Spec:
    """Return a mark with its encoding."""
    return {"mark": mark, "encoding": encoding}


def field(name: str, title: str | None = None, **more: Any) -> Spec:
    """Return the encoding of a numeric field."""
    return {"field": name, "type": "quantitative", "title": title, **more}


def _percent_axis(**settings: Any) -> Spec:
    return {"format": ".0%", "values": [0, 0.2, 0.4, 0.6, 0.8, 1.0], **settings}


def curve(values: Any) -> Spec:
    """Draw one quantity over the iterations, without non-finite values."""
    numbers = np.asarray(values, dtype=np.float64).ravel()
    rows = [{"k": k, "value": float(v)} for k, v in enumerate(numbers, start=1) if np.isfinite(v)]
    # with few iterations, Vega would place ticks at fractions
    ticks: Spec = {"values": list(range(1, len(numbers) + 1))} if len(numbers) <= 8 else {"tickCount": 6}
    line = layer(
        {"type": "line", "color": ACCENT, "strokeWidth": 2, "point": {"size": 26, "color": ACCENT}},
        x=field("k", "iteration", scale=_CLOSE, axis={"grid": False, "format": "d", **ticks}),
        y=field("value", scale={"zero": False}, axis={"tickCount": 5}),
        tooltip=[field("k", "iteration"), field("value", "value", format=".4~g")],
    )
    return chart(rows, line, height=180)


def histogram(rows: Sequence[Spec], x: Spec, tooltip: Sequence[Spec]) -> Spec:
    """Draw the number of nodes in bins, rows with ``low``, ``high`` and ``count``."""
    bars = layer(
        {"type": "rect", "color": ACCENT, "xOffset": 0.5, "x2Offset": -0.5},
        x=x,
        x2={"field": "high"},
        y=field("count", "nodes", axis={"format": ",d", "tickCount": 5}),
        y2={"field": "zero"},
        tooltip=[*tooltip, field("count", "nodes", format=",d")],
    )
    return chart([{**row, "zero": 0} for row in rows], bars, height=240)


def confidence_bars(bins: Sequence[Bin]) -> Spec:
    """Draw the number of nodes per bin of confidence."""
    return histogram(
        [{"low": b.low, "high": b.high, "count": b.count} for b in bins],
        field("low", "confidence", scale=_UNIT, axis=_percent_axis(grid=False)),
        [field("low", "from", format=".0%"), field("high", "to", format=".0%")],
    )


def diagonal(low: float, high: float, x: Spec, y: Spec) -> Spec:
    """Draw a dashed line on which both axes are equal."""
    line = {"type": "line", "color": "currentColor", "opacity": 0.7, "strokeDash": [4, 4], "strokeWidth": 1}
    return layer(line, x=x | {"field": "t"}, y=y | {"field": "t"}) | {
        "data": {"values": [{"t": low}, {"t": high}]}
    }


def reliability_curve(bins: Sequence[Bin]) -> Spec:
    """Draw accuracy against confidence; the diagonal is perfect calibration."""
    rows = [{"confidence": b.confidence, "accuracy": b.accuracy, "count": b.count} for b in bins]
    x = field("confidence", "confidence", scale=_UNIT, axis=_percent_axis())
    y = field("accuracy", "accuracy", scale=_UNIT, axis=_percent_axis())
    line = layer({"type": "line", "color": ACCENT, "strokeWidth": 1.5}, x=x, y=y)
    dots = layer(
        {"type": "circle", "color": ACCENT, "opacity": 0.9},
        x=x,
        y=y,
        size=field("count", scale={"range": [40, 320]}, legend=None),
        tooltip=[
            field("confidence", "confidence", format=".0%"),
            field("accuracy", "accuracy", format=".0%"),
            field("count", "labels", format=",d"),
        ],
    )
    return chart(rows, diagonal(0, 1, x, y), line, dots, height=240)


def learning_band(learned: LearningCurve) -> Spec:
    """Draw accuracy, or R², against the number of answers, with uncertainty, up to four times the given."""
    measure, (axis, one) = learned.measure, learned.measure.formats
    numbers = np.unique(
        np.geomspace(learned.sizes[0], min(4 * learned.n_labels, learned.n_nodes), 40).astype(int)
    )
    rows = [
        {"n": int(n), "accuracy": a, "low": low, "high": high}
        for n, (a, low, high) in ((n, learned.at(n)) for n in numbers)
    ]
    log: Spec = {"type": "log", "nice": False}
    apart = {"labelOverlap": "greedy", "labelSeparation": 10}
    x = field("n", measure.answers, scale=log, axis={"grid": False, "format": ",d", **apart})
    y: Spec = {"scale": {"zero": False}, "axis": {"format": axis}}
    band = layer(
        {"type": "area", "color": ACCENT, "opacity": 0.16},
        x=x,
        y=field("low", measure.name, **y),
        y2={"field": "high"},
    )
    line = layer(
        {"type": "line", "color": ACCENT, "strokeWidth": 2}, x=x, y=field("accuracy", measure.name, **y)
    )
    measured = [
        {"n": int(n), "accuracy": float(a)} for n, a in zip(learned.sizes, learned.accuracy, strict=True)
    ]
    dots = layer(
        {"type": "circle", "color": ACCENT, "size": 46, "opacity": 1},
        x=x,
        y=field("accuracy", measure.name, **y),
        tooltip=[field("n", measure.answers, format=",d"), field("accuracy", measure.name, format=one)],
    ) | {"data": {"values": measured}}
    now = layer({"type": "rule", "color": "currentColor", "strokeDash": [4, 4], "opacity": 0.6}, x=x) | {
        "data": {"values": [{"n": learned.n_labels}]}
    }
    return chart(rows, band, now, line, dots, height=240)


def map_classes(
    points: Sequence[MapPoint], predictions: Predictions | None = None
) -> list[tuple[str, str, int]]:
    """Return name, colour and number of nodes of each class on the map, most frequent first.

    With ``predictions``, all nodes are counted, not only those on the map.
    """
    counts = Counter(point.label for point in points)
    if predictions is not None:
        # if the model abstains, the map shows its most probable class
        shown = Counter(np.where(predictions.label == "", predictions.model_says, predictions.label).tolist())
        counts = Counter({name: shown[name] for name in counts})
    order = sorted(counts, key=lambda name: (-counts[name], name))
    return [(name, PALETTE[k] if k < len(PALETTE) else OTHER, counts[name]) for k, name in enumerate(order)]


def node_scatter(points: Sequence[MapPoint], classes: Sequence[tuple[str, str, int]]) -> Spec:
    """Draw the map of nodes: colour shows the class, opacity the confidence, a ring a given label."""
    class_index = {name: position for position, (name, _, _) in enumerate(classes)}
    rows = [
        {
            "id": point.id,
            "x": round(point.x, 4),
            "y": round(point.y, 4),
            "label": point.label,
            "confidence": round(point.confidence, 4),
            "given": "yes" if point.given else "no",
            "class": class_index[point.label],
        }
        for point in points
    ]
    return node_dots(
        rows,
        color={
            "field": "class",
            "type": "nominal",
            "scale": {"domain": list(range(len(classes))), "range": [colour for _, colour, _ in classes]},
            "legend": None,
        },
        opacity={
            "condition": {
                "test": "chosen < 0 || datum.class === chosen",
                **field("confidence", scale=_CERTAINTY, legend=None),
            },
            "value": 0.05,
        },
        tooltip=[
            field("id", "id", type="nominal"),
            field("label", "label", type="nominal"),
            field("confidence", "confidence", format=".0%"),
            field("given", "label given", type="nominal"),
        ],
    ) | {"params": [{"name": "chosen", "value": -1}]}


def node_dots(rows: Sequence[Spec], **encoding: Any) -> Spec:
    """Draw a map of nodes, rows with ``x`` and ``y``, and rings where ``given`` is "yes"."""
    many = sum(row["given"] == "yes" for row in rows) > _MANY_RINGS
    size, width = (42, 0.9) if many else (80, 1.4)
    bare: Spec = {
        "axis": {"labels": False, "ticks": False, "grid": False, "domain": False, "title": None},
        "scale": {"nice": False, "padding": 8},
    }

    def if_given(value: Any, otherwise: Any) -> Spec:
        return {"condition": {"test": "datum.given === 'yes'", "value": value}, "value": otherwise}

    dots = layer(
        {"type": "point", "filled": True, "shape": "circle"},
        x=field("x", **bare),
        y=field("y", **bare),
        size=if_given(size, 30),
        stroke=if_given("currentColor", "transparent"),
        strokeWidth={"value": width},
        **encoding,
    )
    # nodes with an answer come last, so that their rings are on top
    return chart(sorted(rows, key=lambda row: row["given"] == "yes"), dots)
