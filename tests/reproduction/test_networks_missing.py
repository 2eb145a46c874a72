"""ACMP, N-GCN, L²-GCN, Ordered GNN, GaAN, SAGE-LSTM, SAGEWalks, N2N and LINE agree with their equations."""

from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp
from scipy.sparse import csr_array
from scipy.special import log_softmax, logsumexp, softmax

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("torch_geometric", reason="torch-geometric is not installed")

from reproduction.networks import contrast, embedder, gated, layerwise  # noqa: E402
from reproduction.networks.neighborhood import Aggregation, sampled_neighbours  # noqa: E402

A = np.zeros((5, 5))
for i, j in [(0, 1), (1, 2), (0, 2), (2, 3)]:
    A[i, j] = A[j, i] = 1.0
DEGREES = A.sum(axis=1)
A_HAT = (A + np.eye(5)) / np.sqrt(np.outer(DEGREES + 1.0, DEGREES + 1.0))
LINKS = torch.tensor(np.vstack(np.nonzero(A)))
X = np.random.default_rng(1).normal(size=(5, 3))


def of(layer):
    """Return a linear layer as a function."""
    W, b = layer.weight.detach().numpy().T, layer.bias.detach().numpy()
    return lambda U: U @ W + b


def normalized(layer):
    """Return layer normalisation as a function."""
    weight, bias = layer.weight.detach().numpy(), layer.bias.detach().numpy()

    def norm(U):
        spread = np.sqrt(U.var(axis=1, keepdims=True) + layer.eps)
        return (U - U.mean(axis=1, keepdims=True)) / spread * weight + bias

    return norm


def relu(U):
    return np.maximum(U, 0.0)


def sigmoid(U):
    return 1.0 / (1.0 + np.exp(-U))


def leaky(U):
    return np.where(U > 0, U, 0.1 * U)


def predicted(network):
    with torch.no_grad():
        return network.double().eval()(torch.as_tensor(X), LINKS).numpy()


def test_acmp_attracts_repels_and_has_a_double_well():
    network = layerwise.ACMP(3, 2, hidden=4, depth=3, beta=0.3, step=0.5)
    torch.nn.init.normal_(network.well)
    torch.nn.init.normal_(network.attraction)
    output = predicted(network)
    alpha, delta = (sigmoid(part.detach().numpy()) for part in (network.attraction, network.well))
    U = of(network.entrance)(X / np.abs(X).max(axis=1, keepdims=True))
    for _ in range(3):
        force = np.zeros_like(U)
        for i, j in zip(*np.nonzero(A), strict=True):
            force[i] += (1.0 / (DEGREES[i] + 1.0) - 0.3) * (U[j] - U[i])
        U = in_double_well(U + 0.5 * alpha * force, delta, 0.5)
    assert_allclose(output, of(network.exit)(relu(U)), rtol=1e-6)


def in_double_well(U, delta, time):
    """Solve dU/dt = δU(1 − U²) for each entry."""
    rates = np.broadcast_to(delta, U.shape).ravel()
    solution = solve_ivp(
        lambda t, V: rates * V * (1.0 - V**2), (0.0, time), U.ravel(), rtol=1e-10, atol=1e-12
    )
    return solution.y[:, -1].reshape(U.shape)


def test_acmp_does_not_depend_on_the_size_of_rows_nor_on_their_storage():
    network = layerwise.ACMP(3, 2, hidden=4, depth=2).double().eval()
    some = np.where(X > 0.0, X, 0.0)
    some[4] = 0.0
    sums = np.where(some.any(axis=1), some.sum(axis=1), 1.0)[:, None]
    with torch.no_grad():
        raw, scaled, sparse = (
            network(x, LINKS).numpy()
            for x in (
                torch.as_tensor(some),
                torch.as_tensor(some / sums),
                torch.as_tensor(some / sums).to_sparse_csr(),
            )
        )
    assert np.isfinite(raw).all()
    assert_allclose(scaled, raw)
    assert_allclose(sparse, raw)


def test_n_gcn_has_one_gcn_for_each_power():
    network = layerwise.NGCN(3, 2, hidden=4, depth=3)
    output = predicted(network)
    parts = []
    for k, (first, second) in enumerate(zip(network.first, network.second, strict=True)):
        power = np.linalg.matrix_power(A_HAT, k)
        parts.append(softmax(power @ of(second)(relu(power @ of(first)(X))), axis=1))
    assert_allclose(output, of(network.exit)(np.hstack(parts)))


