"""The parts of a table of the paper: entries that pair a computation with a published number."""

import ast
import hashlib
import json
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from gssl import methods
from gssl.datasets import Dataset, load
from gssl.datasets.location import find_file

BUDGETS: dict[str, tuple[str, ...]] = {"train": ("train",), "train+validation": ("train", "val")}
CITATIONS = {"Cora": "planetoid/cora", "Citeseer": "planetoid/citeseer", "Pubmed": "planetoid/pubmed"}
Position = tuple[str, str, str]
Measure = Callable[["Cell", int], dict[str, float]]
MEASURES: dict[str, Measure] = {}

_PARTS: dict[str, type] = {}
_WALKS = frozenset({"DeepWalk", "Node2Vec"})
_DEEP_PACKAGES = ("torch", "torch_geometric")


@cache
def network_modules() -> dict[str, str]:
    """Find the module of each class of reproduction.networks without importing it (and torch)."""
    return {
        node.name: f"reproduction.networks.{file.stem}"
        for file in sorted(Path(__file__).with_name("networks").glob("*.py"))
        for node in ast.parse(file.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    }


@lru_cache(maxsize=4)
def dataset_of(name: str) -> Dataset:
    """Load a graph, cached, with feature rows that sum to one, as the published settings assume."""
    return load(name).normalized()


def measure(name: str) -> Callable[[Measure], Measure]:
    """Register a function as the measure of this name."""

    def register(function: Measure) -> Measure:
        if name in MEASURES:
            raise ValueError(f"there is a measure {name!r} already: choose another name.")
        MEASURES[name] = function
        return function

    return register


def find_measure(name: str) -> Measure:
    """Return the measure of this name."""
    import_module("reproduction.measures")  # the common ones; others are registered by their table
    if name not in MEASURES:
        raise ValueError(f"there is no measure {name!r}: import the module that registers it.")
    return MEASURES[name]


def part(kind: type) -> type:
    """Register a class under its own name, for parts of methods that gssl does not export."""
    _PARTS[kind.__name__] = kind
    return kind


def has_estimator(name: str) -> bool:
    """Return whether there is such an estimator and its packages are installed."""
    if name in network_modules():
        # check packages first: importing a network imports them
        return all(find_spec(package) for package in _DEEP_PACKAGES)
    if name not in _PARTS and name not in _WALKS and name not in vars(methods)["__all__"]:
        return False
    return all(find_spec(package) for package in getattr(estimator(name), "_packages", ()))


def estimator(name: str) -> Any:
    """Return the class or factory of an estimator: of gssl, a walk, a network, or a registered part."""
    if name in _PARTS:
        return _PARTS[name]
    if name in _WALKS:
        return getattr(import_module("reproduction.skipgram"), name)
    if name in network_modules():
        networks = import_module("reproduction.networks")
        return partial(networks.embedder if name in networks.EMBEDDERS else networks.classifier, name)
    return getattr(methods, name)


def build(settings: Any, seed: int) -> Any:
    """Build the estimators in settings, nested ones included; the seed is the random_state of each."""
    if not isinstance(settings, Mapping) or "method" not in settings:
        return settings
    kind = estimator(settings["method"])
    if "plugins" in settings:
        kind = partial(import_module("reproduction.networks").plugged_classifier, settings["method"])
        kind = partial(kind, **settings["plugins"])
    model = kind(**{name: build(value, seed) for name, value in settings.get("params", {}).items()})
    return model.set_params(random_state=seed) if "random_state" in model.get_params(deep=False) else model


def method_names(settings: Any) -> Iterator[str]:
    """Yield the names of the estimators in settings, nested ones included."""
    if isinstance(settings, Mapping):
        if "method" in settings:
            yield settings["method"]
        for value in settings.values():
            yield from method_names(value)


@dataclass(frozen=True, eq=False)
class Cell:
    """One computation for each seed; its values may fill many entries.

    ``settings`` are plain JSON, in which ``{"method": name, "params": {…}}`` stands for an estimator.
    ``random`` is False if the result does not depend on the seed. ``slow`` cells are skipped in quick runs.
    ``needs`` is a file that the computation requires.
    """

    measure: str
    dataset: str
    settings: Mapping[str, Any]
    budget: str = "train"
    split: str = "public"
    random: bool = True
    slow: bool = False
    needs: str = ""

    def question(self, seed: int) -> dict[str, Any]:
        """Return what a run computes, in plain JSON."""
        return {
            "measure": self.measure,
            "dataset": self.dataset,
            "split": self.split,
            "budget": self.budget,
            "settings": self.settings,
            "seed": seed,
        }

    def key(self, seed: int) -> str:
        """Return a hash of what a run computes."""
        text = json.dumps(self.question(seed), sort_keys=True, ensure_ascii=True)
        return hashlib.sha256(text.encode("ascii")).hexdigest()[:24]

    def seeds(self, count: int) -> range:
        """Return the seeds to run: only one if nothing is random."""
        return range(count if self.random else 1)

    @property
    def title(self) -> str:
        """A description of the computation."""
        names = ", ".join(dict.fromkeys(method_names(self.settings)))
        return f"{self.measure} of {names or 'no method'} on {self.dataset}, labels: {self.budget}"

    @property
    def available(self) -> bool:
        """Whether the data and all methods in the settings are available."""
        return not self.obstacle

    @property
    def obstacle(self) -> str:
        """The reason why the cell cannot be run here; empty if it can."""
        if not _is_here(self.needs):
            return f"{self.needs} is not here"
        missing = [name for name in method_names(self.settings) if not has_estimator(name)]
        return f"{missing[0]} is not installed" if missing else ""


def _is_here(file: str) -> bool:
    try:
        return not file or find_file(file).exists()
    except FileNotFoundError:
        return False


@dataclass(frozen=True, eq=False)
class Entry:
    """One number of a table: its position, the published number, and the cell that computes it.

    Each ``group`` of an artefact is a separate table. ``value`` names one of the cell's values, from which
    the same value of ``minus`` is subtracted, seed by seed. A difference up to ``tolerance`` is a hit; if it
    is None nothing is judged. ``budget`` names the labels used, the cell's if None. ``digits`` are decimals;
    −1 is scientific notation. With ``both_ways``, a higher number is a miss too. ``drawn`` entries are in the
    chart. ``absent`` says why there is no cell.
    """

    row: str
    column: str
    group: str = ""
    published: float | None = None
    cell: Cell | None = None
    value: str = "accuracy"
    minus: Cell | None = None
    tolerance: float | None = None
    budget: str | None = None
    digits: int = 1
    both_ways: bool = False
    drawn: bool = True
    absent: str = ""

    @property
    def position(self) -> Position:
        """Group, row and column."""
        return self.group, self.row, self.column

    @property
    def cells(self) -> tuple[Cell, ...]:
        """The cells to compute; empty if any of them is not available."""
        wanted = tuple(cell for cell in (self.cell, self.minus) if cell is not None)
        return wanted if all(cell.available for cell in wanted) else ()

    @property
    def labels(self) -> str:
        """The label budget of the number."""
        if self.budget is not None:
            return self.budget
        return "" if self.cell is None else self.cell.budget


@dataclass(frozen=True, eq=False)
class Claim:
    """A claim of the paper, as pairs of positions or as a rule on the means by position.

    The first of each of the ``pairs`` is claimed to be greater than the second, judged by paired tests over
    seeds. ``rule`` is any other condition; it raises KeyError if a mean is missing.
    """

    text: str
    rule: Callable[[Mapping[Position, float]], bool] | None = None
    pairs: tuple[tuple[Position, Position], ...] = ()

    def holds(self, means: Mapping[Position, float]) -> bool:
        """Return whether the claim is true for given numbers, without a test."""
        if self.rule is not None:
            return bool(self.rule(means))
        return all(means[more] > means[less] for more, less in self.pairs)


@dataclass(frozen=True, eq=False)
class Artefact:
    """A table or figure: its name on the command line, its number in the paper, and its entries.

    ``unit`` describes the numbers; ``note`` is text for the reader, one sentence per
    line and an empty line between paragraphs. With an ``x_title``, columns are also
    drawn as a chart, with a logarithmic y-axis if ``log``.
    """

    name: str
    source: str
    title: str
    entries: tuple[Entry, ...]
    unit: str = "accuracy %"
    note: str = ""
    claims: tuple[Claim, ...] = ()
    x_title: str = ""
    log: bool = False

    def cells(
        self, quick: bool = False, rows: Collection[str] = (), columns: Collection[str] = ()
    ) -> list[Cell]:
        """Return the distinct cells in the order of the entries, optionally of some rows or columns only.

        ``columns`` may also name groups, such as graphs.
        """
        cells: dict[str, Cell] = {}
        for entry in self.entries:
            wanted = (not rows or entry.row in rows) and (
                not columns or entry.column in columns or entry.group in columns
            )
            for cell in entry.cells if wanted else ():
                if not (quick and cell.slow):
                    cells.setdefault(cell.key(0), cell)
        return list(cells.values())
