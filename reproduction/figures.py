"""Artefacts as figures (ours solid, published dashed) and as one HTML file each; every name escaped."""

from pathlib import Path
from typing import Any

import altair as alt
import jinja2
import vl_convert
from markupsafe import Markup

from gssl.io import whole_file
from gssl.report.charts import PALETTE, Spec
from gssl.report.document import read_template
from reproduction.summary import Result, grids
from reproduction.tables import LEGEND, claim_texts, command, line_text, seeds_text, tolerance_text

_TEMPLATE = Path(__file__).with_name("paper.html")


def paper_chart(result: Result) -> Spec:
    """Plot an artefact's numbers over its columns, one panel for each group.

    Methods without a cell that can be run, and entries with ``drawn=False``, appear only in the table.
    """
    rows = _rows(result)
    names = list(dict.fromkeys(row["method"] for row in rows))
    columns = list(dict.fromkeys(line.entry.column for line in result.lines if line.entry.drawn))
    base = (
        alt.Chart(alt.NamedData(name="rows"))
        .mark_line(strokeWidth=2, point={"filled": True, "size": 30})
        .encode(
            x=alt.X("column:N", sort=columns, title=result.artefact.x_title, axis=alt.Axis(labelAngle=0)),
            y=alt.Y(
                "value:Q",
                title=result.artefact.unit,
                scale=alt.Scale(type="log") if result.artefact.log else alt.Scale(zero=False),
            ),
            color=alt.Color(
                "method:N",
                sort=names,
                title="method",
                scale=alt.Scale(domain=names, range=list(PALETTE)),
                legend=alt.Legend(labelLimit=0),
            ),
            # colours repeat if there are many methods, so shapes differ
            shape=alt.Shape(
                "method:N",
                sort=names,
                title="method",
                scale=alt.Scale(domain=names, range=[_shape(k) for k in range(len(names))]),
            ),
            strokeDash=alt.StrokeDash(
                "source:N",
                scale=alt.Scale(domain=["ours", "published"], range=[[1, 0], [5, 4]]),
                legend=None,
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
    dashed = " (dashed: published)" if any(row["source"] == "published" for row in rows) else ""
    title = f"{result.artefact.source}: {result.artefact.title}{dashed}"
    spec: Spec = base.properties(title=title).to_dict()
    spec.setdefault("datasets", {})["rows"] = rows
    # fonts differ between systems: leave room so that long names are not cut off
    spec["padding"] = {"left": 5, "top": 5, "right": 30, "bottom": 5}
    return spec


def _shape(k: int) -> str:
    """Return the point shape of the method at this position: a new one each time the colours repeat."""
    return ("circle", "square", "triangle-up", "diamond")[k // len(PALETTE) % 4]


def write_chart(folder: str | Path, result: Result) -> list[Path]:
    """Write a figure as SVG, PNG and a self-contained HTML page."""
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
    """Draw a figure as SVG."""
    return bytes(vl_convert.vegalite_to_svg(paper_chart(result)).encode())


def _rows(result: Result) -> list[Spec]:
    rows = []
    for line in result.lines:
        if not line.entry.cells or not line.entry.drawn:
            continue
        group, row, column = line.entry.position
        for source, value in (("ours", line.ours), ("published", line.entry.published)):
            if value is not None:
                rows.append(
                    {"group": group, "method": row, "column": column, "value": value, "source": source}
                )
    return rows


def render_result(result: Result) -> bytes:
    """Return an artefact as a self-contained HTML file without scripts, in bytes."""
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["field"] = lambda line: line_text(line, long=True)
    # safe as markup: Vega escapes the names that it draws
    figure = Markup(vl_convert.vegalite_to_svg(paper_chart(result))) if result.artefact.x_title else ""
    html = environment.from_string(_TEMPLATE.read_text(encoding="utf-8")).render(
        result=result,
        artefact=result.artefact,
        grids=grids(result),
        claims=claim_texts(result),
        command=command(result),
        facts=f"{seeds_text(result)} · {tolerance_text(result)}",
        legend=LEGEND,
        figure=figure,
        style=Markup(read_template("page.css")),
    )
    return html.encode("utf-8")