def test_l2_gcn_trains_each_layer_by_its_own_loss():
    network = layerwise.L2GCN(3, 2, hidden=4, depth=2, dropout=0.0).double()
    nodes, codes = torch.tensor([0, 3]), torch.tensor([0, 1])
    U, losses = X, []
    for conv, head in zip(network.convs, network.heads, strict=True):
        U = relu(A_HAT @ U @ conv.lin.weight.detach().numpy().T + conv.bias.detach().numpy())
        Z = of(head)(U)
        losses.append(-log_softmax(Z[[0, 3]], axis=1)[[0, 1], [0, 1]].mean())
    assert_allclose(predicted(network), Z)
    loss = network.loss(torch.as_tensor(X), LINKS, nodes, codes)
    assert_allclose(loss.item(), sum(losses))
    # the loss of the second layer has no gradient in the first
    torch.nn.functional.cross_entropy(network(torch.as_tensor(X), LINKS)[nodes], codes).backward()
    assert network.convs[0].lin.weight.grad is None
    assert network.convs[1].lin.weight.grad.abs().sum() > 0


def test_ordered_gnn_opens_its_gates_in_order():
    network = gated.OrderedGNN(3, 2, hidden=6, depth=3, chunk=2)
    for norm in network.norms:
        torch.nn.init.normal_(norm.weight)
        torch.nn.init.normal_(norm.bias)
    output = predicted(network)
    first, *others = map(normalized, network.norms)
    U, g = first(relu(of(network.entrance)(X))), np.zeros((5, 3))
    for norm in others:
        M = A @ U / np.maximum(DEGREES, 1.0)[:, None]
        S = softmax(of(network.gate)(np.hstack([U, M])), axis=1)
        rising = np.stack([S[:, c:].sum(axis=1) for c in range(3)], axis=1)
        g = g + (1.0 - g) * rising
        wide = np.repeat(g, 2, axis=1)
        U = norm(wide * U + (1.0 - wide) * M)
    assert_allclose(output, of(network.exit)(U))
    with pytest.raises(ValueError, match="hidden must be a multiple of chunk, not 5 of 2"):
        gated.OrderedGNN(3, 2, hidden=5, chunk=2)


def test_gated_attention_weighs_neighbours_and_gates_heads():
    layer = gated.GatedAttention(3, 4, heads=2, values=3, queries=2, pooled=5).double()
    with torch.no_grad():
        output = layer(torch.as_tensor(X), LINKS).numpy()
    query, key = (of(part)(X).reshape(5, 2, 2) for part in (layer.query, layer.key))
    value, pooled = leaky(of(layer.value)(X).reshape(5, 2, 3)), of(layer.pool)(X)
    for i in range(5):
        near = np.flatnonzero(A[i])
        taken, greatest, mean = np.zeros((2, 3)), np.zeros(5), np.zeros(3)
        if len(near):
            greatest, mean = pooled[near].max(axis=0), X[near].mean(axis=0)
            for k in range(2):
                w = softmax(key[near, k] @ query[i, k])
                taken[k] = w @ value[near, k]
        g = sigmoid(of(layer.gate)(np.concatenate([X[i], greatest, mean])))
        wanted = of(layer.out)(np.concatenate([X[i], (g[:, None] * taken).ravel()]))
        assert_allclose(output[i], wanted)


def test_gaan_is_gated_attention_between_linear_layers():
    network = gated.GaAN(3, 2, hidden=4, depth=2, heads=2, head_width=3)
    output = predicted(network)
    with torch.no_grad():
        U = torch.as_tensor(of(network.entrance)(X))
        for conv in network.convs:
            U = torch.as_tensor(leaky(conv(U, LINKS).numpy()))
    assert_allclose(output, of(network.exit)(U.numpy()))


def test_sage_lstm_reads_sampled_neighbours():
    layer = Aggregation(3, 4, "lstm").double().eval()
    with torch.no_grad():
        output = layer(torch.as_tensor(X), LINKS).numpy()
        again = layer(torch.as_tensor(X), LINKS).numpy()
        drawn = sampled_neighbours(csr_array(A), 10, torch.Generator().manual_seed(0))
        V = torch.as_tensor(X) @ layer.neighbours.weight.t()
        memory = layer.reader(V[drawn])[0][:, -1].numpy()
    assert_allclose(output, again)
    own = X @ layer.own.weight.detach().numpy().T + layer.neighbours.bias.detach().numpy()
    memory[4] = 0.0  # node 4 has no neighbours
    assert_allclose(output, own + memory)
    for i in range(4):
        assert set(drawn[i].tolist()) <= set(np.flatnonzero(A[i]))


def test_n2n_contrasts_neighbourhoods_with_nodes():
    network = contrast.N2N(3, dimensions=4, outputs=2, length=2.0, temperature=0.7, dropout=0.0).double()
    loss = network.loss(torch.as_tensor(X), LINKS).item()
    W = network.first.weight.detach().numpy().T
    U = np.maximum(2.0 * X / np.linalg.norm(X, axis=1)[:, None] @ W, 0)
    assert_allclose(network.embed(torch.as_tensor(X), LINKS).detach().numpy(), U)
    loops = A + np.eye(len(A))
    wanted = 0.0
    for Z in (U, of(network.second)(U)):
        S = loops @ Z / loops.sum(axis=1)[:, None]
        wanted -= ((Z * S).sum(axis=1) / 0.7 - logsumexp(Z @ Z.T / 0.7, axis=1)).mean()
    assert_allclose(loss, wanted)


