import numpy as np

import gssl
from gssl.evaluation import held_out_accuracy
from gssl.selection.filters import operators
from gssl.selection.spreading import spread_hidden


def test_folds_side_by_side_are_folds_one_by_one():
    data = gssl.datasets.load("karate")
    y = data.labels.copy()
    y[20:] = -1
    A = data.adjacency.astype(float)
    nodes, P = spread_hidden(operators(A, np.float64)["hop"], y, alpha=0.5, steps=200)
    expected = held_out_accuracy(gssl.LabelSpreading(alpha=0.5, tol=1e-12), None, y, A)
    np.testing.assert_array_equal(nodes, expected.nodes)
    np.testing.assert_allclose(P, expected.distributions, atol=1e-8)
