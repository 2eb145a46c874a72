"""Keys of nodes, and what is dealt by them: nothing depends on the order in which data are stored."""

import warnings

import numpy as np
import pytest
from scipy.sparse import csr_array, issparse

import gssl
from gssl.selection.node_order import (
    column_keys,
    keys_with_labels,
    node_keys,
    random_waves,
    spread_nodes,
    stratified_part,
)

# graph and labels per class; the promise of docs/trust.md
GRAPHS = [
    ("cora", 20),
    ("karate", 4),
    ("digits", 5),
    ("graphs/texas", 10),
    ("graphs/chameleon_filtered", 20),
    ("graphs/polblogs", 10),
    ("links of graphs/polblogs", 5),
    ("links of graphs/polblogs", 100),
    ("graphs/cora_ml", 2),
    ("graphs/minesweeper", 600),
    ("graphs/tolokers", 100),
    ("graphs/amazon_photo", 20),
    ("graphs/dblp", 20),
    ("planetoid/citeseer", 20),
]
QUICK = ("karate", "digits", "graphs/texas", "links of graphs/polblogs", "graphs/chameleon_filtered")


@pytest.fixture
def drawn():
    rng = np.random.default_rng(0)
    A = np.triu(rng.random((60, 60)) < 0.08, k=1).astype(float)
    return rng.normal(size=(60, 5)), csr_array(A + A.T), rng.integers(-1, 3, size=60)


def test_keys_belong_to_nodes_not_to_positions(drawn):
    X, A, codes = drawn
    order = np.random.default_rng(1).permutation(60)
    keys = node_keys(X, A)
    np.testing.assert_allclose(node_keys(X[order], A[order][:, order]), keys[order], rtol=1e-12)
    np.testing.assert_allclose(node_keys(csr_array(X), A), keys, rtol=1e-12)
    np.testing.assert_allclose(node_keys(1000.0 * X, A), keys, rtol=1e-9)
    labelled = keys_with_labels(keys, A, codes)
    swapped = np.where(codes < 0, -1, (codes + 1) % 3)
    np.testing.assert_allclose(keys_with_labels(keys, A, swapped), labelled, rtol=1e-12)
    assert len(np.unique(labelled)) == 60


def test_keys_of_columns_belong_to_columns_not_to_positions(drawn):
    X, A, _ = drawn
    nodes, columns = np.random.default_rng(1).permutation(60), np.array([3, 0, 4, 1, 2])
    keys = column_keys(X, A)
    shuffled = X[nodes][:, columns], A[nodes][:, nodes]
    np.testing.assert_allclose(column_keys(*shuffled), keys[columns], rtol=1e-9)
    np.testing.assert_allclose(node_keys(*shuffled), node_keys(X, A)[nodes], rtol=1e-6)
    waves = random_waves(keys, 3)
    np.testing.assert_allclose(random_waves(keys[columns], 3), waves[columns], atol=1e-9)
    assert np.abs(np.corrcoef(random_waves(np.arange(500.0), 3).T) - np.eye(3)).max() < 0.2


def test_without_features_and_links_all_keys_are_equal():
    assert np.ptp(node_keys(np.zeros((4, 2)), csr_array((4, 4)))) == 0


def test_a_sample_is_spread_over_the_keys():
    keys = np.random.default_rng(0).permutation(1000).astype(float)
    nodes = spread_nodes(keys, 20)
    np.testing.assert_array_equal(np.sort(keys[nodes]), np.arange(0, 1000, 50))
    assert (np.diff(nodes) > 0).all()
    np.testing.assert_array_equal(spread_nodes(keys[:5], 20), np.arange(5))


def test_a_part_keeps_the_shares_of_classes():
    codes = np.repeat([0, 1], [90, 10])
    part = stratified_part(codes, np.arange(100.0), 20)
    np.testing.assert_array_equal(np.bincount(codes[part]), [18, 2])
    np.testing.assert_array_equal(stratified_part(codes, np.arange(100.0), 100), np.arange(100))


@pytest.mark.parametrize(
    ("name", "per_class"),
    [pytest.param(*graph, marks=() if graph[0] in QUICK else pytest.mark.slow) for graph in GRAPHS],
)
def test_the_order_of_nodes_classes_and_columns_and_the_storage_of_features_decide_nothing(name, per_class):
    try:
        data = gssl.datasets.load(name.removeprefix("links of "))
    except FileNotFoundError as error:
        pytest.skip(str(error))
    rng = np.random.default_rng(0)
    X, A, y = data.features, csr_array(data.adjacency), np.full(len(data.labels), -1)
    X = None if name.startswith("links") else X
    for code in np.unique(data.labels[data.labels >= 0]):
        y[rng.permutation(np.flatnonzero(data.labels == code))[:per_class]] = code
    P = _distributions(X, y, A)
    order = rng.permutation(len(y))
    shuffled = None if X is None else X[order]
    _assert_promised(_distributions(shuffled, y[order], A[order][:, order]), P[order])
    renamed = rng.permutation(P.shape[1])
    _assert_promised(_distributions(X, np.where(y < 0, -1, renamed[y]), A)[:, renamed], P)
    if X is not None:
        _assert_promised(_distributions(X[:, rng.permutation(X.shape[1])], y, A), P)
        _assert_promised(_distributions(X.toarray() if issparse(X) else csr_array(X), y, A), P)


def _distributions(X, y, A):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return gssl.AutoClassifier().fit(X, y, adjacency=A).label_distributions_


def _assert_promised(P, expected):
    assert np.mean(P.argmax(axis=1) != expected.argmax(axis=1)) <= 1e-3
    np.testing.assert_allclose(P, expected, atol=1e-3)
