"""Rows of powers at some nodes, and scores of all nodes, agree with dense algebra."""

import numpy as np
import pytest
from scipy.sparse import csr_array

import gssl
from gssl.graph import check_adjacency
from gssl.graph.adjacency import union_of
from gssl.operators import mix
from gssl.operators.named import HOPS
from gssl.selection.candidates import Block, Filter, terms
from gssl.selection.filtered_rows import FilteredRows, polynomial_scores
from gssl.selection.views import Views


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    A = np.triu((rng.random((60, 60)) < 0.1).astype(float), k=1)
    A = check_adjacency({"cites": np.triu(np.roll(A, 7, axis=0), 1), "likes": A}, directed=True)
    X = rng.normal(size=(60, 9))
    return FilteredRows(Views(X, A), A, X.dtype, np.array([1, 5, 59]), depth=3)


def test_wider_rows_begin_with_narrower_ones(rows):
    smooth = Filter("", "", (Block("smooth", np.array([0.5, 0.0, 2.0])),))
    narrow = rows.rows("unit", smooth, 4)
    wide = rows.rows("unit", smooth, 9)
    np.testing.assert_array_equal(wide[:, :4], narrow)
    B = rows.views["unit"].features.times(rows.views["unit"].axes)
    T = mix(rows.operators["smooth"].filters, np.eye(60), HOPS["smooth"])
    np.testing.assert_allclose(wide, (0.5 * B + 2.0 * T @ T @ B)[[1, 5, 59]], atol=1e-12)


def test_centred_rows_lack_the_mean_of_all_nodes(rows):
    blocks = [Block("smooth", np.array([0.5, 0.0, 2.0])), Block("hop", np.array([0.0, 1.0]))]
    # of the mean, a link from u to v is followed from v to u
    blocks.append(Block("out:cites", np.array([0.0, 0.5, 1.0])))
    plain, centred = (Filter("", "", tuple(blocks), centred=flag) for flag in (False, True))
    every = FilteredRows(rows.views, rows.A, np.float64, np.arange(60), depth=3).rows("unit", plain, 5)
    np.testing.assert_allclose(rows.mean("unit", plain, 5), every.mean(axis=0), atol=1e-12)
    shifted = rows.rows("unit", plain, 5) - every.mean(axis=0)
    np.testing.assert_allclose(rows.rows("unit", centred, 5), shifted, atol=1e-12)


def test_smoothness_is_the_correlation_of_neighbours(rows):
    B = rows.views["unit"].features.times(rows.views["unit"].axes)
    B = B - B.mean(axis=0)
    u, v = rows.A.nonzero()
    expected = np.mean((B[u] * B[v]).sum(axis=1)) / np.mean((B * B).sum(axis=1))
    assert rows.smoothness == pytest.approx(expected)
    A = csr_array(np.kron(np.eye(20), np.ones((3, 3)) - np.eye(3)))
    X = np.repeat(np.random.default_rng(0).normal(size=(20, 4)), 3, axis=0)
    assert FilteredRows(Views(X, A), A, X.dtype, np.arange(3), depth=2).smoothness == pytest.approx(1.0)


def test_columns_are_carried_a_few_at_a_time(rows):
    two = Filter("", "", (Block("smooth", np.ones(1)), Block("hop", np.array([0.0, 0.0, 1.0]))))
    expected = rows.rows("unit", two, 9)
    fresh = FilteredRows(rows.views, rows.A, np.float64, rows.nodes, depth=3, columns_at_once=2)
    np.testing.assert_allclose(fresh.rows("unit", two, 9), expected, atol=1e-13)


def powers_of(operator, n):
    """Return the dense matrices of an operator and its powers, from 0 on."""
    T = operator.program.run(np.eye(n), lambda graph: operator.filters)
    return [np.linalg.matrix_power(T, k) for k in range(operator.highest + 1)]


@pytest.mark.parametrize("product_bytes", [1, 10**9])
def test_scores_of_all_nodes_are_a_polynomial(rows, product_bytes):
    features = rows.views["raw"].features
    order = terms(3, rows.of_relations)
    M = np.random.default_rng(1).normal(size=(len(order), 9, 2))
    M[1] = 0.0  # an unused power
    X, dense = features.times(np.eye(9)), {name: powers_of(T, 60) for name, T in rows.operators.items()}
    expected = sum(dense[name][k] @ X @ M[i] for i, (name, k) in enumerate(order))
    scores = polynomial_scores(M, features, rows.operators, order, product_bytes)
    np.testing.assert_allclose(scores, expected, atol=1e-11)


@pytest.mark.parametrize("embedder", [gssl.GGC(depth=3), gssl.GGCM(depth=3)])
def test_an_embedder_that_is_no_polynomial_is_an_operator_of_its_own(rows, embedder):
    filter_ = Filter("", "", (Block.of(embedder),))
    B = rows.views["raw"].features.times(rows.views["raw"].axes)
    expected = embedder.fit_transform(B, adjacency=union_of(rows.A))[rows.nodes]
    np.testing.assert_allclose(rows.rows("raw", filter_, 9), expected, atol=1e-12)


def test_labelled_rows_have_all_features():
    rng = np.random.default_rng(0)
    A = np.triu((rng.random((40, 40)) < 0.1).astype(float), k=1)
    A = A + A.T
    X = csr_array(rng.random((40, 15)) * (rng.random((40, 15)) < 0.3))
    labelled, powers = np.array([3, 8, 21, 30]), np.array([0.2, 0.0, 0.8])
    rows = FilteredRows(Views(X, csr_array(A)), csr_array(A), X.dtype, labelled, depth=2, columns_at_once=3)
    found = rows.labelled_rows(labelled, powers)
    scale = 1 / np.sqrt(1 + A.sum(axis=1))
    smooth = scale[:, None] * (A + np.eye(40)) * scale
    lengths = np.sqrt((X.toarray() ** 2).sum(axis=1, keepdims=True))
    U = (0.2 * np.eye(40) + 0.8 * smooth @ smooth) @ (X.toarray() / np.where(lengths > 0, lengths, 1))
    np.testing.assert_allclose(found, U[labelled], atol=1e-12)
    # in the span of these rows, inner products are the same as with all features
    spanned = rows.views.with_span(found)["spanned"]
    np.testing.assert_allclose(spanned.axes.T @ spanned.axes, np.eye(spanned.width), atol=1e-8)
    V = U @ spanned.axes
    np.testing.assert_allclose(V[labelled] @ V.T, U[labelled] @ U.T, atol=1e-8)
