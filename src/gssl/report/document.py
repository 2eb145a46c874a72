"""What pages share: the frame, facts about the graph and the run, and one script allowed by its hash."""

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module, resources
from importlib.metadata import version
from pathlib import Path
from typing import Any

from gssl.datasets.location import cache_dir
from gssl.evaluation import Health
from gssl.io import whole_file
from gssl.wording import elided

EXTRA = ("jinja2", "vl_convert")


@dataclass(frozen=True, eq=False)
class Document:
    """What every page tells about the graph and the run: see :class:`gssl.report.Page`."""

    title: str
    command: str
    health: Health
    versions: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    notes: Sequence[str] = ()
    explain: str = ""


def check_extra() -> None:
    """Raise ImportError if a library that reports need is missing.

    Examples
    --------
    >>> check_extra()
    """
    for name in EXTRA:
        try:
            import_module(name)
        except ImportError as error:
            if (error.name or "").split(".")[0] != name:
                raise
            raise ImportError(
                f"a page needs {name}, which is not installed: pip install gssl[report].", name=name
            ) from error


def write_document(
    path: str | Path, template: str, page: Document, charts: Mapping[str, Any], **contents: Any
) -> None:
    """Fill a template and write it atomically as one HTML file; texts are escaped."""
    check_extra()
    html = _render(template, page, charts, **contents)
    with whole_file(path) as part:
        part.write_bytes(html)


def _render(template: str, page: Document, charts: Mapping[str, Any], **contents: Any) -> bytes:
    """Return the page as the bytes of an HTML file."""
    # optional dependencies
    import jinja2
    from markupsafe import Markup

    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(read_template),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        percent=percent, duration=_duration, words=_words, count="{:,}".format, short=elided
    )
    script = _script()
    html = environment.get_template(template).render(
        page=page,
        health=page.health,
        charts=Markup(_json(charts)),
        style=Markup(read_template("page.css")),
        script=Markup(script),
        policy=_policy(script),
        **contents,
    )
    # a file name may contain a lone surrogate, which UTF-8 cannot encode
    return html.encode("utf-8", errors="xmlcharrefreplace")


def read_template(name: str) -> str:
    """Return the text of a template."""
    return resources.files("gssl.report").joinpath("templates", name).read_text(encoding="utf-8")


@cache
def _script() -> str:
    """Return page.js bundled with Vega; bundling takes a second or two, so the result is cached on disk."""
    source = read_template("page.js")
    key = hashlib.sha256(f"{version('vl-convert-python')}\n{source}".encode()).hexdigest()[:16]
    kept = cache_dir() / f"report-{key}.js"
    with suppress(OSError, UnicodeDecodeError):
        return kept.read_bytes().decode("utf-8")
    code = _bundle(source)
    with suppress(OSError), whole_file(kept) as part:
        part.write_bytes(code.encode("utf-8"))
    return code


def _bundle(source: str) -> str:
    """Return a script bundled with its imports, escaped for a script element."""
    import vl_convert

    code: str = vl_convert.javascript_bundle(source)
    # browsers normalise line endings before they compute the hash
    return code.replace("\r\n", "\n").replace("</script", "<\\/script").replace("<!--", "<\\!--")


def _policy(script: str) -> str:
    """Return a content security policy that allows this script, by its hash, and nothing else."""
    digest = base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")
    return (
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _json(value: Any) -> str:
    """Return data as ASCII JSON for a script element, with HTML characters escaped."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def if_possible(compute: Any, *inputs: Any, **options: Any) -> Any:
    """Return the result of a function, or None if it raises ValueError."""
    try:
        return compute(*inputs, **options)
    except ValueError:
        return None


def graph_facts(health: Health, answer: str) -> list[tuple[str, str, str]]:
    """Return the name, value and remark of facts about a graph; an ``answer`` is a label or a number."""
    degrees = health.degrees
    unreached = "a guess, without features" if health.n_features is None else "predicted from features alone"
    return [
        ("Edges", f"{health.n_edges:,}", ""),
        ("Features", "none" if health.n_features is None else f"{health.n_features:,}", ""),
        ("Components", f"{health.n_components:,}", f"the largest has {health.largest_component:,} nodes"),
        ("Isolated nodes", f"{health.n_isolated:,}", "without a neighbour"),
        (
            "Neighbours per node",
            f"{degrees['mean']:.1f}",
            f"median {degrees['median']:.0f}, 90 % have at most {degrees['p90']:.0f}, "
            f"maximum {degrees['max']:,.0f}",
        ),
        (f"Nodes no {answer} reaches", f"{health.n_unreached:,}", unreached),
    ]


def percent(value: float | None, digits: int = 1) -> str:
    """Return a share as text."""
    return "–" if value is None else f"{100 * value:.{digits}f} %"


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.1f} seconds"
    return f"{seconds / 60:.1f} minutes" if seconds < 5400 else f"{seconds / 3600:.1f} hours"


def _words(name: str) -> str:
    """Turn ``smoothing_loss`` into words."""
    text = name.replace("_", " ")
    return text[:1].upper() + text[1:]
