"""Filters of the candidates agree with the methods of the same name."""

import numpy as np
import pytest
from scipy.sparse import csr_array

import gssl
from gssl.selection.candidates import candidates, default_candidates
from gssl.selection.filtered_rows import FilteredRows
from gssl.selection.views import Views


@pytest.fixture(scope="module")
def graph():
    rng = np.random.default_rng(0)
    A = np.triu((rng.random((40, 40)) < 0.15).astype(float), k=1)
    return rng.normal(size=(40, 5)), A + A.T


def embedded(graph, model, settings=""):
    """Return the features of a candidate on raw rows, in the original feature coordinates."""
    X, A = graph
    rows = FilteredRows(Views(X, csr_array(A)), csr_array(A), X.dtype, np.arange(40), 16)
    (filter_,) = [f for f in candidates(16) if (f.model, f.settings) == (model, settings)]
    axes = rows.views["raw"].axes
    U = rows.rows("raw", filter_, 5)
    return np.hstack([part @ axes.T for part in np.split(U, len(filter_.blocks), axis=1)])


@pytest.mark.parametrize(
    ("method", "model", "settings"),
    [
        (gssl.SGC(depth=2), "SGC", "depth=2"),
        (gssl.SSGC(depth=8, alpha=0.05), "SSGC", "depth=8"),
        (gssl.HeatKernel(depth=16, time=2), "HeatKernel", "depth=16, time=2"),
        (gssl.HopFilter(depth=1, operator="high"), "high-pass", "HopFilter(depth=1, operator='high')"),
        (gssl.HopFilter(depth=2), "two-hop", "HopFilter()"),
        (gssl.GGC(depth=16), "GGC", "depth=16"),
        (gssl.GGCM(depth=16), "GGCM", "depth=16"),
        (gssl.PPR(depth=16, alpha=0.2), "PPR", "alpha=0.2, depth=16"),
    ],
)
def test_candidates_are_what_their_methods_are(graph, method, model, settings):
    X, A = graph
    np.testing.assert_allclose(
        embedded(graph, model, settings), method.fit_transform(X, adjacency=A), atol=1e-6
    )


def test_side_by_side_keeps_a_node_apart_from_its_neighbours(graph):
    X, A = graph
    degree = A.sum(axis=1)
    s = np.divide(1.0, np.sqrt(degree), out=np.zeros(40), where=degree > 0)
    hop = s[:, None] * A * s
    stacked = embedded(graph, "own and neighbours' features", "NoGraph() + HopFilter(depth=1) + HopFilter()")
    np.testing.assert_allclose(stacked, np.hstack([X, hop @ X, hop @ hop @ X]), atol=1e-6)


def test_no_filter_is_deeper_than_allowed():
    for depth in (1, 2, 5, 16):
        assert max(f.depth for f in candidates(depth)) == depth
        assert all(f.depth <= depth and f.surprise == 0.0 for f in default_candidates(depth))
    assert not candidates(16)[0].uses_graph
