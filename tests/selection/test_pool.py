"""The log-linear pool maximises the likelihood of labels, and says whether the second model helps."""

import numpy as np
from scipy.special import softmax

from gssl.selection.pool import fit_pool, log_linear


def draw(seed=0, m=2000):
    rng = np.random.default_rng(seed)
    truth = rng.integers(3, size=m)
    shown = 2.0 * np.eye(3)[truth]
    return truth, *(softmax(shown + rng.normal(size=(m, 3)) * 1.5, axis=1) for _ in range(2))


def test_two_models_are_better_than_one():
    truth, P, Q = draw()
    pool = fit_pool(P, Q, truth, np.ones(len(truth)))
    assert pool.is_clear()
    assert 0.3 < pool.share < 0.7
    pooled = pool.distributions(P, Q)
    assert (pooled.argmax(axis=1) == truth).mean() > (P.argmax(axis=1) == truth).mean() + 0.03
    np.testing.assert_allclose(pooled, log_linear(P, Q, pool.a, pool.b))
    expected = P**pool.a * Q**pool.b
    np.testing.assert_allclose(pooled, expected / expected.sum(axis=1, keepdims=True), atol=1e-9)


def test_noise_adds_nothing():
    truth, P, _ = draw()
    noise = np.random.default_rng(1).dirichlet(np.ones(3), len(truth))
    pool = fit_pool(P, noise, truth, np.ones(len(truth)))
    assert not pool.is_clear()
    assert pool.share < 0.1
