"""Random walks: the compiled loop agrees with its NumPy version and with the equation's probabilities."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from gssl.operators import set_threads
from reproduction import walks as module
from reproduction.walks import empty_walks, random_walks, transitions

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


def random_graph(weighted, n=40, seed=0):
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.random((n, n)) < 0.1, k=1).astype(float)
    upper[0, 1 : n // 2] = 1
    upper[:, -2:] = 0
    if weighted:
        upper *= rng.random((n, n)) * 5
    return csr_array(upper + upper.T)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("p", "q"), [(1.0, 1.0), (0.25, 4.0), (4.0, 0.25), (1e6, 1e6), (1e-9, 1.0)])
def test_walks_are_those_of_the_twin(weighted, p, q):
    graph = transitions(random_graph(weighted))
    starts = np.tile(np.arange(40), 3)
    expected, states = empty_walks(starts, 25, random_state=7)
    arrays = (graph.indptr, graph.indices, graph.cumulative)
    module.write_walks(arrays, states, 1.0 / p, 1.0 / q, expected)
    np.testing.assert_array_equal(random_walks(graph, starts, 25, 7, p=p, q=q), expected)


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


def test_a_node_without_links_stays():
    np.testing.assert_array_equal(random_walks(transitions(WEIGHTED), [4], 4, random_state=0), [[4, 4, 4, 4]])


def test_huge_weights_do_not_overflow():
    graph = transitions(csr_array(WEIGHTED * 4e307))
    walks = random_walks(graph, np.full(60_000, 2), 2, random_state=0)
    np.testing.assert_array_equal(walks, random_walks(transitions(WEIGHTED), walks[:, 0], 2, random_state=0))


def test_threads_change_no_walk():
    graph = transitions(random_graph(True))
    starts = np.tile(np.arange(38), 500)
    set_threads(1)
    alone = random_walks(graph, starts, 30, 3, p=0.5, q=2.0)
    set_threads(2)
    np.testing.assert_array_equal(random_walks(graph, starts, 30, 3, p=0.5, q=2.0), alone)
    set_threads(None)


INLINED = ["_next_state", "_uniform", "_pick", "_bias", "_pick_exactly"]


def hub_and_path(weighted):
    """Return a random graph with a hub and two isolated nodes."""
    rng = np.random.default_rng(0)
    A = np.triu(rng.random((12, 12)) < 0.25, k=1).astype(float)
    A[0, 1:9] = 1
    A[:, [3, 11]] = A[[3, 11]] = 0
    A *= rng.random((12, 12)) * 4 if weighted else 1
    return csr_array(A + A.T)


@pytest.mark.parametrize(("p", "q"), [(1.0, 1.0), (0.25, 4.0), (1e9, 1e9), (1e-9, 1.0)])
@pytest.mark.parametrize("weighted", [False, True])
def test_python_runs_the_compiled_loop_to_the_same_walks(monkeypatch, p, q, weighted):
    """Compiled code does not check array bounds; Python does."""
    ways, starts = transitions(hub_and_path(weighted)), np.repeat(np.arange(12), 3)
    compiled = random_walks(ways, starts, 12, np.random.default_rng(5), p=p, q=q)
    used = []
    with monkeypatch.context() as patch:
        patch.setattr(module, "compiled", lambda loop, *_: used.append(loop.__name__) or loop)
        for name in INLINED:
            patch.setattr(module, name, getattr(module, name).py_func)
        module.compiled_walks.cache_clear()
        # overflow is intended in the random number generator
        with np.errstate(over="ignore"):
            plain = random_walks(ways, starts, 12, np.random.default_rng(5), p=p, q=q)
    module.compiled_walks.cache_clear()
    assert used, "the loop was not made anew"
    np.testing.assert_array_equal(plain, compiled)
    # walks stay at nodes without links, and otherwise follow links
    A = hub_and_path(weighted).toarray() > 0
    moved = plain[:, :-1] != plain[:, 1:]
    assert not moved[np.isin(starts, [3, 11])].any()
    assert A[plain[:, :-1][moved], plain[:, 1:][moved]].all()


def test_chances_are_running_sums_in_units_of_the_largest_weight():
    chances = transitions(csr_array([[0.0, 2.0, 1.0], [2.0, 0.0, 0.0], [1.0, 0.0, 0.0]]))
    np.testing.assert_array_equal(chances.cumulative, [1.0, 1.5, 1.0, 1.0])


def test_random_numbers_are_those_of_splitmix64():
    numbers = module.uniforms(0)
    assert [round(next(numbers), 6) for _ in range(2)] == [0.883311, 0.431528]