def test_n2n_contrasts_the_nodes_it_drew():
    network = contrast.N2N(3, dimensions=4, outputs=2, batch=2, dropout=0.0).double()
    x = torch.as_tensor(X)
    U = network.embed(x, LINKS)
    both = (U, network.second(U))
    means = [(torch.as_tensor(A) @ Z + Z) / torch.as_tensor(DEGREES + 1.0)[:, None] for Z in both]
    losses = []
    for drawn in map(list, combinations(range(5), 2)):
        parts = [(S[drawn], Z[drawn]) for S, Z in zip(means, both, strict=True)]
        losses.append(
            sum(contrast.neighbourhood_contrast(*part, network.temperature).item() for part in parts)
        )
    drawn_losses = {network.loss(x, LINKS).item() for _ in range(20)}
    assert len(drawn_losses) > 1
    assert all(np.isclose(losses, value).any() for value in drawn_losses)


@pytest.mark.parametrize(
    ("kind", "rate"),
    [
        (layerwise.ACMP, "dropout"),
        (gated.OrderedGNN, "dropout"),
        (gated.OrderedGNN, "layer_dropout"),
        (contrast.N2N, "dropout"),
    ],
)
def test_dropout_is_for_training_alone(kind, rate):
    rates = dict.fromkeys(("dropout", "layer_dropout") if kind is gated.OrderedGNN else ("dropout",), 0.0)

    def drawn(training, **changed):
        torch.manual_seed(0)
        sizes = (3,) if kind is contrast.N2N else (3, 2)
        network = kind(*sizes, **{**rates, **changed}).double().train(training)
        call = network.embed if kind is contrast.N2N else network
        return [call(torch.as_tensor(X), LINKS).detach().numpy() for _ in range(2)]

    assert_allclose(*drawn(True))
    assert_allclose(*drawn(False, **{rate: 0.5}))
    first, second = drawn(True, **{rate: 0.5})
    assert np.abs(first - second).max() > 1e-6


def test_rows_of_sparse_features_have_the_same_lengths():
    features = np.array([[3.0, 0.0, 4.0], [0.0, 0.0, 0.0], [0.0, -2.0, 0.0]])
    wanted = [[5.0], [0.0], [2.0]]
    assert_allclose(contrast.row_lengths(torch.as_tensor(features)), wanted)
    assert_allclose(contrast.row_lengths(torch.as_tensor(features).to_sparse_csr()), wanted)


def test_links_are_told_from_strangers_by_products():
    rng = np.random.default_rng(0)
    U, C = rng.normal(size=(5, 3)), rng.normal(size=(5, 3))
    starts, ends, strangers = np.array([0, 2]), np.array([1, 3]), np.array([[4, 2], [0, 1]])
    wanted = 0.0
    for v, u, others in zip(starts, ends, strangers, strict=True):
        wanted -= np.log(sigmoid(U[v] @ C[u])) + sum(np.log(sigmoid(-U[v] @ C[k])) for k in others)
    parts = [torch.as_tensor(part) for part in (U, C, starts, ends, strangers)]
    assert_allclose(contrast.link_contrast(*parts).item(), wanted / 2)


@pytest.mark.parametrize("aggregator", ["mean", "gcn", "lstm"])
def test_sage_without_labels_brings_linked_nodes_together(aggregator):
    """The graph has two cliques with one link between them, and uninformative features."""
    cliques = np.kron(np.eye(2), np.ones((6, 6))) - np.eye(12)
    cliques[0, 6] = cliques[6, 0] = 1.0
    params = {"aggregator": aggregator, "dimensions": 8, "epochs": 100, "learning_rate": 0.01}
    model = embedder("SAGEWalks", random_state=0, **params)
    U = model.fit_transform(np.eye(12), adjacency=csr_array(cliques))
    assert_allclose(np.linalg.norm(U, axis=1), 1.0, rtol=1e-5)
    products = U @ U.T
    assert products[:6, :6].mean() > products[:6, 6:].mean() + 0.3
    assert model.losses_[-1] < model.losses_[0]


def test_line_has_an_order_in_each_half():
    cliques = np.kron(np.eye(2), np.ones((6, 6))) - np.eye(12)
    cliques[0, 6] = cliques[6, 0] = 1.0
    graph = csr_array(np.pad(cliques, (0, 1)))  # plus an isolated node
    model = embedder("LINE", random_state=0, dimensions=8, epochs=200)
    U = model.fit_transform(np.zeros((13, 1)), adjacency=graph)
    assert U.shape == (13, 8)
    for half in (U[:, :4], U[:, 4:]):
        assert_allclose(np.linalg.norm(half[:12], axis=1), 1.0, rtol=1e-5)
        products = half @ half.T
        assert products[1:6, 1:6].mean() > products[1:6, 7:12].mean() + 0.3
    assert_allclose(U[12], 0.0)
    again = embedder("LINE", random_state=0, dimensions=8, epochs=200)
    assert_allclose(again.fit_transform(np.zeros((13, 1)), adjacency=graph), U)
