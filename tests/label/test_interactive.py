import numpy as np
import pytest
from scipy.sparse import csr_array

import gssl
from gssl.label.interactive import (
    DEPTH,
    InteractiveModel,
    estimate_accuracy,
    filtered_directions,
    softmax_rows,
    top_two,
)


@pytest.fixture
def views(problem):
    return filtered_directions(problem.features, problem.adjacency)


@pytest.fixture
def codes():
    return np.arange(90) % 3


def test_scores_are_those_of_a_ridge(views, codes):
    L = np.arange(0, 90, 4)
    answer = InteractiveModel(views).fit(L, codes[L], 3)
    B = answer.rows.astype(np.float64)
    U, Y = B[L], np.eye(3)[codes[L]]
    penalty = answer.ridge.penalty
    W = np.linalg.solve(U.T @ U + penalty * np.eye(U.shape[1]), U.T @ Y)
    for node in (0, 1, 50):
        # the shares of all labels add up to the scores
        np.testing.assert_allclose(answer.shares(node) @ Y, B[node] @ W, atol=1e-9)
    logits = np.log(answer.distributions) - np.log(answer.distributions).mean(axis=1, keepdims=True)
    Z = B @ W - (B @ W).mean(axis=1, keepdims=True)
    sharpness = (logits * Z).sum() / np.square(Z).sum()
    np.testing.assert_allclose(logits, sharpness * Z, atol=2e-4)


def test_hidden_labels_are_said_what_refitting_without_them_says(views, codes):
    L = np.arange(0, 90, 5)
    model = InteractiveModel(views[:1])
    answer = model.fit(L, codes[L], 3)
    Y = np.eye(3)[codes[L]]
    U = views[0][L].astype(np.float64)
    penalty = answer.ridge.penalty
    refits = []
    for i in range(len(L)):
        rest = np.arange(len(L)) != i
        W = np.linalg.solve(U[rest].T @ U[rest] + penalty * np.eye(U.shape[1]), U[rest].T @ Y[rest])
        scores, count = U[i] @ W, Y[:, codes[L[i]]].sum()
        # the remaining labels of the class are weighted up for the hidden one
        scores[codes[L[i]]] *= count / (count - 1)
        refits.append(scores)
    gaps, logs = np.diff(np.array(refits), axis=1), np.diff(np.log(answer.hidden), axis=1)
    assert np.ptp(logs / gaps) < 1e-6 * np.abs(logs / gaps).max()


def test_the_answer_does_not_depend_on_how_labels_came(views, codes):
    model = InteractiveModel(views)
    L = np.arange(0, 60, 3)
    before = model.fit(L, codes[L], 3)
    more = np.sort(np.append(L, 61))
    model.fit(more, codes[more], 3)
    again = model.fit(L, codes[L], 3)
    np.testing.assert_array_equal(before.distributions, again.distributions)


def test_the_answer_does_not_depend_on_the_order_of_nodes():
    rng = np.random.default_rng(0)
    codes = rng.integers(3, size=900)
    views = [(rng.standard_normal((900, 6)) + np.eye(6)[codes]).astype(np.float32) for _ in range(2)]
    L, order = np.arange(600), rng.permutation(900)
    before = InteractiveModel(views).fit(L, codes[L], 3)
    positions = np.sort(np.argsort(order)[L])
    after = InteractiveModel([view[order] for view in views]).fit(positions, codes[order][positions], 3)
    np.testing.assert_allclose(after.distributions, before.distributions[order], rtol=1e-4)


def test_without_two_labels_of_a_class_nothing_is_judged(views, codes):
    answer = InteractiveModel(views).fit(np.array([0, 1, 2]), codes[:3], 3)
    assert not answer.judged
    assert (answer.distributions.argmax(axis=1) == codes).mean() > 0.8


