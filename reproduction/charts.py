"""Figures of the paper: a line for each method, ours solid, published dashed."""

from pathlib import Path
from typing import Any

import altair as alt
import vl_convert

from gssl.io import whole_file
from gssl.report.canvas import PALETTE, Spec
from reproduction import Result


def paper_chart(result: Result) -> Spec:
    """Draw an artefact's numbers over its columns, one panel for each group.

    Published numbers of methods that gssl does not have are left to the table, and so is what is no number of
    the chart's unit.

    Parameters
    ----------
    result : Result

    Returns
    -------
    dict
        A Vega-Lite specification.

    Examples
    --------
    >>> from reproduction import Artefact, Store, summarize
    >>> paper_chart(summarize(Artefact("tiny", "", "", ()), Store("nowhere.jsonl")))["datasets"]["rows"]
    []
    """
    rows = _rows(result)
    names = list(dict.fromkeys(row["method"] for row in rows))
    columns = list(dict.fromkeys(line.entry.column for line in result.lines if line.entry.drawn))
    base = (
        alt.Chart(alt.NamedData(name="rows"))
        .mark_line(strokeWidth=2, point={"filled": True, "size": 30})
        .encode(
            x=alt.X("column:N", sort=columns, title=result.artefact.x_title, axis=alt.Axis(labelAngle=0)),
            y=alt.Y("value:Q", title=result.artefact.unit, scale=alt.Scale(zero=False)),
            color=alt.Color(
                "method:N", sort=names, title="method", scale=alt.Scale(domain=names, range=list(PALETTE))
            ),
            strokeDash=alt.StrokeDash(
                "source:N",
                title="source",
                scale=alt.Scale(domain=["ours", "published"], range=[[1, 0], [5, 4]]),
            ),
            tooltip=[alt.Tooltip(f"{field}") for field in ("method:N", "column:N", "value:Q", "source:N")],
        )
        .properties(width=280, height=240)
    )
    if any(row["group"] for row in rows):
        groups = list(dict.fromkeys(row["group"] for row in rows))
        base = base.facet(column=alt.Column("group:N", sort=groups, title=None)).resolve_scale(
            y="independent"
        )
    spec: Spec = base.properties(title=f"{result.artefact.source}: {result.artefact.title}").to_dict()
    spec.setdefault("datasets", {})["rows"] = rows
    return spec


def write_chart(folder: str | Path, result: Result) -> list[Path]:
    """Write a figure as SVG, as PNG and as an HTML page that needs no network.

    Parameters
    ----------
    folder : path
    result : Result

    Returns
    -------
    list of Path
    """
    spec = paper_chart(result)
    drawn: dict[str, Any] = {
        ".svg": draw_svg(result),
        ".png": vl_convert.vegalite_to_png(spec, scale=2),
        "-chart.html": vl_convert.vegalite_to_html(spec, bundle=True).encode(),
    }
    written = []
    for ending, content in drawn.items():
        path = Path(folder) / f"{result.artefact.name}{ending}"
        with whole_file(path) as part:
            part.write_bytes(content)
        written.append(path)
    return written


def draw_svg(result: Result) -> bytes:
    """Draw a figure as SVG.

    Parameters
    ----------
    result : Result

    Returns
    -------
    bytes
    """
    return bytes(vl_convert.vegalite_to_svg(paper_chart(result)).encode())


def _rows(result: Result) -> list[Spec]:
    rows = []
    for line in result.lines:
        if not line.entry.cells or not line.entry.drawn:
            continue
        group, row, column = line.entry.place
        for source, value in (("ours", line.ours), ("published", line.entry.published)):
            if value is not None:
                rows.append(
                    {"group": group, "method": row, "column": column, "value": value, "source": source}
                )
    return rows
