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


def draw(page: Page) -> dict[str, Spec]:
    """Return the charts of a report by name, leaving out those without data."""
    specs: dict[str, Spec] = {}
    for k, values in enumerate((page.history or {}).values()):
        specs[f"curve-{k}"] = curve(values)
    if page.confidences:
        specs["confidences"] = histogram(page.confidences)
    if page.reliability:
        specs["reliability"] = reliability_curve(page.reliability)
    if page.learning_curve is not None:
        specs["learning"] = learning_band(page.learning_curve)
    if page.points:
        specs["map"] = node_scatter(page.points, map_classes(page.points, page.predictions))
    return specs


def _chart(rows: Sequence[Spec], *layers: Spec, height: int | None = None) -> Spec:
    """Return a chart of layers that share the same rows."""
    spec: Spec = {"data": {"name": "rows"}, "datasets": {"rows": list(rows)}}
    spec |= layers[0] if len(layers) == 1 else {"layer": list(layers)}
    return spec | {"width": "container"} | ({} if height is None else {"height": height})


def _layer(mark: Spec, **encoding: Any) -> Spec:
    return {"mark": mark, "encoding": encoding}


def _field(name: str, title: str | None = None, **more: Any) -> Spec:
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
    line = _layer(
        {"type": "line", "color": ACCENT, "strokeWidth": 2, "point": {"size": 26, "color": ACCENT}},
        x=_field("k", "iteration", scale=_CLOSE, axis={"grid": False, "format": "d", **ticks}),
        y=_field("value", scale={"zero": False}, axis={"tickCount": 5}),
        tooltip=[_field("k", "iteration"), _field("value", "value", format=".4~g")],
    )
    return _chart(rows, line, height=180)


def histogram(bins: Sequence[Bin]) -> Spec:
    """Draw the number of nodes per bin of confidence."""
    rows = [{"low": b.low, "high": b.high, "count": b.count, "zero": 0} for b in bins]
    bars = _layer(
        {"type": "rect", "color": ACCENT, "xOffset": 0.5, "x2Offset": -0.5},
        x=_field("low", "confidence", scale=_UNIT, axis=_percent_axis(grid=False)),
        x2={"field": "high"},
        y=_field("count", "nodes", axis={"format": ",d", "tickCount": 5}),
        y2={"field": "zero"},
        tooltip=[
            _field("low", "from", format=".0%"),
            _field("high", "to", format=".0%"),
            _field("count", "nodes", format=",d"),
        ],
    )
    return _chart(rows, bars, height=240)


def reliability_curve(bins: Sequence[Bin]) -> Spec:
    """Draw accuracy against confidence; the diagonal is perfect calibration."""
    rows = [{"confidence": b.confidence, "accuracy": b.accuracy, "count": b.count} for b in bins]
    diagonal = _layer(
        {"type": "line", "color": "currentColor", "opacity": 0.7, "strokeDash": [4, 4], "strokeWidth": 1},
        x=_field("t", "confidence"),
        y=_field("t", "accuracy"),
    ) | {"data": {"values": [{"t": 0}, {"t": 1}]}}
    x = _field("confidence", "confidence", scale=_UNIT, axis=_percent_axis())
    y = _field("accuracy", "accuracy", scale=_UNIT, axis=_percent_axis())
    line = _layer({"type": "line", "color": ACCENT, "strokeWidth": 1.5}, x=x, y=y)
    dots = _layer(
        {"type": "circle", "color": ACCENT, "opacity": 0.9},
        x=x,
        y=y,
        size=_field("count", scale={"range": [40, 320]}, legend=None),
        tooltip=[
            _field("confidence", "confidence", format=".0%"),
            _field("accuracy", "accuracy", format=".0%"),
            _field("count", "labels", format=",d"),
        ],
    )
    return _chart(rows, diagonal, line, dots, height=240)


def learning_band(learned: LearningCurve) -> Spec:
    """Draw accuracy against the number of labels, with uncertainty, up to four times the given number."""
    numbers = np.unique(
        np.geomspace(learned.sizes[0], min(4 * learned.n_labels, learned.n_nodes), 40).astype(int)
    )
    rows = [
        {"n": int(n), "accuracy": a, "low": low, "high": high}
        for n, (a, low, high) in ((n, learned.at(n)) for n in numbers)
    ]
    x = _field("n", "labels", scale={"type": "log", "nice": False}, axis={"grid": False, "format": ",d"})
    y: Spec = {"scale": {"zero": False}, "axis": {"format": ".0%"}}
    band = _layer(
        {"type": "area", "color": ACCENT, "opacity": 0.16},
        x=x,
        y=_field("low", "accuracy", **y),
        y2={"field": "high"},
    )
    line = _layer(
        {"type": "line", "color": ACCENT, "strokeWidth": 2}, x=x, y=_field("accuracy", "accuracy", **y)
    )
    measured = [
        {"n": int(n), "accuracy": float(a)} for n, a in zip(learned.sizes, learned.accuracy, strict=True)
    ]
    dots = _layer(
        {"type": "circle", "color": ACCENT, "size": 46, "opacity": 1},
        x=x,
        y=_field("accuracy", "accuracy", **y),
        tooltip=[_field("n", "labels", format=",d"), _field("accuracy", "accuracy", format=".1%")],
    ) | {"data": {"values": measured}}
    now = _layer({"type": "rule", "color": "currentColor", "strokeDash": [4, 4], "opacity": 0.6}, x=x) | {
        "data": {"values": [{"n": learned.n_labels}]}
    }
    return _chart(rows, band, now, line, dots, height=240)


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
        # draw labelled nodes last, so that their rings are on top
        for point in sorted(points, key=lambda point: point.given)
    ]
    many = sum(point.given for point in points) > _MANY_RINGS
    size, width = (42, 0.9) if many else (80, 1.4)
    bare: Spec = {
        "axis": {"labels": False, "ticks": False, "grid": False, "domain": False, "title": None},
        "scale": {"nice": False, "padding": 8},
    }
    certainty = {"domain": [0, 1], "range": [0.2, 1.0], "clamp": True}

    def if_given(value: Any, otherwise: Any) -> Spec:
        return {"condition": {"test": "datum.given === 'yes'", "value": value}, "value": otherwise}

    dots = _layer(
        {"type": "point", "filled": True, "shape": "circle"},
        x=_field("x", **bare),
        y=_field("y", **bare),
        color={
            "field": "class",
            "type": "nominal",
            "scale": {"domain": list(range(len(classes))), "range": [colour for _, colour, _ in classes]},
            "legend": None,
        },
        opacity={
            "condition": {
                "test": "chosen < 0 || datum.class === chosen",
                **_field("confidence", scale=certainty, legend=None),
            },
            "value": 0.05,
        },
        size=if_given(size, 30),
        stroke=if_given("currentColor", "transparent"),
        strokeWidth={"value": width},
        tooltip=[
            _field("id", "id", type="nominal"),
            _field("label", "label", type="nominal"),
            _field("confidence", "confidence", format=".0%"),
            _field("given", "label given", type="nominal"),
        ],
    )
    return _chart(rows, dots | {"params": [{"name": "chosen", "value": -1}]})