def test_the_view_is_chosen_that_predicts_hidden_labels():
    rng = np.random.default_rng(0)
    codes = np.arange(60) % 2
    noise = rng.standard_normal((60, 5)).astype(np.float32)
    informative = (np.eye(5)[codes] + 0.01 * noise).astype(np.float32)
    L = np.arange(20)
    for views in ([noise, informative], [informative, noise]):
        answer = InteractiveModel(views).fit(L, codes[L], 2)
        assert answer.rows is informative
        assert answer.hits.all()


def test_directions_are_those_of_ssgc(make_problem):
    problem, _ = make_problem(40)
    smooth, own = filtered_directions(problem.features, problem.adjacency)
    A = problem.adjacency.toarray() + np.eye(40)
    scale = 1 / np.sqrt(A.sum(axis=1))
    A_hat = scale[:, None] * A * scale
    wanted = sum(
        p * np.linalg.matrix_power(A_hat, k) @ own
        for k, p in enumerate(gssl.SSGC(depth=DEPTH).program().powers())
    )
    np.testing.assert_allclose(smooth, wanted, atol=1e-5)
    assert smooth.dtype == np.float32


def test_without_features_links_are_the_directions(problem):
    (only,) = filtered_directions(None, problem.adjacency)
    assert only.shape[0] == 90
    codes, L = np.arange(90) % 3, np.arange(0, 90, 3) // 3
    answer = InteractiveModel([only]).fit(L, codes[L], 3)
    assert (answer.distributions.argmax(axis=1) == codes).mean() > 0.9


def test_without_links_features_are_taken_as_they_are(problem):
    assert len(filtered_directions(problem.features, csr_array((90, 90)))) == 1


def test_the_softmax_of_rows_and_its_two_largest():
    Z = np.random.default_rng(0).standard_normal((400, 5)).astype(np.float32)
    P = softmax_rows(Z)
    np.testing.assert_allclose(P, np.exp(Z) / np.exp(Z).sum(axis=1, keepdims=True), rtol=1e-5)
    best, top, second = top_two(P)
    np.testing.assert_array_equal(best, P.argmax(axis=1))
    ordered = np.sort(P, axis=1)
    np.testing.assert_array_equal(top, ordered[:, -1])
    np.testing.assert_array_equal(second, ordered[:, -2])


def draw(n, seed):
    """Return confidences, and hits that are more frequent than the confidences suggest."""
    rng = np.random.default_rng(seed)
    confidences = rng.uniform(0.3, 0.99, n)
    right = 1 / (1 + np.exp(-(0.5 + 1.2 * np.log(confidences / (1 - confidences)))))
    return confidences, (rng.random(n) < right).astype(float)


def test_labels_that_are_harder_than_most_do_not_lower_the_estimate():
    within = 0
    for seed in range(20):
        confidences, hits = draw(5_000, seed)
        # most labels are of the least certain nodes
        rng, nodes = np.random.default_rng(seed), np.argsort(confidences)
        hard, any_ = nodes[:2000][rng.permutation(2000)[:300]], rng.permutation(5_000)[:60]
        asked = np.unique(np.concatenate([hard, any_]))
        share, error = estimate_accuracy(confidences[asked], hits[asked], np.delete(confidences, asked))
        truth = np.delete(hits, asked).mean()
        assert hits[asked].mean() < truth - 0.1
        assert error < 0.05
        within += abs(share - truth) < 2 * error
    assert within >= 17


def test_of_labels_drawn_at_random_it_is_about_their_share():
    confidences, hits = draw(2000, 3)
    share, error = estimate_accuracy(confidences[:300], hits[:300], confidences[300:])
    assert share == pytest.approx(hits[:300].mean(), abs=0.03)
    p = (300 * share + 1) / 302
    assert error >= np.sqrt(p * (1 - p) / 302)


def test_few_labels_that_are_all_right_leave_room_for_doubt():
    share, error = estimate_accuracy(np.full(8, 0.9), np.ones(8), np.full(50, 0.5))
    assert 0.4 < share < 0.9
    assert error > 0.1


def test_without_other_nodes_it_is_the_share_of_hits():
    assert estimate_accuracy(np.full(4, 0.9), np.array([1, 1, 1, 0]), np.empty(0))[0] == 0.75
