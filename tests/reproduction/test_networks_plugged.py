"""SEB and IGC inside the networks of this room: equations layer by layer, and no label but those given."""

import numpy as np
import pytest
from scipy.sparse import csr_array

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("torch_geometric", reason="torch-geometric is not installed")

from gssl.torch._classifier import Inputs, Targets  # noqa: E402
from gssl.torch._graph import Graph  # noqa: E402

from gssl.torch import APPNP, GCN, GCNII, GRAND, EigenGCN, FastGCN, JKNet, PluggedClassifier  # noqa: E402

N, D, C = 12, 5, 2
ETA, DECAY = 0.3, 0.5


@pytest.fixture
def path():
    """Give the features, adjacency and labels of a path of twelve nodes."""
    A = np.diag(np.ones(N - 1), 1)
    X = np.random.default_rng(0).random((N, D))
    return X, A + A.T, np.repeat([0, 1], N // 2)


def plugged(classifier, **settings):
    return PluggedClassifier(classifier, igc_decay=DECAY, eta_sup=ETA, random_state=0, **settings)


def fit(model, path, train=(1, 2, 8, 9), validation=(4, 7), change=None):
    X, A, labels = path
    labels = labels.copy()
    if change is not None:
        labels[change] = 1 - labels[change]
    seen = [*train, *validation]
    y = np.full(N, -1)
    y[seen] = labels[seen]
    return model.fit(X, y, adjacency=csr_array(A), validation=list(validation))


def smooth(A):
    scale = np.diag((A.sum(axis=1) + 1.0) ** -0.5)
    return scale @ (A + np.eye(N)) @ scale


def sharp(A):
    """Give the paper's matrix of IGC over all unlinked pairs."""
    absent = 1.0 - np.eye(N) - A
    scale = np.diag((absent.sum(axis=1) + 2.0) ** -0.5)
    return scale @ (2.0 * np.eye(N) - absent) @ scale


def followed(A, out, U, k, W, train, labels):
    """Follow a layer by IGC and SEB in dense algebra."""
    if U.shape == out.shape:
        beta = DECAY ** (k - 1)
        out = (out + beta * sharp(A) @ U + (1.0 - beta) * U) / 2.0
    moved = out.copy()
    Z = np.exp(out[train] @ W)
    moved[train] -= ETA * (Z / Z.sum(axis=1, keepdims=True) - np.eye(C)[labels[train]]) @ W.T
    return moved


def numbers(tensor):
    return tensor.detach().numpy().astype(float)


def test_layers_of_gcn_are_followed_by_both(path):
    X, A, labels = path
    train = [1, 2, 8, 9]
    model = fit(plugged(GCN(hidden=4, depth=4, epochs=3, dropout=0.0)), path, train)
    layers = [
        *(layer.layer for layer in model.network_.network.layers[:-1]),
        model.network_.network.layers[-1],
    ]
    W = numbers(layers[-1].lin.weight).T
    U = X
    for k, layer in enumerate(layers, start=1):
        out = smooth(A) @ U @ numbers(layer.lin.weight).T + numbers(layer.bias)
        if k < len(layers):
            moved = followed(A, out, U, k, W, train, labels)
            U = np.maximum(moved, 0.0)
    np.testing.assert_allclose(model.hidden_embedding_, moved, atol=1e-5)
    P = np.exp(out) / np.exp(out).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.label_distributions_, P, atol=1e-5)


def test_a_layer_of_jknet_is_moved_by_its_own_part_of_the_last(path):
    X, A, labels = path
    train = [1, 2, 8, 9]
    model = fit(plugged(JKNet(hidden=4, depth=3, epochs=3, dropout=0.0)), path, train)
    network = model.network_.network
    W = numbers(network.exit.lin.weight).T
    U = X
    for k, layer in enumerate(network.layers, start=1):
        out = smooth(A) @ U @ numbers(layer.layer.lin.weight).T + numbers(layer.layer.bias)
        moved = followed(A, out, U, k, W[4 * (k - 1) : 4 * k], train, labels)
        U = np.maximum(moved, 0.0)
    np.testing.assert_allclose(model.hidden_embedding_, moved, atol=1e-5)


