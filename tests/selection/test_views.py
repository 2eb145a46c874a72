"""Compressed views: the leading directions of all kinds of features."""

import numpy as np
import pytest
from scipy.sparse import csr_array, random_array

from gssl.selection.views import Views, compress, has_few_rows_of_rare_features, principal_axes


def cosines(V, W):
    """Return the cosines of the principal angles between two spaces."""
    return np.linalg.svd(np.linalg.qr(V)[0].T @ np.linalg.qr(W)[0], compute_uv=False)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("exact", [10, 1000])
def test_axes_are_the_leading_singular_vectors(sparse, exact):
    rng = np.random.default_rng(0)
    X = (
        rng.normal(size=(300, 60))
        @ np.diag(0.8 ** np.arange(60))
        @ np.linalg.qr(rng.normal(size=(60, 60)))[0]
    )
    expected = np.linalg.svd(X)[2][:12].T
    found = principal_axes(csr_array(X) if sparse else X, 12, np.arange(X.shape[1]), exact=exact)
    np.testing.assert_allclose(found.T @ found, np.eye(12), atol=1e-4)
    # the first axes span the space of as many leading vectors
    for width in (4, 12):
        assert cosines(found[:, :width], expected[:, :width]).min() > 0.98


def test_there_are_no_more_axes_than_the_rank():
    X = np.random.default_rng(0).normal(size=(40, 3)) @ np.random.default_rng(1).normal(size=(3, 20))
    assert principal_axes(X, 10, np.arange(20)).shape == (20, 3)
    assert principal_axes(np.zeros((5, 4)), 10, np.arange(4)).shape == (4, 0)


def test_the_kinds_of_features():
    rng = np.random.default_rng(0)
    X, A = rng.normal(size=(50, 6)), random_array((50, 50), density=0.1, random_state=0, format="csr")
    assert list(Views(X, A)) == ["unit", "raw", "standardized", "links"]
    assert list(Views(csr_array(X), A)) == ["unit", "raw", "links"]
    # only one kind for rows of equal length, or if one row is far larger than all others
    assert list(Views(csr_array(X / np.linalg.norm(X, axis=1)[:, None]), A)) == ["unit", "links"]
    huge = X.copy()
    huge[0] *= 1e200
    assert list(Views(csr_array(huge), A)) == ["unit", "links"]
    # identical rows carry no information
    for same in (np.ones((50, 3)), csr_array(np.ones((50, 3))), csr_array((50, 3))):
        assert list(Views(same, A)) == ["links"]
    # the identity carries no information either
    assert list(Views(csr_array(np.eye(50)), A)) == ["links"]
    assert list(Views(csr_array(np.eye(50)[:, ::-1]), A)) == ["links"]
    # links of a large graph are no features
    assert list(Views(np.zeros((30_001, 0)), csr_array((30_001, 30_001)))) == []


def test_raw_rows_keep_the_directions_of_unit_rows():
    X = np.random.default_rng(0).normal(size=(50, 6))
    found = Views(X, csr_array((50, 50)))
    assert found["raw"].axes is found["unit"].axes
    np.testing.assert_allclose(found["raw"].features.times(np.eye(6)), X)
    standard = found["standardized"].features.times(np.eye(6))
    np.testing.assert_allclose([standard.mean(axis=0), standard.std(axis=0)], [[0] * 6, [1] * 6], atol=1e-12)


def test_links_are_rows_of_the_adjacency():
    A = csr_array(np.array([[0.0, 3.0, 4.0], [3.0, 0.0, 0.0], [4.0, 0.0, 0.0]]))
    features = Views(csr_array((3, 0)), A)["links"].features
    np.testing.assert_allclose(features.times(np.eye(3)), [[0, 0.6, 0.8], [1, 0, 0], [1, 0, 0]])


@pytest.mark.parametrize("sparse", [False, True])
def test_compressed_rows_keep_inner_products_of_few_directions(sparse):
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(200, 5)) @ rng.normal(size=(5, 600))).astype(np.float32)
    Z = compress(csr_array(X) if sparse else X, 8)
    assert Z.dtype == np.float32
    assert Z.shape == (200, 5)
    np.testing.assert_allclose(Z @ Z.T, X @ X.T, rtol=1e-3, atol=0.05)


@pytest.mark.parametrize(
    ("n", "d", "n_rows", "wanted"),
    [
        (20_000, 4096, 1024, True),
        (20_000, 4096, 1025, False),
        (20_000, 4095, 9, False),
        (19_999, 4096, 9, False),
    ],
)
def test_a_span_is_wanted_for_rare_features_of_large_graphs_and_few_labels(n, d, n_rows, wanted):
    assert has_few_rows_of_rare_features(csr_array((n, d)), n_rows) is wanted
    assert not has_few_rows_of_rare_features(np.broadcast_to(0.0, (n, d)), n_rows)
