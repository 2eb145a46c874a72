import pytest

from gssl.datasets import load
from gssl.datasets.location import find_file

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
