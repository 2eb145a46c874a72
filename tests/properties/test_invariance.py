"""Results do not depend on node order, class names, feature axes, units or repeated edges."""

import numpy as np
import pytest
from hypothesis import strategies as st
from scipy.sparse import coo_array
from sklearn.base import clone
from tests.estimators import CLASSIFIERS, COMPOSED, EMBEDDERS

pytestmark = [
    pytest.mark.filterwarnings("ignore::gssl.graph.GraphWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]

AUTO = {"auto": COMPOSED["auto"]}
# the initial predictor is drawn class by class
DRAWN = {"ogc", "ogc-cross-entropy", "adam"}
# results depend only on scalar products of rows, or not on features at all
BY_PRODUCTS = sorted(CLASSIFIERS.keys() - DRAWN)
# Adam's steps have a fixed length, whatever the unit of features
UNITLESS = sorted(CLASSIFIERS.keys() - {"adam"})


def fit(name, problem, A=None):
    model = clone((CLASSIFIERS | AUTO)[name])
    return model.fit(problem.X, problem.y, adjacency=problem.A if A is None else A)


def assert_near(actual, expected, atol=1e-5):
    np.testing.assert_allclose(actual, expected, rtol=0, atol=atol)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_the_order_of_nodes_does_not_matter(for_all, random_problems, name):
    def check(problem):
        order = np.random.default_rng(len(problem.y)).permutation(len(problem.y))
        plain, mixed = fit(name, problem), fit(name, problem.reordered(order))
        assert_near(mixed.label_distributions_, plain.label_distributions_[order])
        np.testing.assert_array_equal(mixed.reached_, plain.reached_[order])
        np.testing.assert_array_equal(mixed.informed_, plain.informed_[order])

    for_all(random_problems(), check)


@pytest.mark.parametrize("name", EMBEDDERS)
def test_embeddings_follow_their_nodes(for_all, random_problems, name):
    def check(problem):
        order = np.random.default_rng(len(problem.y)).permutation(len(problem.y))
        mixed = problem.reordered(order)
        plain = EMBEDDERS[name].fit_transform(problem.X, adjacency=problem.A)
        assert_near(EMBEDDERS[name].fit_transform(mixed.X, adjacency=mixed.A), plain[order], 1e-10)

    for_all(random_problems(), check)


@pytest.mark.parametrize("name", sorted(CLASSIFIERS.keys() - DRAWN))
def test_the_order_of_classes_does_not_matter(for_all, random_problems, name):
    names = np.array([2, 0, 1, -1])

    def check(problem):
        plain, renamed = fit(name, problem), fit(name, problem.of(y=names[problem.y]))
        assert_near(renamed.label_distributions_[:, names[:3]], plain.label_distributions_)

    for_all(random_problems(), check)


@pytest.mark.parametrize("name", CLASSIFIERS | AUTO)
def test_the_names_of_classes_do_not_matter(for_all, random_problems, name):
    names = np.array(["ant", "bee", "cat", None], dtype=object)

    def check(problem):
        plain, renamed = fit(name, problem), fit(name, problem.of(y=names[problem.y]))
        assert renamed.label_distributions_.tobytes() == plain.label_distributions_.tobytes()
        np.testing.assert_array_equal(renamed.transduction_, names[plain.transduction_])

    for_all(random_problems(), check)


@pytest.mark.parametrize("name", BY_PRODUCTS)
def test_turning_the_axes_changes_no_distribution(for_all, random_problems, name):
    Q = np.linalg.qr(np.random.default_rng(0).standard_normal((6, 6)))[0]

    def check(problem):
        turned = fit(name, problem.of(X=problem.X @ Q))
        assert_near(turned.label_distributions_, fit(name, problem).label_distributions_)

    for_all(random_problems(), check)


@pytest.mark.parametrize("name", EMBEDDERS)
def test_filters_are_linear(for_all, random_problems, name):
    """Filters act on all columns alike, so f(XM) = f(X)M."""
    M = np.random.default_rng(0).standard_normal((6, 6))

    def check(problem):
        model = EMBEDDERS[name]
        U = model.fit_transform(problem.X, adjacency=problem.A)
        assert_near(model.fit_transform(problem.X @ M, adjacency=problem.A), U @ M, 1e-10)

    for_all(random_problems(), check)


@pytest.mark.parametrize("name", [*UNITLESS, "auto"])
def test_the_unit_of_features_changes_no_bit(for_all, random_problems, name):
    """Powers of two are exact, so only a constant with a unit could make a difference."""

    def check(problem):
        scaled = fit(name, problem.of(X=2.0**-17 * problem.X))
        assert scaled.label_distributions_.tobytes() == fit(name, problem).label_distributions_.tobytes()

    for_all(random_problems(), check)


@pytest.mark.parametrize("name", ["manifold", "propagation", "spreading", "correct-and-smooth"])
@pytest.mark.parametrize("power", [-200, 100])
def test_the_unit_of_weights_does_not_matter_without_self_loops(for_all, random_problems, name, power):
    def check(problem):
        scaled = fit(name, problem.of(A=2.0**power * problem.A))
        assert_near(scaled.label_distributions_, fit(name, problem).label_distributions_, 1e-9)

    for_all(random_problems(), check)


@pytest.mark.parametrize("name", CLASSIFIERS | AUTO)
def test_an_edge_named_twice_is_the_edge(for_all, random_problems, name):
    """In an unweighted graph a repeated edge changes nothing; in a weighted one two halves add up."""

    def check(problem):
        row, column = np.nonzero(problem.A)
        weights = problem.A[row, column]
        if not (weights == 1).all():
            weights = weights / 2
        twice = (np.tile(weights, 2), (np.tile(row, 2), np.tile(column, 2)))
        doubled = fit(name, problem, coo_array(twice, shape=problem.A.shape))
        assert doubled.label_distributions_.tobytes() == fit(name, problem).label_distributions_.tobytes()

    for_all(random_problems(), check)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_single_precision_says_the_same(for_all, random_problems, name):
    def check(problem):
        exact, small = fit(name, problem), fit(name, problem.of(X=problem.X.astype(np.float32)))
        X = problem.X.astype(np.float32)
        P = small.predict_proba(X, adjacency=problem.A)
        assert (small.label_distributions_.dtype, P.dtype) == (np.float32, np.float32)
        assert exact.label_distributions_.dtype == np.float64
        assert_near(small.label_distributions_, exact.label_distributions_, 2e-3)
        np.testing.assert_array_equal(small.reached_, exact.reached_)

    for_all(random_problems(decades=1), check)


# negatives link all components
@pytest.mark.parametrize("name", sorted(EMBEDDERS.keys() - {"ggc", "ggcm"}))
def test_components_do_not_know_of_each_other(for_all, random_problems, name):
    def check(pair):
        left, right = pair
        A = np.zeros((len(left.y) + len(right.y),) * 2)
        A[: len(left.y), : len(left.y)], A[len(left.y) :, len(left.y) :] = left.A, right.A
        model = EMBEDDERS[name]
        both = model.fit_transform(np.vstack([left.X, right.X]), adjacency=A)
        apart = [model.fit_transform(part.X, adjacency=part.A) for part in pair]
        assert_near(both, np.vstack(apart), 1e-12)

    alike = st.booleans().flatmap(
        lambda weighted: st.tuples(*[random_problems(weighted=st.just(weighted))] * 2)
    )
    for_all(alike, check)
