"""What a table of the paper is made of: entries that put a computation beside a published number."""

import hashlib
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gssl.datasets.location import find_file
from reproduction.estimators import has_estimator

BUDGETS: dict[str, tuple[str, ...]] = {"train": ("train",), "train+validation": ("train", "val")}
Place = tuple[str, str, str]


@dataclass(frozen=True, eq=False)
class Cell:
    """One computation for each seed; what it yields may fill many entries.

    Parameters
    ----------
    measure : str
        A name in ``reproduction.measures.MEASURES``.
    dataset : str
        What :func:`gssl.datasets.load` calls it.
    settings : mapping
        Plain JSON. ``{"method": name, "params": {…}}`` anywhere in it stands for an estimator of gssl.
    budget : {"train", "train+validation"}
        The labels that the method may learn from.
    split : str
    random : bool
        False: the seed changes nothing, so one seed is enough.
    slow : bool
        Left out of quick runs.
    needs : str
        A file without which it is not run, for data that cannot be had everywhere.

    Examples
    --------
    >>> cell = Cell("classifier", "karate", {"method": "OGC"}, split="default")
    >>> cell.key(0) == cell.key(0), cell.key(0) == cell.key(1), cell.available
    (True, False, True)
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
        """List all that a result depends on.

        The version stands for the code: results of one version are kept although its code may have changed,
        as it does in development. Delete records.jsonl then.
        """
        return {
            "measure": self.measure,
            "dataset": self.dataset,
            "split": self.split,
            "budget": self.budget,
            "settings": self.settings,
            "seed": seed,
            "version": sys.modules["gssl"].__version__,
        }

    def key(self, seed: int) -> str:
        """Name one run by a hash of all that its result depends on."""
        text = json.dumps(self.identity(seed), sort_keys=True, ensure_ascii=True)
        return hashlib.sha256(text.encode("ascii")).hexdigest()[:24]

    def seeds(self, count: int) -> range:
        """Give the seeds worth running."""
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


def method_names(settings: Any) -> Iterator[str]:
    """List the estimators that settings name, at any depth.

    Examples
    --------
    >>> list(method_names({"method": "EmbeddingClassifier", "params": {"embedder": {"method": "SGC"}}}))
    ['EmbeddingClassifier', 'SGC']
    """
    if isinstance(settings, Mapping):
        if "method" in settings:
            yield settings["method"]
        for value in settings.values():
            yield from method_names(value)


@dataclass(frozen=True, eq=False)
class Entry:
    """One number of a table: its place, what was published, and how gssl computes it.

    Parameters
    ----------
    row, column, group : str
        Where it stands; a group is a table of its own inside the artefact.
    published : float, optional
    cell : Cell, optional
        None, or one whose method gssl does not have: only the published number is shown.
    value : str
        Which of the cell's values.
    minus : Cell, optional
        Its value is taken off, seed by seed: for changes and gaps.
    tolerance : float, optional
        How far from the published number is still a hit; without one nothing is judged.
    budget : str, optional
        The labels used; the cell's if not given.
    digits : int
        How many digits to show after the point; −1: two digits and a power of ten.
    both_ways : bool
        More than the published number is a miss, too: it is a difference, or a time, not an accuracy.
    drawn : bool
        Whether a chart shows it.
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
        """Give group, row and column."""
        return self.group, self.row, self.column

    @property
    def cells(self) -> tuple[Cell, ...]:
        """Give what has to be computed for it, if gssl has all of it."""
        wanted = tuple(cell for cell in (self.cell, self.minus) if cell is not None)
        return wanted if all(cell.available for cell in wanted) else ()

    @property
    def labels(self) -> str:
        """Say which labels the number was learnt from."""
        if self.budget is not None:
            return self.budget
        return "" if self.cell is None else self.cell.budget


@dataclass(frozen=True, eq=False)
class Claim:
    """A sentence of the paper that measured means either bear out or do not.

    Parameters
    ----------
    text : str
    holds : callable
        Takes means by (group, row, column); a KeyError says that they are not there yet.
    """

    text: str
    holds: Callable[[Mapping[Place, float]], bool]


@dataclass(frozen=True, eq=False)
class Artefact:
    """A table or figure of the paper.

    Parameters
    ----------
    name : str
        On the command line.
    source : str
        What the paper calls it.
    title : str
    entries : tuple of Entry
    unit : str
        What the numbers are.
    note : str
        What a reader has to know to read them.
    claims : tuple of Claim
    x_title : str
        Title of the horizontal axis where columns are drawn as a chart; empty: no chart.
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
