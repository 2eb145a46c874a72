"""SEB and IGC in the baseline networks agree with their equations and use only training labels."""

import numpy as np
import pytest
from scipy.sparse import csr_array

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("torch_geometric", reason="torch-geometric is not installed")

from torch.nn.functional import cross_entropy  # noqa: E402

from reproduction.networks import build, classifier, plugged_classifier  # noqa: E402
from reproduction.networks.plugged import hidden_embedding, plug  # noqa: E402

N, D, C = 12, 5, 2
ETA, DECAY = 0.3, 0.5
TRAIN = [1, 2, 8, 9]


@pytest.fixture
def path():
    """Features, adjacency and labels of a path of twelve nodes."""
    A = np.diag(np.ones(N - 1), 1)
    X = np.random.default_rng(0).random((N, D))
    return X, A + A.T, np.repeat([0, 1], N // 2)


def make(name, **params):
    return plugged_classifier(name, 0, igc_decay=DECAY, eta_sup=ETA, **params)


def fit(model, path, validation=(4, 7), change=None):
    X, A, labels = path
    labels = labels.copy()
    if change is not None:
        labels[change] = 1 - labels[change]
    seen = [*TRAIN, *validation]
    y = np.full(N, -1)
    y[seen] = labels[seen]
    return model.fit(X, y, adjacency=csr_array(A), validation=list(validation))


def hidden(model):
    return hidden_embedding(model.network_).numpy()


def smooth(A):
    scale = np.diag((A.sum(axis=1) + 1.0) ** -0.5)
    return scale @ (A + np.eye(N)) @ scale


def sharp(A):
    """Return the paper's matrix of IGC over all unlinked pairs."""
    absent = 1.0 - np.eye(N) - A
    scale = np.diag((absent.sum(axis=1) + 2.0) ** -0.5)
    return scale @ (2.0 * np.eye(N) - absent) @ scale


def followed(A, out, U, k, W, labels):
    """Apply IGC and SEB to the output of a layer, in dense algebra."""
    if U.shape == out.shape:
        beta = DECAY ** (k - 1)
        out = (out + beta * sharp(A) @ U + (1.0 - beta) * U) / 2.0
    moved = out.copy()
    Z = np.exp(out[TRAIN] @ W)
    moved[TRAIN] -= ETA * (Z / Z.sum(axis=1, keepdims=True) - np.eye(C)[labels[TRAIN]]) @ W.T
    return moved


def innermost(layer):
    while hasattr(layer, "layer"):
        layer = layer.layer
    return layer


def numbers(tensor):
    return tensor.detach().numpy().astype(float)


def test_layers_of_gcn_are_followed_by_both(path):
    X, A, labels = path
    model = fit(make("GCN", hidden=4, depth=4, epochs=3, dropout=0.0), path)
    network = model.network_
    W = numbers(network.exit.lin.weight).T
    U = X
    for k, conv in enumerate(network.convs, start=1):
        layer = innermost(conv)
        out = smooth(A) @ U @ numbers(layer.lin.weight).T + numbers(layer.bias)
        moved = followed(A, out, U, k, W, labels)
        U = np.maximum(moved, 0.0)
    np.testing.assert_allclose(hidden(model), moved, atol=1e-5)
    Z = smooth(A) @ U @ W + numbers(network.exit.bias)
    P = np.exp(Z) / np.exp(Z).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.label_distributions_, P, atol=1e-5)


def test_a_layer_of_jknet_is_moved_by_its_own_part_of_the_last(path):
    X, A, labels = path
    model = fit(make("JKNet", hidden=4, depth=3, epochs=3, dropout=0.0), path)
    W = numbers(model.network_.exit.lin.weight).T
    U = X
    for k, conv in enumerate(model.network_.convs, start=1):
        layer = innermost(conv)
        out = smooth(A) @ U @ numbers(layer.lin.weight).T + numbers(layer.bias)
        moved = followed(A, out, U, k, W[4 * (k - 1) : 4 * k], labels)
        U = np.maximum(moved, 0.0)
    np.testing.assert_allclose(hidden(model), moved, atol=1e-5)


def test_layers_of_gcnii_are_followed_by_both(path):
    X, A, labels = path
    params = {"hidden": 4, "depth": 2, "alpha": 0.2, "theta": 0.5}
    model = fit(make("GCNII", epochs=3, dropout=0.0, **params), path)
    network = model.network_
    W = numbers(network.exit.weight).T
    U = U_0 = np.maximum(X @ numbers(network.entrance.weight).T + numbers(network.entrance.bias), 0.0)
    for k, conv in enumerate(network.convs, start=1):
        beta = np.log(0.5 / k + 1.0)
        kernel = (1.0 - beta) * np.eye(4) + beta * numbers(innermost(conv).weight1)
        moved = followed(A, (0.8 * smooth(A) @ U + 0.2 * U_0) @ kernel, U, k, W, labels)
        U = np.maximum(moved, 0.0)
    np.testing.assert_allclose(hidden(model), moved, atol=1e-5)


