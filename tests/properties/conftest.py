"""Random problems with all kinds of irregularities, and the number of examples of each property."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

N_CLASSES, N_FEATURES = 3, 6
BOTH = st.booleans()


@dataclass(frozen=True)
class Problem:
    """Features, a dense symmetric adjacency without loops, and labels with −1."""

    X: np.ndarray
    A: np.ndarray
    y: np.ndarray

    def __repr__(self):
        return f"Problem of {len(self.y)} nodes, {np.count_nonzero(self.A) // 2} edges"

    def reordered(self, order):
        """Return the problem with reordered nodes."""
        return Problem(self.X[order], self.A[np.ix_(order, order)], self.y[order])

    def of(self, **changes):
        """Return the problem with some parts replaced."""
        return replace(self, **changes)


@st.composite
def problems(draw, decades=3, weighted=BOTH):
    """Draw up to three components, hubs, isolated nodes, rows without features, and weights over ±decades."""
    sizes = draw(st.lists(st.integers(5, 14), min_size=1, max_size=3))
    alone, blank = draw(st.integers(0, 3)), draw(st.integers(0, 3))
    hub, heavy = draw(st.booleans()), draw(weighted)
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = sum(sizes) + alone
    A = np.zeros((n, n))
    for start, size in zip(np.cumsum([0, *sizes]), sizes, strict=False):
        nodes = np.arange(start, start + size)
        A[nodes[:-1], nodes[1:]] = 1
        A[np.ix_(nodes, nodes)] += np.triu(rng.random((size, size)) < 0.2, k=2)
        if hub:
            A[start, nodes[1:]] = 1
    if heavy:
        A *= 10 ** rng.uniform(-decades, decades, (n, n))
    truth = rng.integers(N_CLASSES, size=n)
    labelled = rng.permutation(n)[: max(2 * N_CLASSES, n // 3)]
    labelled = labelled[: n - 1]
    truth[labelled] = np.arange(len(labelled)) % N_CLASSES
    X = rng.random((n, N_FEATURES)) + np.eye(N_CLASSES)[truth].repeat(2, axis=1)
    X[rng.permutation(n)[:blank]] = 0
    y = np.full(n, -1)
    y[labelled] = truth[labelled]
    order = rng.permutation(n)
    return Problem(X, A + A.T, y).reordered(order)


@pytest.fixture(scope="session")
def random_problems():
    return problems


@pytest.fixture(params=[3, pytest.param(100, marks=pytest.mark.slow)], ids=["quick", "long"])
def for_all(request):
    """Return a function that checks a property on a few fixed problems, or on many random ones."""
    profile = settings(
        max_examples=request.param,
        deadline=None,
        derandomize=request.param < 100,
        database=None,
        suppress_health_check=list(HealthCheck),
    )

    def run(strategy, check):
        profile(given(strategy)(check))()

    return run
