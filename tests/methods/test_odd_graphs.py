"""Unusual graphs and features give uniform predictions with a warning, or one clear error."""

import warnings

import numpy as np
import pytest
from scipy.sparse import coo_array, csr_array
from sklearn.base import clone
from tests.problems import grown, path

import gssl


@pytest.fixture
def islands(problem):
    """36, 37 isolated, 38–39 linked, all with features; 40–41 linked, 42 isolated, without features."""
    features = np.zeros((7, 6))
    features[:4] = problem.X[[0, 12, 24, 25]]
    islands = grown(problem, 7, features)
    islands.A[38, 39] = islands.A[39, 38] = islands.A[40, 41] = islands.A[41, 40] = 1
    return islands


def named_twice(A):
    row, column = np.nonzero(A)
    return coo_array((np.ones(2 * len(row)), (np.tile(row, 2), np.tile(column, 2))), shape=A.shape)


def test_nodes_without_label_or_feature_are_uniform_and_named_in_a_warning(classifier, islands):
    uses_features = not isinstance(classifier, gssl.LabelPropagation)
    n_unknown = 3 if uses_features else 7
    with pytest.warns(gssl.GraphWarning, match=f"nothing is known about {n_unknown} nodes"):
        classifier.fit(islands.X, islands.y, adjacency=islands.A)
    P = classifier.label_distributions_
    np.testing.assert_allclose(P[43 - n_unknown :], 1 / 3, rtol=1e-12)
    assert (P[: 43 - n_unknown].max(axis=1) > 0.34).all()
    np.testing.assert_array_equal(classifier.reached_, np.arange(43) < 36)
    np.testing.assert_array_equal(classifier.transduction_[:36], islands.truth)
    if uses_features:
        np.testing.assert_array_equal(classifier.transduction_[36:40], [0, 1, 2, 2])
    with pytest.warns(gssl.GraphWarning, match="nothing is known about"):
        classifier.predict(islands.X, adjacency=islands.A)
    P = classifier.predict_proba(islands.X, adjacency=islands.A)
    np.testing.assert_allclose(P[43 - n_unknown :], 1 / 3, rtol=1e-12)


def test_an_isolated_node_with_a_label_is_reached(classifier, problem):
    more = grown(problem, 1, problem.X[:1])
    more.y[36] = 0
    classifier.fit(more.X, more.y, adjacency=more.A)
    assert classifier.reached_.all()
    assert classifier.transduction_[36] == 0


def test_a_tie_between_labels_is_not_ignorance():
    """The middle of a path is reached by the labels of both ends, so there must be no warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", gssl.GraphWarning)
        model = gssl.LabelPropagation().fit(None, [0, -1, 1], adjacency=path(3))
        model.predict(None, adjacency=path(3))
    np.testing.assert_array_equal(model.label_distributions_[1], [0.5, 0.5])
    np.testing.assert_allclose(model.predict_proba(None, adjacency=path(3))[1], [0.5, 0.5])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (np.triu, "not symmetric in 110 pairs"),
        (lambda A: A + np.eye(36), "removed 36 self-loops"),
        (named_twice, "merged 220 duplicate edges"),
    ],
)
def test_a_graph_that_is_not_simple_is_repaired_with_a_warning(classifier, problem, change, message):
    with pytest.warns(gssl.GraphWarning, match=message):
        repaired = clone(classifier).fit(problem.X, problem.y, adjacency=change(problem.A))
    classifier.fit(problem.X, problem.y, adjacency=problem.A)
    np.testing.assert_array_equal(repaired.label_distributions_, classifier.label_distributions_)
    np.testing.assert_array_equal(repaired.transduction_, classifier.transduction_)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda p: {"adjacency": p.A[:30, :30]}, "30 nodes but 36 are expected"),
        (lambda p: {"adjacency": p.A[:30]}, "must be square"),
        (lambda p: {"adjacency": -p.A}, "negative weight -1.0 at row 0, column 1"),
        (lambda p: {"adjacency": np.where(p.A > 0, np.nan, 0)}, "NaN at row 0, column 1"),
        (lambda p: {"adjacency": np.zeros((36, 36))}, "no edges"),
        (lambda p: {"adjacency": np.eye(36)}, "no edges"),
        (lambda p: {"y": p.y[:30]}, "y has 30 entries but X has 36 rows"),
        (lambda p: {"X": p.X[:30]}, "y has 36 entries but X has 30 rows"),
    ],
)
def test_wrong_sizes_and_weights_are_errors(classifier, problem, change, message):
    given = {"X": problem.X, "y": problem.y, "adjacency": problem.A} | change(problem)
    with pytest.raises(ValueError, match=message):
        classifier.fit(**given)


@pytest.mark.parametrize(("value", "name"), [(np.nan, "NaN"), (np.inf, "infinity")])
@pytest.mark.parametrize("sparse", [False, True])
def test_a_bad_feature_is_named_by_row_and_column(classifier, problem, value, name, sparse):
    X = problem.X.copy()
    X[5, 2] = value
    with pytest.raises(ValueError, match=f"{name} at row 5, column 2"):
        classifier.fit(csr_array(X) if sparse else X, problem.y, adjacency=problem.A)


@pytest.mark.parametrize("wild", [36, 10**6, -1])
@pytest.mark.parametrize("where", ["adjacency", "X"])
def test_indices_out_of_range_are_errors(classifier, problem, where, wild):
    """SciPy would read memory out of bounds."""
    given = {"X": csr_array(problem.X), "adjacency": csr_array(problem.A)}
    given[where].indices[3] = wild
    with pytest.raises(ValueError, match=rf"(?i){'adjacency' if where == 'adjacency' else 'X'}.*{wild}"):
        classifier.fit(given["X"], problem.y, adjacency=given["adjacency"])


@pytest.mark.parametrize("sparse", [False, True])
def test_inputs_are_never_modified(classifier, problem, sparse):
    X, A = problem.X.copy(), problem.A.copy()
    if sparse:
        X, A = csr_array(X), csr_array(A)
    arrays = [X.data, X.indices, X.indptr, A.data, A.indices, A.indptr] if sparse else [X, A]
    before = [array.copy() for array in arrays]
    classifier.fit(X, problem.y, adjacency=A)
    classifier.predict(X, adjacency=A)
    for array, copy in zip(arrays, before, strict=True):
        np.testing.assert_array_equal(array, copy)


@pytest.mark.parametrize("with_graph", [True, False])
def test_sparse_features_are_the_dense_ones(classifier, problem, with_graph):
    X = np.where(problem.X > 0.05, problem.X, 0)
    A = problem.A if with_graph else None
    sparse = clone(classifier).fit(csr_array(X), problem.y, adjacency=A)
    dense = classifier.fit(X, problem.y, adjacency=A)
    np.testing.assert_allclose(sparse.label_distributions_, dense.label_distributions_, atol=1e-12)
    np.testing.assert_array_equal(sparse.transduction_, dense.transduction_)
