"""Features of any scale: predictions stay the same, and OGC's step does not overshoot."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone

import gssl
from gssl.graph.mapped import iterate_blocks
from gssl.methods.inputs import feature_scale, safe_exponent, scale_features


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


FAR = [(np.float32, 63), (np.float32, 120), (np.float32, -70), (np.float32, -100)]
FAR += [(np.float64, 530), (np.float64, 1000), (np.float64, -600), (np.float64, -990)]


@pytest.mark.parametrize(("dtype", "exponent"), FAR)
@pytest.mark.parametrize("sparse", [False, True])
def test_features_whose_squares_leave_the_range_are_scaled_first(
    classifier, problem, dtype, exponent, sparse, tmp_path
):
    """A power of two changes no digit, so that all predictions are those for features of ordinary size."""
    usual = np.ldexp(problem.X, -np.frexp(problem.X.max())[1]).astype(dtype)
    far = np.ldexp(usual, exponent)
    if sparse:
        usual, far = csr_array(usual), csr_array(far)
    expected = clone(classifier).fit(usual, problem.y, adjacency=problem.A)
    model = classifier.fit(far, problem.y, adjacency=problem.A)
    np.testing.assert_array_equal(model.label_distributions_, expected.label_distributions_)
    found = model.predict_proba(far, adjacency=problem.A)
    np.testing.assert_array_equal(found, expected.predict_proba(usual, adjacency=problem.A))
    gssl.save(model, tmp_path / "m.gssl")
    again = gssl.load(tmp_path / "m.gssl").predict_proba(far, adjacency=problem.A)
    np.testing.assert_array_equal(again, found)


@pytest.mark.parametrize(("dtype", "exponent"), FAR)
@pytest.mark.parametrize("head", [gssl.LogisticHead(), gssl.RidgeHead(), gssl.AdamHead(random_state=0)])
def test_heads_predict_the_same_at_every_scale(problem, head, dtype, exponent):
    labelled = problem.y >= 0
    usual = np.ldexp(problem.X, -np.frexp(problem.X.max())[1]).astype(dtype)
    expected = clone(head).fit(usual[labelled], problem.y[labelled]).predict_proba(usual)
    far = np.ldexp(usual, exponent)
    found = clone(head).fit(far[labelled], problem.y[labelled]).predict_proba(far)
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_a_predictor_that_its_type_cannot_hold_is_refused(problem):
    X = (1e-40 * problem.X).astype(np.float32)
    with pytest.raises(ValueError, match="features are too small for a predictor in float32: scale X"):
        gssl.RidgeHead(penalty=1e-3).fit(X, problem.truth)


def test_features_of_ordinary_size_are_not_scaled():
    for X in (np.array([[1e-8, -1e-9]]), np.array([[-1e9, 1.0]]), np.zeros((2, 3)), np.empty((3, 0))):
        for dtype in (np.float32, np.float64):
            assert safe_exponent(X.astype(dtype)) == 0
            assert safe_exponent(csr_array(X.astype(dtype))) == 0
            assert scale_features(X, 0) is X
    assert safe_exponent(np.array([[1e-3, -1e20]], dtype=np.float32)) == -67


def test_features_in_a_file_are_refused_where_they_would_have_to_be_scaled(classifier, problem, tmp_path):
    np.save(tmp_path / "x.npy", (1e25 * problem.X).astype(np.float32))
    X = np.load(tmp_path / "x.npy", mmap_mode="r")
    with pytest.raises(ValueError, match="leave the range of float32 when squared, and those in a file"):
        classifier.fit(X, problem.y, adjacency=problem.A)


@pytest.mark.parametrize("weight", [1e-320, 1e-310, 1e-200, 1e200, 1e300])
@pytest.mark.parametrize("scale", [1.0, "auto"])
def test_correct_and_smooth_does_not_depend_on_the_unit_of_weights(problem, weight, scale):
    expected = gssl.CorrectAndSmooth(scale=scale).fit(problem.X, problem.y, adjacency=problem.A)
    model = gssl.CorrectAndSmooth(scale=scale).fit(problem.X, problem.y, adjacency=weight * problem.A)
    # weights below 1e-308 have fewer digits
    digits = 1e-2 if weight < 1e-310 else 1e-9
    np.testing.assert_allclose(model.label_distributions_, expected.label_distributions_, atol=digits)


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
