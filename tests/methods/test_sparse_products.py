"""Sparse products of a transposed filter agree with dense ones."""

import numpy as np
import pytest
from scipy.sparse import csr_array

import gssl
from gssl.datasets import make_block_graph
from gssl.methods import label_space
from gssl.methods.label_space import Products
from gssl.operators import Filters, Pull, normalized_adjacency

NODES = np.array([5, 77, 1999])


@pytest.fixture(scope="module")
def data():
    return make_block_graph(2000, 3200, 50, 4, random_state=3)


def columns(n):
    return csr_array((np.ones(len(NODES)), (NODES, np.arange(len(NODES)))), shape=(n, len(NODES)))


@pytest.mark.parametrize(
    "embedder",
    [gssl.GGCM(depth=8), gssl.GGCM(depth=5, negatives=2, random_state=0), gssl.SSGC(), gssl.SGC(depth=4)],
    ids=["complement", "sampled", "mean", "power"],
)
def test_sparse_steps_give_what_dense_ones_give(data, embedder, monkeypatch):
    monkeypatch.setattr(label_space, "_REACHED", 0.5)
    filters = embedder._filters(data.adjacency, np.float64)
    assert Products(columns(2000), filters(1)).sparse_steps() >= 2
    sparse = embedder._adjoint(columns(2000), filters)
    monkeypatch.setattr(label_space, "_MOST_LINKS", 0)
    assert Products(columns(2000), filters(1)).sparse_steps() == 0
    np.testing.assert_allclose(sparse, embedder._adjoint(columns(2000), filters), atol=1e-13)


def test_sparse_steps_do_not_depend_on_the_number_of_columns(data):
    filters = Filters(normalized_adjacency(data.adjacency))
    few, many = columns(2000)[:, :1], csr_array(np.eye(2000))
    assert Products(few, filters).sparse_steps() == Products(many, filters).sparse_steps()


def test_a_hub_ends_the_sparse_steps():
    star = csr_array((2000, 2000)).tolil()
    star[0, 1:] = star[1:, 0] = 1.0
    filters = Filters(normalized_adjacency(csr_array(star)))
    assert Products(columns(2000), filters).sparse_steps() == 0


def test_first_terms_of_a_gradient_may_be_sparse(data, monkeypatch):
    X, rng = data.features.astype(np.float64), np.random.default_rng(0)
    filters = Filters(normalized_adjacency(data.adjacency, np.float64))
    pulls = [Pull(NODES, rng.random((3, 4)), rng.random((50, 4))) for _ in range(9)]
    R = rng.random((3, 4))
    U = label_space.LabelSpaceEmbedding(X, filters, 0.4, pulls)
    assert len(U._first_terms(NODES, R.dtype)) > 2
    sparse = U.transposed_times(NODES, R)
    monkeypatch.setattr(label_space, "is_small", lambda filters: False)
    dense = label_space.LabelSpaceEmbedding(X, filters, 0.4, pulls).transposed_times(NODES, R)
    np.testing.assert_allclose(sparse, dense, atol=1e-12)
