import numpy as np

from gssl.label.queue import Queue
from gssl.selection.suggestion import unit_rows


def rows(n=200, seed=0):
    return unit_rows(np.random.default_rng(seed).standard_normal((n, 4)).astype(np.float32))


def by_equation(U, doubt, closed, labelled):
    """Choose the node with the greatest gain, computed by the equation for each node."""
    K = np.maximum(U @ U.T, 0.0) ** 4
    covered = K[:, labelled].max(axis=1, initial=0.0)
    u = np.where(closed, 0.0, doubt)
    np.fill_diagonal(K, 0.0)
    gains = [u[j] * (u * np.maximum(K[:, j] - covered, 0.0)).sum() for j in range(len(U))]
    return int(np.argmax(gains))


def test_the_choice_is_that_of_the_equation_also_after_undo():
    U, rng = rows(), np.random.default_rng(1)
    chosen, labelled = Queue(U), np.array([], dtype=np.int64)
    for step in range(12):
        doubt = rng.random(200).astype(np.float32)
        closed = np.zeros(200, dtype=bool)
        closed[labelled] = True
        node, _ = chosen.next(doubt, closed, labelled)
        assert node == by_equation(U, doubt, closed, labelled)
        labelled = labelled[:-1] if step % 4 == 3 else np.append(labelled, node)


def test_a_node_of_the_larger_group_comes_first_and_speaks_for_it():
    U = np.repeat(np.eye(2, dtype=np.float32), [30, 10], axis=0)
    chosen = Queue(U).next(np.ones(40, dtype=np.float32), np.zeros(40, dtype=bool), np.array([], int))
    assert chosen is not None
    assert chosen[0] < 30
    assert chosen[1] == 29
    # then its group is covered
    closed = np.zeros(40, dtype=bool)
    closed[chosen[0]] = True
    node, count = Queue(U).next(np.ones(40, dtype=np.float32), closed, np.array([chosen[0]]))
    assert node >= 30
    assert count == 9


def test_where_nothing_is_alike_the_least_certain_comes():
    doubt = np.array([0.1, 0.9, 0.5], dtype=np.float32)
    assert Queue(np.eye(3, dtype=np.float32)).next(doubt, np.zeros(3, bool), np.array([], int)) == (1, 0)
    closed = np.array([False, True, False])
    assert Queue(np.eye(3, dtype=np.float32)).next(doubt, closed, np.array([1])) == (2, 0)


def test_a_used_up_sample_is_drawn_again():
    chosen, closed = Queue(rows(100), sample=20), np.zeros(100, dtype=bool)
    seen = []
    for _ in range(100):
        node, _ = chosen.next(np.ones(100, dtype=np.float32), closed, np.flatnonzero(closed))
        seen.append(node)
        closed[node] = True
    assert sorted(seen) == list(range(100))
