"""The citation graphs, an empty store, and a small artefact."""

from dataclasses import replace

import numpy as np
import pytest
from tests.methods.conftest import problem  # noqa: F401

from gssl.datasets import load
from gssl.datasets.location import find_file
from reproduction.spec import Artefact, Cell, Claim, Entry, dataset_of
from reproduction.store import Store
from reproduction.summary import summarize

CITATION_GRAPHS = ("cora", "citeseer", "pubmed")


@pytest.fixture(scope="session")
def needs_planetoid():
    """Return a function that skips a test if the files of a citation graph are missing."""

    def check(name):
        try:
            find_file(f"planetoid/ind.{name}.graph")
        except FileNotFoundError:
            pytest.skip("the Planetoid files are not on this machine: set GSSL_DATA_DIR to their folder")

    return check


@pytest.fixture(scope="session", params=CITATION_GRAPHS)
def citation(request, needs_planetoid):
    """A citation graph with the public split and feature rows that sum to one, as in the paper."""
    needs_planetoid(request.param)
    return load(f"planetoid/{request.param}").normalized()


@pytest.fixture
def show(capsys):
    """Return a function that prints a line although pytest captures output."""

    def print_line(line):
        with capsys.disabled():
            print(f"\n{line}")  # noqa: T201

    return print_line


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "records.jsonl")


@pytest.fixture
def tiny():
    """An artefact on the karate club with invented published numbers, and a method that does not exist."""
    known = Cell("classifier", "karate", {"method": "OGC"}, split="default")
    fixed = Cell("classifier", "karate", {"method": "LabelPropagation"}, split="default", random=False)
    unknown = Cell("classifier", "karate", {"method": "DeepMagic"}, split="default")
    entries = (
        Entry("OGC", "karate", published=97.0, cell=known, tolerance=1.0),
        Entry("LP", "karate", published=50.0, cell=fixed, tolerance=1.0),
        Entry("OGC", "less LP", cell=known, minus=fixed),
        Entry("DeepMagic", "karate", published=99.0, cell=unknown, tolerance=1.0),
        Entry("GCN", "karate", published=81.5),
    )
    return Artefact("tiny", "Table 0", "a < b | c", entries)


@pytest.fixture
def load_instead(monkeypatch):
    """Return a function that makes cells load a given graph, whatever its name."""

    def serve(data):
        for module in ("spec", "plugins", "reddit_graphs"):
            monkeypatch.setattr(f"reproduction.{module}.load", lambda name, **_: data)
        dataset_of.cache_clear()
        return data

    yield serve
    dataset_of.cache_clear()


@pytest.fixture
def split_karate(load_instead):
    """The karate club with a split that has validation nodes, under any name."""
    data = load("karate").normalized()
    parts = {"train": np.array([0, 1, 32, 33]), "val": np.array([2, 3, 30, 31]), "test": np.arange(4, 30)}
    return load_instead(replace(data, splits={"public": parts}))


KNOWN = Cell("classifier", "karate", {"method": "OGC"})
OTHER = Cell("classifier", "cora", {"method": "OGC"}, random=False)


@pytest.fixture
def result(tmp_path):
    """A result of seeds 0 and 1: hits and misses, numbers above, not run and not judged."""
    store = Store(tmp_path / "records.jsonl")
    for seed, accuracy in enumerate((79.0, 80.0)):
        store.add(KNOWN, seed, {"accuracy": accuracy, "mse": 0.0123}, seconds=1.0)
    entries = (
        Entry("hit", "x", "<Cora>", 80.5, KNOWN, tolerance=1.0),
        Entry("miss", "x", "<Cora>", 80.6, KNOWN, tolerance=1.0),
        Entry("above", "x", "<Cora>", 78.4, KNOWN, tolerance=1.0),
        Entry("not above", "x", "<Cora>", 78.4, KNOWN, tolerance=1.0, both_ways=True),
        Entry("later", "x", "<Cora>", 80.0, OTHER, tolerance=1.0),
        Entry("GCN", "x", "<Cora>", 81.5),
        Entry("error", "x", "<Cora>", 0.012, KNOWN, value="mse", digits=-1),
    )
    claims = (
        Claim("It is so", lambda means: means["<Cora>", "hit", "x"] == 79.5),
        Claim("It is not so", lambda means: means["<Cora>", "hit", "x"] > 80),
        Claim("Who knows", lambda means: means["<Cora>", "later", "x"] > 80),
    )
    return summarize(Artefact("tiny", "Table 0", "a <b>", entries, claims=claims, x_title="k"), store)
