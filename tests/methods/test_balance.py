"""Class weights agree with repeated rows and scikit-learn; priors agree with Bayes' rule."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import gssl
from gssl.methods.labels import class_weights
from gssl.methods.priors import read_priors, reweigh

HEADS = [gssl.LogisticHead(tol=1e-10), gssl.RidgeHead(), gssl.AdamHead(random_state=0)]


def uneven_rows(d=5, seed=0):
    """Return thirty, nine and three rows of three overlapping classes."""
    codes = np.repeat([0, 1, 2], [30, 9, 3])
    rng = np.random.default_rng(seed)
    return np.eye(d)[codes] + 0.7 * rng.standard_normal((len(codes), d)), codes


@pytest.mark.parametrize("head", HEADS, ids=lambda head: type(head).__name__)
@pytest.mark.parametrize("d", [5, 60], ids=["few features", "many features"])
def test_a_class_that_counts_twice_is_one_whose_rows_are_there_twice(head, d):
    U, codes = uneven_rows(d)
    new, _ = uneven_rows(d, seed=1)
    names = np.array(["x", "y", "z"])[codes]
    copies = np.concatenate([np.arange(42), np.flatnonzero(codes == 1), *[np.flatnonzero(codes == 2)] * 4])
    repeated = head.set_params(class_weight=None).fit(U[copies], names[copies]).predict_proba(new)
    weighted = head.set_params(class_weight={"z": 5, "y": 2}).fit(U, names).predict_proba(new)
    np.testing.assert_allclose(weighted, repeated, atol=1e-6)
    plain = head.set_params(class_weight=None).fit(U, names).predict_proba(new)
    assert np.abs(plain - weighted).max() > 0.05
    # only ratios of weights matter
    tenfold = head.set_params(class_weight={"x": 10, "y": 20, "z": 50}).fit(U, names).predict_proba(new)
    np.testing.assert_allclose(tenfold, weighted, atol=1e-6)


@pytest.mark.parametrize("head", HEADS, ids=lambda head: type(head).__name__)
def test_balanced_weights_are_scikit_learns(head):
    U, codes = uneven_rows()
    balanced = head.set_params(class_weight="balanced").fit(U, codes).predict_proba(U)
    by_hand = {0: 42 / 90, 1: 42 / 27, 2: 42 / 9}
    given = head.set_params(class_weight=by_hand).fit(U, codes).predict_proba(U)
    np.testing.assert_allclose(balanced, given, atol=1e-9)


def test_the_logistic_head_is_scikit_learns():
    U, codes = uneven_rows()
    w = np.array([42 / 90, 42 / 27, 42 / 9])[codes]
    head = gssl.LogisticHead(penalty=0.1, tol=1e-10, class_weight="balanced").fit(U, codes)
    # scikit-learn has C times a sum of losses; here it is a mean, with a penalty relative to the mean square
    C = 1 / (0.1 * np.sum(w * np.sum(U**2, axis=1)))
    theirs = LogisticRegression(C=C, class_weight="balanced", tol=1e-10, max_iter=10000).fit(U, codes)
    np.testing.assert_allclose(head.predict_proba(U), theirs.predict_proba(U), atol=1e-6)


def test_the_ridge_head_is_scikit_learns():
    U, codes = uneven_rows()
    w = np.array([1.0, 3.0, 0.5])[codes]
    head = gssl.RidgeHead(penalty=0.2, class_weight={0: 1, 1: 3, 2: 0.5}).fit(U, codes)
    ridge = Ridge(alpha=0.2 * np.sum(w * np.sum(U**2, axis=1)), fit_intercept=False)
    theirs = ridge.fit(U, np.eye(3)[codes], sample_weight=w)
    np.testing.assert_allclose(head.coef_, theirs.coef_.T, atol=1e-12)


def test_the_weights_of_a_head_go_by_the_classes_of_y(problem):
    names = np.array(["oak", "fir", "elm", None], dtype=object)[problem.y]
    by_name, by_code = (
        gssl.EmbeddingClassifier(gssl.SGC(), head=gssl.LogisticHead(class_weight=weights))
        for weights in ({"oak": 5.0, "elm": 0.2}, {0: 5.0, 2: 0.2})
    )
    by_name.fit(problem.X, names, adjacency=problem.A)
    by_code.fit(problem.X, problem.y, adjacency=problem.A)
    # elm, fir, oak are 2, 1, 0
    np.testing.assert_allclose(by_name.label_distributions_[:, ::-1], by_code.label_distributions_, atol=1e-6)
    theirs = LogisticRegression(class_weight={"oak": 5.0, "elm": 0.2})
    for head in (theirs, make_pipeline(StandardScaler(), theirs)):
        model = gssl.EmbeddingClassifier(gssl.SGC(), head=head).fit(problem.X, names, adjacency=problem.A)
        fitted = model.head_ if head is theirs else model.head_[-1]
        assert fitted.class_weight == {2: 5.0, 0: 0.2}
        assert theirs.class_weight == {"oak": 5.0, "elm": 0.2}


def test_distributions_follow_bayes_rule():
    """Densities 0.2 and 0.6 of two classes give odds 1 : 3 with equal priors, and 9 : 3 with priors 9 : 1."""
    P = reweigh(np.array([[0.25, 0.75], [0.0, 1.0]]), np.array([0.5, 0.5]), np.array([0.9, 0.1]))
    np.testing.assert_allclose(P, [[0.75, 0.25], [0, 1]], atol=1e-15)
    back = reweigh(P, np.array([0.9, 0.1]), np.array([0.5, 0.5]))
    np.testing.assert_allclose(back, [[0.25, 0.75], [0, 1]], atol=1e-15)


def test_a_class_that_cannot_be_leaves_what_is_expected():
    P = reweigh(np.array([[1.0, 0.0, 0.0]]), np.array([0.5, 0.25, 0.25]), np.array([0.0, 0.4, 0.6]))
    np.testing.assert_array_equal(P, [[0.0, 0.4, 0.6]])


@pytest.mark.parametrize("priors", [[6, 3, 1], {1: 0.3, 2: 0.1, 0: 0.6}])
@pytest.mark.parametrize(
    "model",
    [
        gssl.EmbeddingClassifier(gssl.SGC()),
        gssl.OGC(random_state=0),
        gssl.OGC(loss="cross_entropy", random_state=0),
    ],
    ids=str,
)
def test_priors_shift_logits(random_problem, model, priors):
    X, A, y, _ = random_problem
    plain = clone(model).fit(X, y, adjacency=A)
    moved = clone(model).set_params(priors=priors).fit(X, y, adjacency=A)
    ratio = np.array([0.6, 0.3, 0.1]) * np.sum(y >= 0) / np.bincount(y[y >= 0])
    expected = plain.label_distributions_ * ratio
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(moved.label_distributions_, expected, atol=1e-12)
    np.testing.assert_array_equal(moved.transduction_, expected.argmax(axis=1))
    for nodes in (slice(None), [4, 9]):
        chosen = None if isinstance(nodes, slice) else nodes
        P = moved.predict_proba(X, adjacency=A, nodes=chosen)
        np.testing.assert_allclose(P, expected[nodes], atol=1e-12)


@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_the_shares_in_fit_are_those_of_the_weights(random_problem, class_weight):
    """A balanced head is fitted to equal class shares, another to those of the labels."""
    X, A, y, _ = random_problem
    head, P = gssl.LogisticHead(class_weight=class_weight), {}
    for priors in (None, "uniform", "labels"):
        model = gssl.EmbeddingClassifier(gssl.SGC(), head=head, priors=priors).fit(X, y, adjacency=A)
        P[priors] = model.label_distributions_
    same, other = ("uniform", "labels") if class_weight else ("labels", "uniform")
    np.testing.assert_allclose(P[same], P[None], atol=1e-12 if class_weight else 1e-14)
    ratio = 3 * np.bincount(y[y >= 0]) / np.sum(y >= 0)
    assert np.ptp(ratio) > 0.1
    expected = P[None] * (ratio if class_weight else 1 / ratio)
    np.testing.assert_allclose(P[other], expected / expected.sum(axis=1, keepdims=True), atol=1e-12)


def test_validation_labels_are_no_share_in_fit(random_problem):
    X, A, y = random_problem.X, random_problem.A, random_problem.y
    held_out = np.flatnonzero(y == 0)[1:]
    fits = [
        gssl.EmbeddingClassifier(gssl.SGC(), head="adam", random_state=0, priors=priors).fit(
            X, y, adjacency=A, validation=held_out
        )
        for priors in (None, "uniform")
    ]
    trained = np.bincount(np.delete(y, held_out)[np.delete(y, held_out) >= 0])
    expected = fits[0].label_distributions_ / trained
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(fits[1].label_distributions_, expected, atol=1e-12)


def test_priors_help_where_labels_were_drawn_evenly():
    """Nine nodes in ten are of one class, but labels are balanced."""
    rng = np.random.default_rng(0)
    truth = (rng.random(2000) < 0.1).astype(int)
    X = truth[:, None] + 0.8 * rng.standard_normal((2000, 1))
    steps = np.arange(1999)
    A = np.zeros((2000, 2000))
    A[steps, steps + 1] = A[steps + 1, steps] = 1e-9
    y = np.full(2000, -1)
    for code in (0, 1):
        y[np.flatnonzero(truth == code)[:50]] = code
    right = [
        np.mean(
            gssl.EmbeddingClassifier(gssl.SGC(), priors=priors).fit(X, y, adjacency=A).transduction_[y < 0]
            == truth[y < 0]
        )
        for priors in (None, [0.9, 0.1])
    ]
    assert right[1] > right[0] + 0.1


@pytest.mark.parametrize(
    ("function", "value", "message"),
    [
        (class_weights, "even", 'class_weight must be None, "balanced" or a dict'),
        (class_weights, {"c": 1.0}, "class_weight names 'c', which is no class of the labels"),
        (class_weights, {"a": -1.0}, "class_weight of a must be a positive number"),
        (class_weights, {"a": "much"}, "class_weight of a must be a positive number"),
        (read_priors, "even", 'priors must be "labels", "uniform"'),
        (read_priors, {"a": 1.0}, "priors do not name the class b"),
        (read_priors, {"a": 1.0, "c": 2.0}, "priors names 'c', which is no class of the labels"),
        (read_priors, [1.0], "priors must be 2 numbers, one for each of the classes"),
        (read_priors, [1.0, -1.0], "priors must be finite, not negative and not all zero"),
        (read_priors, [0, 0], "priors must be finite, not negative and not all zero"),
        (read_priors, ["0.5", "0.5"], "priors must be 2 numbers"),
    ],
)
def test_bad_weights_and_priors_are_refused(function, value, message):
    with pytest.raises(ValueError, match=message):
        function(value, np.array(["a", "b"]), np.array([0, 1, 1]))


@pytest.mark.parametrize(
    "head",
    [
        make_pipeline(StandardScaler(), LogisticRegression(class_weight="balanced")),
        RandomForestClassifier(20, class_weight="balanced_subsample", random_state=0),
    ],
    ids=["in a pipeline", "of each tree"],
)
def test_balanced_weights_are_found_wherever_a_head_has_them(random_problem, head):
    X, A, y = random_problem.X, random_problem.A, random_problem.y
    P = [
        gssl.EmbeddingClassifier(gssl.SGC(), head=head, priors=priors)
        .fit(X, y, adjacency=A)
        .label_distributions_
        for priors in (None, "uniform")
    ]
    np.testing.assert_allclose(P[1], P[0], atol=1e-12)


def test_weights_that_priors_cannot_take_back_are_refused_before_the_work(problem, monkeypatch):
    def fit(self, *rest):
        raise AssertionError("the head was fitted")

    monkeypatch.setattr(VotingClassifier, "fit", fit)
    monkeypatch.setattr(LogisticRegression, "fit", fit)
    two = [("a", LogisticRegression()), ("b", LogisticRegression(class_weight="balanced"))]
    for head, said in (
        (VotingClassifier(two, voting="soft"), "a__class_weight and b__class_weight of the head differ"),
        (LogisticRegression(class_weight="even"), "class_weight must be None"),
    ):
        model = gssl.EmbeddingClassifier(gssl.SGC(), head=head, priors="uniform")
        with pytest.raises(ValueError, match=said):
            model.fit(problem.X, problem.y, adjacency=problem.A)


def test_a_saved_model_keeps_weights_and_priors(random_problem, tmp_path):
    X, A, y = random_problem.X, random_problem.A, random_problem.y
    model = gssl.EmbeddingClassifier(
        gssl.SGC(), head=gssl.RidgeHead(class_weight={0: 2.0}), priors={0: 0.5, 1: 0.3, 2: 0.2}
    ).fit(X, y, adjacency=A)
    gssl.save(model, tmp_path / "model.gssl")
    loaded = gssl.load(tmp_path / "model.gssl")
    assert loaded.head.class_weight == {0: 2.0}
    assert loaded.priors == {0: 0.5, 1: 0.3, 2: 0.2}
    np.testing.assert_array_equal(loaded.predict_proba(X, adjacency=A), model.predict_proba(X, adjacency=A))
