"""Graph reconstruction agrees with sorting all distances, and with Table 3."""

import numpy as np
import pytest
from scipy.linalg import block_diag

import gssl
from reproduction.reconstruction import RECONSTRUCTION, reconstruction_accuracy
from reproduction.spec import MEASURES


def sorted_accuracy(U, A):
    """Rank all nodes by their distance, equal rows in the order of nodes, and drop the first."""
    scores = []
    for i in np.flatnonzero(A.sum(axis=1)):
        distances = np.linalg.norm(U - U[i], axis=1).round(9)
        nearest = np.argsort(distances, kind="stable")[1 : int(A[i].sum()) + 1]
        scores.append(A[i, nearest].mean())
    return np.mean(scores)


def dense_filter(A, method, depth):
    """Compute GGC or GGCM with defaults and X = I; self-loops are convolved, but no negatives."""
    n = len(A)
    one, s = np.eye(n), np.diag(1 / np.sqrt(A.sum(axis=1) + 1))
    A_hat = s @ (A + one) @ s
    N = 1.0 - one - (A - np.diag(np.diag(A)))
    t = np.diag(1 / np.sqrt(2 + N.sum(axis=1)))
    N_hat = t @ (2 * one - N) @ t
    U, total = one, np.zeros((n, n))
    for k in range(1, depth + 1):
        smooth, beta = A_hat @ U, 0.5 ** (k - 1)
        half = (smooth + beta * N_hat @ U + (1 - beta) * U) / 2
        total += half
        U = half if method is gssl.GGC else smooth
    return U if method is gssl.GGC else 0.15 * one + 0.85 * total / depth


@pytest.mark.parametrize("block_columns", [45, 256])
@pytest.mark.parametrize(("method", "depth"), [(gssl.GGC, 1), (gssl.GGC, 3), (gssl.GGCM, 3)])
def test_it_is_what_sorting_gives(method, depth, block_columns):
    """Half of the nodes have self-loops; node 7 is isolated and not counted."""
    upper = np.triu(np.random.default_rng(0).random((90, 90)) < 0.04, 1).astype(float)
    upper[7] = upper[:, 7] = 0
    A = upper + upper.T + np.diag(np.arange(90) % 2 * (np.arange(90) != 7))
    ours = reconstruction_accuracy(method(depth), A, block_columns=block_columns)
    expected = sorted_accuracy(dense_filter(A, method, depth), A)
    assert 0.05 < expected < 0.99
    assert ours == pytest.approx(expected, abs=0.01)


def test_equal_rows_cost_each_clique_one_neighbour():
    """SGC makes the rows of a clique equal, so only its first node drops itself from the ranking."""
    A = block_diag(np.ones((2, 2)) - np.eye(2), np.ones((3, 3)) - np.eye(3))
    # the pair's second node finds 0 of 1; the triangle's later nodes find 1 of 2 each
    assert reconstruction_accuracy(gssl.SGC(2), A) == pytest.approx(1 - (1 + 2 * 0.5) / 5)


def test_equal_distances_share_the_last_place():
    """Without convolution, all other nodes of a star are equally far."""
    star = np.zeros((5, 5))
    star[0, 1:] = star[1:, 0] = 1.0
    identity = gssl.SSGC(1, alpha=1.0)
    assert reconstruction_accuracy(identity, star) == pytest.approx((1 + 4 * 1 / 4) / 5)


@pytest.mark.parametrize(
    ("graph", "row", "depth", "tolerance"),
    [
        *(
            (graph, row, depth, 0.1)
            for graph in ("cora", "citeseer")
            for row in ("SGC", "S²GC")
            for depth in (2, 8)
        ),
        ("cora", "GGC", 2, 0.5),
        ("cora", "GGCM", 2, 0.5),
    ],
)
def test_table_3(needs_planetoid, graph, row, depth, tolerance):
    needs_planetoid(graph)
    (entry,) = (e for e in RECONSTRUCTION.entries if e.position == (graph.capitalize(), row, str(depth)))
    ours = MEASURES["reconstruction"](entry.cell, 0)["accuracy"]
    assert ours == pytest.approx(entry.published, abs=tolerance)
