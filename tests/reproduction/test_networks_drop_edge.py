"""The networks of DropEdge agree with dense algebra, in double precision."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("torch_geometric", reason="torch-geometric is not installed")

from reproduction.networks import parameters  # noqa: E402
from reproduction.networks.drop_edge import DeepConvolution, DeepGCN, Incep, JKNet  # noqa: E402

A = np.zeros((5, 5))
for i, j, weight in [(0, 1, 1.0), (1, 2, 2.0), (0, 2, 0.5), (2, 3, 1.0)]:
    A[i, j] = A[j, i] = weight
DEGREES = A.sum(axis=1) + 1.0
SYMMETRIC = (A + np.eye(5)) / np.sqrt(np.outer(DEGREES, DEGREES))
WALK = (A + np.eye(5)) / DEGREES[:, None]
X = np.random.default_rng(1).normal(size=(5, 3))


def links():
    ends = np.nonzero(A)
    return torch.tensor(np.vstack(ends)), torch.tensor(A[ends])


def predicted(network):
    with torch.no_grad():
        return network.double().eval()(torch.tensor(X), *links()).numpy()


def convolve(U, layer, smooth=SYMMETRIC):
    W, b = layer.lin.weight.detach().numpy().T, layer.bias.detach().numpy()
    own = 0.0 if layer.own is None else U @ layer.own.weight.detach().numpy().T
    return smooth @ U @ W + own + b


def relu(U):
    return np.maximum(U, 0.0)


@pytest.mark.parametrize("own_weight", [False, True])
@pytest.mark.parametrize("walk", [False, True])
def test_chain(walk, own_weight):
    network = DeepGCN(3, 2, hidden=4, depth=3, walk=walk, own_weight=own_weight)
    Z, U, smooth = predicted(network), X, WALK if walk else SYMMETRIC
    for conv in network.convs:
        U = relu(convolve(U, conv, smooth))
    assert_allclose(Z, convolve(U, network.exit, smooth))
    assert (network.exit.own is not None) == own_weight


def test_jknet_puts_all_embeddings_side_by_side():
    network = JKNet(3, 2, hidden=4, depth=3, own_weight=True)
    Z = predicted(network)
    first = relu(convolve(X, network.convs[0]))
    second = relu(convolve(first, network.convs[1]))
    assert_allclose(Z, convolve(np.hstack([first, second]), network.exit))
    # the weights of the last layer for the embeddings of layer 2, without the graph
    W = network.exit.lin.weight + network.exit.own.weight
    assert_allclose(network.head(2).detach().numpy(), W.detach().numpy().T[4:])


def test_incep_has_a_branch_of_each_length():
    network = Incep(3, 2, hidden=4, depth=4)
    Z = predicted(network)
    start = relu(convolve(X, network.entrance))
    (short,), (a, b) = network.branches
    ends = [start, relu(convolve(start, short)), relu(convolve(relu(convolve(start, a)), b))]
    assert_allclose(Z, convolve(np.hstack(ends), network.exit))


def test_batch_norm_comes_before_the_activation():
    network = DeepGCN(3, 2, hidden=4, depth=2, dropout=0.0, batch_norm=True).double().train()
    with torch.no_grad():
        Z = network(torch.tensor(X), *links()).numpy()

    def norm(U):
        return (U - U.mean(axis=0)) / np.sqrt(U.var(axis=0) + 1e-5)

    hidden = relu(norm(convolve(X, network.convs[0])))
    assert_allclose(Z, norm(convolve(hidden, network.exit)))


def test_dropout_spares_the_features_and_comes_after_every_hidden_layer():
    torch.manual_seed(0)
    network = DeepGCN(3, 2, hidden=400, depth=3, dropout=0.75).double().train()
    seen = []
    for layer in (*network.convs, network.exit):
        layer.register_forward_pre_hook(lambda _, given: seen.append(given[0].numpy()))
    with torch.no_grad():
        network(torch.tensor(X), *links())
    assert_allclose(seen[0], X)
    for given, layer, U in zip(seen[:-1], network.convs, seen[1:], strict=True):
        before = relu(convolve(given, layer))
        kept = U[before > 0] > 0
        assert 0.2 < kept.mean() < 0.3
        assert_allclose(U[U > 0], 4.0 * before[U > 0])


def test_weights_start_within_their_bound():
    torch.manual_seed(0)
    layer = DeepConvolution(300, 25, own_weight=True)
    for weight in (layer.lin.weight.detach(), layer.own.weight.detach()):
        assert 0.19 < float(weight.abs().max()) <= 0.2
        assert abs(float(weight.std()) - 0.4 / 12**0.5) < 0.005


def test_training_takes_all_epochs():
    assert parameters("JKNet")["epochs"] == 400
    assert parameters("JKNet")["patience"] is None


@pytest.mark.parametrize("kind", [DeepGCN, JKNet, Incep])
def test_one_layer_is_refused(kind):
    with pytest.raises(ValueError, match=f"{kind.__name__}: depth must be 2 or more"):
        kind(3, 2, depth=1)
