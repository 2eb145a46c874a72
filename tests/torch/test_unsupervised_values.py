"""Losses of the unsupervised networks against dense NumPy in the letters of their equations."""

import numpy as np
import pytest
from scipy.sparse import csr_array

pytest.importorskip("torch_geometric")

import torch
from scipy.special import log_expit

from gssl.graph import sample_negatives
from gssl.torch import BGRL, DGI, GAE, VERSE, VGAE
from gssl.torch._device import seeded
from gssl.torch.bgrl import Bootstrap, without_columns
from gssl.torch.dgi import reordered
from gssl.torch.verse import noise_contrast, walk_ends
from reproduction.walks import transitions


@pytest.fixture
def graph():
    """A weighted graph of twelve nodes, one of them without links, and features, some of them zero."""
    rng = np.random.default_rng(3)
    A = np.triu(rng.random((12, 12)) < 0.3, k=1) * rng.integers(1, 4, (12, 12)) / 2.0
    A[np.arange(10), np.arange(1, 11)] = 1.0
    A[:, 11] = 0.0
    return A + A.T, rng.random((12, 5)) * (rng.random((12, 5)) < 0.6)


def convolution(A):
    A_tilde = A + np.eye(len(A))
    root = 1 / np.sqrt(A_tilde.sum(axis=1))
    return root[:, None] * A_tilde * root


def sigmoid(x):
    return np.exp(log_expit(x))


def weights_of(module):
    """Give what a network consists of, as float64, by name."""
    return {name: value.double().numpy() for name, value in module.state_dict().items()}


def convolved(A, X, w, name):
    return convolution(A) @ X @ w[f"{name}.lin.weight"].T + w[f"{name}.bias"]


@pytest.mark.parametrize("kind", [np.asarray, csr_array])
def test_the_loss_of_dgi(graph, kind):
    A, X = graph
    model = DGI(dimensions=4, epochs=1, patience=None, random_state=0)
    with seeded(0):
        network = model._network(5)
        order = torch.randperm(12).numpy()
    w, slope = weights_of(network), network.encoder.activation.weight.item()

    def embedded(features):
        H = convolved(A, features, w, "encoder.convolution")
        return np.where(H > 0, H, slope * H)

    U, U_bar = embedded(X), embedded(X[order])
    s = sigmoid(U.mean(axis=0))
    M = w["weight"]
    expected = -np.log(sigmoid(U @ M @ s)).mean() - np.log(1 - sigmoid(U_bar @ M @ s)).mean()
    assert model.fit(kind(X), adjacency=A).losses_ == pytest.approx([expected], rel=1e-5)
    # with nothing learnt, the embedding is that of the first weights
    untrained = model.set_params(epochs=0).fit(kind(X), adjacency=A)
    np.testing.assert_allclose(untrained.embedding_, U, rtol=1e-4, atol=1e-6)
    assert untrained.n_iter_ == 0


@pytest.mark.parametrize("kind", [np.asarray, csr_array])
def test_the_loss_of_gae(graph, kind):
    A, X = graph
    model = GAE(dimensions=3, hidden=4, epochs=1, random_state=0)
    with seeded(0):
        w = weights_of(model._network(5))
        N = sample_negatives(A, 1.0, int(torch.randint(2**31, ()))).toarray()
    U = convolved(A, np.maximum(convolved(A, X, w, "encoder.first"), 0), w, "encoder.second")
    S = U @ U.T
    assert N.sum() == (A > 0).sum()
    assert not (N * A).any()
    expected = -np.log(sigmoid(S))[A > 0].mean() - np.log(1 - sigmoid(S))[N > 0].mean()
    assert model.fit(kind(X), adjacency=A).losses_ == pytest.approx([expected], rel=1e-5)


def test_the_loss_of_vgae(graph):
    A, X = graph
    model = VGAE(dimensions=3, hidden=4, epochs=1, random_state=0)
    with seeded(0):
        w = weights_of(model._network(5))
        noise = torch.randn(12, 3).double().numpy()
        N = sample_negatives(A, 1.0, int(torch.randint(2**31, ()))).toarray()
    H = np.maximum(convolved(A, X, w, "encoder.first"), 0)
    U, S = convolved(A, H, w, "encoder.second"), convolved(A, H, w, "encoder.deviation")
    Z = U + noise * np.exp(S)
    P = sigmoid(Z @ Z.T)
    expected = -np.log(P)[A > 0].mean() - np.log(1 - P)[N > 0].mean()
    expected -= (1 + 2 * S - U**2 - np.exp(2 * S)).sum() / (2 * 12**2)
    assert model.fit(X, adjacency=A).losses_ == pytest.approx([expected], rel=1e-5)


