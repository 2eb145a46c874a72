"""Sect. 3 and 4.1, appendix D: lazy convolution, SEB and the W step are gradient steps on Q_smo and Q_sup."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from tests.problems import random_graph

import gssl
from gssl.operators import (
    classification_loss,
    lazy_convolution,
    linear_step,
    normalized_adjacency,
    residual,
    smoothing_loss,
    supervised_embedding,
)

LABELLED = np.array([0, 2, 5, 7, 11])
ANCHORS = np.array([0, 2, 5])
CODES = np.array([0, 1, 2, 0, 1])
Y = np.eye(3)[CODES]
LOSSES = pytest.mark.parametrize("loss", ["squared", "cross_entropy"])


@pytest.fixture
def A():
    return random_graph(12, 0.3, seed=0)


@pytest.fixture
def W():
    return np.random.default_rng(4).standard_normal((3, 3))


@pytest.mark.parametrize("beta", [0.1, 1.0])
def test_lazy_convolution_is_a_step_of_half_beta_on_the_smoothing_loss(A, U, gradient, beta):
    A_hat = normalized_adjacency(csr_array(A))
    step = U - beta / 2 * gradient(lambda V: smoothing_loss(A_hat, V), U)
    np.testing.assert_allclose(lazy_convolution(A_hat, U, beta), step, atol=1e-10)


@LOSSES
def test_supervised_convolution_is_a_step_on_both_losses(A, U, W, gradient, loss):
    """Check Eq. 6: U − β/2 ∂Q_smo/∂U − η_sup ∂Q_sup/∂U, with W fixed."""
    A_hat, beta, eta_sup = normalized_adjacency(csr_array(A)), 0.2, 0.3
    smoothing = gradient(lambda V: smoothing_loss(A_hat, V), U)
    supervised = gradient(lambda V: classification_loss(V[LABELLED] @ W, Y, loss), U)
    update = lazy_convolution(A_hat, U, beta)
    update[LABELLED] += supervised_embedding(residual(U[LABELLED] @ W, Y, loss), W, eta_sup)
    np.testing.assert_allclose(update, U - beta / 2 * smoothing - eta_sup * supervised, atol=1e-7)


@LOSSES
def test_linear_step_is_a_step_on_the_classification_loss(U, W, gradient, loss):
    slope = gradient(lambda V: classification_loss(U[LABELLED] @ V, Y, loss), W)
    np.testing.assert_allclose(
        linear_step(U[LABELLED], W, residual(U[LABELLED] @ W, Y, loss), 0.3), W - 0.3 * slope, atol=1e-7
    )


@LOSSES
def test_one_iteration_of_ogc_steps_w_then_u(A, U, gradient, loss):
    """The published squared loss has no ½, so both of its gradients are doubled; U moves with the new W."""
    y = np.full(12, -1)
    y[LABELLED] = CODES
    X, beta, eta_sup, eta_w = U / np.abs(U).sum(axis=1, keepdims=True), 0.2, 0.05, 0.3
    model = gssl.OGC(beta, eta_sup, eta_w, loss=loss, max_iter=1, random_state=8)
    model.fit(X, y, adjacency=A, anchors=ANCHORS)
    gain = 2 if loss == "squared" else 1
    W = np.random.default_rng(8).uniform(-1 / np.sqrt(3), 1 / np.sqrt(3), size=(3, 3))
    W = W - eta_w * gain * gradient(lambda V: classification_loss(X[LABELLED] @ V, Y, loss), W)
    A_hat = normalized_adjacency(csr_array(A))
    smoothing = gradient(lambda V: smoothing_loss(A_hat, V), X)
    supervised = gradient(lambda V: gain * classification_loss(V[ANCHORS] @ W, Y[:3], loss), X)
    np.testing.assert_allclose(model.coef_, W, atol=1e-7)
    np.testing.assert_allclose(model.embedding_, X - beta / 2 * smoothing - eta_sup * supervised, atol=1e-7)
