"""A graph in files is processed block by block: bit-identical, with at most one block in memory."""

import subprocess
import sys

import numpy as np
import pytest
from scipy.sparse import csr_array, random_array

from gssl.graph import clean_adjacency, reached_nodes
from gssl.graph.simplify import declare_simple
from gssl.operators import Filters, Mixture, complement_negatives, mix, normalized_adjacency
from gssl.operators.convolution import scaled_weights


def in_files(A, folder):
    """Return the same graph with memory-mapped arrays."""
    mapped = csr_array(A.shape)
    for name in ("indptr", "indices", "data"):
        array = getattr(A, name).astype({"indptr": np.int64, "indices": np.int32}.get(name, A.dtype))
        np.save(folder / f"{name}.npy", array)
        setattr(mapped, name, np.load(folder / f"{name}.npy", mmap_mode="r"))
    return declare_simple(mapped)


@pytest.fixture(params=["weighted", "unweighted"])
def graphs(request, tmp_path):
    A = random_array((900, 900), density=0.001, rng=np.random.default_rng(0), format="csr")
    if request.param == "unweighted":
        A.data[:] = 1
    A = clean_adjacency(A.maximum(A.T))[0]
    return A, in_files(A, tmp_path)


@pytest.mark.parametrize("width", [1, 5, 200])
def test_the_same_bits(graphs, width):
    A, B = graphs
    U = np.random.default_rng(1).random((900, width)).astype(np.float32)
    results = []
    for graph in (A, B):
        filters = Filters(normalized_adjacency(graph, np.float32), complement_negatives(graph, np.float32))
        results.append(mix(filters, U, Mixture(0.5, 0.3, 0.2)).tobytes())
    assert results[0] == results[1]


def test_blocks_of_rows_cover_the_graph_once(graphs):
    _, B = graphs
    width, seen = 50_000, []
    normalized_adjacency(B).each_part(lambda *part: seen.append(part), width, block_bytes=300)
    assert len(seen) > 5
    assert sorted(row for part in seen for row in range(*part)) == list(range(900))


def test_weights_are_scaled_a_few_at_a_time(graphs):
    A, B = graphs
    s = np.random.default_rng(2).random(900)
    expected = (A.toarray() * np.outer(s, s))[A.nonzero()]
    np.testing.assert_allclose(scaled_weights(B, s, np.float64, entries_at_once=100), expected, rtol=1e-14)


def test_labels_spread_through_files_as_in_memory(graphs):
    A, B = graphs
    for seed in range(5):
        labelled = np.random.default_rng(seed).choice(900, 2)
        assert reached_nodes(B, labelled).tolist() == reached_nodes(A, labelled).tolist()
    lonely = np.flatnonzero(np.diff(B.indptr) == 0)
    assert reached_nodes(B, lonely[:1]).sum() == 1


PEAK = """
import re, sys
from pathlib import Path
import numpy as np
from gssl.operators import NormalizedAdjacency

def peak():
    return 1024 * int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])

folder, block = Path(sys.argv[1]), int(sys.argv[2])
indptr, indices = (np.load(folder / f"{name}.npy", mmap_mode="r") for name in ("indptr", "indices"))
scale = np.ones(len(indptr) - 1, np.float32)
A_hat = NormalizedAdjacency(indptr, indices, np.empty(0, np.float32), scale)
totals = []
# forgets the peak of importing
Path("/proc/self/clear_refs").write_text("5")
before = peak()
def add(start, stop):
    totals.append(int(indices[indptr[start] : indptr[stop]].sum()))

for _ in range(2):
    A_hat.each_part(add, 1, block)
print(peak() - before, sum(totals))
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is read from /proc")
def test_no_more_than_a_block_is_in_memory(tmp_path):
    n, degree = 20_000, 1000
    np.save(tmp_path / "indptr.npy", np.arange(n + 1) * degree)
    indices = np.random.default_rng(0).integers(n, size=n * degree, dtype=np.int32)
    np.save(tmp_path / "indices.npy", indices)
    peaks = {}
    for block in (1 << 22, 1 << 30):
        command = [sys.executable, "-c", PEAK, str(tmp_path), str(block)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        peak, total = done.stdout.split()
        assert int(total) == 2 * indices.sum(dtype=np.int64)
        peaks[block] = int(peak)
    assert peaks[1 << 30] > 70e6  # 80 MB of links
    assert peaks[1 << 22] < 20e6