def test_steps_of_appnp_are_moved_as_scores(path):
    X, A, labels = path
    model = fit(make("APPNP", hidden=4, depth=2, alpha=0.2, epochs=3, dropout=0.0), path)
    perceptron = model.network_.perceptron
    H = np.maximum(X @ numbers(perceptron.first.weight).T, 0.0) @ numbers(perceptron.second.weight).T
    U = H
    for k in (1, 2):
        moved = followed(A, smooth(A) @ U, U, k, np.eye(C), labels)
        U = 0.8 * moved + 0.2 * H
    np.testing.assert_allclose(hidden(model), moved, atol=1e-5)
    np.testing.assert_array_equal(model.transduction_, U.argmax(axis=1))


NETWORKS = {
    "GCN": {"depth": 4},
    "JKNet": {"depth": 4, "hidden": 8},
    "GCNII": {"depth": 4, "hidden": 8},
    "APPNP": {"depth": 4},
}


@pytest.mark.parametrize("name", NETWORKS)
def test_without_plug_ins_a_network_is_what_it_was(path, name):
    plain = fit(classifier(name, 0, epochs=5, **NETWORKS[name]), path)
    same = fit(make(name, igc=False, seb=False, epochs=5, **NETWORKS[name]), path)
    np.testing.assert_array_equal(same.label_distributions_, plain.label_distributions_)


@pytest.mark.parametrize("name", NETWORKS)
def test_only_labels_of_training_nodes_move_embeddings(path, name):
    """There is one epoch, because validation labels may choose another one."""
    model = make(name, epochs=1, **NETWORKS[name])
    known = hidden(fit(model, path))
    np.testing.assert_array_equal(hidden(fit(model, path, change=[4, 7])), known)
    # after training, SEB uses all training labels
    guide = model.network_.convs[0].guide
    assert sorted(guide.nodes.tolist()) == TRAIN
    assert np.abs(hidden(fit(model, path, change=[1])) - known).max() > 1e-3


@pytest.mark.parametrize("name", NETWORKS)
def test_gradients_of_igc_are_those_of_its_numbers(path, name):
    X, A, labels = path
    torch.manual_seed(0)
    factory = build(name, dropout=0.0, **NETWORKS[name])
    network = plug(factory, D, C, seb=False, igc_decay=DECAY).double()
    given = torch.tensor(X), torch.tensor(np.vstack(np.nonzero(A)))
    weight = next(weight for weight in network.parameters() if weight.dim() == 2)

    def loss():
        return cross_entropy(network(*given), torch.tensor(labels))

    loss().backward()
    stated = float(weight.grad[0, 0])
    with torch.no_grad():
        weight[0, 0] += 1e-6
        above = float(loss())
        weight[0, 0] -= 2e-6
        below = float(loss())
    assert stated == pytest.approx((above - below) / 2e-6, rel=1e-4, abs=1e-9)


def test_a_start_from_the_identity_is_one():
    network = plug(build("GCN", depth=4, hidden=3), D, C, identity_start=True)
    weights = [numbers(innermost(layer).lin.weight) for layer in network.convs]
    assert weights[0].shape == (3, D)
    assert [np.array_equal(weight, np.eye(3)) for weight in weights[1:]] == [True, True]


def test_on_another_graph_labels_move_nothing(path):
    X, A, _ = path
    model = fit(make("GCN", depth=3, epochs=3, igc=False), path)
    unmoved = model.predict_proba(X, adjacency=A)
    assert np.abs(unmoved - model.label_distributions_).max() > 1e-4
    assert len(model.network_.convs[0].guide.nodes) == len(TRAIN)


@pytest.mark.parametrize(
    ("name", "params", "message"),
    [
        ("GRAND", {}, "GRAND has no layers to plug into"),
        ("EigenGCN", {}, "EigenGCN has no layers to plug into"),
        ("FastGCN", {}, "FastGCN has no layers to plug into"),
        ("GCN", {"depth": 1}, "no hidden one to plug into"),
        ("DeepGCN", {}, "DeepGCN has no layers to plug into"),
        ("Incep", {}, "Incep has no layers to plug into"),
    ],
)
def test_what_cannot_be_plugged_into_is_refused(name, params, message):
    with pytest.raises(ValueError, match=message):
        plug(build(name, **params), D, C)
