"""Every classifier, and one small problem on which all of them should be right."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from sklearn.base import clone

import gssl

CLASSIFIERS = {
    "ogc": gssl.OGC(random_state=0),
    "ogc-cross-entropy": gssl.OGC(loss="cross_entropy", random_state=0),
    "logistic": gssl.EmbeddingClassifier(gssl.GGCM(depth=4), head="logistic"),
    "ridge": gssl.EmbeddingClassifier(gssl.SGC(), head="ridge"),
    "adam": gssl.EmbeddingClassifier(gssl.SSGC(depth=4), head="adam", random_state=0),
    "no-graph": gssl.EmbeddingClassifier(gssl.NoGraph(), head="ridge"),
    "manifold": gssl.ManifoldRegularization(gamma_intrinsic=0.1),
    "correct-and-smooth": gssl.CorrectAndSmooth(),
    "correct-and-smooth-auto": gssl.CorrectAndSmooth(gssl.RidgeHead(), scale="auto"),
    "propagation": gssl.LabelPropagation(),
    "spreading": gssl.LabelSpreading(),
    "auto": gssl.AutoClassifier(depth=4),
}


@dataclass(frozen=True)
class Problem:
    """Features, dense adjacency, labels with −1, and the truth."""

    X: np.ndarray
    A: np.ndarray
    y: np.ndarray
    truth: np.ndarray

    def grown(self, n_new, features=None):
        """Add nodes without links, labels or (unless given) features at the end."""
        n = len(self.y)
        A = np.zeros((n + n_new, n + n_new))
        A[:n, :n] = self.A
        rows = np.zeros((n_new, self.X.shape[1])) if features is None else features
        return replace(self, X=np.vstack([self.X, rows]), A=A, y=np.concatenate([self.y, np.full(n_new, -1)]))


# classifiers that predict from a row's own features only
BY_ROWS = {"no-graph", "manifold"}


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
    """Three rings of twelve nodes with chords, two bridges between rings, three labels in each."""
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1, 2], 12)
    A = np.zeros((36, 36))
    for start in (0, 12, 24):
        for i in range(12):
            for reach in (1, 2, 5):
                A[start + i, start + (i + reach) % 12] = 1
    A[3, 15] = A[17, 30] = 1
    A = np.maximum(A, A.T)
    X = 0.8 * np.eye(3)[truth].repeat(2, axis=1) + 0.2 * rng.random((36, 6))
    X /= X.sum(axis=1, keepdims=True)
    y = np.full(36, -1)
    for start in (0, 12, 24):
        y[start : start + 9 : 4] = truth[start]
    return Problem(X, A, y, truth)


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
