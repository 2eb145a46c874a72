"""OGC agrees with dense algebra, with anchors and with features of any scale."""

import numpy as np
import pytest
from tests.methods.dense import dense_A_hat, one_hot

import gssl
from gssl.methods.anchors import choose_anchors
from gssl.methods.inputs import feature_scale

CODES = np.array([0] * 10 + [1] * 4 + [2] + [-1] * 5)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.mark.parametrize(
    ("anchors", "nodes"),
    [
        (None, np.arange(15)),
        ([12, 0, 3], [0, 3, 12]),
        ((0, 3, 12), [0, 3, 12]),
        (np.array([3, 12, 0, 3]), [0, 3, 12]),
        (np.isin(np.arange(20), [0, 3, 12]), [0, 3, 12]),
    ],
)
def test_anchors_are_all_labelled_nodes_or_those_of_a_mask_or_indices(rng, anchors, nodes):
    np.testing.assert_array_equal(choose_anchors(anchors, CODES, rng), nodes)


@pytest.mark.parametrize(("fraction", "counts"), [(0.5, [5, 2, 1]), (0.01, [1, 1, 1]), (1.0, [10, 4, 1])])
def test_a_fraction_is_taken_of_every_class_and_at_least_one_node(rng, fraction, counts):
    chosen = choose_anchors(fraction, CODES, rng)
    np.testing.assert_array_equal(np.bincount(CODES[chosen], minlength=3), counts)
    assert len(np.unique(chosen)) == sum(counts)
    assert (np.diff(chosen) > 0).all()


def test_a_fraction_is_drawn_anew_with_another_seed():
    draws = {tuple(choose_anchors(0.5, CODES, np.random.default_rng(seed))) for seed in range(10)}
    assert len(draws) > 5


@pytest.mark.parametrize(
    ("anchors", "message"),
    [
        (0.0, r"must lie in \(0, 1\]"),
        (1.5, r"must lie in \(0, 1\]"),
        (np.nan, r"must lie in \(0, 1\]"),
        ([0, 17], "node 17, which has no label"),
        (np.arange(20) >= 14, "node 15, which has no label"),
        (np.ones(7, dtype=bool), r"mask of shape \(7,\), but there are 20 nodes"),
        ([0, 20], "node 20, but the nodes are numbered 0 to 19"),
        ([-1], "node -1, but the nodes are numbered 0 to 19"),
        ("all", "must be a boolean mask"),
        ([0.5, 1.5], "must be a boolean mask"),
        ([[0, 1]], "must be a boolean mask"),
    ],
)
def test_bad_anchors_are_refused(rng, anchors, message):
    with pytest.raises(ValueError, match=message):
        choose_anchors(anchors, CODES, rng)


def test_anchors_guide_u_and_all_labels_guide_w(problem):
    """After one iteration W does not depend on the anchors; U differs only at other labelled nodes."""
    settings = {"max_iter": 1, "eta_sup": 0.1, "random_state": 0}
    every = gssl.OGC(**settings).fit(problem.X, problem.y, adjacency=problem.A)
    few = gssl.OGC(**settings).fit(problem.X, problem.y, adjacency=problem.A, anchors=[0, 12])
    np.testing.assert_array_equal(every.coef_, few.coef_)
    differing = np.flatnonzero(np.any(every.embedding_ != few.embedding_, axis=1))
    np.testing.assert_array_equal(differing, np.setdiff1d(np.flatnonzero(problem.y >= 0), [0, 12]))


@pytest.mark.parametrize("nobody", [np.zeros(36, dtype=bool), []])
def test_without_anchors_only_the_graph_moves_u(problem, nobody):
    model = gssl.OGC(max_iter=3, agreement=1.0, random_state=0)
    model.fit(problem.X, problem.y, adjacency=problem.A, anchors=nobody)
    root = np.diag(1 / np.sqrt(problem.A.sum(axis=1) + 1))
    lazy = 0.1 * root @ (problem.A + np.eye(36)) @ root + 0.9 * np.eye(36)
    np.testing.assert_allclose(model.embedding_, np.linalg.matrix_power(lazy, 3) @ problem.X, atol=1e-13)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("loss", ["squared", "cross_entropy"])
@pytest.mark.parametrize("scale", [1.0, 30.0, 1000.0])
def test_the_loss_stays_finite_and_does_not_rise(problem, scale, loss, dtype):
    X = (scale * problem.X).astype(dtype)
    model = gssl.OGC(loss=loss, agreement=1.0, random_state=0).fit(X, problem.y, adjacency=problem.A)
    for name in ("embedding_", "coef_", "label_distributions_"):
        assert np.isfinite(getattr(model, name)).all()
    history = model.history_["classification_loss"]
    assert len(history) == 64
    assert np.isfinite(history).all()
    assert history[-1] < history[0]
    # smoothing U may raise the loss a little; an overshoot would raise it much
    assert (np.diff(history) <= 0.02 * history[0]).all()
    model = gssl.OGC(loss=loss, random_state=0).fit(X, problem.y, adjacency=problem.A)
    assert np.mean(model.transduction_ == problem.truth) > 0.9


