"""A fit within a budget takes no more than the budget and a little, whatever it is asked to fit.

Each runs in a process of its own, to which the system gives no more than that: what needs more fails.
"""

import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="memory is counted as Linux tells it")
benchmarks = pytest.importorskip("benchmarks.rows.slabs", reason="the benchmarks are not beside the tests")

METHODS = ["SGC", "GGCM", "OGC", "EmbeddingClassifier", "LabelSpreading"]
SHARE = 1.15


def _problem(folder: Path, n_nodes: int, n_edges: int, budget: int) -> Path:
    """Write features of four budgets."""
    benchmarks.write_problem(folder, n_nodes, n_edges, 4 * budget // (4 * n_nodes))
    assert (folder / "X.npy").stat().st_size > 3.99 * budget
    return folder


def _keeps_to_it(folder: Path, method: str, budget: int) -> None:
    peak, base, _ = benchmarks.fit_apart(str(folder), method, str(budget), str(SHARE))
    assert peak - base <= SHARE * budget


@pytest.fixture(scope="module")
def million(tmp_path_factory):
    """A graph with a million edges."""
    return _problem(tmp_path_factory.mktemp("million"), 140_000, 1_000_000, 100 * 10**6)


@pytest.mark.parametrize("method", METHODS)
def test_a_million_edges(million, method):
    _keeps_to_it(million, method, 100 * 10**6)


@pytest.fixture(scope="module")
def twenty_million(tmp_path_factory):
    """A graph with 21 million edges, and features of 6 GB."""
    return _problem(tmp_path_factory.mktemp("twenty"), 3_000_000, 21_000_000, 15 * 10**8)


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_twenty_million_edges(twenty_million, method):
    _keeps_to_it(twenty_million, method, 15 * 10**8)
