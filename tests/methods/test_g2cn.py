"""G²CN agrees with dense algebra."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from tests.methods.dense import assert_depths, dense_A_hat

import gssl


@pytest.mark.parametrize(("b_low", "b_high", "mix"), [(0.0, 2.0, 0.3), (0.2, 1.7, 1.0), (0.2, 1.7, 0.0)])
def test_g2cn(random_problem, b_low, b_high, mix):
    A, I = random_problem.A, np.eye(25)  # noqa: E741
    L = I - dense_A_hat(A)
    low, high = I - 0.3 * (L - b_low * I) @ (L - b_low * I), I - 0.2 * (L - b_high * I) @ (L - b_high * I)
    for X in (random_problem.X, random_problem.X * (random_problem.X > 0.5)):
        powers = [[np.linalg.matrix_power(G, k) @ X for G in (low, high)] for k in range(5)]
        expected = [(1 - mix) * smooth + mix * sharp for smooth, sharp in powers]
        model = gssl.G2CN(4, step_low=0.3, step_high=0.2, b_low=b_low, b_high=b_high, mix=mix)
        assert_depths(model, X, A, expected)
        assert_depths(model, csr_array(X), A, expected)


def test_g2cn_tends_to_a_gaussian_of_the_spectrum(random_problem):
    X, A = random_problem.X, random_problem.A
    frequencies, Q = np.linalg.eigh(np.eye(25) - dense_A_hat(A))
    gaussian = Q @ np.diag(np.exp(-3 * (frequencies - 1.5) ** 2)) @ Q.T @ X
    model = gssl.G2CN(depth=2000, step_high=3 / 2000, b_high=1.5, mix=1.0)
    np.testing.assert_allclose(model.fit_transform(X, adjacency=A), gaussian, atol=5e-3)


def test_g2cn_refuses_a_step_under_which_a_frequency_grows(random_problem):
    model = gssl.G2CN(step_low=0.51)
    with pytest.raises(ValueError, match=r"step_low must be a number from 0\.0 to 0\.5, not 0\.51"):
        model.fit(random_problem.X, adjacency=random_problem.A)
