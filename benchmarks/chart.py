"""A chart of the ratios: a dot for the median, a line for the range, a tick for the goal."""

from pathlib import Path
from typing import Any

from benchmarks.row import Measured, Row
from benchmarks.table import Line

_COLOURS = {"reached": "#2a7f62", "MISS": "#c0392b", "info": "#7f8c8d"}


def draw(lines: list[Line], folder: Path, *, quick: bool) -> None:
    """Write ``ratios.svg`` and ``ratios.png``; nothing if no ratio was measured."""
    import altair as alt

    records = [_record(*line, quick=quick) for line in lines if line[0].unit == "×" and line[1].values]
    if not records:
        return
    x = alt.X("median:Q", title="ratio", scale=alt.Scale(type="log"))
    y = alt.Y("label:N", sort=None, title=None, axis=alt.Axis(labelLimit=520))
    colour = alt.Color(
        "status:N", title=None, scale=alt.Scale(domain=list(_COLOURS), range=list(_COLOURS.values()))
    )
    base = alt.Chart(alt.Data(values=records))
    layers = alt.layer(
        base.mark_rule(strokeDash=[3, 3], color="#bdc3c7").encode(x=alt.datum(1)),
        base.mark_rule(strokeWidth=3, opacity=0.4).encode(x=alt.X("low:Q"), x2="high:Q", y=y, color=colour),
        base.mark_point(filled=True, size=70, opacity=1).encode(x=x, y=y, color=colour),
        base.mark_tick(thickness=2, size=16, color="black").encode(x="goal:Q", y=y),
    )
    chart = layers.properties(title="gssl beside its rivals (black tick: goal)", width=480)
    chart.save(folder / "ratios.svg")
    chart.save(folder / "ratios.png", scale_factor=2)


def _record(row: Row, measured: Measured, *, quick: bool) -> dict[str, Any]:
    return {
        "label": f"{row.name} / {row.versioned_rival}: {row.goal}",
        "median": measured.median,
        "low": min(measured.values),
        "high": max(measured.values),
        "goal": row.at_most if row.at_least is None else row.at_least,
        "status": row.status(measured, quick=quick),
    }
