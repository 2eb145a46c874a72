"""The reference, written at each build from the public names themselves, so that none can be missing."""

import re
from importlib import import_module
from inspect import getdoc, isclass, ismodule, isroutine
from pathlib import Path
from typing import Any

import gssl

SUBPACKAGES: tuple[str, ...] = gssl._SUBPACKAGES
# the pages of the reference: what a reader wants to do, in the order in which it is met
TASKS = {
    "fit": ("Fit a model", "Choose by itself, or one method; embedders, heads and networks."),
    "files": ("Read and write", "Tables, graphs, datasets and models; predictions as tables."),
    "trust": (
        "Trust",
        "What is right on hidden answers, what the graph adds, calibrated confidences, sets and intervals.",
    ),
    "explain": (
        "Explain and correct",
        "Why, which answers are doubtful, what to label next; reports and the labelling page.",
    ),
    "scale": ("Scale", "Memory, clusters and resumed runs; threads."),
    "operators": (
        "Operators and graphs",
        "The equations of the paper as pure functions, programs, and facts about graphs.",
    ),
}
# the subpackages of each task
_SUBPACKAGES = {
    "fit": "methods torch",
    "files": "io datasets cli",
    "trust": "evaluation selection",
    "explain": "report label",
    "scale": "scale",
    "operators": "operators graph",
}
# names that are for another task than the rest of their subpackage
_NAMES = {
    "fit": "AutoClassifier AutoRegressor classifier embedder search leave_one_out Entry Leaderboard",
    "explain": "audit why suggest suggestions learning_curve LearningCurve Audit NumberAudit SetAudit "
    "Explanation Explanations NumberExplanation NumberSuggestion SetSuggestion Suggestion Suggestions Voice "
    "node_map",
    "scale": "GraphStore build_graph_store open_graph_store get_threads set_threads",
}
_TASK_OF_SUBPACKAGE = {name: task for task, names in _SUBPACKAGES.items() for name in names.split()}
_TASK_OF_NAME = {name: task for task, names in _NAMES.items() for name in names.split()}
# the order in which a reader meets the kinds of names
KINDS = ("Classifiers", "Regressors", "Embedders", "Heads", "Functions", "Results and others")


def task_of(module: str, name: str) -> str:
    """Return the task under which a public name stands."""
    subpackage = module.removeprefix("gssl.")
    if module == "gssl":
        subpackage = gssl._NAMES.get(name, "methods")
    return _TASK_OF_NAME.get(name) or _TASK_OF_SUBPACKAGE[subpackage]


def names_by_task() -> dict[str, list[str]]:
    """Return where the names of each task are documented, those of the package itself first."""
    places: dict[str, list[str]] = {task: [] for task in TASKS}
    for module, names in public_names().items():
        for name in names:
            place = home(module, name)
            if place not in places[task_of(module, name)]:
                places[task_of(module, name)].append(place)
    return places


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
    """Return the heading under which a name stands on the page of its task."""
    if name.endswith("Head"):
        return "Heads"
    if isclass(thing) and hasattr(thing, "predict"):
        return "Classifiers" if hasattr(thing, "predict_proba") else "Regressors"
    if isclass(thing) and hasattr(thing, "fit_transform"):
        return "Embedders"
    return "Functions" if isroutine(thing) else "Results and others"


def write_pages(folder: Path) -> list[str]:
    """Write a page for each task, for each of the package's own names, and for each subpackage."""
    folder.mkdir(parents=True, exist_ok=True)
    names = public_names()
    pages = {f"task-{task}": _task_page(task, places) for task, places in names_by_task().items()}
    pages |= {f"gssl.{name}": _own_page(f"gssl.{name}") for name in names["gssl"]}
    pages |= {
        module: _subpackage_page(module, listed) for module, listed in names.items() if module != "gssl"
    }
    _write(folder / "tasks.txt", "\n".join(_tasks_table()))
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
        # two subpackages may have the same name
        shown = place if place.count(".") == 1 else place.removeprefix("gssl.")
        rows += [f"   * - :obj:`{shown} <{place}>`", f"     - {summary(find(place))}"]
    return [".. list-table::", "   :widths: 30 70", "   :class: names", "", *rows, ""]


def _tasks_table() -> list[str]:
    rows, modules = [], []
    for task, (title, about) in TASKS.items():
        rows += [f"   * - :doc:`{title} </api/names/task-{task}>`", f"     - {about}"]
    for subpackage in SUBPACKAGES:
        page = f":doc:`gssl.{subpackage} </api/names/gssl.{subpackage}>`"
        modules += [f"   * - {page}", f"     - {summary(import_module(f'gssl.{subpackage}'))}"]
    pages = [*(f"task-{task}" for task in TASKS), *(f"gssl.{subpackage}" for subpackage in SUBPACKAGES)]
    toctree = [".. toctree::", "   :hidden:", "", *(f"   /api/names/{page}" for page in pages), ""]
    head = [".. list-table::", "   :widths: 25 75", "   :class: names", ""]
    return [*head, *rows, "", *_title("By subpackage", "-"), *head, *modules, "", *toctree]


def _task_page(task: str, places: list[str]) -> str:
    title, about = TASKS[task]
    lines = [*_title(title), about, ""]
    for heading in KINDS:
        chosen = [place for place in places if kind(place.rpartition(".")[2], find(place)) == heading]
        if chosen:
            lines += _title(heading, "-") + _table(chosen)
    # names of subpackages are on the pages of these
    own = [place for place in places if place.count(".") == 1]
    return "\n".join([*lines, ".. toctree::", "   :hidden:", "", *(f"   {place}" for place in own), ""])


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
