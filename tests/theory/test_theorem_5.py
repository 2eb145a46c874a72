"""Theorem 5: GGC is gradient descent on Q_ggc = (Q_smo + Q_igc)/2."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from tests.problems import random_graph

import gssl
from gssl.operators import complement_negatives, normalized_adjacency, smoothing_loss


@pytest.mark.parametrize(("beta", "igc_beta"), [(1.0, 1.0), (0.6, 0.6), (0.6, 0.2)])
def test_one_iteration_of_ggc_is_a_gradient_step(U, gradient, beta, igc_beta):
    """The steps are η_smo = β/2 and η_igc = β_igc/2; if both are ½ it is a step of ½ on Q_ggc."""
    A = csr_array(random_graph(12, 0.3, seed=0))
    A_hat, N_hat = normalized_adjacency(A), complement_negatives(A)
    smoothing = gradient(lambda V: smoothing_loss(A_hat, V), U)
    sharpening = gradient(lambda V: smoothing_loss(N_hat, V), U)
    model = gssl.GGC(depth=1, beta=beta, igc_beta=igc_beta)
    result = model.fit_transform(U, adjacency=A)
    np.testing.assert_allclose(
        result, U - (beta / 2) * smoothing / 2 - (igc_beta / 2) * sharpening / 2, atol=1e-10
    )
    if beta == igc_beta == 1.0:
        Q_ggc = gradient(lambda V: (smoothing_loss(A_hat, V) + smoothing_loss(N_hat, V)) / 2, U)
        np.testing.assert_allclose(result, U - Q_ggc / 2, atol=1e-10)
