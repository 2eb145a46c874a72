"""Every method against the equations of DESIGN §3 in dense algebra."""

import numpy as np
import pytest
from scipy.linalg import block_diag
from scipy.sparse import csr_array, issparse
from sklearn.semi_supervised import LabelPropagation, LabelSpreading

import gssl
from gssl.methods import ndls
from gssl.methods.ndls import local_depths
from gssl.operators import normalized_adjacency

EMBEDDERS = (gssl.SGC, gssl.SSGC, gssl.PPR, gssl.G2CN, gssl.NDLS, gssl.GGC, gssl.GGCM)


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
    if issparse(negatives):
        return [negatives.toarray()] * depth
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


@pytest.mark.parametrize(("b_low", "b_high", "mix"), [(0.0, 2.0, 0.3), (0.2, 1.7, 1.0), (0.2, 1.7, 0.0)])
def test_g2cn(random_problem, b_low, b_high, mix):
    A, I = random_problem.A, np.eye(25)  # noqa: E741
    L = I - dense_A_hat(A)
    low, high = I - 0.3 * (L - b_low * I) @ (L - b_low * I), I - 0.2 * (L - b_high * I) @ (L - b_high * I)
    for X in (random_problem.X, random_problem.X * (random_problem.X > 0.5)):
        powers = [[np.linalg.matrix_power(G, k) @ X for G in (low, high)] for k in range(5)]
        expected = [(1 - mix) * smooth + mix * sharp for smooth, sharp in powers]
        model = gssl.G2CN(4, step_low=0.3, step_high=0.2, b_low=b_low, b_high=b_high, mix=mix)
        assert_depths(model, X, A, expected)
        assert_depths(model, csr_array(X), A, expected)


def test_g2cn_tends_to_a_gaussian_of_the_spectrum(random_problem):
    X, A = random_problem.X, random_problem.A
    frequencies, Q = np.linalg.eigh(np.eye(25) - dense_A_hat(A))
    gaussian = Q @ np.diag(np.exp(-3 * (frequencies - 1.5) ** 2)) @ Q.T @ X
    model = gssl.G2CN(depth=2000, step_high=3 / 2000, b_high=1.5, mix=1.0)
    np.testing.assert_allclose(model.fit_transform(X, adjacency=A), gaussian, atol=5e-3)


def test_g2cn_refuses_a_step_under_which_a_frequency_grows(random_problem):
    model = gssl.G2CN(step_low=0.51)
    with pytest.raises(ValueError, match=r"step_low must be a number from 0\.0 to 0\.5, not 0\.51"):
        model.fit(random_problem.X, adjacency=random_problem.A)


def dense_local_depths(A, epsilon, limit):
    """The definition itself: rows of powers against rows of the limit, component by component."""
    degrees, A_hat = A.sum(axis=1) + 1, dense_A_hat(A)
    same = np.linalg.matrix_power(np.eye(len(A)) + A, len(A)) > 0
    limits = np.sqrt(np.outer(degrees, degrees)) / (same @ degrees)[:, None] * same
    np.testing.assert_allclose(np.linalg.matrix_power(A_hat, 5000), limits, atol=1e-8)
    near = [np.linalg.norm(np.linalg.matrix_power(A_hat, k) - limits, axis=1) < epsilon for k in range(limit)]
    return np.array([next((k for k in range(limit) if near[k][i]), limit) for i in range(len(A))])


@pytest.fixture
def scattered(random_problem):
    """Four copies of a graph, a path, and two nodes without links: more nodes than are smoothed at a time."""
    path = np.eye(9, k=1) + np.eye(9, k=-1)
    return block_diag(*[random_problem.A] * 4, path, [[0.0]], [[0.0]])


@pytest.mark.parametrize(("epsilon", "limit"), [(0.3, 40), (0.05, 40), (0.05, 6), (1e-3, 300), (2.0, 40)])
def test_local_depths_follow_their_definition(scattered, epsilon, limit):
    found = local_depths(normalized_adjacency(csr_array(scattered)), epsilon, limit)
    np.testing.assert_array_equal(found, dense_local_depths(scattered, epsilon, limit))
    assert found[-2:].tolist() == [0, 0]
    assert len(set(found)) > 1 or epsilon == 2.0


