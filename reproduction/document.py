"""An artefact of the paper as one HTML file: table, claims, and a drawn figure; every name escaped."""

from pathlib import Path

import jinja2
import vl_convert
from markupsafe import Markup

from gssl.report.document import read_template
from reproduction import Result, grids
from reproduction.charts import paper_chart
from reproduction.facts import command, seeds_text, tolerance_text
from reproduction.tables import LEGEND, claim_texts, line_text

_TEMPLATE = Path(__file__).with_name("paper.html")


def render_result(result: Result) -> bytes:
    """Give an artefact as the bytes of an HTML file that needs no network and runs no script.

    Parameters
    ----------
    result : Result

    Returns
    -------
    bytes

    Examples
    --------
    >>> from reproduction import Artefact, Store, summarize
    >>> html = render_result(summarize(Artefact("tiny", "Table 0", "Tiny", ()), Store("nowhere.jsonl")))
    >>> html.startswith(b"<!doctype html>")
    True
    """
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["field"] = lambda line: line_text(line, long=True)
    # the drawing is made here from our own numbers and names, which Vega escapes
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
