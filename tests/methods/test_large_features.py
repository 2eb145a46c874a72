"""OGC on features of any scale: its predictor's step must not overshoot."""

import numpy as np
import pytest

import gssl
from gssl.graph.mapped import iterate_blocks
from gssl.methods.inputs import feature_scale


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
    # smoothing U may cost the predictor a little, an overshoot costs it much
    assert (np.diff(history) <= 0.02 * history[0]).all()


@pytest.mark.parametrize("loss", ["squared", "cross_entropy"])
def test_predictions_survive_the_scale(problem, loss):
    model = gssl.OGC(loss=loss, random_state=0).fit(1000 * problem.X, problem.y, adjacency=problem.A)
    assert np.mean(model.transduction_ == problem.truth) > 0.9


def test_a_step_that_overshoots_is_halved_until_it_does_not(problem):
    """After one iteration W is W₀ minus the gradient times 100 (twice 50), halved as often as it takes."""
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


def test_features_whose_squares_overflow_are_refused(problem):
    """Halving a step that is not finite would never end."""
    X = (1e25 * problem.X).astype(np.float32)
    with pytest.raises(ValueError, match="scale X"):
        gssl.OGC(random_state=0).fit(X, problem.y, adjacency=problem.A)


@pytest.mark.parametrize("order", ["C", "F"])
def test_features_in_a_file_of_many_blocks_have_the_scale_that_they_have_in_memory(
    problem, order, tmp_path, monkeypatch
):
    np.save(tmp_path / "x.npy", np.asarray(problem.X, order=order))
    X = np.load(tmp_path / "x.npy", mmap_mode="r")
    # two columns at a time, or some rows
    monkeypatch.setattr("gssl.graph.mapped._BLOCK_BYTES", 2 * len(X) * X.itemsize)
    assert len(list(iterate_blocks(X))) > 1
    rows = np.abs(problem.X).sum(axis=1)
    np.testing.assert_allclose(feature_scale(X), rows[rows > 0].mean(), rtol=1e-12)
    wanted = gssl.OGC(random_state=0).fit(problem.X, problem.y, adjacency=problem.A)
    model = gssl.OGC(random_state=0).fit(X, problem.y, adjacency=problem.A)
    np.testing.assert_allclose(model.coef_, wanted.coef_, rtol=1e-9)
    np.testing.assert_allclose(model.label_distributions_, wanted.label_distributions_, rtol=1e-9)
