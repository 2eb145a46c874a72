"""Random walks: steps have the probabilities of the equation, and compiled code does what Python does."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from scipy.sparse import csr_array

from gssl.operators import set_threads
from reproduction.walks import random_walks, transitions

# a triangle 0-1-2, a tail 2-3, and the isolated node 4
WEIGHTED = csr_array(
    np.array(
        [
            [0.0, 1.0, 2.0, 0.0, 0.0],
            [1.0, 0.0, 3.0, 0.0, 0.0],
            [2.0, 3.0, 0.0, 4.0, 0.0],
            [0.0, 0.0, 4.0, 0.0, 0.0],
            [0.0, 0.0, 0.0, 0.0, 0.0],
        ]
    )
)


def test_steps_follow_weights():
    walks = random_walks(transitions(WEIGHTED), np.full(60_000, 2), 2, random_state=0)
    shares = np.bincount(walks[:, 1], minlength=5) / len(walks)
    np.testing.assert_allclose(shares, [2 / 9, 3 / 9, 0, 4 / 9, 0], atol=0.01)


@pytest.mark.parametrize(("p", "q"), [(0.5, 2.0), (3.0, 0.2), (1e4, 1e4)])
def test_second_steps_follow_p_and_q(p, q):
    """After 0 and 2, a walk goes back to 0 with weight 2/p, to 1 (linked to 0) with 3, or to 3 with 4/q."""
    walks = random_walks(transitions(WEIGHTED), np.zeros(200_000), 3, random_state=1, p=p, q=q)
    third = walks[walks[:, 1] == 2, 2]
    expected = np.array([2 / p, 3, 0, 4 / q, 0])
    shares = np.bincount(third, minlength=5) / len(third)
    np.testing.assert_allclose(shares, expected / expected.sum(), atol=0.01)


def test_the_last_resort_is_the_same_distribution():
    """In a star with a tiny p, a walk always returns to its leaf, which rejection sampling rarely draws."""
    n = 3_000
    hub = np.zeros(n - 1, dtype=int)
    star = csr_array((np.ones(n - 1), (hub, np.arange(1, n))), shape=(n, n))
    walks = random_walks(transitions(csr_array(star + star.T)), np.ones(500), 3, random_state=0, p=1e-9)
    np.testing.assert_array_equal(walks, np.tile([1, 0, 1], (500, 1)))


def test_huge_weights_do_not_overflow():
    graph = transitions(csr_array(WEIGHTED * 4e307))
    walks = random_walks(graph, np.full(60_000, 2), 2, random_state=0)
    np.testing.assert_array_equal(walks, random_walks(transitions(WEIGHTED), walks[:, 0], 2, random_state=0))


def test_threads_change_no_walk():
    graph = transitions(hub_and_path(True))
    starts = np.tile(np.arange(12), 1500)
    set_threads(1)
    alone = random_walks(graph, starts, 30, 3, p=0.5, q=2.0)
    set_threads(2)
    np.testing.assert_array_equal(random_walks(graph, starts, 30, 3, p=0.5, q=2.0), alone)
    set_threads(None)


def hub_and_path(weighted):
    """Return a random graph with a hub and two isolated nodes."""
    rng = np.random.default_rng(0)
    A = np.triu(rng.random((12, 12)) < 0.25, k=1).astype(float)
    A[0, 1:9] = 1
    A[:, [3, 11]] = A[[3, 11]] = 0
    A *= rng.random((12, 12)) * 4 if weighted else 1
    return csr_array(A + A.T)


BIASES = [(1.0, 1.0), (0.25, 4.0), (1e9, 1e9), (1e-9, 1.0)]


def walks_of_all_biases():
    """Return walks on both graphs with all biases, as lists."""
    starts = np.repeat(np.arange(12), 3)
    return [
        random_walks(transitions(hub_and_path(weighted)), starts, 12, 5, p=p, q=q).tolist()
        for weighted in (False, True)
        for p, q in BIASES
    ]


def test_python_runs_the_compiled_loop_to_the_same_walks():
    """Compiled code does not check array bounds; Python does."""
    code = (
        "import json, numpy; numpy.seterr(over='ignore');"
        "from tests.reproduction.test_walks import walks_of_all_biases as walks; print(json.dumps(walks()))"
    )
    run = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    walks = walks_of_all_biases()
    assert json.loads(run.stdout) == walks
    # walks stay at nodes without links, and otherwise follow links
    A, walks = hub_and_path(False).toarray() > 0, np.concatenate(walks)
    moved = walks[:, :-1] != walks[:, 1:]
    assert not moved[np.isin(walks[:, 0], [3, 11])].any()
    assert A[walks[:, :-1][moved], walks[:, 1:][moved]].all()
