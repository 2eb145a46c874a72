"""Sparse products of a transposed filter agree with dense ones."""

import numpy as np
import pytest
from scipy.sparse import csr_array

import gssl
from gssl.datasets import make_block_graph
from gssl.methods import label_space
from gssl.operators import Filters, Pull, normalized_adjacency
from gssl.operators.program import sparse_steps

NODES = np.array([5, 77, 1999])


@pytest.fixture(scope="module")
def data():
    return make_block_graph(6000, 7000, 50, 4, random_state=3)


def columns(n):
    return csr_array((np.ones(len(NODES)), (NODES, np.arange(len(NODES)))), shape=(n, len(NODES)))


@pytest.mark.parametrize(
    "embedder",
    [gssl.GGCM(depth=8), gssl.GGCM(depth=5, negatives=2, random_state=0), gssl.SSGC(), gssl.SGC(depth=4)],
    ids=["complement", "sampled", "mean", "power"],
)
def test_sparse_steps_give_what_dense_ones_give(data, embedder):
    filters = embedder._filters(data.adjacency, np.float64)
    transposed = filters.program.transpose()
    sparse = transposed.run(columns(6000), filters.matrices)
    dense = transposed.run(columns(6000).toarray(), filters.matrices)
    np.testing.assert_allclose(sparse, dense, atol=1e-13)


def test_sparse_steps_end_where_a_node_reaches_many_others(data):
    A_hat = normalized_adjacency(data.adjacency)
    assert 2 <= sparse_steps(A_hat, 10) < 10
    assert sparse_steps(A_hat, 1) == 1
    star = csr_array((6000, 6000)).tolil()
    star[0, 1:] = star[1:, 0] = 1.0
    assert sparse_steps(normalized_adjacency(csr_array(star)), 10) == 0


def test_first_terms_of_a_gradient_may_be_sparse(data, monkeypatch):
    X, rng = data.features.astype(np.float64), np.random.default_rng(0)
    filters = Filters(normalized_adjacency(data.adjacency, np.float64))
    pulls = [Pull(NODES, rng.random((3, 4)), rng.random((50, 4))) for _ in range(9)]
    R = rng.random((3, 4))

    def embedding():
        U = label_space.LabelSpaceEmbedding(X, filters, 0.4)
        for pull in pulls:
            U = U.step(0.4, pull)
        return U

    U = embedding()
    assert len(U._first_terms(NODES, R.dtype)) > 2
    sparse = U.transposed_times(NODES, R)
    monkeypatch.setattr(label_space, "is_small", lambda filters: False)
    dense = embedding().transposed_times(NODES, R)
    np.testing.assert_allclose(sparse, dense, atol=1e-12)
