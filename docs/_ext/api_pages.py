"""The reference, written at each build from the public names themselves, so that none can be missing."""

import re
from importlib import import_module
from inspect import getdoc, isclass, ismodule, isroutine
from pathlib import Path
from typing import Any

import gssl

SUBPACKAGES: tuple[str, ...] = gssl._SUBPACKAGES
# the order in which a reader meets the kinds of names
KINDS = ("Classifiers", "Embedders", "Heads", "Functions and others")


def public_names() -> dict[str, list[str]]:
    """Return the public names of the package and of each subpackage, under the module that offers them."""
    names = {"gssl": [name for name in gssl.__all__ if name not in SUBPACKAGES and not name.startswith("__")]}
    for subpackage in SUBPACKAGES:
        module = import_module(f"gssl.{subpackage}")
        names[module.__name__] = sorted(getattr(module, "__all__", ["main"]))
    return names


def home(module: str, name: str) -> str:
    """Return the shortest path under which a name is documented."""
    same = name in gssl.__all__ and getattr(gssl, name) is find(f"{module}.{name}")
    return f"gssl.{name}" if same else f"{module}.{name}"


class Missing:
    """A name that needs a package which is not installed."""

    def __init__(self, error: ImportError) -> None:
        self.why = f"Not documented: the manual was built without a package that it needs: {error}"


def find(place: str) -> Any:
    """Return the object behind a public name, or why it is missing."""
    module, _, name = place.rpartition(".")
    try:
        return getattr(import_module(module), name)
    except ImportError as error:
        return Missing(error)


def summary(thing: Any) -> str:
    """Return the first sentence of a docstring; constants have none."""
    if isinstance(thing, Missing):
        return thing.why
    if not (isclass(thing) or isroutine(thing) or ismodule(thing)):
        return "A constant."
    text = (getdoc(thing) or "").split("\n\n")[0]
    # the table is no place for links that are relative to the docstring
    return re.sub(r":(?!math)\w+:`~?([^`]+)`", r"``\1``", " ".join(text.split()))


def kind(name: str, thing: Any) -> str:
    """Return the heading under which a name of the package stands."""
    if name.endswith("Head"):
        return "Heads"
    if isclass(thing) and hasattr(thing, "predict_proba"):
        return "Classifiers"
    return "Embedders" if isclass(thing) and hasattr(thing, "fit_transform") else "Functions and others"


def write_pages(folder: Path) -> list[str]:
    """Write a page for the package's own names, one for each of them, and one for each subpackage."""
    folder.mkdir(parents=True, exist_ok=True)
    names = public_names()
    pages = {"gssl": _package_page(names["gssl"])}
    pages |= {f"gssl.{name}": _own_page(f"gssl.{name}") for name in names["gssl"]}
    pages |= {
        module: _subpackage_page(module, listed) for module, listed in names.items() if module != "gssl"
    }
    _write(folder / "rooms.txt", "\n".join(_subpackages_table()))
    for page, text in pages.items():
        _write(folder / f"{page}.rst", text)
    for old in folder.glob("*.rst"):
        if old.stem not in pages:
            old.unlink()
    return list(pages)


def _write(path: Path, text: str) -> None:
    # an unchanged page is not read again
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def _title(text: str, line: str = "=") -> list[str]:
    return [text, line * len(text), ""]


def _table(places: list[str]) -> list[str]:
    rows = []
    for place in places:
        rows += [f"   * - :obj:`~{place}`", f"     - {summary(find(place))}"]
    return [".. list-table::", "   :widths: 30 70", "   :class: names", "", *rows, ""]


