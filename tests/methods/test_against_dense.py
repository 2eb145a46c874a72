"""Every method against the equations of DESIGN §3 in dense algebra."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.semi_supervised import LabelPropagation, LabelSpreading

import gssl


def dense_A_hat(A):
    root = np.diag(1 / np.sqrt(A.sum(axis=1) + 1))
    return root @ (A + np.eye(len(A))) @ root


def dense_N_hat(N):
    root = np.diag(1 / np.sqrt(N.sum(axis=1) + 2))
    return root @ (2 * np.eye(len(N)) - N) @ root


def one_hot(y):
    return np.eye(3)[y] * (y >= 0)[:, None]


def assert_depths(model, X, A, expected):
    """Compare every depth of one run, and the last with what fit gives."""
    found = list(model.iter_embeddings(X, adjacency=A))
    assert len(found) == len(expected) == model.depth + 1
    for embedding, reference in zip(found, expected, strict=True):
        np.testing.assert_allclose(embedding, reference, atol=1e-12)
    np.testing.assert_array_equal(model.fit_transform(X, adjacency=A), found[-1])
    np.testing.assert_array_equal(model.transform(X, adjacency=A), found[-1])


def negatives_of_each_depth(A, negatives, depth, seed):
    if negatives == "complement":
        return [np.ones_like(A) - np.eye(len(A)) - (A > 0)] * depth
    seeds = np.random.default_rng(seed).integers(2**63, size=depth)
    return [gssl.graph.sample_negatives(A, negatives, random_state=int(seed)).toarray() for seed in seeds]


def test_sgc(random_problem):
    X, A = random_problem.X, random_problem.A
    powers = [np.linalg.matrix_power(dense_A_hat(A), k) @ X for k in range(6)]
    assert_depths(gssl.SGC(depth=5), X, A, powers)


def test_ssgc(random_problem):
    X, A = random_problem.X, random_problem.A
    powers = [np.linalg.matrix_power(dense_A_hat(A), k) @ X for k in range(6)]
    expected = [X] + [0.2 * X + 0.8 * np.mean(powers[1 : k + 1], axis=0) for k in range(1, 6)]
    assert_depths(gssl.SSGC(depth=5, alpha=0.2), X, A, expected)


def test_ppr(random_problem):
    A = random_problem.A
    for X in (random_problem.X, random_problem.X * (random_problem.X > 0.5)):
        expected = [X]
        for _ in range(5):
            expected.append(0.7 * dense_A_hat(A) @ expected[-1] + 0.3 * X)
        assert_depths(gssl.PPR(depth=5, alpha=0.3), X, A, expected)
        assert_depths(gssl.PPR(depth=5, alpha=0.3), csr_array(X), A, expected)


def test_ppr_tends_to_its_closed_form(random_problem):
    X, A = random_problem.X, random_problem.A
    limit = 0.3 * np.linalg.solve(np.eye(len(A)) - 0.7 * dense_A_hat(A), X)
    np.testing.assert_allclose(
        gssl.PPR(depth=100, alpha=0.3).fit_transform(X, adjacency=A), limit, atol=1e-12
    )


@pytest.mark.parametrize("negatives", ["complement", 2])
@pytest.mark.parametrize("multiscale", [False, True], ids=["GGC", "GGCM"])
def test_ggc_and_ggcm(random_problem, negatives, multiscale):
    X, A = random_problem.X, random_problem.A
    depth, beta, decay, igc_beta, igc_decay, alpha = 4, 0.9, 0.8, 0.7, 0.5, 0.3
    I, A_hat, U = np.eye(len(A)), dense_A_hat(A), X  # noqa: E741
    expected, gathered = [X], []
    for k, N in enumerate(negatives_of_each_depth(A, negatives, depth, seed=7), start=1):
        b, c = beta * decay ** (k - 1), igc_beta * igc_decay ** (k - 1)
        smo = (b * A_hat + (1 - b) * I) @ U
        sharp = (c * dense_N_hat(N) + (1 - c) * I) @ U
        gathered.append((smo + sharp) / 2)
        U = smo if multiscale else gathered[-1]
        expected.append(alpha * X + (1 - alpha) * sum(gathered) / k if multiscale else U)
    settings = {"beta": beta, "decay": decay, "igc_beta": igc_beta, "igc_decay": igc_decay}
    settings |= {"depth": depth, "negatives": negatives, "random_state": 7}
    model = gssl.GGCM(alpha=alpha, **settings) if multiscale else gssl.GGC(**settings)
    assert_depths(model, X, A, expected)


def test_depth_zero_gives_the_features_back(random_problem):
    X, A = random_problem.X, random_problem.A
    for method in (gssl.SGC, gssl.SSGC, gssl.PPR, gssl.GGC, gssl.GGCM):
        np.testing.assert_array_equal(method(depth=0).fit_transform(X, adjacency=A), X)


@pytest.mark.parametrize("method", [gssl.SGC, gssl.SSGC, gssl.PPR, gssl.GGC, gssl.GGCM])
def test_embeddings_yielded_belong_to_the_caller(random_problem, method):
    """Who scales an embedding in place does not spoil the next depth."""
    X, A = random_problem.X.copy(), random_problem.A
    expected = [U.copy() for U in method(depth=3).iter_embeddings(X, adjacency=A)]
    for U, reference in zip(method(depth=3).iter_embeddings(X, adjacency=A), expected, strict=True):
        np.testing.assert_array_equal(U, reference)
        U *= 2
    np.testing.assert_array_equal(X, random_problem.X)


@pytest.mark.parametrize("loss", ["squared", "cross_entropy"])
def test_ogc(random_problem, loss):
    """Five iterations; W learns from all labels, U only from the first five of them."""
    A, y = random_problem.A, random_problem.y
    X = random_problem.X / random_problem.X.sum(axis=1, keepdims=True)
    beta, eta_sup, eta_w, decay = 0.2, 0.02, 0.3, 0.7
    anchors = np.flatnonzero(y >= 0)[:5]
    Y, I, A_hat = one_hot(y), np.eye(len(A)), dense_A_hat(A)  # noqa: E741
    S_W, S_U = np.diag((y >= 0) * 1.0), np.diag(np.isin(np.arange(len(y)), anchors) * 1.0)
    gain = 2 if loss == "squared" else 1

    def Z(U, W):
        scores = U @ W
        return scores if loss == "squared" else np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)

    U, W = X, np.random.default_rng(3).uniform(-1 / np.sqrt(5), 1 / np.sqrt(5), size=(5, 3))
    for k in range(5):
        W = W - gain * eta_w * U.T @ S_W @ (Z(U, W) - Y)
        SEB = gain * eta_sup * decay**k * S_U @ (Z(U, W) - Y) @ W.T
        U = (beta * A_hat + (1 - beta) * I) @ U - SEB
    model = gssl.OGC(beta, eta_sup, eta_w, decay, loss, max_iter=5, tol=1.0, random_state=3)
    model.fit(X, y, adjacency=A, anchors=anchors)
    assert model.n_iter_ == 5
    np.testing.assert_allclose(model.coef_, W, atol=1e-12)
    np.testing.assert_allclose(model.embedding_, U, atol=1e-12)
    np.testing.assert_array_equal(model.transduction_, (U @ W).argmax(axis=1))
    if loss == "cross_entropy":
        np.testing.assert_allclose(model.label_distributions_, Z(U, W), atol=1e-12)


def test_ogc_records_the_losses_and_stops_by_its_rule(problem):
    """It stops after more than `patience` agreements above `tol`, and tells each."""
    model = gssl.OGC(random_state=0, patience=3).fit(problem.X, problem.y, adjacency=problem.A)
    agreement = model.history_["agreement"]
    assert len(agreement) == model.n_iter_ < 64
    assert np.count_nonzero(agreement > 0.995) == 4
    assert agreement[-1] > 0.995
    labelled = problem.y >= 0
    U, residual = model.embedding_, model.embedding_ @ model.coef_ - one_hot(problem.y)
    A_hat = dense_A_hat(problem.A)
    assert model.history_["classification_loss"][-1] == pytest.approx(np.sum(residual[labelled] ** 2) / 2)
    assert model.history_["smoothing_loss"][-1] == pytest.approx(np.trace(U.T @ (U - A_hat @ U)))


def test_label_spreading(random_problem):
    A, y = random_problem.A, random_problem.y
    D = A.sum(axis=1)
    S = A / np.sqrt(np.outer(D, D))
    F = (1 - 0.8) * np.linalg.inv(np.eye(len(A)) - 0.8 * S) @ one_hot(y)
    model = gssl.LabelSpreading(alpha=0.8, tol=1e-14).fit(None, y, adjacency=A)
    np.testing.assert_allclose(model.label_distributions_, F / F.sum(axis=1, keepdims=True), atol=1e-12)
    theirs = LabelSpreading(kernel=lambda X, Y: A, alpha=0.8, max_iter=1000, tol=1e-14)
    theirs.fit(random_problem.X, y)
    np.testing.assert_allclose(model.label_distributions_, theirs.label_distributions_, atol=1e-10)
    np.testing.assert_array_equal(model.transduction_, theirs.transduction_)


def test_label_propagation(random_problem):
    """The harmonic solution: L_uu F_u = A_ul Y_l, and given labels stay."""
    A, y = random_problem.A, random_problem.y
    known = y >= 0
    L = np.diag(A.sum(axis=1)) - A
    expected = one_hot(y)
    expected[~known] = np.linalg.solve(
        L[np.ix_(~known, ~known)], A[np.ix_(~known, known)] @ one_hot(y)[known]
    )
    model = gssl.LabelPropagation(tol=1e-14).fit(None, y, adjacency=A)
    np.testing.assert_allclose(model.label_distributions_, expected, atol=1e-11)
    theirs = LabelPropagation(kernel=lambda X, Y: A, max_iter=10_000, tol=1e-14)
    theirs.fit(random_problem.X, y)
    np.testing.assert_allclose(model.label_distributions_, theirs.label_distributions_, atol=1e-10)


def test_label_spreading_is_at_its_fixed_point_far_from_labels():
    """On a path the ends' labels arrive weakly in the middle, and still decide there."""
    n, alpha = 60, 0.9
    A = np.eye(n, k=1) + np.eye(n, k=-1)
    y = np.full(n, -1)
    y[[0, -1]] = [0, 1]
    D = A.sum(axis=1)
    F = np.linalg.solve(np.eye(n) - alpha * A / np.sqrt(np.outer(D, D)), np.eye(2)[y] * (y >= 0)[:, None])
    model = gssl.LabelSpreading(alpha).fit(None, y, adjacency=A)
    np.testing.assert_allclose(model.label_distributions_, F / F.sum(axis=1, keepdims=True), atol=0.01)