def test_a_step_that_overshoots_is_halved_until_it_does_not(problem):
    """After one iteration W is W₀ minus 100 (twice 50) times the gradient, halved until the loss falls."""
    X, labelled = problem.X, problem.y >= 0
    model = gssl.OGC(eta_w=50, max_iter=1, random_state=0).fit(X, problem.y, adjacency=problem.A)
    U, Y = X[labelled], np.eye(3)[problem.y[labelled]]
    W = np.random.default_rng(0).uniform(-1 / np.sqrt(6), 1 / np.sqrt(6), size=(6, 3))
    slope, start = 100 * U.T @ (U @ W - Y), np.sum((U @ W - Y) ** 2)
    halvings = 0
    while np.sum((U @ (W - slope / 2**halvings) - Y) ** 2) > start:
        halvings += 1
    assert halvings > 3
    np.testing.assert_allclose(model.coef_, W - slope / 2**halvings, rtol=1e-12)


@pytest.mark.parametrize("order", ["C", "F"])
def test_features_in_a_file_of_many_blocks_have_the_scale_that_they_have_in_memory(problem, order, tmp_path):
    np.save(tmp_path / "x.npy", np.asarray(problem.X, order=order))
    X = np.load(tmp_path / "x.npy", mmap_mode="r")
    # blocks of two columns, or of some rows
    block_bytes, rows = 2 * len(X) * X.itemsize, np.abs(problem.X).sum(axis=1)
    assert block_bytes < X.nbytes
    np.testing.assert_allclose(feature_scale(X, block_bytes), rows[rows > 0].mean(), rtol=1e-12)
    wanted = gssl.OGC(random_state=0).fit(problem.X, problem.y, adjacency=problem.A)
    model = gssl.OGC(random_state=0).fit(X, problem.y, adjacency=problem.A)
    np.testing.assert_allclose(model.coef_, wanted.coef_, rtol=1e-9)
    np.testing.assert_allclose(model.label_distributions_, wanted.label_distributions_, rtol=1e-9)


@pytest.mark.parametrize("eta_sup", [1e-3, 1e6])
def test_a_step_of_embeddings_that_would_diverge_has_the_length_of_the_lipschitz_constant(problem, eta_sup):
    """In one iteration without convolution, labelled rows move by η R Wᵀ, with η at most 1 / ‖W‖²."""
    model = gssl.OGC(beta=0.0, eta_sup=eta_sup, max_iter=1, random_state=0)
    model.fit(problem.X, problem.y, adjacency=problem.A)
    labelled, W = np.flatnonzero(problem.y >= 0), model.coef_
    X, Y = problem.X[labelled], np.eye(3)[problem.y[labelled]]
    eta, limit = 2 * eta_sup * feature_scale(problem.X) ** 2, 2.0 / np.linalg.norm(W, 2) ** 2
    assert (eta < limit) == (eta_sup == 1e-3)
    moved = X - (eta if eta < limit else limit / 2) * (X @ W - Y) @ W.T
    np.testing.assert_allclose(model.embedding_[labelled], moved, rtol=1e-9)
    assert np.sum((moved @ W - Y) ** 2) < np.sum((X @ W - Y) ** 2)


@pytest.mark.parametrize("loss", ["squared", "cross_entropy"])
@pytest.mark.parametrize("size", [1.3098892150436634, 2.965118162962686, 3.0371594130079003])
def test_a_unit_of_a_power_of_two_changes_no_bit(loss, size):
    """Squares of these numbers computed by pow() would be rounded differently in another unit."""
    A = np.ones((6, 6)) - np.eye(6)
    X, y = size * np.eye(2)[[0, 1, 0, 1, 0, 1]], [0, 1, -1, -1, -1, -1]
    plain, scaled = (
        gssl.OGC(loss=loss, max_iter=4, random_state=0).fit(unit * X, y, adjacency=A)
        for unit in (1.0, 2.0**-17)
    )
    assert scaled.label_distributions_.tobytes() == plain.label_distributions_.tobytes()


@pytest.mark.parametrize("loss", ["squared", "cross_entropy"])
def test_ogc(random_problem, loss):
    """Run five iterations, with W fitted to all labels and U moved only by the first five."""
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
    """It stops after more than ``patience`` agreements above ``agreement``, and records each."""
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


def test_embeddings_of_a_fit_are_those_of_its_own_parameters(problem):
    model = gssl.OGC(random_state=0).fit(problem.X, problem.y, adjacency=problem.A)
    expected = gssl.OGC(random_state=0).fit(problem.X, problem.y, adjacency=problem.A).embedding_
    model.set_params(beta=0.9)
    np.testing.assert_array_equal(model.embedding_, expected)