def test_local_depths_are_computed_once_for_a_graph(scattered, monkeypatch):
    asked = []

    def noting(A_hat, epsilon, limit):
        asked.append((epsilon, limit))
        return local_depths(A_hat, epsilon, limit)

    monkeypatch.setattr(ndls, "local_depths", noting)
    monkeypatch.setattr(ndls, "_kept", {})
    X = np.random.default_rng(0).random((len(scattered), 3))
    for alpha in (0.05, 0.15):
        gssl.NDLS(depth=6, epsilon=0.2, alpha=alpha).fit(X, adjacency=csr_array(scattered))
    assert asked == [(0.2, 6)]
    gssl.NDLS(depth=6, epsilon=0.3).fit(X, adjacency=csr_array(scattered))
    gssl.NDLS(depth=5, epsilon=0.3).fit(X, adjacency=csr_array(scattered))
    # another weight is another graph
    gssl.NDLS(depth=5, epsilon=0.3).fit(X, adjacency=csr_array(2 * scattered))
    assert asked[1:] == [(0.3, 6), (0.3, 5), (0.3, 5)]
    for epsilon in np.linspace(0.4, 0.8, 9):
        gssl.NDLS(depth=2, epsilon=epsilon).fit(X, adjacency=csr_array(scattered))
    assert len(ndls._kept) == 4


@pytest.mark.parametrize("epsilon", [0.2, 0.6, 2.0])
def test_ndls(scattered, epsilon):
    rng = np.random.default_rng(0)
    X = rng.random((len(scattered), 5)) * (rng.random((len(scattered), 5)) > 0.4)
    own = dense_local_depths(scattered, epsilon, 6)
    powers = np.array([np.linalg.matrix_power(dense_A_hat(scattered), k) @ X for k in range(7)])
    expected = [
        0.2 * X + 0.8 * np.array([powers[: min(own[i], k) + 1, i].mean(axis=0) for i in range(len(X))])
        for k in range(7)
    ]
    assert_depths(gssl.NDLS(depth=6, epsilon=epsilon, alpha=0.2), X, scattered, expected)
    assert_depths(gssl.NDLS(depth=6, epsilon=epsilon, alpha=0.2), csr_array(X), scattered, expected)


@pytest.mark.parametrize("negatives", ["complement", 2, "own"])
@pytest.mark.parametrize("multiscale", [False, True], ids=["GGC", "GGCM"])
def test_ggc_and_ggcm(random_problem, negatives, multiscale):
    X, A = random_problem.X, random_problem.A
    depth, beta, decay, igc_beta, igc_decay, alpha = 4, 0.9, 0.8, 0.7, 0.5, 0.3
    I, A_hat, U = np.eye(len(A)), dense_A_hat(A), X  # noqa: E741
    if isinstance(negatives, str) and negatives == "own":
        # heterophily: the graph itself is what is pushed apart
        negatives = csr_array(A)
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
    for method in EMBEDDERS:
        np.testing.assert_array_equal(method(depth=0).fit_transform(X, adjacency=A), X)


@pytest.mark.parametrize("method", EMBEDDERS)
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
    model = gssl.OGC(beta, eta_sup, eta_w, decay, loss, max_iter=5, agreement=1.0, random_state=3)
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
    model = gssl.LabelSpreading(spread=0.8, tol=1e-14).fit(None, y, adjacency=A)
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
    model = gssl.LabelPropagation(tol=1e-14, class_mass=False).fit(None, y, adjacency=A)
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


def test_class_mass_gives_every_class_its_share_of_the_unlabelled_nodes(random_problem):
    A, y = random_problem.A, random_problem.y
    plain = gssl.LabelPropagation(tol=1e-14, class_mass=False).fit(None, y, adjacency=A)
    scaled = gssl.LabelPropagation(tol=1e-14).fit(None, y, adjacency=A)
    free = y < 0
    F = plain.label_distributions_[free]
    shares = np.bincount(y[~free]) / np.count_nonzero(~free)
    expected = F * shares / F.sum(axis=0)
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(scaled.label_distributions_[free], expected, rtol=1e-10)
    np.testing.assert_array_equal(scaled.transduction_[~free], y[~free])


def test_negatives_of_another_size_are_an_error(random_problem):
    model = gssl.GGC(negatives=csr_array((3, 3)))
    with pytest.raises(ValueError, match=r"negatives has shape \(3, 3\), but the graph has 25 nodes"):
        model.fit(random_problem.X, adjacency=random_problem.A)


def test_negatives_of_the_caller_survive_a_memory_budget(random_problem, tmp_path):
    X, A = random_problem.X, random_problem.A
    model = gssl.GGC(depth=3, negatives=csr_array(A))
    whole = model.fit_transform(X, adjacency=A)
    with gssl.execution(memory="1MB", resume=tmp_path):
        again = gssl.GGC(depth=3, negatives=csr_array(A)).fit_transform(X, adjacency=A)
    np.testing.assert_allclose(again, whole, atol=1e-12)
    other = gssl.GGC(depth=3, negatives=csr_array(A[::-1, ::-1]))
    with (
        gssl.execution(memory="1MB", resume=tmp_path),
        pytest.raises(ValueError, match="other features, graph"),
    ):
        other.fit(X, adjacency=A)
