"""The public API as a text file: every public name with its signature.

After an intended change, ``python tests/package/test_public_api.py`` rewrites the file; the difference
belongs in the changelog.
"""

from __future__ import annotations

import difflib
import inspect
import re
from pathlib import Path
from typing import Any

import pytest

SNAPSHOT = Path(__file__).with_name("public_api.txt")
SUBPACKAGES = (
    "graph",
    "operators",
    "methods",
    "evaluation",
    "selection",
    "datasets",
    "io",
    "torch",
    "report",
    "label",
)


def public_api() -> str:
    import gssl

    lines = []
    for subpackage in SUBPACKAGES:
        module = getattr(gssl, subpackage)
        for name in sorted(module.__all__):
            lines += _lines(f"gssl.{subpackage}.{name}", getattr(module, name))
    lines += [f"gssl.{name}" for name in sorted(gssl.__all__)]
    return "\n".join(lines) + "\n"


def _lines(path: str, thing: Any) -> list[str]:
    if inspect.isclass(thing):
        # members inherited from scikit-learn are not part of gssl's API
        own = {name for base in thing.__mro__ if base.__module__.startswith("gssl") for name in vars(base)}
        members = [name for name in sorted(own) if not name.startswith("_")]
        methods = [f"{path}.{name}{_signature(vars_of(thing, name))}" for name in members]
        return [f"class {path}{_signature(thing)}", *methods]
    return [f"{path}{_signature(thing)}"]


def vars_of(thing: type, name: str) -> Any:
    return next(vars(base)[name] for base in thing.__mro__ if name in vars(base))


def _signature(thing: Any) -> str:
    if not callable(thing):
        return ""
    try:
        signature = inspect.signature(thing)
    except (TypeError, ValueError):
        return ""
    # defaults as text without addresses; annotations are left to mypy
    parts = [part.replace(annotation=inspect.Parameter.empty) for part in signature.parameters.values()]
    text = str(signature.replace(parameters=parts, return_annotation=inspect.Signature.empty))
    return re.sub(r" at 0x[0-9a-f]+", "", text)


def test_names_and_signatures_are_those_that_were_promised():
    pytest.importorskip(
        "torch_geometric", reason="the subpackage of networks has names only where gssl[baselines] is"
    )
    difference = difflib.unified_diff(
        SNAPSHOT.read_text(encoding="utf-8").splitlines(),
        public_api().splitlines(),
        "promised",
        "now",
        "",
        "",
        0,
    )
    lines = "\n".join(difference)
    assert not lines, f"{lines}\nIf it is meant: python {Path(__file__).name}, and a line in CHANGELOG.md."


if __name__ == "__main__":
    SNAPSHOT.write_text(public_api(), encoding="utf-8")
