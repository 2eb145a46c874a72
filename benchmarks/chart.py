"""A chart of the ratios: a dot for the median, a line for the range, a tick for the goal."""

from pathlib import Path
from typing import Any

from benchmarks.entry import Row

_COLOURS = {"reached": "#2a7f62", "MISS": "#c0392b", "info": "#7f8c8d"}


def draw(rows: list[Row], folder: Path) -> list[Path]:
    """Write ``ratios.svg`` and ``ratios.png``; nothing if no ratio was measured."""
    import altair as alt

    records = [_record(row) for row in rows if row.unit == "×" and row.values]
    if not records:
        return []
    data = alt.Data(values=records)
    order = [record["label"] for record in records]
    x = alt.X("median:Q", title="times as fast as the rival", scale=alt.Scale(type="log"))
    y = alt.Y("label:N", sort=order, title=None, axis=alt.Axis(labelLimit=420))
    colour = alt.Color(
        "status:N", title=None, scale=alt.Scale(domain=list(_COLOURS), range=list(_COLOURS.values()))
    )
    base = alt.Chart(data)
    layers = alt.layer(
        base.mark_rule(strokeDash=[3, 3], color="#bdc3c7").encode(x=alt.datum(1)),
        base.mark_rule(strokeWidth=3, opacity=0.4).encode(x=alt.X("low:Q"), x2="high:Q", y=y, color=colour),
        base.mark_point(filled=True, size=70, opacity=1).encode(x=x, y=y, color=colour),
        base.transform_filter("isValid(datum.goal)")
        .mark_tick(thickness=2, size=16, color="black")
        .encode(x="goal:Q", y=y),
    )
    chart = layers.properties(title="gssl against its rivals (black tick: goal)", width=480)
    paths = [folder / "ratios.svg", folder / "ratios.png"]
    for path in paths:
        chart.save(path, **({"scale_factor": 2} if path.suffix == ".png" else {}))
    return paths


def _record(row: Row) -> dict[str, Any]:
    rival = row.rival.rsplit(":", 1)[0]
    return {
        "label": f"{row.name} / {rival}",
        "median": row.median,
        "low": min(row.values),
        "high": max(row.values),
        "goal": row.at_least,
        "status": row.status,
    }
