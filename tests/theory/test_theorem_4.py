"""Theorem 4: IGC is a gradient step, U − ½ ∂Q_igc/∂U, on Q_igc = tr(Uᵀ ¬D̃^-½ (¬D̃ − ¬Ã) ¬D̃^-½ U)."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from tests.problems import random_graph

from gssl.graph import sample_negatives
from gssl.operators import complement_negatives, inverse_convolution, normalized_negatives, smoothing_loss


@pytest.fixture(params=["sampled", "complement"])
def N_hat(request):
    A = random_graph(12, 0.3, seed=0)
    if request.param == "complement":
        return complement_negatives(csr_array(A))
    return normalized_negatives(sample_negatives(A, 1, random_state=0))


@pytest.mark.parametrize("beta", [0.4, 1.0])
def test_igc_is_a_gradient_step(N_hat, U, gradient, beta):
    """The lazy form is a step of length β/2."""
    step = U - beta / 2 * gradient(lambda V: smoothing_loss(N_hat, V), U)
    np.testing.assert_allclose(inverse_convolution(N_hat, U, beta), step, atol=1e-10)
    assert smoothing_loss(N_hat, step) < smoothing_loss(N_hat, U)
