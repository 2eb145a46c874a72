"""Small graphs with isolated nodes, in both float types, with and without weights."""

import numpy as np
import pytest


@pytest.fixture(params=[np.float32, np.float64], ids=["float32", "float64"])
def dtype(request):
    return request.param


@pytest.fixture
def assert_close(dtype):
    """Assert that a result has the float type of its inputs and the values of dense algebra in float64."""

    def assert_close(result, expected):
        assert result.dtype == dtype
        tolerance = 2e-6 if dtype == np.float32 else 1e-14
        np.testing.assert_allclose(result, expected, rtol=tolerance, atol=tolerance)

    return assert_close


@pytest.fixture(params=[False, True], ids=["unweighted", "weighted"])
def A(request, dtype):
    """Dense adjacency of nine nodes; nodes 3 and 8 are isolated."""
    rng = np.random.default_rng(0)
    upper = np.triu(rng.random((9, 9)) < 0.5, k=1)
    upper[[3, 8]] = upper[:, [3, 8]] = False
    weights = rng.integers(1, 9, size=(9, 9)) / 4 if request.param else np.ones((9, 9))
    upper = (upper * weights).astype(dtype)
    return upper + upper.T


@pytest.fixture
def U(dtype):
    return np.random.default_rng(1).standard_normal((9, 4)).astype(dtype)
