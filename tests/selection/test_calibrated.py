"""CalibratedClassifier around every method: predictions, distributions and coverage."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from tests import estimators

import gssl
from gssl.evaluation import expected_calibration_error, held_out_distributions, reliability

pytestmark = pytest.mark.filterwarnings("ignore:nothing is known")

CLASSIFIERS = {name: model for name, model in estimators.CLASSIFIERS.items() if name != "adam"}
CLASSIFIERS["auto"] = gssl.AutoClassifier(depth=4)


@pytest.fixture(scope="module")
def blocks():
    """Four noisy blocks of sixty nodes with 12 labels each, and a pair of nodes that no label reaches."""
    rng = np.random.default_rng(3)
    truth = np.repeat(np.arange(4), 60)
    same = truth[:, None] == truth[None, :]
    A = np.triu(rng.random((240, 240)) < np.where(same, 0.05, 0.015), 1)
    A = np.pad((A | A.T).astype(float), (0, 2))
    A[240, 241] = A[241, 240] = 1.0
    X = np.pad(np.eye(4)[truth].repeat(5, axis=1) * 0.3 + rng.random((240, 20)), ((0, 2), (0, 0)))
    y = np.full(242, -1)
    chosen = np.concatenate([rng.choice(60, 12, replace=False) + 60 * k for k in range(4)])
    y[chosen] = truth[chosen]
    return X, A, y, np.append(truth, [-1, -1])


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_every_classifier_is_calibrated_and_predicts_as_before(blocks, name):
    X, A, y, truth = blocks
    test = (y == -1) & (truth != -1)
    plain = clone(CLASSIFIERS[name]).fit(X, y, adjacency=A)
    model = gssl.CalibratedClassifier(CLASSIFIERS[name]).fit(X, y, adjacency=A)
    np.testing.assert_array_equal(model.transduction_, plain.transduction_)
    np.testing.assert_allclose(model.classifier_.label_distributions_, plain.label_distributions_)
    P = model.label_distributions_
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    assert P.min() > 0
    before, after = (
        expected_calibration_error(reliability(truth[test], Q[test], model.classes_))
        for Q in (plain.label_distributions_, P)
    )
    # 48 labels determine accuracy to within seven points
    assert after < max(0.13, before - 0.02)


@pytest.mark.parametrize("columns", [0, 2000], ids=["embedded", "in label space"])
def test_hidden_labels_are_truly_hidden(blocks, columns):
    """A head without some labels is that of a fit without them."""
    X, A, y, _ = blocks
    wide = csr_array(np.hstack([X, np.zeros((len(X), columns))])) if columns else X
    model = gssl.EmbeddingClassifier(gssl.SSGC(depth=4)).fit(wide, y, adjacency=A)
    assert ("embedding_" in vars(model)) is not bool(columns)
    hidden = np.flatnonzero(y != -1)[::5]
    masked = y.copy()
    masked[hidden] = -1
    again = clone(model).fit(X, masked, adjacency=A)
    np.testing.assert_allclose(
        model.distributions_without(hidden), again.label_distributions_[hidden], rtol=1e-4
    )


PRIORS = {"d": 7, "a": 1, "b": 1, "c": 1}


def assert_same_correction(left, right):
    """Compare losses, weights, temperatures and knots of two averages of maps."""
    assert left.kind == right.kind == "average"
    assert left.log_loss == pytest.approx(right.log_loss, abs=1e-9)
    assert [part.kind for _, part in left.parts] == ["temperature", "score", "isotonic"]
    for (weight, one), (other_weight, other) in zip(left.parts, right.parts, strict=True):
        assert one.kind == other.kind
        assert weight == pytest.approx(other_weight, abs=1e-6)
        assert one.temperature == pytest.approx(other.temperature, rel=1e-6)
        if one.kind == "isotonic":
            np.testing.assert_allclose(one.knots, other.knots, atol=1e-9)


@pytest.mark.parametrize("name", ["logistic", "ridge", "ogc", "auto"])
def test_the_correction_comes_before_priors(blocks, name):
    """The correction is learnt from labels with their own class shares, so priors do not affect it."""
    X, A, y, _ = blocks
    names = np.array(["a", "b", "c", "d", None], dtype=object)
    plain, moved = (
        gssl.CalibratedClassifier(clone(CLASSIFIERS[name]).set_params(priors=p)).fit(X, names[y], adjacency=A)
        for p in (None, PRIORS)
    )
    np.testing.assert_allclose(moved.held_out_distributions_, plain.held_out_distributions_, atol=1e-12)
    assert_same_correction(moved.calibration_, plain.calibration_)
    # with 12 labels of each class, shares are a quarter each
    ratio = np.array([0.1, 0.1, 0.1, 0.7]) / 0.25

    def reweighed(P):
        return P * ratio / (P * ratio).sum(axis=1, keepdims=True)

    np.testing.assert_allclose(
        moved.label_distributions_[:240], reweighed(plain.label_distributions_)[:240], atol=1e-12
    )
    assert np.abs(moved.label_distributions_ - plain.label_distributions_).max() > 0.1
    np.testing.assert_allclose(moved.label_distributions_[240:], 0.25)
    predicted = [model.predict_proba(X, adjacency=A)[:240] for model in (moved, plain)]
    np.testing.assert_allclose(predicted[0], reweighed(predicted[1]), atol=1e-12)
    # the inner classifier is the same as when fitted alone, including priors
    assert moved.classifier_.priors == PRIORS
    alone = clone(CLASSIFIERS[name]).set_params(priors=PRIORS).fit(X, names[y], adjacency=A)
    np.testing.assert_allclose(moved.classifier_.label_distributions_, alone.label_distributions_)


def test_saved_models_and_sets_apply_priors_after_the_correction(blocks, tmp_path):
    X, A, y, truth = blocks
    priors = [0.1, 0.1, 0.1, 0.7]
    classifier = gssl.EmbeddingClassifier(gssl.SSGC(depth=4), priors=priors)
    model = gssl.CalibratedClassifier(classifier).fit(X, y, adjacency=A)
    gssl.save(model, tmp_path / "m.gssl")
    again = gssl.load(tmp_path / "m.gssl")
    np.testing.assert_allclose(
        again.predict_proba(X, adjacency=A), model.predict_proba(X, adjacency=A), atol=1e-7
    )
    np.testing.assert_array_equal(again.predict_sets(miscoverage=0.3), model.predict_sets(miscoverage=0.3))
    test = np.flatnonzero((y == -1) & (truth != -1))
    # thresholds per class do not depend on the class shares
    sets = model.predict_sets(miscoverage=0.2, mondrian=True)
    assert all(sets[test, k][truth[test] == k].mean() > 0.6 for k in range(4))


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_other_labels_give_what_a_fit_to_them_gives(blocks, name):
    X, A, y, _ = blocks
    fewer = y.copy()
    fewer[np.flatnonzero(y != -1)[::3]] = -1
    model = gssl.CalibratedClassifier(CLASSIFIERS[name]).fit(X, fewer, adjacency=A)
    before = model.coverage_
    updated = model.update_labels(y)
    assert updated is model
    fresh = gssl.CalibratedClassifier(CLASSIFIERS[name]).fit(X, y, adjacency=A)
    np.testing.assert_allclose(model.label_distributions_, fresh.label_distributions_, atol=1e-5)
    np.testing.assert_allclose(model.held_out_distributions_, fresh.held_out_distributions_, atol=1e-5)
    np.testing.assert_array_equal(model.transduction_, fresh.transduction_)
    np.testing.assert_array_equal(model.held_out_codes_, y[y != -1])
    assert model.coverage_ is not before


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("ridge", {"classifier__embedder__depth": 6}),
        ("ridge", {"classifier__head": "logistic"}),
        ("logistic", {"classifier__priors": [0.7, 0.1, 0.1, 0.1]}),
        ("auto", {"classifier__depth": 1}),
        ("auto", {"classifier": gssl.OGC(random_state=0)}),
    ],
)
def test_other_parameters_count_when_labels_are_updated(blocks, name, changes):
    X, A, y, _ = blocks
    fewer = y.copy()
    fewer[np.flatnonzero(y != -1)[::3]] = -1
    model = gssl.CalibratedClassifier(clone(CLASSIFIERS[name])).fit(X, fewer, adjacency=A)
    model.set_params(**changes).update_labels(y)
    fresh = clone(model).fit(X, y, adjacency=A)
    np.testing.assert_allclose(model.label_distributions_, fresh.label_distributions_, atol=1e-9)
    assert type(model.classifier_) is type(fresh.classifier_)


def test_equal_parameters_are_not_fitted_again(blocks, monkeypatch):
    """Arrays and estimators among the parameters are compared by value."""
    X, A, y, _ = blocks
    priors = np.array([0.7, 0.1, 0.1, 0.1])
    model = gssl.CalibratedClassifier(gssl.EmbeddingClassifier(gssl.SGC(), priors=priors))
    model.fit(X, y, adjacency=A).set_params(classifier__priors=priors.copy(), classifier__embedder=gssl.SGC())

    def refuse(*_, **__):
        raise AssertionError("fitted again")

    monkeypatch.setattr(gssl.EmbeddingClassifier, "fit", refuse)
    model.update_labels(np.where(np.arange(len(y)) % 4, y, -1))
    model.set_params(classifier__priors=priors[::-1].copy())
    with pytest.raises(AssertionError, match="fitted again"):
        model.update_labels(y)


@pytest.mark.parametrize(
    ("changes", "code", "error", "message"),
    [
        ({"folds": 1}, None, ValueError, "folds"),
        ({}, 0, ValueError, "class"),
        ({}, None, MemoryError, "no room to hide labels"),
    ],
    ids=["a bad parameter", "one class", "halfway"],
)
def test_an_update_that_is_refused_changes_nothing(blocks, monkeypatch, changes, code, error, message):
    X, A, y, _ = blocks
    model = gssl.CalibratedClassifier(gssl.EmbeddingClassifier(gssl.SGC())).fit(X, y, adjacency=A)
    before = [model.label_distributions_.copy(), model.classifier_.label_distributions_.copy()]

    def refuse(*_, **__):
        raise MemoryError("no room to hide labels")

    if error is MemoryError:
        monkeypatch.setattr("gssl.selection.calibrated.held_out_distributions", refuse)
    labels = np.where(np.arange(len(y)) % 2 == 0, y, -1) if code is None else np.where(y == code, code, -1)
    with pytest.raises(error, match=message):
        model.set_params(**changes).update_labels(labels)
    for each, P in zip((model, model.classifier_), before, strict=True):
        np.testing.assert_array_equal(each.label_distributions_, P)
        np.testing.assert_array_equal(each.fit_codes, y)
    np.testing.assert_array_equal(model.classes_, [0, 1, 2, 3])


@pytest.mark.parametrize(
    ("model", "place"),
    [
        (gssl.AutoClassifier(depth=2), "gssl.selection.model_search.clear_winner"),
        (gssl.AutoClassifier(depth=2), "gssl.selection.auto.softmax"),
        (gssl.OGC(random_state=0), "gssl.methods.ogc.descending_step"),
        (gssl.CalibratedClassifier(gssl.OGC(random_state=0)), "gssl.methods.ogc.descending_step"),
        (gssl.CalibratedClassifier(), "gssl.selection.calibrated.held_out_distributions"),
    ],
)
def test_a_fit_that_fails_halfway_leaves_the_model_as_it_was(blocks, monkeypatch, model, place):
    X, A, y, _ = blocks
    model = clone(model).fit(X, y, adjacency=A)
    distributions, P = model.label_distributions_.copy(), model.predict_proba(X, adjacency=A)

    def fail(*_, **__):
        raise MemoryError

    with monkeypatch.context() as patched:
        patched.setattr(place, fail)
        with pytest.raises(MemoryError):
            model.fit(X[:, :5], np.where(y == 3, 2, y), adjacency=A)
    np.testing.assert_array_equal(model.classes_, [0, 1, 2, 3])
    assert model.n_features_in_ == X.shape[1]
    np.testing.assert_array_equal(model.transduction_, model.classes_[distributions.argmax(axis=1)])
    np.testing.assert_array_equal(model.label_distributions_, distributions)
    np.testing.assert_array_equal(model.predict_proba(X, adjacency=A), P)
    np.testing.assert_allclose(model.update_labels(y).classes_, [0, 1, 2, 3])


def test_sets_of_some_nodes_are_those_of_all(blocks):
    X, A, y, _ = blocks
    model = gssl.CalibratedClassifier(gssl.EmbeddingClassifier(gssl.SGC())).fit(X, y, adjacency=A)
    some = np.array([17, 3, 241, 100])
    for inputs in ({}, {"X": X, "adjacency": A}):
        every = model.predict_sets(**inputs, miscoverage=0.3)
        np.testing.assert_array_equal(model.predict_sets(**inputs, nodes=some, miscoverage=0.3), every[some])
        mask = np.isin(np.arange(len(y)), some)
        np.testing.assert_array_equal(model.predict_sets(**inputs, nodes=mask, miscoverage=0.3), every[mask])
    assert 4 < every[some].sum() < 16
    with pytest.raises(ValueError, match="nodes"):
        model.predict_sets(nodes=[0.5])


@pytest.mark.parametrize("name", ["features-only", "manifold"])
def test_a_row_of_its_own_needs_no_graph(blocks, name):
    X, _, y, _ = blocks
    model = gssl.CalibratedClassifier(CLASSIFIERS[name]).fit(X[:240], y[:240])
    np.testing.assert_allclose(model.predict_proba(X[:9]), model.label_distributions_[:9], atol=1e-12)


def test_what_knows_nodes_still_does_when_calibrated():
    for classifier in (gssl.CorrectAndSmooth(), gssl.LabelPropagation(), gssl.EmbeddingClassifier()):
        assert gssl.CalibratedClassifier(classifier).knows_nodes == classifier.knows_nodes


def test_labels_of_a_refitted_method_are_hidden_once_each(blocks):
    X, A, y, _ = blocks
    model = gssl.LabelPropagation().fit(X, y, adjacency=A)
    found = held_out_distributions(model, X, A, n_folds=4)
    np.testing.assert_array_equal(found.nodes, np.flatnonzero(y != -1))
    np.testing.assert_array_equal(found.codes, y[found.nodes])
    # a label that was not hidden would have probability one
    assert (found.distributions.max(axis=1) < 1 - 1e-9).all()


def test_nodes_that_nothing_reaches(blocks):
    X, A, y, _ = blocks
    with pytest.warns(gssl.GraphWarning, match="nothing is known about 2 nodes"):
        model = gssl.CalibratedClassifier(gssl.OGC(random_state=0)).fit(X, y, adjacency=A)
    np.testing.assert_allclose(model.label_distributions_[240:], 0.25)
    assert model.predict_sets(miscoverage=0.5)[240:].all()
    assert not model.reached_[240:].any()
    assert model.transduction(abstain=0.0)[240:].tolist() == [-1, -1]


def test_abstaining_speaks_the_callers_language(blocks):
    X, A, y, _ = blocks
    model = gssl.CalibratedClassifier(gssl.OGC(random_state=0))
    whole = model.fit(X, y, adjacency=A)
    sure = whole.label_distributions_.max(axis=1) >= 0.7
    sure[240:] = False
    assert 20 < sure.sum() < 220
    said = whole.transduction(abstain=0.7)
    np.testing.assert_array_equal(said == -1, ~sure)
    np.testing.assert_array_equal(said[sure], whole.transduction_[sure])
    np.testing.assert_array_equal(whole.transduction(), whole.transduction_)

    names = np.array(["a", "b", "c", "d"], dtype=object)
    text = np.array([None if code < 0 else names[code] for code in y], dtype=object)
    spoken = clone(model).fit(X, text, adjacency=A)
    assert [label is None for label in spoken.transduction(abstain=0.7)] == (~sure).tolist()
    predicted = spoken.predict(X, adjacency=A, abstain=0.7)
    P = spoken.predict_proba(X, adjacency=A)
    assert [label is None for label in predicted[:240]] == (P.max(axis=1) < 0.7)[:240].tolist()

    numbers = clone(model).fit(X, np.where(y < 0, np.nan, y + 0.0), adjacency=A)
    np.testing.assert_array_equal(np.isnan(numbers.transduction(abstain=0.7)), ~sure)
    with pytest.raises(ValueError, match="abstain is the least confidence"):
        whole.transduction(abstain=70)


def test_sets_follow_miscoverage_and_say_how_often_they_hold(blocks, tmp_path):
    X, A, y, truth = blocks
    model = gssl.CalibratedClassifier(gssl.OGC(random_state=0)).fit(X, y, adjacency=A)
    test = (y == -1) & (truth != -1)
    strict, loose = model.predict_sets(miscoverage=0.05), model.predict_sets(miscoverage=0.3)
    assert (strict | ~loose).all()
    assert strict.sum() > loose.sum()
    held = strict[test, truth[test]].mean()
    assert 0.88 < held <= 1.0
    np.testing.assert_array_equal(model.predict_sets(X, adjacency=A, miscoverage=0.3).any(axis=1), True)
    found = model.coverage(0.3)
    assert found.n_labels == 48
    assert abs(found.coverage - 0.7) < 0.2
    assert model.coverage_.coverage == model.coverage(0.1).coverage
    kept = model.coverage_
    assert model.coverage_ is kept
    gssl.save(model, tmp_path / "m.gssl")
    assert gssl.load(tmp_path / "m.gssl").coverage_.coverage == kept.coverage
    assert model.fit(X, y, adjacency=A).coverage_ is not kept


def test_one_label_per_class_calibrates_nothing_and_says_so():
    data = gssl.datasets.load("karate")
    y = data.mask_labels("default")
    model = gssl.CalibratedClassifier(gssl.LabelPropagation())
    with pytest.warns(gssl.GraphWarning, match="not calibrated"):
        model.fit(None, y, adjacency=data.adjacency)
    np.testing.assert_array_equal(model.label_distributions_, model.classifier_.label_distributions_)
    assert model.predict_sets().all()
    with pytest.raises(ValueError, match="no label could be hidden"):
        model.coverage()


def test_without_a_graph_new_rows_take_the_calibrated_mean(blocks):
    X, _, y, _ = blocks
    model = gssl.CalibratedClassifier(gssl.EmbeddingClassifier(gssl.SGC())).fit(X[:240], y[:240])
    P = model.predict_proba(X[:5])
    assert np.abs(P - model.label_distributions_[:5]).max() < 0.4
    np.testing.assert_allclose(P.sum(axis=1), 1.0)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"classifier": gssl.SGC()}, "classifier must be"),
        ({"method": "platt"}, "method must be"),
        ({"folds": 1}, "folds"),
        ({"random_state": -1}, "random_state"),
    ],
)
def test_bad_parameters_are_refused(blocks, changes, said):
    X, A, y, _ = blocks
    with pytest.raises(ValueError, match=said):
        gssl.CalibratedClassifier().set_params(**changes).fit(X, y, adjacency=A)


def test_errors_of_the_classifier_come_through(blocks):
    """Only the error about too few labels is handled, whatever others say."""

    class Moody(gssl.LabelPropagation):
        def distributions_without(self, hidden, *, with_priors=True):
            raise ValueError("a hidden fault")

    X, A, y, _ = blocks
    with pytest.raises(ValueError, match="a hidden fault"):
        gssl.CalibratedClassifier(Moody()).fit(X, y, adjacency=A)
