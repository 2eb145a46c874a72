"""Theorem 1 on Zachary's karate club, k = 64 and 1024, as in Table 5 and Fig. 3."""

import numpy as np
import pytest
from scipy.linalg import block_diag

import gssl
from reproduction.catalogue import ARTEFACTS
from reproduction.oversmoothing import (
    dirichlet_energy,
    limit_distance,
    limit_ratios,
    oversmoothing_gap,
    smoothing_limit,
)
from reproduction.spec import MEASURES


@pytest.fixture
def A():
    return gssl.datasets.load("karate").adjacency.toarray()


@pytest.fixture
def X():
    return np.random.default_rng(0).random((34, 2))


def test_sgc_reaches_the_limit_of_its_features(A, X):
    U = gssl.SGC(depth=1024).fit_transform(X, adjacency=A)
    np.testing.assert_allclose(U, smoothing_limit(X, A), atol=1e-12)


@pytest.mark.parametrize(("depth", "low", "high"), [(2, 0.05, 1), (64, 1e-5, 0.01), (1024, 0, 1e-12)])
def test_the_gap_closes_with_depth(A, X, depth, low, high):
    U = gssl.SGC(depth=depth).fit_transform(X, adjacency=A)
    gap = oversmoothing_gap(U, A)
    assert low <= gap < high
    # it does not depend on the scale: GCN's embeddings are of the order 1e-20
    assert oversmoothing_gap(U * 1e-20, A) == pytest.approx(gap, abs=1e-12)


def test_components_have_limits_of_their_own(A, X):
    both = block_diag(A, A, [[0.0]])
    features = np.vstack([X, 5 * X[::-1], [[7.0, 8.0]]])
    limit = smoothing_limit(features, both)
    np.testing.assert_allclose(limit[:34], smoothing_limit(X, A))
    np.testing.assert_allclose(limit[34:68], 5 * smoothing_limit(X[::-1], A))
    np.testing.assert_array_equal(limit[68], [7.0, 8.0])
    assert oversmoothing_gap(limit, both) < 1e-12
    measured, _ = limit_ratios(limit, both, reference=3)
    assert np.isnan(measured[34:]).all()
    assert not np.isnan(measured[:34]).any()


@pytest.mark.parametrize(("depth", "tolerance"), [(64, 0.01), (1024, 1e-12)])
def test_ratios_of_table_4(A, X, depth, tolerance):
    """Node 4 has degree 3 and node 11 degree 1, so the ratio is the square root of 4/2."""
    U = gssl.SGC(depth=depth).fit_transform(X, adjacency=A)
    measured, stated = limit_ratios(U, A, reference=11)
    assert stated[4] == pytest.approx(np.sqrt(2))
    assert stated[33] == pytest.approx(3.0)
    np.testing.assert_allclose(measured, stated[:, None].repeat(2, axis=1), rtol=tolerance)


def test_rows_that_cancel_or_vanish(A):
    pair = np.array([[0.0, 1.0], [1.0, 0.0]])
    assert oversmoothing_gap([[1.0], [-1.0]], pair) == np.inf
    assert oversmoothing_gap([[0.0], [0.0]], pair) == 0.0
    with pytest.raises(ValueError, match="the embedding of node 1 holds a zero"):
        limit_ratios([[1.0], [0.0]], pair, reference=1)


def test_a_gcn_of_uniform_weights_is_as_smooth_as_theorem_1_says():
    pytest.importorskip("torch_geometric")
    cells = [cell for cell in ARTEFACTS["karate"].cells() if cell.settings["method"] == "UniformGCN"]
    assert [cell.settings["params"]["depth"] for cell in cells] == [64, 1024]
    for cell in cells:
        values = MEASURES["oversmoothing"](cell, 0)
        assert values["node 33"] == pytest.approx(3.0, abs=0.002)
        assert values["gap"] < 1e-3


def test_a_pair_of_nodes():
    pair = [[0, 1], [1, 0]]
    assert limit_distance([[1.0], [0.0]], pair) == pytest.approx(np.sqrt(0.5))
    assert dirichlet_energy([[1.0], [0.0]], pair) == pytest.approx(0.5)
    assert limit_distance([[0.0], [0.0]], pair) == dirichlet_energy([[0.0], [0.0]], pair) == 0.0
    alone = [[0, 1, 0], [1, 0, 0], [0, 0, 0]]
    np.testing.assert_allclose(smoothing_limit([[4.0], [0.0], [5.0]], alone).ravel(), [2.0, 2.0, 5.0])
