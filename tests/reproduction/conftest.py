"""The citation graphs, an empty store, and a table small enough to run."""

import pytest
from tests.methods.conftest import problem  # noqa: F401

from gssl.datasets import load
from gssl.datasets.location import find_file
from reproduction import Artefact, Cell, Entry, Store

CITATION_GRAPHS = ("cora", "citeseer", "pubmed")


@pytest.fixture(scope="session", params=CITATION_GRAPHS)
def citation(request):
    """A citation graph with the public split and the paper's features: rows that sum to one."""
    try:
        find_file(f"planetoid/ind.{request.param}.graph")
    except FileNotFoundError:
        pytest.skip("the Planetoid files are not on this machine: set GSSL_DATA_DIR to their folder")
    return load(f"planetoid/{request.param}").normalized()


@pytest.fixture
def show(capsys):
    """Print a measured number even though pytest captures output."""

    def print_line(line):
        with capsys.disabled():
            print(f"\n{line}")  # noqa: T201

    return print_line


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "records.jsonl")


@pytest.fixture
def tiny():
    """OGC on the karate club, which has no published number, and a method that gssl does not have."""
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
