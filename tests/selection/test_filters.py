"""Polynomials, labelled rows and their averages against dense algebra and the methods they stand for."""

import numpy as np
import pytest
from scipy.sparse import csr_array

import gssl
from gssl.methods.labels import one_hot
from gssl.selection import search
from gssl.selection.averaged import average, polynomial_scores, ridge
from gssl.selection.candidates import candidate_filters
from gssl.selection.graph_features import operators
from gssl.selection.labelled_rows import LabelledRows
from gssl.selection.leave_one_out import keep_class_mass
from gssl.selection.search import try_all, try_clustered
from gssl.selection.trial import Labels, near_best

DEPTH = 8


@pytest.fixture
def graph():
    rng = np.random.default_rng(5)
    n = 30
    A = np.triu(rng.random((n, n)) < 0.12, k=1).astype(float)
    A[np.arange(n - 2), np.arange(1, n - 1)] = 1
    A[:, -1] = 0  # one node without links
    A = csr_array(A + A.T)
    X = rng.random((n, 6))
    return X, A, np.array([1, 4, 7, 11, 20, 25, 28, 29])


@pytest.fixture(params=[True, False], ids=["label space", "feature space"])
def rows(request, graph):
    X, A, nodes = graph
    rows = LabelledRows(X, A, nodes, DEPTH)
    rows.in_label_space = request.param
    return rows


def dense_features(filter_, X, A):
    """Give all blocks of a filter at all nodes, by matrix powers."""
    if filter_.embedder is not None:
        return filter_.embedder.fit_transform(X, adjacency=A)
    T = {name: apply(np.eye(len(X))) for name, apply in operators(A, np.float64).items()}
    blocks = []
    for block in filter_.blocks:
        powers = [np.linalg.matrix_power(T[block.operator], k) for k in range(len(block.powers))]
        blocks.append(np.tensordot(block.powers, np.stack(powers), axes=1) @ X)
    if filter_.sharpened is not None:
        depth, weight = filter_.sharpened
        sharp = [
            0.5 ** (t - 1) * T["sharp"] @ np.linalg.matrix_power(T["smooth"], t - 1)
            for t in range(1, depth + 1)
        ]
        blocks[0] += weight * sum(sharp) @ X
    return np.hstack(blocks)


@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_no_filter_goes_beyond_the_depth(graph, depth):
    """Its predictor would have powers that the average has no place for."""
    X, A, nodes = graph
    labels = Labels(np.eye(2)[np.arange(8) % 2], np.ones(8))
    for filter_ in candidate_filters(depth):
        trial = search.try_filter(LabelledRows(X, A, nodes, depth), filter_, labels)
        M, _ = average(LabelledRows(X, A, nodes, depth), [(trial, 0)], labels, depth)
        U = dense_features(filter_, X, A)
        expected = U @ ridge(U[nodes], labels, [trial.penalties[0]])
        np.testing.assert_allclose(polynomial_scores(M, X, A, depth), expected, atol=1e-9)


def test_powers_go_on_from_those_that_are_there(rows, graph):
    """Whatever depth was announced: rows of two hops are asked for where features are scaled, too."""
    X, A, nodes = graph
    short = LabelledRows(X, A, nodes, depth=1)
    short.in_label_space = rows.in_label_space
    filters = candidate_filters(2)[:3]
    assert [f.settings for f in filters] == ["", "depth=1", "depth=2"]
    for filter_ in filters:
        np.testing.assert_allclose(short.rows(filter_), dense_features(filter_, X, A)[nodes], atol=1e-12)


def test_no_columns_of_all_nodes_are_left_behind(rows):
    rows.rows(candidate_filters(DEPTH)[1])
    assert rows._end[1] == 2
    for filter_ in candidate_filters(DEPTH):
        rows.rows(filter_)
    assert rows._end is None


@pytest.mark.parametrize("filter_", candidate_filters(DEPTH), ids=lambda f: f"{f.model} {f.settings}")
def test_labelled_rows_are_those_of_the_whole_graph(rows, graph, filter_):
    X, A, nodes = graph
    np.testing.assert_allclose(rows.rows(filter_), dense_features(filter_, X, A)[nodes], atol=1e-12)


@pytest.mark.parametrize(
    ("model", "settings", "embedder"),
    [
        ("SGC", "depth=4", gssl.SGC(depth=4)),
        ("SSGC", "depth=8, alpha=0.05", gssl.SSGC(depth=8)),
        ("PPR", "depth=8, alpha=0.1", gssl.PPR(depth=8)),
        ("GGC", "depth=4", gssl.GGC(depth=4)),
        ("GGCM", "depth=4", gssl.GGCM(depth=4)),
        ("GGCM", "depth=8", gssl.GGCM(depth=8)),
    ],
)
def test_filters_are_the_methods_they_are_called(rows, graph, model, settings, embedder):
    X, A, nodes = graph
    (filter_,) = (f for f in candidate_filters(DEPTH) if (f.model, f.settings) == (model, settings))
    U = embedder.fit_transform(X, adjacency=A)
    np.testing.assert_allclose(rows.rows(filter_), U[nodes], atol=1e-12)


