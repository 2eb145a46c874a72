"""Charts of predicted numbers, as Vega-Lite specifications: see :mod:`gssl.report.charts`."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gssl.evaluation.number_accuracy import NumberAccuracy
from gssl.io import NumberPredictions
from gssl.report.charts import ACCENT, Spec, chart, diagonal, field, histogram, layer, node_dots
from gssl.selection.number_search import NumberScale

# colours of medium lightness for small to large numbers, legible in light and dark mode
GRADIENT = ("#4169c8", "#8d6fca", "#cf5563", "#e0a03c")
_MAX_POINTS = 1500
_BINS, _BAND = 30, 20
# bins by size, and the fewest numbers in one
_SIZES, _FEWEST = 10, 5
# share of the numbers below, and above, the colours of the map
_TAIL = 2.0


@dataclass(frozen=True, eq=False)
class Drawn:
    """How numbers are drawn: axes are logarithmic if the model predicts logarithms; ``text`` writes one."""

    scale: NumberScale
    text: Callable[[float], str]

    def axis_scale(self, numbers: np.ndarray) -> Spec:
        """Return a scale just wide enough for some numbers."""
        values = self.scale.values(numbers)
        margin = 0.03 * np.ptp(values) or 1.0
        domain = self.scale.numbers(np.array([values.min() - margin, values.max() + margin]))
        return {"type": "log" if self.scale.log else "linear", "domain": domain.tolist(), "nice": False}


def _text(name: str, title: str) -> Spec:
    return field(name, title, type="nominal")


def fit_scatter(accuracy: NumberAccuracy, ids: np.ndarray, drawn: Drawn) -> Spec:
    """Draw hidden numbers against predictions; the dashed line is a perfect prediction."""
    order = np.argsort(accuracy.truth, kind="stable")
    shown = order[np.unique(np.linspace(0, len(order) - 1, _MAX_POINTS).round().astype(int))]
    truth, says = accuracy.truth[shown], accuracy.predicted[shown]
    rows = [
        {
            "id": ids[k],
            "x": float(accuracy.predicted[k]),
            "y": float(accuracy.truth[k]),
            "says": drawn.text(accuracy.predicted[k]),
            "hidden": drawn.text(accuracy.truth[k]),
            "interval": f"{drawn.text(accuracy.low[k])} to {drawn.text(accuracy.high[k])}",
        }
        for k in shown
    ]
    scale = drawn.axis_scale(np.concatenate([truth, says]))
    x = field("x", "model says", scale=scale, axis={"tickCount": 5, "labelOverlap": True})
    y = field("y", "hidden number", scale=scale, axis={"tickCount": 5, "labelOverlap": True})
    dots = layer(
        {"type": "circle", "color": ACCENT, "size": 22, "opacity": 0.55 if len(rows) > 300 else 0.8},
        x=x,
        y=y,
        tooltip=[
            _text("id", "id"),
            _text("says", "model says"),
            _text("hidden", "hidden number"),
            _text("interval", "interval"),
        ],
    )
    area = layer(
        {"type": "area", "color": ACCENT, "opacity": 0.14, "clip": True},
        x=x,
        y=y | {"field": "low"},
        y2={"field": "high"},
    ) | {"data": {"values": _interval_band(accuracy, drawn.scale)}}
    low, high = scale["domain"]
    return chart(rows, area, diagonal(low, high, x, y), dots, height=360)


def _interval_band(accuracy: NumberAccuracy, scale: NumberScale) -> list[Spec]:
    """Return the usual limits of intervals along the predictions."""
    values, low, high = (scale.values(each) for each in (accuracy.predicted, accuracy.low, accuracy.high))
    groups = np.array_split(np.argsort(values, kind="stable"), min(_BAND, len(values)))
    at, below, above = (
        np.array([np.median(column[group]) for group in groups])
        for column in (values, values - low, high - values)
    )
    # to both ends of the predictions
    at = np.concatenate([[values.min()], at, [values.max()]])
    below, above = (np.pad(width, 1, mode="edge") for width in (below, above))
    columns = [scale.numbers(column) for column in (at, at - below, at + above)]
    return [
        dict(zip(("x", "low", "high"), map(float, row), strict=True)) for row in zip(*columns, strict=True)
    ]


@dataclass(frozen=True)
class SizeBin:
    """Numbers whose predictions are of similar size: their mean error, and the share within intervals."""

    low: float
    high: float
    count: int
    error: float
    within: float


def size_bins(accuracy: NumberAccuracy) -> list[SizeBin]:
    """Split hidden numbers by the size of their predictions into up to ten bins of about the same number."""
    n_bins = max(1, min(_SIZES, len(accuracy.truth) // _FEWEST))
    edges = np.unique(np.quantile(accuracy.predicted, np.linspace(0, 1, n_bins + 1)))
    bins = np.clip(np.searchsorted(edges, accuracy.predicted, side="right") - 1, 0, max(0, len(edges) - 2))
    return [
        SizeBin(
            float(edges[k]),
            float(edges[min(k + 1, len(edges) - 1)]),
            int((bins == k).sum()),
            float(accuracy.errors[bins == k].mean()),
            float(accuracy.within[bins == k].mean()),
        )
        for k in np.unique(bins)
    ]


def error_bars(bins: Sequence[SizeBin], drawn: Drawn) -> Spec:
    """Draw the mean error for each size of the prediction."""
    rows = [
        {
            "k": k,
            "range": f"{drawn.text(b.low)} to {drawn.text(b.high)}",
            "error": b.error,
            "off": drawn.text(b.error),
            "count": b.count,
            "within": b.within,
        }
        for k, b in enumerate(bins)
    ]
    bars = layer(
        {"type": "bar", "color": ACCENT, "height": {"band": 0.75}},
        y={
            "field": "range",
            "type": "nominal",
            "sort": {"field": "k", "order": "descending"},
            "title": "model says",
            "axis": {"grid": False, "ticks": False, "domain": False},
        },
        # few digits may write two ranges alike
        x=field("error", "mean error", stack=None, axis={"tickCount": 4}),
        tooltip=[
            _text("range", "model says"),
            _text("off", "mean error"),
            field("within", "within intervals", format=".0%"),
            field("count", "hidden numbers", format=",d"),
        ],
    )
    return chart(rows, bars, height=360)


def number_histogram(numbers: np.ndarray, drawn: Drawn) -> Spec:
    """Draw how many nodes have which predicted number."""
    counts, edges = np.histogram(drawn.scale.values(numbers), bins=_BINS)
    edges = drawn.scale.numbers(edges)
    rows = [
        {
            "low": float(low),
            "high": float(high),
            "count": int(count),
            "from": drawn.text(low),
            "to": drawn.text(high),
        }
        for low, high, count in zip(edges[:-1], edges[1:], counts, strict=True)
        if count
    ]
    scale = drawn.axis_scale(edges)
    axis = {"grid": False, "tickCount": 8, "labelOverlap": True}
    x = field("low", "model says", scale=scale, axis=axis)
    return histogram(rows, x, [_text("from", "from"), _text("to", "to")])


def colour_ends(numbers: np.ndarray, scale: NumberScale) -> np.ndarray:
    """Return the numbers of the first, the middle and the last colour of the map."""
    low, high = np.percentile(scale.values(numbers), [_TAIL, 100.0 - _TAIL])
    return scale.numbers(np.array([low, (low + high) / 2, high]))


def number_map(
    predictions: NumberPredictions, indices: np.ndarray, xy: np.ndarray, ends: np.ndarray, drawn: Drawn
) -> Spec:
    """Draw the map of nodes: colour shows the predicted number, a ring a given one."""
    low, _, high = drawn.scale.values(ends)
    values = drawn.scale.values(predictions.model_says[indices])
    levels = np.clip((values - low) / (high - low or 1.0), 0.0, 1.0)
    rows: list[dict[str, Any]] = [
        {
            "id": predictions.id[k],
            "x": round(float(x), 4),
            "y": round(float(y), 4),
            "level": round(float(level), 3),
            "says": drawn.text(predictions.model_says[k]),
            "given": "yes" if predictions.given[k] else "no",
            "number": drawn.text(predictions.value[k]) if predictions.given[k] else "none",
        }
        for k, (x, y), level in zip(indices, xy, levels, strict=True)
    ]
    steps = np.linspace(0, 1, len(GRADIENT)).round(4).tolist()
    return node_dots(
        rows,
        color=field(
            "level", scale={"domain": steps, "range": list(GRADIENT), "interpolate": "rgb"}, legend=None
        ),
        opacity={"value": 0.85},
        tooltip=[_text("id", "id"), _text("says", "model says"), _text("number", "given number")],
    )
