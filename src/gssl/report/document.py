"""What pages share: the frame, facts about the graph and the run, and one script allowed by its hash."""

import base64
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache, partial
from importlib import import_module, resources
from importlib.metadata import version
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from gssl.datasets.location import cache_dir
from gssl.evaluation import Health
from gssl.io import whole_file
from gssl.wording import (
    elided,
    write_duration,
    write_estimate,
    write_fixed,
    write_number,
    write_probability,
    write_range,
    write_share,
    write_signed,
)

EXTRA = ("jinja2", "vl_convert")
# of the data beside a page; raised if a key changes its meaning or goes
FORMAT = 1


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


def shared_facts(page: Document, kind: str, headline: str, warning: str) -> dict[str, Any]:
    """Return the facts with which every page begins."""
    return {
        "format": FORMAT,
        "kind": kind,
        "title": page.title,
        "headline": headline,
        "warning": warning,
        "explain": page.explain,
        "graph": page.health,
        "command": page.command,
        "seconds": page.seconds,
        "versions": page.versions,
        "notes": page.notes,
    }


def write_document(
    path: str | Path,
    template: str,
    facts: Mapping[str, Any],
    charts: Mapping[str, Any],
    data: str | Path | None = None,
    write: Callable[[float], str] = write_number,
    **looks: Any,
) -> None:
    """Fill a template with facts and write it atomically as one HTML file; texts are escaped.

    If ``data`` is a path, the facts and the rows of charts are written there as JSON.
    """
    check_extra()
    html = _render(template, facts, charts, write, **looks)
    if data is None:
        with whole_file(path) as part:
            part.write_bytes(html)
        return
    if Path(path).resolve() == Path(data).resolve():
        raise ValueError(f"{path} is the path of both the page and its data: choose different ones.")
    rows = {name: spec["datasets"]["rows"] for name, spec in charts.items()}
    text = json.dumps(plain({**facts, "charts": rows}), ensure_ascii=False, allow_nan=False, indent=1)
    with whole_file(path) as part, whole_file(data) as other:
        part.write_bytes(html)
        other.write_text(f"{text}\n", encoding="utf-8")


def plain(value: Any) -> Any:
    """Return a value as what JSON has: numbers that are not finite become null, and dataclasses objects."""
    if is_dataclass(value) and not isinstance(value, type):
        value = {each.name: getattr(value, each.name) for each in fields(value)}
    if isinstance(value, Mapping):
        return {plain(str(key)): plain(each) for key, each in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, str):
        # half of a pair of surrogates is no text: browsers replace it, too
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, Sequence):
        return [plain(each) for each in value]
    return None if isinstance(value, float) and not isfinite(value) else value


def _render(
    template: str,
    facts: Mapping[str, Any],
    charts: Mapping[str, Any],
    write: Callable[[float], str],
    **looks: Any,
) -> bytes:
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
        percent=write_share,
        duration=write_duration,
        words=_words,
        count="{:,}".format,
        times=lambda count: {1: "once", 2: "twice"}.get(count, f"{count:,} times"),
        short=elided,
        signed=write_signed,
        number=write_number,
        fine=write,
        written=partial(_cell, write),
    )
    script = _script()
    html = environment.get_template(template).render(
        facts=facts,
        charts=Markup(_json(charts)),
        drawn=set(charts),
        style=Markup(read_template("page.css")),
        script=Markup(script),
        policy=_policy(script),
        **looks,
    )
    # a file name may contain a lone surrogate, which UTF-8 cannot encode
    return html.encode("utf-8", errors="xmlcharrefreplace")


def _cell(write: Callable[[float], str], row: Any, kind: str, key: Any) -> str:
    """Return the text of a value of a row, or of two for an interval or an estimate."""
    values = [
        row[k] if isinstance(row, Mapping) else getattr(row, k)
        for k in ([key] if isinstance(key, str) else key)
    ]
    writers: dict[str, Callable[..., str]] = {
        "text": str,
        "answer": lambda value: "yes" if value else "no",
        "count": "{:,}".format,
        "number": write,
        "ratio": partial(write_fixed, digits=1),
        "share": write_share,
        "probability": write_probability,
        "interval": partial(write_range, write=write),
        "shares": partial(write_range, write=partial(write_share, digits=1)),
        "fixed": partial(write_range, write=partial(write_fixed, digits=2)),
        "estimate": partial(write_estimate, digits=2, most=1.0),
    }
    return writers[kind](*values)


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
        (
            "Separate parts",
            f"{health.n_components:,}",
            f"without an edge between them; the largest has {health.largest_component:,} nodes",
        ),
        ("Isolated nodes", f"{health.n_isolated:,}", "without a neighbour"),
        (
            "Neighbours per node",
            write_fixed(degrees["mean"], 1),
            f"half have at most {write_number(degrees['median'])}, 90 % at most "
            f"{write_number(degrees['p90'])}, and one has {write_fixed(degrees['max'])}",
        ),
        (f"Nodes no {answer} reaches", f"{health.n_unreached:,}", unreached),
    ]


def _words(name: str) -> str:
    """Turn ``smoothing_loss`` into words."""
    text = name.replace("_", " ")
    return text[:1].upper() + text[1:]
