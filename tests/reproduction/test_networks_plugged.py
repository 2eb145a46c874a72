"""SEB and IGC in the baseline networks agree with their equations and use only training labels."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("torch_geometric", reason="torch-geometric is not installed")

from tests.problems import path  # noqa: E402
from tests.reproduction.networks import linear, numbers, relu  # noqa: E402
from torch.nn.functional import cross_entropy  # noqa: E402

from reproduction.networks import build, classifier, plugged_classifier  # noqa: E402
from reproduction.networks.plugged import hidden_embedding, plug  # noqa: E402

N, C, ETA, DECAY = 12, 2, 0.3, 0.5
TRAIN, VALIDATION = [1, 2, 8, 9], [4, 7]
A, X, LABELS = path(N), np.random.default_rng(0).random((N, 5)), np.repeat([0, 1], N // 2)
ONE = np.eye(N)
SCALE = np.diag((A.sum(axis=1) + 1.0) ** -0.5)
A_HAT = SCALE @ (A + ONE) @ SCALE
ABSENT = 1.0 - ONE - A
SCALE = np.diag((ABSENT.sum(axis=1) + 2.0) ** -0.5)
N_HAT = SCALE @ (2.0 * ONE - ABSENT) @ SCALE
NETWORKS = {
    "GCN": {"depth": 4, "hidden": 4},
    "JKNet": {"depth": 3, "hidden": 4},
    "GCNII": {"depth": 2, "hidden": 4, "alpha": 0.2, "theta": 0.5},
    "APPNP": {"depth": 2, "hidden": 4, "alpha": 0.2},
}


def fit(model, change=()):
    labels, y = LABELS.copy(), np.full(N, -1)
    labels[list(change)] = 1 - labels[list(change)]
    y[TRAIN + VALIDATION] = labels[TRAIN + VALIDATION]
    return model.fit(X, y, adjacency=A, validation=VALIDATION)


def make(name, **params):
    given = {"epochs": 3, "dropout": 0.0, **NETWORKS[name], **params}
    return plugged_classifier(name, 0, igc_decay=DECAY, eta_sup=ETA, **given)


def hidden(model):
    return hidden_embedding(model.network_).numpy()


def innermost(layer):
    while hasattr(layer, "layer"):
        layer = layer.layer
    return layer


def followed(out, U, k, W):
    """Apply IGC and SEB to the output of a layer."""
    if U.shape == out.shape:
        beta = DECAY ** (k - 1)
        out = (out + beta * N_HAT @ U + (1.0 - beta) * U) / 2.0
    moved, Z = out.copy(), np.exp(out[TRAIN] @ W)
    moved[TRAIN] -= ETA * (Z / Z.sum(axis=1, keepdims=True) - np.eye(C)[LABELS[TRAIN]]) @ W.T
    return moved


@pytest.mark.parametrize("name", NETWORKS)
def test_layers_are_followed_by_both(name):
    model = fit(make(name))
    network = model.network_
    H, W = X, np.eye(C)
    if name == "GCNII":
        H = relu(linear(network.entrance)(X))
    if name == "APPNP":
        H = linear(network.perceptron.second)(relu(linear(network.perceptron.first)(X)))
    U = H
    for k, conv in enumerate(network.convs, start=1):
        layer = innermost(conv)
        if name in ("GCN", "JKNet"):
            W = numbers(network.exit.lin.weight).T
            # in JKNet, the part of the last layer that is applied to this one
            W = W if name == "GCN" else W[4 * (k - 1) : 4 * k]
            out = A_HAT @ U @ numbers(layer.lin.weight).T + numbers(layer.bias)
        elif name == "GCNII":
            W, beta = numbers(network.exit.weight).T, np.log(0.5 / k + 1.0)
            kernel = (1.0 - beta) * np.eye(4) + beta * numbers(layer.weight1)
            out = (0.8 * A_HAT @ U + 0.2 * H) @ kernel
        else:
            out = A_HAT @ U
        moved = followed(out, U, k, W)
        U = 0.8 * moved + 0.2 * H if name == "APPNP" else relu(moved)
    np.testing.assert_allclose(hidden(model), moved, atol=1e-5)


@pytest.mark.parametrize("name", NETWORKS)
def test_without_plug_ins_a_network_is_what_it_was(name):
    plain = fit(classifier(name, 0, epochs=3, dropout=0.0, **NETWORKS[name]))
    same = fit(make(name, igc=False, seb=False))
    np.testing.assert_array_equal(same.label_distributions_, plain.label_distributions_)


@pytest.mark.parametrize("name", NETWORKS)
def test_only_labels_of_training_nodes_move_embeddings(name):
    """There is one epoch, because validation labels may choose another one."""
    model = make(name, epochs=1)
    known = hidden(fit(model))
    np.testing.assert_array_equal(hidden(fit(model, change=VALIDATION)), known)
    assert sorted(model.network_.convs[0].guide.nodes.tolist()) == TRAIN
    assert np.abs(hidden(fit(model, change=[1])) - known).max() > 1e-3


@pytest.mark.parametrize("name", NETWORKS)
def test_gradients_of_igc_are_those_of_its_numbers(name):
    torch.manual_seed(0)
    network = plug(build(name, dropout=0.0, **NETWORKS[name]), 5, C, seb=False, igc_decay=DECAY).double()
    given, codes = (torch.tensor(X), torch.tensor(np.vstack(np.nonzero(A)))), torch.tensor(LABELS)
    weight = next(weight for weight in network.parameters() if weight.dim() == 2)
    cross_entropy(network(*given), codes).backward()
    stated, losses = float(weight.grad[0, 0]), []
    with torch.no_grad():
        for step in (1e-6, -2e-6):
            weight[0, 0] += step
            losses.append(float(cross_entropy(network(*given), codes)))
    assert stated == pytest.approx((losses[0] - losses[1]) / 2e-6, rel=1e-4, abs=1e-9)


def test_square_weights_can_start_as_the_identity():
    network = plug(build("GCN", depth=4, hidden=3), 5, C, identity_start=True)
    first, *others = (numbers(innermost(layer).lin.weight) for layer in network.convs)
    assert first.shape == (3, 5)
    assert all(np.array_equal(weight, np.eye(3)) for weight in others)


def test_on_another_graph_labels_move_nothing():
    model = fit(make("GCN", igc=False))
    assert np.abs(model.predict_proba(X, adjacency=A) - model.label_distributions_).max() > 1e-4


@pytest.mark.parametrize("name", ["GRAND", "EigenGCN", "FastGCN", "DeepGCN", "Incep"])
def test_networks_without_layers_to_plug_into_are_refused(name):
    with pytest.raises(ValueError, match=f"{name} has no layers to plug into"):
        plug(build(name, **({"depth": 4} if name == "Incep" else {})), 5, C)
    with pytest.raises(ValueError, match="no hidden one to plug into"):
        plug(build("GCN", depth=1), 5, C)
