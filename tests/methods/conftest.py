"""Every classifier, and one small problem on which all of them should be right."""

import numpy as np
import pytest
from sklearn.base import clone
from tests import estimators
from tests.problems import Problem, rings_with_chords

import gssl
from gssl.operators import NormalizedAdjacency

CLASSIFIERS = estimators.CLASSIFIERS | {
    "logistic": gssl.EmbeddingClassifier(gssl.GGCM(depth=4)),
    "auto": estimators.COMPOSED["auto"],
}
# classifiers that predict from a row's own features only
BY_ROWS = {"features-only", "manifold"}


@pytest.fixture(params=CLASSIFIERS)
def classifier(request):
    """Each classifier in turn, unfitted."""
    return clone(CLASSIFIERS[request.param])


@pytest.fixture(params=sorted(CLASSIFIERS.keys() - BY_ROWS))
def classifier_by_graph(request):
    """Each classifier that needs neighbours to predict, unfitted."""
    return clone(CLASSIFIERS[request.param])


@pytest.fixture(params=sorted(BY_ROWS))
def classifier_by_rows(request):
    """Each classifier that does not need neighbours to predict, unfitted."""
    return clone(CLASSIFIERS[request.param])


@pytest.fixture
def problem():
    return rings_with_chords()


@pytest.fixture
def passes(monkeypatch):
    """Record rows, links and columns of every pass over a graph."""
    seen = []
    parts = NormalizedAdjacency.parts

    def noting(A_hat, width):
        seen.append((len(A_hat.scale), len(A_hat.indices), width))
        return parts(A_hat, width)

    monkeypatch.setattr(NormalizedAdjacency, "parts", noting)
    return seen


@pytest.fixture
def random_problem():
    """A connected weighted random graph with random features, for comparison with dense algebra."""
    rng = np.random.default_rng(1)
    n = 25
    A = np.triu(rng.random((n, n)) < 0.15, k=1) * rng.integers(1, 5, size=(n, n)) / 2
    A[np.arange(n - 1), np.arange(1, n)] = 1
    A = A + A.T
    truth = rng.integers(3, size=n)
    y = np.where(np.arange(n) % 2 == 0, truth, -1)
    y[:6:2] = truth[:6:2] = [0, 1, 2]
    return Problem(rng.random((n, 5)), A, y, truth)