def test_steps_of_appnp_are_moved_as_scores(path):
    X, A, labels = path
    train = [1, 2, 8, 9]
    model = fit(plugged(APPNP(hidden=4, depth=2, alpha=0.2, epochs=3, dropout=0.0)), path, train)
    perceptron = model.network_.network.perceptron
    H = np.maximum(X @ numbers(perceptron.first.weight).T, 0.0) @ numbers(perceptron.second.weight).T
    U = H
    for k in (1, 2):
        moved = followed(A, smooth(A) @ U, U, k, np.eye(C), train, labels)
        U = 0.8 * moved + 0.2 * H
    np.testing.assert_allclose(model.hidden_embedding_, moved, atol=1e-5)
    np.testing.assert_array_equal(model.transduction_, U.argmax(axis=1))


NETWORKS = [GCN(depth=4), JKNet(depth=4, hidden=8), GCNII(depth=4, hidden=8), APPNP(depth=4)]
_NAMES = [type(network).__name__ for network in NETWORKS]


@pytest.mark.parametrize("classifier", NETWORKS, ids=_NAMES)
def test_without_plug_ins_a_network_is_what_it_was(path, classifier):
    plain = fit(classifier.set_params(epochs=5, random_state=0), path)
    same = fit(plugged(classifier, igc=False, seb=False), path)
    np.testing.assert_array_equal(same.label_distributions_, plain.label_distributions_)


@pytest.mark.parametrize("classifier", NETWORKS, ids=_NAMES)
def test_only_labels_of_training_nodes_move_embeddings(path, classifier):
    """A validation label may choose another epoch, so there is one epoch; a training label does move."""
    model = plugged(classifier.set_params(epochs=1))
    known = fit(model, path).hidden_embedding_
    np.testing.assert_array_equal(fit(model, path, change=[4, 7]).hidden_embedding_, known)
    # only after training: what a label moves is not what it teaches
    guide = model.network_.steps.guide
    assert sorted(guide.nodes.tolist()) == [1, 2, 8, 9]
    assert np.abs(fit(model, path, change=[1]).hidden_embedding_ - known).max() > 1e-3


@pytest.mark.parametrize("classifier", NETWORKS, ids=_NAMES)
def test_gradients_of_igc_are_those_of_its_numbers(path, classifier):
    X, A, labels = path
    model = plugged(classifier.set_params(dropout=0.0), seb=False)
    torch.manual_seed(0)
    network = model._network(D, C).double()
    graph = Graph.from_scipy(csr_array(A), dtype=torch.float64)
    inputs = Inputs(torch.tensor(X), graph)
    targets = Targets(torch.arange(N), torch.tensor(labels))
    weight = next(weight for weight in network.parameters() if weight.dim() == 2)

    def loss():
        return classifier._loss(network, inputs, targets)

    loss().backward()
    stated = float(weight.grad[0, 0])
    with torch.no_grad():
        weight[0, 0] += 1e-6
        above = float(loss())
        weight[0, 0] -= 2e-6
        below = float(loss())
    assert stated == pytest.approx((above - below) / 2e-6, rel=1e-4, abs=1e-9)


def test_a_start_from_the_identity_is_one(path):
    network = plugged(GCN(depth=4, hidden=3), identity_start=True)._network(D, C)
    weights = [numbers(layer.layer.lin.weight) for layer in network.network.layers[:-1]]
    assert weights[0].shape == (3, D)
    assert [np.array_equal(weight, np.eye(3)) for weight in weights[1:]] == [True, True]


def test_on_another_graph_labels_move_nothing(path):
    X, A, _ = path
    model = fit(plugged(GCN(depth=3, epochs=3), igc=False), path)
    unmoved = model.predict_proba(X, adjacency=A)
    assert np.abs(unmoved - model.label_distributions_).max() > 1e-4
    # and they are back afterwards
    assert model.network_.steps.guide is not None


def test_what_has_no_layers_is_refused(path):
    with pytest.raises(ValueError, match="GRAND has no layers to plug into"):
        fit(plugged(GRAND(epochs=1)), path)
    with pytest.raises(ValueError, match=r"classifier must be a network of gssl\.torch, not 3"):
        fit(plugged(3), path)


@pytest.mark.parametrize(
    ("classifier", "told"),
    [
        (EigenGCN(), "EigenGCN has no layers to plug into"),
        (FastGCN(), "FastGCN has no layers to plug into"),
        (GCN(depth=1), "no hidden one to plug into"),
        (JKNet(mode="max"), 'SEB in JKNet needs mode="cat"'),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_cannot_be_plugged_into_is_refused(path, classifier, told):
    X, A, y = path
    with pytest.raises(ValueError, match=told):
        PluggedClassifier(classifier).fit(X, y, adjacency=A)
