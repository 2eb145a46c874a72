"""The bench of numbers and label sets: rivals learn, and scores are what scikit-learn says."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from benchmarks.accuracy.answers import RIVALS, Task, _set_scores, adjacency


@pytest.fixture(scope="module")
def task():
    rng = np.random.default_rng(0)
    n = 240
    order = np.arange(n)
    edges = np.stack([order[:-1], order[1:]], axis=1)
    smooth = np.cumsum(rng.normal(size=n))
    X = np.column_stack([smooth + rng.normal(size=n), rng.normal(size=(n, 2))])
    return Task("path", X, smooth, adjacency(edges, n))


@pytest.mark.parametrize("name", RIVALS)
def test_every_rival_explains_most_of_a_smooth_target(task, name):
    known = np.arange(240) % 2 == 0
    predicted = RIVALS[name](task, np.where(known, task.y, np.nan))
    test = ~known
    assert 1.0 - np.var(task.y[test] - predicted[test]) / np.var(task.y[test]) > 0.7


def test_an_adjacency_is_symmetric_without_loops():
    A = adjacency(np.array([[0, 1], [1, 0], [2, 2], [1, 2]]), 3)
    np.testing.assert_array_equal(A.toarray(), [[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    assert isinstance(A, csr_array)


def test_scores_of_sets_by_hand():
    truth = np.array([[1, 0, 0], [1, 1, 0]])
    P = np.array([[0.2, 0.9, 0.1], [0.8, 0.7, 0.1]])
    precision, micro, macro, given = _set_scores(truth, P, (P > 0.5).astype(int))
    # the label that no node has does not count
    assert precision == pytest.approx((1.0 + 0.5) / 2)
    assert micro == pytest.approx(2 * 2 / (3 + 3))
    assert macro == pytest.approx((2 / 3 + 2 / 3 + 0) / 3)
    assert given == pytest.approx(2 / 3)
