"""Named operators agree with dense algebra, without copies of the links."""

import numpy as np
from scipy.sparse import csr_array

from gssl.operators import mix
from gssl.operators.named import HOPS, named_operators


def test_operators_on_weighted_links():
    rng = np.random.default_rng(0)
    A = np.triu(rng.random((30, 30)) * (rng.random((30, 30)) < 0.2), k=1)
    A[:, 5] = A[5] = 0.0
    A[0, 6], A[0, 1:6], A[0, 7:], A[1:, 6], A[6] = 1e-9, 0.0, 0.0, 0.0, 0.0  # a tiny degree
    A = A + A.T
    degree = A.sum(axis=1)
    s = np.divide(1.0, np.sqrt(degree), out=np.zeros(30), where=degree > 0)
    t = 1.0 / np.sqrt(2.0 + degree)
    T = named_operators(csr_array(A), np.float64)
    hop, high = s[:, None] * A * s, t[:, None] * (2 * np.eye(30) - A) * t
    np.testing.assert_allclose(mix(T["hop"], np.eye(30), HOPS["hop"]), hop, atol=1e-14)
    np.testing.assert_allclose(mix(T["high"], np.eye(30), HOPS["high"]), high, atol=1e-14)