@pytest.mark.parametrize("kind", [np.asarray, csr_array])
def test_the_loss_of_bgrl(graph, kind):
    """Without dropping anything both views are the graph itself, and at first the target is the encoder."""
    A, X = graph
    whole = {"drop_edges": (0.0, 0.0), "drop_features": (0.0, 0.0)}
    model = BGRL(dimensions=3, epochs=1, random_state=0, **whole)
    with seeded(0):
        network = model._network(5)
    w, U = weights_of(network), X
    for k in (0, 1):
        H = convolved(A, U, w, f"encoder.convolutions.{k}")
        H = (H - H.mean(axis=0)) / np.sqrt(H.var(axis=0) + 1e-5)
        U = np.where(H > 0, H, 0.25 * H)
    H = U @ w["predictor.0.weight"].T + w["predictor.0.bias"]
    P = np.where(H > 0, H, 0.25 * H) @ w["predictor.2.weight"].T + w["predictor.2.bias"]
    cosines = (P * U).sum(axis=1) / np.linalg.norm(P, axis=1) / np.linalg.norm(U, axis=1)
    assert model.fit(kind(X), adjacency=A).losses_ == pytest.approx([2 - 2 * cosines.mean()], rel=1e-4)


def test_the_target_of_bgrl_follows_without_a_gradient(graph):
    A, X = graph
    with seeded(1):
        network = Bootstrap(5, 3)
    first = weights_of(network.target)
    loss = BGRL(dimensions=3)._loss(network, torch.tensor(X, dtype=torch.float32), csr_array(A))
    loss().backward()
    assert all(value.grad is None for value in network.target.parameters())
    assert network.encoder.convolutions[0].lin.weight.grad.abs().sum() > 0
    with torch.no_grad():
        network.encoder.convolutions[0].lin.weight += 1.0
    network.follow(0.9)
    moved = weights_of(network.target)
    name = "convolutions.0.lin.weight"
    np.testing.assert_allclose(moved[name], first[name] + 0.1, rtol=1e-5)
    np.testing.assert_array_equal(moved["convolutions.1.lin.weight"], first["convolutions.1.lin.weight"])


def test_walks_of_verse_end_as_page_rank_says(graph):
    A, _ = graph
    alpha, n = 0.7, len(A)
    degrees = A.sum(axis=1, keepdims=True)
    # who has no links stays where it is
    P = np.where(degrees > 0, A / np.maximum(degrees, 1e-9), np.eye(n))
    Pi = (1 - alpha) * np.linalg.inv(np.eye(n) - alpha * P)
    starts = np.repeat(np.arange(n), 20_000)
    ends = walk_ends(transitions(csr_array(A)), starts, alpha, np.random.default_rng(0))
    counts = np.zeros((n, n))
    np.add.at(counts, (starts, ends), 1 / 20_000)
    # five standard deviations of a share of a half
    np.testing.assert_allclose(counts, Pi, atol=5 * 0.5 / np.sqrt(20_000))


def test_the_loss_of_verse():
    rng = np.random.default_rng(0)
    U = rng.standard_normal((6, 4))
    v, u, k = rng.integers(6, size=9), rng.integers(6, size=9), rng.integers(6, size=(9, 2))
    expected = 0.0
    for i in range(9):
        expected -= np.log(sigmoid(U[v[i]] @ U[u[i]] - np.log(6))) / 9
        expected -= sum(np.log(1 - sigmoid(U[v[i]] @ U[j] - np.log(6 / 2))) for j in k[i]) / 9
    given = (torch.tensor(part) for part in (U, v, u, k))
    assert float(noise_contrast(*given)) == pytest.approx(expected, rel=1e-9)


def test_products_of_verse_grow_with_page_rank():
    """With room for all pairs, the products off the diagonal grow with the logarithms of Π."""
    A = np.zeros((6, 6))
    for i, j in [(0, 1), (1, 2), (0, 2), (2, 3), (3, 4), (4, 5), (3, 5)]:
        A[i, j] = A[j, i] = 1.0
    U = VERSE(dimensions=6, epochs=150, walks_per_node=50, learning_rate=0.05, random_state=0).fit_transform(
        None, adjacency=A
    )
    P = A / A.sum(axis=1, keepdims=True)
    Pi = 0.15 * np.linalg.inv(np.eye(6) - 0.85 * P)
    off = ~np.eye(6, dtype=bool)
    both = np.corrcoef((U @ U.T)[off], np.log((Pi + Pi.T) / 2)[off])
    assert both[0, 1] > 0.9


def test_rows_are_shuffled_and_columns_dropped_alike_in_both_forms(graph):
    from gssl.torch._sparse import SparseMatrix

    X = graph[1].astype(np.float32)
    order = torch.randperm(12, generator=torch.Generator().manual_seed(0))
    sparse = SparseMatrix.from_scipy(csr_array(X))
    np.testing.assert_array_equal(reordered(sparse, order).csr.to_dense(), X[order.numpy()])
    np.testing.assert_array_equal(reordered(torch.tensor(X), order), X[order.numpy()])
    with seeded(0):
        dense = without_columns(torch.tensor(X), 0.5).numpy()
    with seeded(0):
        np.testing.assert_array_equal(without_columns(sparse, 0.5).csr.to_dense(), dense)
    kept = dense.any(axis=0)
    assert 0 < kept.sum() < 5
    np.testing.assert_array_equal(dense, X * kept)
