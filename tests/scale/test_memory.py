"""Sizes and plans agree with numbers computed by hand, and a fit needs little more than its budget.

Each fit runs in a separate process whose memory is limited by the system.
"""

import sys

import numpy as np
import pytest
from scipy.sparse import csr_array

from gssl.operators import Filters, complement_negatives, normalized_adjacency
from gssl.scale.memory import (
    Load,
    SlabPlan,
    available_memory,
    container_limits,
    embedding_load,
    graph_bytes,
    plan_slabs,
    read_size,
    spread_slabs,
    write_size,
)

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="memory is counted as Linux tells it")
child = pytest.importorskip("benchmarks.child", reason="the benchmarks are not beside the tests")

METHODS = ["SGC", "GGCM", "OGC", "EmbeddingClassifier", "LabelSpreading"]
SHARE = 1.15


@pytest.mark.parametrize(
    ("size", "n_bytes"),
    [
        ("4GB", 4 * 10**9),
        ("2kB", 2000),
        ("1.5 kiB", 1536),
        (2e6, 2 * 10**6),
        ("4e9", 4 * 10**9),
        ("7b", 7),
        (12, 12),
    ],
)
def test_sizes_are_read(size, n_bytes):
    assert read_size(size) == n_bytes


@pytest.mark.parametrize("wrong", ["4 apples", "-1", "", True, float("nan"), "1e30GB", "1.2.3", ".", "0"])
def test_what_is_no_size_is_refused(wrong):
    with pytest.raises(ValueError, match="not an amount of memory"):
        read_size(wrong)


def test_sizes_are_written_in_the_unit_that_fits():
    sizes = [1000, 123_456, 25 * 10**8, 10**13]
    assert [write_size(size) for size in sizes] == ["1.0 kB", "123.5 kB", "2.5 GB", "10.0 TB"]


def test_memory_is_what_the_least_of_all_limits_leaves(monkeypatch, tmp_path):
    assert available_memory() > 0
    assert list(container_limits(tmp_path)) == []
    for name, content in (
        ("memory.max", "1000"),
        ("memory.current", "700"),
        ("memory.stat", "active_file 50\ninactive_file 200\n"),
    ):
        (tmp_path / name).write_text(content)
    assert list(container_limits(tmp_path)) == [500]
    (tmp_path / "memory.max").write_text("max")
    assert list(container_limits(tmp_path)) == []
    monkeypatch.setenv("GSSL_MEMORY", "4e9")
    assert available_memory() == 4 * 10**9
    monkeypatch.setenv("GSSL_MEMORY", "lots")
    with pytest.raises(ValueError, match="GSSL_MEMORY is 'lots', not a number of bytes"):
        available_memory()


def test_slabs_are_as_even_as_a_budget_allows():
    assert SlabPlan(5, 2).slabs == (slice(0, 2), slice(2, 4), slice(4, 5))
    assert Load(per_column=800, fixed=1000).of(3) == 3400
    # a sixteenth of the budget is reserved; the width of wide slabs is a multiple of 16 columns
    assert plan_slabs(100, Load(10**6), budget=80 * 10**6) == SlabPlan(100, 64)
    assert plan_slabs(100, Load(10**6), budget=200 * 10**6) == SlabPlan(100, 100)
    assert plan_slabs(20, Load(10**6), budget=16 * 10**6) == SlabPlan(20, 10)
    # two slabs at once have half of the budget each
    assert plan_slabs(100, Load(10**6), 80 * 10**6, n_at_once=2) == SlabPlan(100, 32)
    with pytest.raises(ValueError, match=r"budget of 1\.0 MB is too small: a column needs 2\.1 MB"):
        plan_slabs(1, Load(10**6, fixed=10**6), budget=10**6)
    assert spread_slabs(10, 4) == SlabPlan(10, 3)
    assert spread_slabs(1000, 2, Load(10**6), 80 * 10**6) == SlabPlan(1000, 64)


def test_embeddings_are_in_memory_where_all_slabs_fit():
    assert embedding_load((100, 20), 2, 5, 4, 1000, budget=30_000) == (Load(400, 17_400), True)
    assert embedding_load((100, 20), 2, 5, 4, 1000, budget=10_000) == (Load(800, 9400), False)


def test_the_bytes_of_a_graph_count_what_is_shared_once():
    A = csr_array(np.ones((2, 2)))
    A_hat = normalized_adjacency(A, np.float32)
    # three pointers, four links and two scales; the complement adds two scales
    assert graph_bytes(Filters(A_hat)) == 3 * 8 + 4 * 4 + 2 * 4
    assert graph_bytes(Filters(A_hat, complement_negatives(A, np.float32))) <= 2 * (3 * 8 + 4 * 4 + 2 * 4)


@pytest.fixture(scope="module")
def large(request, tmp_path_factory):
    """Write a graph, and features four times as large as the budget."""
    n_nodes, n_edges, budget = request.param
    folder = tmp_path_factory.mktemp("large")
    child.write_problem(folder, n_nodes, n_edges, 4 * budget // (4 * n_nodes))
    assert (folder / "X.npy").stat().st_size > 3.99 * budget
    return str(folder), budget


MILLION, TWENTY_MILLION = (140_000, 1_000_000, 10**8), (3_000_000, 21_000_000, 15 * 10**8)


@LINUX
@pytest.mark.parametrize(
    ("large", "method"),
    [
        pytest.param(MILLION, "OGC"),
        *(pytest.param(MILLION, name, marks=pytest.mark.slow) for name in METHODS if name != "OGC"),
        *(pytest.param(TWENTY_MILLION, name, marks=pytest.mark.slow) for name in METHODS),
    ],
    indirect=["large"],
)
def test_a_fit_needs_little_more_than_its_budget(large, method):
    folder, budget = large
    peak, base, _ = child.fit_apart(folder, method, str(budget), str(SHARE))
    assert peak - base <= SHARE * budget


@LINUX
@pytest.mark.slow
def test_auto_on_a_million_nodes_with_512_features(tmp_path):
    n, budget = 1_000_000, 400 * 10**6
    child.write_problem(tmp_path, n, 3 * n, 512)
    peak, base, _ = child.fit_apart(str(tmp_path), "AutoClassifier", str(budget))
    # plus labels, and predictions of four classes
    assert peak - base <= SHARE * budget + n * (8 + 4 * 4)