def _subpackages_table() -> list[str]:
    rows = ["   * - :doc:`gssl </api/names/gssl>`", "     - The estimators, and what is used most."]
    for subpackage in SUBPACKAGES:
        page = f":doc:`gssl.{subpackage} </api/names/gssl.{subpackage}>`"
        rows += [f"   * - {page}", f"     - {summary(import_module(f'gssl.{subpackage}'))}"]
    table = [".. list-table::", "   :widths: 25 75", "   :class: names", "", *rows, ""]
    pages = [
        f"   /api/names/{page}" for page in ("gssl", *(f"gssl.{subpackage}" for subpackage in SUBPACKAGES))
    ]
    return [*table, ".. toctree::", "   :hidden:", "", *pages, ""]


def _package_page(names: list[str]) -> str:
    lines = _title("gssl: estimators and main functions")
    lines += ["All of these are ``gssl.<name>``, and load when they are first used.", ""]
    for heading in KINDS:
        chosen = [name for name in names if kind(name, find(f"gssl.{name}")) == heading]
        lines += _title(heading, "-") + _table([f"gssl.{name}" for name in chosen])
    lines += [".. toctree::", "   :hidden:", "", *(f"   gssl.{name}" for name in names), ""]
    return "\n".join(lines)


def _own_page(place: str) -> str:
    return "\n".join([*_title(place), ".. currentmodule:: gssl", "", *_entry(place)])


def _subpackage_page(module: str, names: list[str]) -> str:
    subpackage = import_module(module)
    lines = [*_title(module), f".. module:: {module}", "", getdoc(subpackage) or "", ""]
    lines += _table([home(module, name) for name in names])
    for name in names:
        if home(module, name).startswith(f"{module}."):
            lines += _entry(f"{module}.{name}")
    return "\n".join(lines)


def _entry(place: str) -> list[str]:
    thing = find(place)
    if isinstance(thing, Missing):
        # no module prefix: the name is complete, and is on the page of its subpackage
        return [f".. data:: {place}", "   :module:", "", f"   {thing.why}", ""]
    if isclass(thing):
        return [f".. autoclass:: {place}", "   :members:", "   :inherited-members:", ""]
    return [f".. auto{'function' if isroutine(thing) else 'data'}:: {place}", ""]


def keep_own_members(app: Any, what: str, name: str, thing: Any, skip: bool, options: Any) -> bool | None:
    """Skip members inherited from scikit-learn, tuples or dataclasses."""
    source = getattr(thing, "fget", None) or getattr(thing, "func", None) or thing
    if not str(getattr(source, "__module__", "")).startswith("gssl"):
        return True
    return True if name.endswith("_request") or not getdoc(thing) else None


def find_at_home(app: Any, env: Any, node: Any, contnode: Any) -> Any:
    """Resolve a name that a docstring uses from its own subpackage, as gssl.io does ``save``."""
    if node.get("refdomain") != "py":
        return None
    module, _, name = node["reftarget"].rpartition(".")
    nearest = module or node.get("py:module")
    homes = {
        subpackage: home(subpackage, name) for subpackage, names in public_names().items() if name in names
    }
    if nearest not in homes and (module or len(set(homes.values())) != 1):
        return None
    place = homes.get(nearest) or next(iter(homes.values()))
    arguments = (app.builder, node["reftype"], place, node, contnode)
    return env.get_domain("py").resolve_xref(env, node["refdoc"], *arguments)


def check_all(app: Any, env: Any) -> None:
    """Warn, which fails the build, where a public name is not documented."""
    from sphinx.util.logging import getLogger  # the tests of this module do without Sphinx

    described = env.get_domain("py").objects
    for module, names in public_names().items():
        for name in names:
            if home(module, name) not in described:
                getLogger(__name__).warning("the reference lacks %s.%s", module, name)


def setup(app: Any) -> dict[str, bool]:
    """Write the pages when a build begins."""
    app.connect("builder-inited", lambda app: write_pages(Path(app.srcdir) / "api" / "names"))
    app.connect("autodoc-skip-member", keep_own_members)
    app.connect("missing-reference", find_at_home)
    app.connect("env-check-consistency", check_all)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
