"""On any graph, results are distributions, labels reach their component, and inputs are not changed."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from tests import estimators

import gssl

pytestmark = [
    pytest.mark.filterwarnings("ignore::gssl.graph.GraphWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]

CLASSIFIERS = estimators.CLASSIFIERS | {
    "high-pass": gssl.EmbeddingClassifier(gssl.G2CN(depth=2), head="ridge"),
    "local depths": gssl.EmbeddingClassifier(gssl.NDLS(depth=4), head="adam", random_state=0),
    "propagation": gssl.LabelPropagation(max_iter=500),
    "auto": estimators.COMPOSED["auto"],
}


def reached(A, y):
    """Return the nodes that labels reach along edges."""
    seen, before = y >= 0, 0
    while before < seen.sum():
        before = seen.sum()
        seen = seen | ((A > 0) @ seen.astype(float) > 0)
    return seen


@pytest.mark.parametrize("name", CLASSIFIERS)
@pytest.mark.parametrize(("dtype", "decades"), [(np.float32, 8), (np.float64, 100)])
def test_every_node_gets_a_distribution_and_nothing_given_changes(
    for_all, random_problems, name, dtype, decades
):
    def check(problem):
        loops = np.diag(np.arange(len(problem.y)) % 3 == 0) * 2.0
        X, A = csr_array(problem.X.astype(dtype)), csr_array(np.triu(problem.A) + loops)
        parts = [part for matrix in (X, A) for part in (matrix.data, matrix.indices, matrix.indptr)]
        given = [*parts, problem.y]
        before = [part.copy() for part in given]
        model = clone(CLASSIFIERS[name]).fit(X, problem.y, adjacency=A)
        P = model.label_distributions_
        assert np.isfinite(P).all()
        assert (P >= 0).all()
        np.testing.assert_allclose(P.sum(axis=1), 1.0, atol=1e-5)
        np.testing.assert_array_equal(model.reached_, reached(problem.A, problem.y))
        np.testing.assert_array_equal(model.transduction_[model.informed_], P.argmax(axis=1)[model.informed_])
        np.testing.assert_allclose(P[~model.informed_], 1 / 3, rtol=1e-6)
        for part, copy in zip(given, before, strict=True):
            np.testing.assert_array_equal(part, copy)

    for_all(random_problems(decades=decades), check)


def harmonic(A, y):
    """Compute the harmonic solution by elimination of nodes, without subtractions that lose precision."""
    A, y = A.copy(), np.asarray(y)
    free = np.flatnonzero((y < 0) & reached(A, y))
    kept = np.flatnonzero(y >= 0)
    eliminated = []
    for node in free:
        shares = A[node] / A[node].sum()
        eliminated.append((node, shares))
        others = np.concatenate([kept, free[free > node]])
        A[np.ix_(others, others)] += np.outer(A[others, node], shares[others])
        A[others, others] = A[node] = A[:, node] = 0
    F = np.zeros((len(y), 3))
    F[kept, y[kept]] = 1
    for node, shares in reversed(eliminated):
        F[node] = shares @ F
    return F[free], free


def test_labels_cross_links_of_any_strength(for_all, random_problems):
    def check(problem):
        expected, free = harmonic(problem.A, problem.y)
        model = gssl.LabelPropagation(class_mass=False).fit(None, problem.y, adjacency=problem.A)
        np.testing.assert_allclose(model.label_distributions_[free], expected, atol=3e-3)

    for_all(random_problems(decades=4), check)


def random_part(rng):
    """A connected random graph of twenty nodes."""
    part = np.triu(rng.random((20, 20)) < 0.3, k=1) * 1.0
    part[np.arange(19), np.arange(1, 20)] = 1
    return part + part.T


@pytest.mark.parametrize("weight", [1.0, 1e-6, 1e-9, 1e-12])
def test_behind_weak_bridges_labels_mix_as_before_them(weight):
    """Twenty nodes without labels have two weak links to twenty nodes with some labels."""
    rng = np.random.default_rng(0)
    A, y = np.zeros((40, 40)), np.full(40, -1)
    A[:20, :20], A[20:, 20:] = random_part(rng), random_part(rng)
    for u, v in ((10, 25), (15, 30)):
        A[u, v] = A[v, u] = weight
    y[[0, 5, 9]] = [0, 1, 2]
    expected, free = harmonic(A, y)
    model = gssl.LabelPropagation(class_mass=False).fit(None, y, adjacency=A)
    np.testing.assert_allclose(model.label_distributions_[free], expected, atol=3e-3)


@pytest.mark.parametrize("weight", [1.0, 1e-9, 1e-60])
def test_faint_components_are_solved_like_the_others(weight):
    rng = np.random.default_rng(0)
    part = random_part(rng)
    A, y = np.zeros((40, 40)), np.full(40, -1)
    A[:20, :20], A[20:, 20:] = part, weight * part
    y[[0, 5, 9, 20, 25, 29]] = [0, 1, 2, 0, 1, 2]
    P = gssl.LabelPropagation().fit(None, y, adjacency=A).label_distributions_
    np.testing.assert_allclose(P[20:], P[:20], atol=2e-3)
