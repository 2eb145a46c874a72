"""What a table of the paper is made of: entries that put a computation beside a published number."""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from gssl import methods
from gssl.datasets import Dataset, load
from gssl.datasets.location import find_file
from reproduction.provenance import code_hash

BUDGETS: dict[str, tuple[str, ...]] = {"train": ("train",), "train+validation": ("train", "val")}
CITATIONS = {"Cora": "planetoid/cora", "Citeseer": "planetoid/citeseer", "Pubmed": "planetoid/pubmed"}
Place = tuple[str, str, str]
Measure = Callable[["Cell", int], dict[str, float]]
MEASURES: dict[str, Measure] = {}

_PARTS: dict[str, type] = {}
_WALKS = frozenset({"DeepWalk", "Node2Vec"})
# the networks of reproduction.networks, which loads torch
_EMBEDDING_NETWORKS = frozenset({"BGRL", "DGI", "GAE", "VERSE", "VGAE"})
_DEEP = _EMBEDDING_NETWORKS | {
    *("APPNP", "ChebNetII", "EigenGCN", "FastGCN", "GAT", "GCN", "GCNII", "GNNHF", "GNNLF", "GRAND"),
    *("GraphSAGE", "Incep", "JKNet"),
}
_DEEP_PACKAGES = ("torch", "torch_geometric")


@lru_cache(maxsize=4)
def dataset_of(name: str) -> Dataset:
    """Load a graph with feature rows that sum to one, as the published settings assume, and keep it."""
    return load(name).normalized()


def measure(name: str) -> Callable[[Measure], Measure]:
    """Register a function as what cells of this name compute."""

    def register(function: Measure) -> Measure:
        if name in MEASURES:
            raise ValueError(f"there is a measure {name!r} already: choose another name.")
        MEASURES[name] = function
        return function

    return register


def find_measure(name: str) -> Measure:
    """Return what cells of this name compute."""
    import_module("reproduction.measures")  # the common ones; others come with their table
    if name not in MEASURES:
        raise ValueError(f"there is no measure {name!r}: import the module that registers it.")
    return MEASURES[name]


def part(kind: type) -> type:
    """Register a class under its own name; for parts of methods that are no methods of their own."""
    _PARTS[kind.__name__] = kind
    return kind


def has_estimator(name: str) -> bool:
    """Check that there is such an estimator, and that the packages which it needs are installed."""
    if name in _DEEP:
        # before it is loaded, for loading it loads them
        return all(find_spec(package) for package in _DEEP_PACKAGES)
    if name not in _PARTS and name not in _WALKS and name not in vars(methods)["__all__"]:
        return False
    return all(find_spec(package) for package in getattr(estimator(name), "_packages", ()))


def estimator(name: str) -> Any:
    """Return what makes an estimator of this name: of gssl, a walk, a network, or a registered part."""
    if name in _PARTS:
        return _PARTS[name]
    if name in _WALKS:
        return getattr(import_module("reproduction.skipgram"), name)
    if name in _DEEP:
        networks = import_module("reproduction.networks")
        return partial(networks.embedder if name in _EMBEDDING_NETWORKS else networks.classifier, name)
    return getattr(methods, name)


def build(settings: Any, seed: int) -> Any:
    """Make the estimators that settings name, at any depth, each with the seed where it takes one."""
    if not isinstance(settings, Mapping) or "method" not in settings:
        return settings
    kind = estimator(settings["method"])
    if "plugins" in settings:
        kind = partial(import_module("reproduction.networks").plugged_classifier, settings["method"])
        kind = partial(kind, **settings["plugins"])
    model = kind(**{name: build(value, seed) for name, value in settings.get("params", {}).items()})
    return model.set_params(random_state=seed) if "random_state" in model.get_params(deep=False) else model


def method_names(settings: Any) -> Iterator[str]:
    """List the estimators that settings name, at any depth."""
    if isinstance(settings, Mapping):
        if "method" in settings:
            yield settings["method"]
        for value in settings.values():
            yield from method_names(value)