def test_operators_against_dense_algebra(graph):
    _, A, _ = graph
    D, eye = np.diag(A.sum(axis=1)), np.eye(30)
    half = np.diag(1 / np.sqrt(np.maximum(np.diag(D), 1)))
    high = np.diag(1 / np.sqrt(np.diag(D) + 2))
    T = operators(A, np.float64)
    assert np.diag(D).min() == 0
    np.testing.assert_allclose(T["hop"](eye), half @ A.toarray() @ half, atol=1e-14)
    np.testing.assert_allclose(T["high"](eye), high @ (2 * eye - A.toarray()) @ high, atol=1e-14)


def test_an_average_scores_like_its_parts(rows, graph, monkeypatch):
    """Every filter once, plain and clustered where it may be: one polynomial against a sum over models."""
    monkeypatch.setattr(search, "_FAINT", 0.0)
    X, A, nodes = graph
    labels = Labels(one_hot(np.array([0, 1, 2, 0, 1, 2, 0, 1]), 3, np.float64), np.ones(8))
    filters = candidate_filters(DEPTH)
    trials = try_all(rows, filters, labels)
    trials += [try_clustered(rows, f, labels) for f in filters if f.is_polynomial]
    chosen = [(trial, k % 7) for k, trial in enumerate(trials)]
    expected = np.zeros((30, 3))
    for trial, k in chosen:
        U = dense_features(trial.filter, X, A)
        metric = U.T @ U if trial.gram is not None else np.eye(U.shape[1])
        K = U[nodes] @ metric @ U[nodes].T
        ridge = trial.penalties[k] * np.trace(K) / 8 * np.eye(8)
        expected += U @ metric @ U[nodes].T @ np.linalg.solve(K + ridge, labels.Y) / len(chosen)
    M, b = average(rows, chosen, labels, DEPTH)
    assert not b.any()
    scores = polynomial_scores(M, X, A, DEPTH)
    np.testing.assert_allclose(scores, expected, atol=1e-9 * np.abs(expected).max())


def test_faint_powers_change_no_metric(rows, graph):
    X, A, nodes = graph
    labels = Labels(one_hot(np.array([0, 1, 2, 0, 1, 2, 0, 1]), 3, np.float64), np.ones(8))
    for filter_ in (f for f in candidate_filters(DEPTH) if f.is_polynomial):
        U = dense_features(filter_, X, A)
        K = U[nodes] @ (U.T @ U) @ U[nodes].T
        np.testing.assert_allclose(try_clustered(rows, filter_, labels).gram, K, atol=1e-3 * np.abs(K).max())


def test_clustered_leave_one_out_is_refitting_in_the_metric_of_all_nodes(rows, graph):
    X, A, nodes = graph
    codes = np.array([0, 1, 2, 0, 1, 2, 0, 1])
    labels = Labels(one_hot(codes, 3, np.float64), np.ones(8))
    (filter_,) = (f for f in candidate_filters(DEPTH) if f.settings == "depth=2" and f.model == "SGC")
    trial = try_clustered(rows, filter_, labels)
    U = dense_features(filter_, X, A)
    K = U[nodes] @ (U.T @ U) @ U[nodes].T
    counts = np.bincount(codes)
    for i in range(8):
        others = np.arange(8) != i
        Y = labels.Y.copy()
        Y[:, codes[i]] *= counts[codes[i]] / (counts[codes[i]] - 1)
        ridge = 0.1 * np.trace(K) / 8 * np.eye(7)
        expected = K[i, others] @ np.linalg.solve(K[np.ix_(others, others)] + ridge, Y[others])
        corrected = keep_class_mass(trial.predicted, labels.Y)
        np.testing.assert_allclose(corrected[2, i], expected, atol=1e-8)


def test_the_near_best_are_within_one_standard_error(rows):
    labels = Labels(one_hot(np.array([0, 1, 2, 0, 1, 2, 0, 1]), 3, np.float64), np.ones(8))
    trials = try_all(rows, candidate_filters(DEPTH), labels)
    chosen = near_best(trials, labels)
    scores = [trial.scores[k] for trial, k in chosen]
    best = max(trial.scores.max() for trial in trials)
    p = (8 * best + 1) / 10
    assert scores[0] == best
    assert min(scores) >= best - np.sqrt(p * (1 - p) / 10)
    assert scores == sorted(scores, reverse=True)
    assert 1 <= len(chosen) <= 30
