"""Handling of features and weights by every method."""

import numpy as np
import pytest
from scipy.sparse import csr_array, eye_array
from sklearn.base import clone

import gssl
from gssl.methods.inputs import safe_exponent, scale_features, scale_weights

CLASSIFIERS = [
    gssl.OGC(random_state=0),
    gssl.EmbeddingClassifier(gssl.GGCM(depth=2)),
    gssl.CorrectAndSmooth(),
    gssl.ManifoldRegularization(),
]
ESTIMATORS = [
    name
    for name in gssl.__all__
    # those that learn classes or none
    if hasattr(getattr(gssl, name), "fit") and not name.endswith(("Head", "Regressor"))
]


@pytest.mark.parametrize("model", CLASSIFIERS, ids=lambda model: type(model).__name__)
def test_without_features_a_classifier_takes_the_identity_and_says_so(model):
    data = gssl.datasets.load("karate")
    y, A = data.mask_labels("default"), data.adjacency
    with pytest.warns(gssl.graph.GraphWarning, match="the identity matrix takes their place"):
        found = clone(model).fit(None, y, adjacency=A)
    expected = clone(model).fit(eye_array(len(y), format="csr"), y, adjacency=A)
    np.testing.assert_array_equal(found.label_distributions_, expected.label_distributions_)
    assert found.n_features_in_ == len(y)


def test_without_features_an_embedder_takes_the_identity():
    A = gssl.datasets.load("karate").adjacency
    with pytest.warns(gssl.graph.GraphWarning, match="identity"):
        U = gssl.SGC(depth=2).fit_transform(None, adjacency=A)
    identity = eye_array(34, format="csr")
    np.testing.assert_array_equal(U, gssl.SGC(depth=2).fit_transform(identity, adjacency=A))


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.filterwarnings("ignore::gssl.graph.GraphWarning")
def test_every_estimator_fits_a_graph_without_features_and_looks_at_it_again(name):
    data = gssl.datasets.load("karate")
    y = np.where(np.arange(34) % 3, data.labels, -1)
    model = getattr(gssl, name)()
    if "random_state" in model.get_params():
        model.set_params(random_state=0)
    model.fit(None, y, adjacency=data.adjacency)
    if not hasattr(model, "predict"):
        U = model.embedding_
        assert len(U) == 34
        np.testing.assert_allclose(model.transform(None, adjacency=data.adjacency), U, atol=1e-12)
        return
    again = model.predict(None, adjacency=data.adjacency)
    np.testing.assert_array_equal(again, model.transduction_)
    given = y != -1
    assert (model.transduction_ == data.labels)[given].mean() > 0.9


def test_neither_features_nor_a_graph_is_refused():
    with pytest.raises(ValueError, match="neither X nor adjacency"):
        gssl.SGC().fit(None)


FAR = [(np.float32, 63), (np.float32, 120), (np.float32, -70), (np.float32, -100)]
FAR += [(np.float64, 530), (np.float64, 1000), (np.float64, -600), (np.float64, -990)]


@pytest.mark.parametrize(("dtype", "exponent"), FAR)
@pytest.mark.parametrize("sparse", [False, True])
def test_features_whose_squares_leave_the_range_are_scaled_first(
    classifier, problem, dtype, exponent, sparse, tmp_path
):
    """Powers of two are exact, so predictions are the same as for features of ordinary size."""
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


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("exponent", "limit"), [(-1030, -100), (-133, -100), (110, 100), (996, 100)])
@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.filterwarnings("ignore::gssl.graph.GraphWarning")
def test_weights_beyond_the_range_of_float32_are_those_at_its_end(name, problem, dtype, exponent, limit):
    """Weights of 1e-310, 1e-40, 1e33 and 1e300: powers of two are exact, so predictions must not change."""
    A = csr_array(problem.A)
    A.data *= np.random.default_rng(0).integers(1, 5, A.nnz) / 4  # not symmetric until the next line
    A = A.maximum(A.T)
    given = {"X": problem.X.astype(dtype)} | {"y": problem.y}
    found = []
    for power in (exponent, limit - 1):
        model = getattr(gssl, name)()
        if "random_state" in model.get_params():
            model.set_params(random_state=0)
        weighted = csr_array((np.ldexp(A.data, power), A.indices, A.indptr), shape=A.shape)
        model.fit(**given, adjacency=weighted)
        found.append(model.label_distributions_ if hasattr(model, "predict") else model.embedding_)
        if hasattr(model, "predict"):
            again = model.predict_proba(given["X"], adjacency=weighted)
            np.testing.assert_allclose(again, found[-1], atol=1e-5)
    assert np.isfinite(found[0]).all()
    np.testing.assert_array_equal(*found)


def test_weights_in_files_are_refused_where_they_would_have_to_be_scaled(problem, tmp_path):
    A = csr_array(problem.A)
    np.save(tmp_path / "w.npy", 1e-200 * A.data)
    A = csr_array((np.load(tmp_path / "w.npy", mmap_mode="r"), A.indices, A.indptr), shape=A.shape)
    with pytest.raises(ValueError, match=r"link weights of a size near .* those in a file are not copied"):
        gssl.SGC().fit(problem.X, adjacency=A)
    assert scale_weights(csr_array(problem.A * 0.0)).nnz == 0


@pytest.mark.parametrize("weight", [1e-320, 1e-310, 1e-200, 1e200, 1e300])
@pytest.mark.parametrize("scale", [1.0, "auto"])
def test_correct_and_smooth_does_not_depend_on_the_unit_of_weights(problem, weight, scale):
    expected = gssl.CorrectAndSmooth(scale=scale).fit(problem.X, problem.y, adjacency=problem.A)
    model = gssl.CorrectAndSmooth(scale=scale).fit(problem.X, problem.y, adjacency=weight * problem.A)
    # subnormal weights below 1e-308 have fewer digits
    digits = 1e-2 if weight < 1e-310 else 1e-9
    np.testing.assert_allclose(model.label_distributions_, expected.label_distributions_, atol=digits)