@dataclass(frozen=True, eq=False)
class Cell:
    """One computation for each seed; its values may fill many entries.

    ``settings`` are plain JSON, in which ``{"method": name, "params": {…}}`` stands for an estimator.
    ``random``: False if the seed changes nothing, so that one is enough. ``slow``: left out of quick runs.
    ``needs``: a file without which it cannot be run.
    """

    measure: str
    dataset: str
    settings: Mapping[str, Any]
    budget: str = "train"
    split: str = "public"
    random: bool = True
    slow: bool = False
    needs: str = ""

    def identity(self, seed: int) -> dict[str, Any]:
        """List all that a result depends on."""
        return {
            "measure": self.measure,
            "dataset": self.dataset,
            "split": self.split,
            "budget": self.budget,
            "settings": self.settings,
            "seed": seed,
            "code": code_hash(self._modules()),
        }

    def _modules(self) -> frozenset[str]:
        """Name the modules that compute it; what they import belongs to them."""
        found = {"reproduction.spec", find_measure(self.measure).__module__}
        for name in method_names(self.settings):
            if name in _DEEP:
                found |= {"gssl.torch.*", "reproduction.networks.*"}
            elif name in _PARTS or name in _WALKS or name in vars(methods)["__all__"]:
                found.add(estimator(name).__module__)
        return frozenset(found)

    def key(self, seed: int) -> str:
        """Name one run by a hash of all that its result depends on."""
        text = json.dumps(self.identity(seed), sort_keys=True, ensure_ascii=True)
        return hashlib.sha256(text.encode("ascii")).hexdigest()[:24]

    def seeds(self, count: int) -> range:
        """Return the seeds worth running."""
        return range(count if self.random else 1)

    @property
    def title(self) -> str:
        """What it computes, for a reader."""
        names = ", ".join(dict.fromkeys(method_names(self.settings)))
        return f"{self.measure} of {names or 'no method'} on {self.dataset}, labels: {self.budget}"

    @property
    def available(self) -> bool:
        """Whether every method that the settings name can be run, and the data are here."""
        return _is_here(self.needs) and all(has_estimator(name) for name in method_names(self.settings))


def _is_here(file: str) -> bool:
    try:
        return not file or find_file(file).exists()
    except FileNotFoundError:
        return False


@dataclass(frozen=True, eq=False)
class Entry:
    """One number of a table: its place, what was published, and how it is computed.

    ``group`` names a table of its own inside the artefact. ``value`` is one of the cell's values, from which
    that of ``minus`` is taken off, seed by seed. A difference up to ``tolerance`` is a hit; without one
    nothing is judged. ``budget``: the labels used, the cell's if None. ``digits`` after the point; −1: two
    digits and a power of ten. ``both_ways``: more than published is a miss, too. ``drawn``: in the chart.
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

    @property
    def place(self) -> Place:
        """Group, row and column."""
        return self.group, self.row, self.column

    @property
    def cells(self) -> tuple[Cell, ...]:
        """What has to be computed for it; nothing if any of it cannot be."""
        wanted = tuple(cell for cell in (self.cell, self.minus) if cell is not None)
        return wanted if all(cell.available for cell in wanted) else ()

    @property
    def labels(self) -> str:
        """The labels that the number was learnt from."""
        if self.budget is not None:
            return self.budget
        return "" if self.cell is None else self.cell.budget


@dataclass(frozen=True, eq=False)
class Claim:
    """A sentence of the paper, and whether means by place bear it out; KeyError: not all are there yet."""

    text: str
    holds: Callable[[Mapping[Place, float]], bool]


@dataclass(frozen=True, eq=False)
class Artefact:
    """A table or figure: its name on the command line, what the paper calls it, and its entries.

    ``unit`` says what the numbers are, ``note`` what a reader has to know. With an ``x_title`` columns are
    drawn as a chart.
    """

    name: str
    source: str
    title: str
    entries: tuple[Entry, ...]
    unit: str = "accuracy %"
    note: str = ""
    claims: tuple[Claim, ...] = ()
    x_title: str = ""

    def cells(self, quick: bool = False) -> list[Cell]:
        """List the computations, each once, in the order of the entries."""
        found: dict[str, Cell] = {}
        for entry in self.entries:
            for cell in entry.cells:
                if not (quick and cell.slow):
                    found.setdefault(cell.key(0), cell)
        return list(found.values())
