"""Keys of nodes, and what is dealt by them; tests/properties/test_invariance.py says what follows from it."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from gssl.selection.node_order import (
    column_keys,
    keys_with_labels,
    node_keys,
    random_waves,
    spread_nodes,
    stratified_part,
)


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
