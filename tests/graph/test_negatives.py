"""Negative graphs have only unlinked pairs, as many as requested, with equal probability."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse

from gssl.graph import sample_negatives

KINDS = ["uniform", "regular"]


def random_graph(n, n_edges, seed=0):
    rng = np.random.default_rng(seed)
    upper = np.column_stack(np.triu_indices(n, 1))
    row, column = upper[rng.choice(len(upper), n_edges, replace=False)].T
    graph = sparse.coo_array((np.ones(n_edges), (row, column)), shape=(n, n)).tocsr()
    return graph + graph.T


@settings(deadline=None)
@given(
    links=st.integers(1, 8).flatmap(lambda n: arrays(bool, (n, n))),
    multiple=st.floats(0, 4),
    kind=st.sampled_from(KINDS),
    seed=st.integers(0, 9),
)
def test_negatives_are_unlinked_pairs_in_the_number_asked(links, multiple, kind, seed):
    linked = (links | links.T) & ~np.eye(len(links), dtype=bool)
    n_edges, n = linked.sum() // 2, len(links)
    negative = sample_negatives(links, multiple, seed, kind=kind).toarray()
    np.testing.assert_array_equal(negative, negative.T)
    assert set(np.unique(negative)) <= {0.0, 1.0}
    assert not negative[linked | np.eye(n, dtype=bool)].any()
    assert negative.sum() // 2 == min(round(multiple * n_edges), n * (n - 1) // 2 - n_edges)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("multiple", [1, 20])
def test_a_sparse_graph_of_some_size(kind, multiple):
    graph = random_graph(500, 900)
    negative = sample_negatives(graph, multiple, 0, kind=kind)
    assert negative.nnz == 2 * 900 * multiple
    assert negative.multiply(graph).nnz == 0
    assert negative.diagonal().sum() == 0
    assert (negative != negative.T).nnz == 0
    assert (negative.data == 1).all()
    assert negative.has_canonical_format


@pytest.mark.parametrize("kind", KINDS)
def test_a_nearly_complete_graph_returns_every_unlinked_pair(kind):
    complete = 1 - np.eye(30)
    for u, v in ((0, 1), (4, 9), (28, 29)):
        complete[u, v] = complete[v, u] = 0
    np.testing.assert_array_equal(
        sample_negatives(complete, 1, 0, kind=kind).toarray(), 1 - np.eye(30) - complete
    )
    assert sample_negatives(1 - np.eye(30), 1, 0, kind=kind).nnz == 0


def test_the_seed_decides():
    graph = random_graph(60, 100)
    first, again, other = (sample_negatives(graph, 2, seed).toarray() for seed in (3, 3, 4))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()
    np.testing.assert_array_equal(first, sample_negatives(graph, 2, np.random.default_rng(3)).toarray())


@pytest.mark.parametrize("n_edges", [8, 14])
def test_every_unlinked_pair_is_equally_likely(n_edges):
    # with 8 edges, pairs are drawn by rejection; with 14 of 28, all unlinked pairs are listed
    graph = random_graph(8, n_edges)
    rng = np.random.default_rng(0)
    drawn = sum(sample_negatives(graph, 4 / n_edges, rng).toarray() for _ in range(2000))
    free = np.triu(graph.toarray() == 0, k=1)
    expected = 2000 * 4 / free.sum()
    # five standard deviations of a binomial count
    assert abs(drawn[free] - expected).max() < 5 * np.sqrt(expected)


def test_regular_negatives_give_every_node_the_same_degree():
    graph = random_graph(300, 600)
    degree = np.diff(sample_negatives(graph, 10, 0, kind="regular").indptr)
    assert (degree == 40).mean() > 0.98
    assert abs(degree - 40).max() <= 2
    uniform = np.diff(sample_negatives(graph, 10, 0).indptr)
    assert uniform.std() > 4


@pytest.mark.parametrize(("arguments", "message"), [((-1,), "not negative"), ((np.nan,), "finite")])
def test_bad_multiples_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        sample_negatives(random_graph(5, 3), *arguments)
    with pytest.raises(ValueError, match='"uniform" or "regular"'):
        sample_negatives(random_graph(5, 3), 1, kind="other")
