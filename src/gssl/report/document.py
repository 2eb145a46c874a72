"""From a page to HTML: one template, one script named by its hash, every name escaped."""

import base64
import hashlib
import json
from functools import cache
from importlib import resources
from typing import Any

import jinja2
import vl_convert
from markupsafe import Markup

from gssl.evaluation import Health
from gssl.report.canvas import OTHER, PALETTE
from gssl.report.charts import MAX_BARS, draw
from gssl.report.map_chart import map_classes
from gssl.report.page import Page

_FOLDER = resources.files("gssl.report").joinpath("templates")


def render(page: Page) -> bytes:
    """Give the page as the bytes of an HTML file.

    Parameters
    ----------
    page : Page

    Returns
    -------
    bytes

    Examples
    --------
    >>> from gssl.evaluation import graph_health
    >>> html = render(Page("x", "gssl classify", graph_health([[0, 1], [1, 0]], ["a", None])))
    >>> html.startswith(b"<!doctype html>")
    True
    """
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters.update(percent=_percent, duration=_duration, words=_words)
    script = _script()
    html = environment.from_string(read_template("page.html")).render(
        page=page,
        health=page.health,
        facts=_facts(page.health),
        curves=[(f"curve-{place}", name) for place, name in enumerate(page.history or {})],
        legend=map_classes(page.points),
        colours=len(PALETTE),
        other=OTHER,
        max_bars=MAX_BARS,
        charts=_json(draw(page)),
        style=Markup(read_template("page.css")),
        script=script,
        policy=_policy(script),
    )
    # half of a surrogate pair, which a file name may hold, has no UTF-8
    return html.encode("utf-8", errors="xmlcharrefreplace")


def read_template(name: str) -> str:
    """Give the text of a template."""
    return _FOLDER.joinpath(name).read_text(encoding="utf-8")


@cache
def _script() -> Markup:
    """Give our script with the libraries it draws by, safe to stand in a script element."""
    code = vl_convert.javascript_bundle(read_template("page.js"))
    # browsers hash it with line ends normalised
    code = code.replace("\r\n", "\n").replace("</script", "<\\/script").replace("<!--", "<\\!--")
    return Markup(code)


def _policy(script: Markup) -> str:
    """Allow the script of this file, by its hash, and nothing from anywhere else."""
    digest = base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")
    return (
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _json(value: Any) -> Markup:
    """Write data for a script element: ASCII, and no character that HTML could take for markup."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)


def _facts(health: Health) -> list[tuple[str, str, str]]:
    """Give name, value and remark of each fact about the graph."""
    degrees = health.degrees
    unreached = "a guess, without features" if health.n_features is None else "judged by features alone"
    facts = [
        ("Features", "none" if health.n_features is None else f"{health.n_features:,}", ""),
        ("Components", f"{health.n_components:,}", f"the largest has {health.largest_component:,} nodes"),
        ("Isolated nodes", f"{health.n_isolated:,}", "without a neighbour"),
        (
            "Neighbours per node",
            f"{degrees['mean']:.1f}",
            f"median {degrees['median']:.0f}, nine in ten have at most {degrees['p90']:.0f}, "
            f"the most {degrees['max']:,.0f}",
        ),
        ("Nodes no label reaches", f"{health.n_unreached:,}", unreached),
    ]
    if health.homophily is None:
        facts.append(("Edges that agree", "unknown", "no edge joins two labelled nodes"))
    else:
        remark = f"of {health.n_labelled_edges:,} edges between labelled nodes join the same class"
        facts.append(("Edges that agree", _percent(health.homophily, 0), remark))
    return facts


def _percent(value: float, digits: int = 1) -> str:
    return f"{100 * value:.{digits}f} %"


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.1f} seconds"
    return f"{seconds / 60:.1f} minutes" if seconds < 5400 else f"{seconds / 3600:.1f} hours"


def _words(name: str) -> str:
    """Turn ``smoothing_loss`` into words."""
    text = name.replace("_", " ")
    return text[:1].upper() + text[1:]
