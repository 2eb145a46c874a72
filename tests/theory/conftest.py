"""Embeddings, and derivatives by finite differences."""

import numpy as np
import pytest


@pytest.fixture
def gradient():
    """Return a function that differentiates a scalar function of a matrix by central differences."""

    def central_differences(Q, U, h=1e-4):
        result = np.zeros_like(U)
        for place in np.ndindex(U.shape):
            step = np.zeros_like(U)
            step[place] = h
            result[place] = (Q(U + step) - Q(U - step)) / (2 * h)
        return result

    return central_differences


@pytest.fixture
def U():
    return np.random.default_rng(3).standard_normal((12, 3))
