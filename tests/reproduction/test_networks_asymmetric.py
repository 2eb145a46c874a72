"""OAGS after its abstract: messages, probabilities and loss agree with dense algebra."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit, log_softmax, logit

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("torch_geometric", reason="torch-geometric is not installed")

from reproduction.networks import asymmetric as asy  # noqa: E402

# a weighted graph with an isolated node; nodes 0 and 1 are labelled
A = np.zeros((5, 5))
for i, j, weight in [(0, 1, 1.0), (1, 2, 2.0), (0, 2, 0.5), (2, 3, 1.0)]:
    A[i, j] = A[j, i] = weight
LINKS = torch.tensor(np.vstack(np.nonzero(A)))
WEIGHTS = torch.tensor(A[np.nonzero(A)])
X = np.random.default_rng(1).normal(size=(5, 3))
NODES, CODES = torch.tensor([0, 1]), torch.tensor([0, 1])


def numpy_of(tensor):
    return tensor.detach().numpy()


def make(**params):
    torch.manual_seed(0)
    return asy.OAGS(3, 2, **{"hidden": 4, "edge_hidden": 2, "prior": 0.8, "dropout": 0.0, **params}).double()


def fitted(**params):
    """Return a network in evaluation mode that knows its graph and labelled nodes."""
    network = make(**params)
    network.loss(torch.as_tensor(X), LINKS, NODES, CODES, WEIGHTS)
    return network.eval()


def probabilities(network):
    """Return p: rows are targets."""
    Q, K = (X @ numpy_of(layer.weight).T for layer in (network.query, network.key))
    return expit(Q @ K.T + logit(0.8))


def dense_scores(network, S, labelled):
    """Return Z of the docstring for weights S of edges and a mask of labelled nodes."""
    M = ~(labelled[:, None] & ~labelled)
    P = M * S * A + np.eye(5)
    P /= P.sum(axis=1, keepdims=True)
    (W_0, b_0), (W_1, b_1) = ((numpy_of(layer.weight).T, numpy_of(layer.bias)) for layer in network.layers)
    return P @ (np.maximum(P @ (X @ W_0 + b_0), 0.0) @ W_1 + b_1)


def test_predictions_are_those_of_dense_algebra():
    network = fitted()
    with torch.no_grad():
        Z = network(torch.as_tensor(X), LINKS, WEIGHTS).numpy()
    labelled = np.array([True, True, False, False, False])
    assert_allclose(Z, dense_scores(network, probabilities(network), labelled))


def test_edges_have_a_probability_in_each_direction():
    network = make()
    p = numpy_of(torch.sigmoid(network.edge_logits(torch.as_tensor(X), LINKS)))
    source, target = LINKS.numpy()
    assert_allclose(p, probabilities(network)[target, source])
    back = {(j, i): value for j, i, value in zip(source, target, p, strict=True)}
    assert all(abs(value - back[i, j]) > 1e-6 for (j, i), value in back.items())


def test_unlabelled_neighbours_do_not_change_labelled_nodes_but_labelled_change_unlabelled():
    network, other = fitted(), X.copy()
    other[2] += 1.0  # a neighbour of nodes 0 and 1
    known = X.copy()
    known[0] += 1.0
    with torch.no_grad():
        Z, of_other, of_known = (
            network(torch.as_tensor(features), LINKS, WEIGHTS).numpy() for features in (X, other, known)
        )
    assert_allclose(of_other[:2], Z[:2])
    assert np.abs(of_other[3] - Z[3]).max() > 1e-6
    assert np.abs(of_known[2] - Z[2]).max() > 1e-6


def test_on_other_graphs_no_node_counts_as_labelled():
    network = fitted()
    with torch.no_grad():
        Z = network(torch.as_tensor(X), LINKS.flip(1), WEIGHTS.flip(0)).numpy()
    assert_allclose(Z, dense_scores(network, probabilities(network), np.zeros(5, dtype=bool)))


def test_divergence_from_the_prior_by_hand():
    p, rate = np.array([0.5, 0.8, 0.95]), 0.8
    wanted = p * np.log(p / rate) + (1 - p) * np.log((1 - p) / (1 - rate))
    assert_allclose(asy.bernoulli_divergence(torch.tensor(logit(p)), rate).numpy(), wanted, atol=1e-12)
    assert_allclose(wanted[1], 0.0, atol=1e-12)


def test_samples_are_near_zero_or_one_with_the_probability_of_the_edge():
    torch.manual_seed(0)
    logits = torch.full((20000,), logit(0.7), dtype=torch.float64)
    sample = asy.concrete_sample(logits, 0.1).numpy()
    assert sample.min() >= 0.0
    assert sample.max() <= 1.0
    # a relaxed sample is above one half with exactly this probability
    assert abs((sample > 0.5).mean() - 0.7) < 0.02
    assert ((sample < 0.1) | (sample > 0.9)).mean() > 0.8


def test_the_loss_is_cross_entropy_of_hidden_labels_and_divergence(monkeypatch):
    """All labels are hidden, and samples are replaced by probabilities."""
    monkeypatch.setattr(asy, "concrete_sample", lambda logits, temperature: torch.sigmoid(logits))
    network = make(hide=1.0, kl_weight=0.3)
    loss = network.loss(torch.as_tensor(X), LINKS, NODES, CODES, WEIGHTS).item()
    p = probabilities(network)
    Z = dense_scores(network, p, np.zeros(5, dtype=bool))
    divergence = (p * np.log(p / 0.8) + (1 - p) * np.log((1 - p) / 0.2))[np.nonzero(A.T)].mean()
    assert_allclose(loss, -log_softmax(Z[:2], axis=1)[[0, 1], [0, 1]].mean() + 0.3 * divergence)


def test_edges_learn_from_labels_and_the_prior_is_the_only_penalty_on_them():
    network = make(kl_weight=0.0)
    network.loss(torch.as_tensor(X), LINKS, NODES, CODES, WEIGHTS).backward()
    assert network.query.weight.grad.abs().sum() > 0
    decayed, free = network.parameter_groups(0.25)
    assert decayed["weight_decay"] == 0.25
    assert "weight_decay" not in free
    assert [id(weight) for weight in free["params"]] == [id(network.query.weight), id(network.key.weight)]
    assert len(decayed["params"]) + 2 == len(list(network.parameters()))
