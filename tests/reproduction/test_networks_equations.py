"""Every supervised network computes its equation: dense algebra in double precision on a small graph."""

import gc

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import solve_ivp
from scipy.sparse import csr_array
from scipy.special import expit, log_softmax, logit, softmax

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("torch_geometric", reason="torch-geometric is not installed")

from tests.reproduction.networks import (  # noqa: E402
    A_HAT,
    DEGREES,
    LINKS,
    MEAN,
    WALK,
    WEIGHTS,
    A,
    X,
    linear,
    numbers,
    output,
    relu,
    sigmoid,
)
from torch_geometric.nn import GATConv  # noqa: E402

from gssl.torch.links import SparseMatrix, sparse_csr_of  # noqa: E402
from reproduction.networks import asymmetric, build, gated, graphs, layerwise  # noqa: E402
from reproduction.networks import convolutional as cv  # noqa: E402
from reproduction.networks import decoupled as de  # noqa: E402
from reproduction.networks.drop_edge import DeepConvolution, DeepGCN, Incep, JKNet  # noqa: E402
from reproduction.networks.neighborhood import Aggregation, Attention, sampled_neighbours  # noqa: E402

x = torch.tensor(X)
NODES, CODES = torch.tensor([0, 1]), torch.tensor([0, 1])


def dense(matrix):
    return numbers(matrix.csr.to_dense())


def convolved(U, layer, S=A_HAT):
    """Compute S U W + U W' + b."""
    own = 0.0 if getattr(layer, "own", None) is None else U @ numbers(layer.own.weight).T
    return S @ U @ numbers(layer.lin.weight).T + own + numbers(layer.bias)


def leaky(U):
    return np.where(U > 0, U, 0.1 * U)


def test_matrices_of_a_graph():
    graph = graphs.graph_of(LINKS, WEIGHTS, 5, torch.float64)
    scale = np.where(DEGREES > 0, 1.0 / np.sqrt(np.maximum(DEGREES, 1e-9)), 0.0)
    for matrix, wanted in ((graph.A, A), (graph.A_hat, A_HAT), (graph.A_bare, scale * A * scale.T)):
        assert_allclose(dense(matrix), wanted)
    assert_allclose(graph.mean(x), MEAN @ X)
    assert_allclose(graph.loop_mean(x), WALK @ X)
    assert_allclose(graph.scipy.toarray(), A)


def test_a_graph_is_built_once_and_collected_with_its_links():
    links = LINKS.clone()
    graph = graphs.graph_of(links, WEIGHTS, 5, torch.float64)
    assert graphs.graph_of(links, WEIGHTS, 5, torch.float64) is graph
    for other in ((links, None, 5), (links, WEIGHTS, 6), (links.clone(), WEIGHTS, 5)):
        assert graphs.graph_of(*other, torch.float64) is not graph
    del links
    gc.collect()
    assert graphs.graph_of(graph.edge_index, WEIGHTS, 5, torch.float64) is not graph


def test_gradients_of_sparse_products():
    rng = np.random.default_rng(0)
    M = SparseMatrix(sparse_csr_of(csr_array(rng.normal(size=(4, 6)) * (rng.random((4, 6)) < 0.5))))
    for matrix in (M, M.with_values(graphs.drop_entries(M.values, 0.5))):
        U = torch.tensor(rng.normal(size=(6, 2)), requires_grad=True)
        assert torch.autograd.gradcheck(matrix.__matmul__, (U,))


def test_rows_of_sparse_features_can_be_taken():
    rows = torch.tensor([3, 1, 3])
    for features in (x, x.to_sparse_csr()):
        assert_allclose(graphs.take_rows(features, rows).to_dense(), X[[3, 1, 3]])


def test_dropout_is_right_on_average_and_keeps_the_pattern_of_sparse_features():
    torch.manual_seed(0)
    values = graphs.drop_entries(torch.full((300, 301), 2.0), 0.3)
    assert values.unique().tolist() == pytest.approx([0.0, 2.0 / 0.7])
    assert_allclose(float(values.mean()), 2.0, atol=0.02)
    features = sparse_csr_of(csr_array(np.triu(np.ones((40, 40)))))
    thinned = graphs.drop(features, 0.5, training=True).to_dense().numpy()
    assert set(np.unique(thinned)) == {0.0, 2.0}
    assert_allclose(np.tril(thinned, -1), 0.0)
    assert graphs.drop(features, 0.5, training=False) is features


def test_links_are_dropped_in_both_directions():
    n = 200
    upper = np.triu(np.random.default_rng(0).random((n, n)) < 0.3, 1)
    weight = (upper | upper.T) * (1.0 + np.arange(n)[:, None] + np.arange(n))
    links = torch.tensor(np.vstack(np.nonzero(weight))), torch.tensor(weight[np.nonzero(weight)])
    torch.manual_seed(0)
    left, weights = graphs.drop_links(*links, 0.4, training=True)
    kept = csr_array((weights.numpy(), left.numpy()), (n, n)).toarray()
    assert_allclose(kept, kept.T)
    assert_allclose(kept[kept > 0], weight[kept > 0])
    assert_allclose((kept > 0).sum() / (weight > 0).sum(), 0.6, atol=0.02)
    assert graphs.drop_links(*links, 0.4, training=False) == links


@pytest.mark.parametrize("depth", [1, 3])
def test_gcn(depth):
    network = cv.GCN(3, 2, hidden=4, depth=depth)
    Z, U = output(network), X
    for k, layer in enumerate([*network.convs, network.exit]):
        U = convolved(relu(U) if k else U, layer)
    assert_allclose(Z, U)


def test_gcnii():
    network = cv.GCNII(3, 2, hidden=4, depth=3, alpha=0.2, theta=0.5)
    Z = output(network)
    U = U_0 = relu(linear(network.entrance)(X))
    for depth, layer in enumerate(network.convs, start=1):
        beta = np.log(0.5 / depth + 1.0)
        kernel = (1.0 - beta) * np.eye(4) + beta * numbers(layer.weight1)
        U = relu((0.8 * A_HAT @ U + 0.2 * U_0) @ kernel)
    assert_allclose(Z, linear(network.exit)(U))


def test_eigen_gcn_has_eigenvectors_as_further_features():
    network = cv.EigenGCN(3, 2, eigenvectors=4, hidden=4)
    Z = output(network)
    Q = cv.leading_eigenvectors(csr_array(A), 4)
    # five nodes have at most three eigenvectors here, so the fourth column is zero
    assert_allclose(A_HAT @ Q[:, :3], Q[:, :3] * np.linalg.eigvalsh(A_HAT)[::-1][:3], atol=1e-10)
    assert_allclose(np.linalg.norm(Q, axis=0), [1, 1, 1, 0])
    U = relu(convolved(np.hstack([X, Q]), network.convs[0]))
    assert_allclose(Z, convolved(U, network.exit), atol=1e-12)
    with pytest.raises(ValueError, match="EigenGCN predicts only the graph of its fit"):
        network(x, LINKS.clone(), 2 * WEIGHTS)


def test_sampled_hops_of_fast_gcn_are_right_on_average():
    torch.manual_seed(0)
    total = np.zeros((2, 3))
    for _ in range(300):
        hop, drawn = cv.sampled_rows(csr_array(A_HAT), np.array([0, 3]), 32)
        total += hop @ X[drawn] / 300
    assert_allclose(total, A_HAT[[0, 3]] @ X, atol=0.05)


def test_mlp():
    network = de.MLP(3, 2, hidden=4)
    Z = output(network, LINKS)
    assert_allclose(Z, linear(network.layers.second)(relu(linear(network.layers.first)(X))))


ONE = np.eye(5)
FILTERS = {
    "APPNP": ({"alpha": 0.1}, 10 * ONE - 9 * A_HAT, ONE),
    "GNNLF": (
        {"alpha": 0.3, "mu": 0.7},
        (0.7 + 1 / 0.3 - 1) * ONE + (2 - 0.7 - 1 / 0.3) * A_HAT,
        0.7 * ONE + 0.3 * A_HAT,
    ),
    "GNNHF": (
        {"alpha": 0.3, "beta": 0.7},
        (0.7 + 1 / 0.3) * ONE + (1 - 0.7 - 1 / 0.3) * A_HAT,
        ONE + 0.7 * (ONE - A_HAT),
    ),
}


@pytest.mark.parametrize("name", FILTERS)
def test_decoupled_networks_approach_their_closed_form(name):
    params, left, right = FILTERS[name]
    network = build(name, hidden=4, depth=400, **params)(3, 2)
    Z = output(network)
    assert_allclose(Z, np.linalg.solve(left, right @ numbers(network.perceptron(x))))


def test_chebnet2_interpolates_its_values_at_chebyshev_nodes():
    filter_, gamma = de.ChebyshevFilter(3).double(), np.array([0.3, 1.2, 0.1, 0.8])
    assert_allclose(numbers(filter_.coefficients()), [1.0, 0.0, 0.0, 0.0], atol=1e-6)  # the identity
    filter_.gamma.data = torch.tensor(gamma)
    polynomial = np.polyfit(np.cos((np.arange(4) + 0.5) * np.pi / 4), gamma, 3)
    eigenvalues, Q = np.linalg.eigh(-dense(graphs.graph_of(LINKS, WEIGHTS, 5, torch.float64).A_bare))
    wanted = Q @ np.diag(np.polyval(polynomial, eigenvalues)) @ Q.T @ X
    assert_allclose(numbers(filter_(x, LINKS, WEIGHTS)), wanted, atol=1e-6)
    filter_.gamma.data = torch.tensor([-1.0, 0.0, 0.0, 0.0], dtype=torch.float64)
    assert_allclose(numbers(filter_.coefficients()), 0.0)


def test_grand_is_the_average_of_its_views():
    network = de.GRAND(3, 2, hidden=4, depth=2, drop_node=0.5, dropout=0.0).double()
    spread = (ONE + A_HAT + A_HAT @ A_HAT) / 3.0
    torch.manual_seed(0)
    views = torch.stack([network.propagated(network.kept(5, x) * x, LINKS, WEIGHTS) for _ in range(1500)])
    assert_allclose(views.mean(dim=0), 0.5 * spread @ X, atol=0.08)
    scores = []
    for rate in (0.0, 1e-9):  # 1e-9 drops nothing, but propagates features instead of hidden columns
        network.input_dropout = rate
        torch.manual_seed(3)
        scores.append(numbers(network(x, LINKS, WEIGHTS)))
    assert_allclose(scores[0], scores[1], atol=1e-8)
    U = relu(linear(network.first)(0.5 * spread @ X))
    assert_allclose(output(network), linear(network.second)(U))


def test_grand_measures_how_far_views_are_from_their_sharpened_mean():
    opposite = [torch.tensor([[1.0, 0.0]]), torch.tensor([[0.0, 1.0]])]
    assert float(de.disagreement(opposite, 0.5)) == 0.5
    # sharpened: (0.9, 0.1)
    assert_allclose(float(de.disagreement([torch.tensor([[0.75, 0.25]])] * 2, 0.5)), 2 * 0.15**2, rtol=1e-5)


@pytest.mark.parametrize("concat", [True, False])
def test_attention_is_that_of_pyg(concat):
    ours, theirs = Attention(3, 2, 4, 0.5, concat), GATConv(3, 2, 4, concat=concat)
    theirs.load_state_dict(ours.state_dict())
    assert_allclose(output(ours, LINKS), output(theirs, LINKS), atol=1e-12)


def test_graph_sage_takes_means():
    layer = Aggregation(3, 2, "mean")
    Z = output(layer)
    assert_allclose(Z, linear(layer.neighbours)(MEAN @ X) + X @ numbers(layer.own.weight).T, atol=1e-12)
    layer = Aggregation(3, 2, "gcn")
    assert_allclose(output(layer), linear(layer.neighbours)(WALK @ X), atol=1e-12)


def test_sage_lstm_reads_sampled_neighbours():
    layer = Aggregation(3, 4, "lstm")
    Z = output(layer)
    drawn = sampled_neighbours(csr_array(A), 10, torch.Generator().manual_seed(0))
    memory = numbers(layer.reader((x @ layer.neighbours.weight.t())[drawn])[0][:, -1])
    memory[4] = 0.0  # node 4 has no neighbours
    own = X @ numbers(layer.own.weight).T + numbers(layer.neighbours.bias)
    assert_allclose(Z, own + memory)
    assert all(set(drawn[i].tolist()) <= set(np.flatnonzero(A[i])) for i in range(4))


@pytest.mark.parametrize(("walk", "own_weight"), [(False, False), (True, True)])
def test_deep_gcn_is_a_chain(walk, own_weight):
    network = DeepGCN(3, 2, hidden=4, depth=3, walk=walk, own_weight=own_weight)
    Z, U, S = output(network), X, WALK if walk else A_HAT
    for conv in network.convs:
        U = relu(convolved(U, conv, S))
    assert_allclose(Z, convolved(U, network.exit, S))
    assert (network.exit.own is not None) == own_weight


def test_jknet_concatenates_all_embeddings():
    network = JKNet(3, 2, hidden=4, depth=3, own_weight=True)
    Z = output(network)
    first = relu(convolved(X, network.convs[0]))
    second = relu(convolved(first, network.convs[1]))
    assert_allclose(Z, convolved(np.hstack([first, second]), network.exit))


def test_incep_has_a_branch_of_each_length():
    network = Incep(3, 2, hidden=4, depth=4)
    Z = output(network)
    start = relu(convolved(X, network.entrance))
    (short,), (a, b) = network.branches
    ends = [start, relu(convolved(start, short)), relu(convolved(relu(convolved(start, a)), b))]
    assert_allclose(Z, convolved(np.hstack(ends), network.exit))


def test_batch_norm_comes_before_the_activation():
    network = DeepGCN(3, 2, hidden=4, depth=2, dropout=0.0, batch_norm=True).double().train()

    def norm(U):
        return (U - U.mean(axis=0)) / np.sqrt(U.var(axis=0) + 1e-5)

    hidden = relu(norm(convolved(X, network.convs[0])))
    assert_allclose(numbers(network(x, LINKS, WEIGHTS)), norm(convolved(hidden, network.exit)))


def test_dropout_of_deep_networks_comes_after_every_hidden_layer():
    torch.manual_seed(0)
    network, seen = DeepGCN(3, 2, hidden=400, depth=3, dropout=0.75).double(), []
    for layer in (*network.convs, network.exit):
        layer.register_forward_pre_hook(lambda _, given: seen.append(numbers(given[0])))
    network(x, LINKS, WEIGHTS)
    assert_allclose(seen[0], X)
    for given, layer, U in zip(seen[:-1], network.convs, seen[1:], strict=True):
        before = relu(convolved(given, layer))
        assert 0.2 < (U[before > 0] > 0).mean() < 0.3
        assert_allclose(U[U > 0], 4.0 * before[U > 0])


def test_weights_of_deep_networks_start_within_their_bound():
    torch.manual_seed(0)
    weight = numbers(DeepConvolution(300, 25).lin.weight)
    assert 0.19 < np.abs(weight).max() <= 0.2
    assert abs(weight.std() - 0.4 / 12**0.5) < 0.005


def test_acmp_attracts_repels_and_has_a_double_well():
    network = layerwise.ACMP(3, 2, hidden=4, depth=3, beta=0.3, step=0.5)
    torch.nn.init.normal_(network.well)
    torch.nn.init.normal_(network.attraction)
    Z = output(network)
    alpha, delta = sigmoid(numbers(network.attraction)), sigmoid(numbers(network.well))
    U = linear(network.entrance)(X / np.abs(X).max(axis=1, keepdims=True))
    rates = np.broadcast_to(delta, U.shape).ravel()
    for _ in range(3):
        force = A @ U - DEGREES * U
        U = U + 0.5 * alpha * (force / (DEGREES + 1.0) - 0.3 * force)
        # dU/dt = δU(1 − U²)
        well = solve_ivp(lambda t, V: rates * V * (1 - V**2), (0, 0.5), U.ravel(), rtol=1e-10, atol=1e-12)
        U = well.y[:, -1].reshape(U.shape)
    assert_allclose(Z, linear(network.exit)(relu(U)), rtol=1e-6)


def test_n_gcn_has_one_gcn_for_each_power():
    network = layerwise.NGCN(3, 2, hidden=4, depth=3)
    Z, parts = output(network), []
    for k, (first, second) in enumerate(zip(network.first, network.second, strict=True)):
        power = np.linalg.matrix_power(A_HAT, k)
        parts.append(softmax(power @ linear(second)(relu(power @ linear(first)(X))), axis=1))
    assert_allclose(Z, linear(network.exit)(np.hstack(parts)))


def test_l2_gcn_trains_each_layer_by_its_own_loss():
    network = layerwise.L2GCN(3, 2, hidden=4, depth=2, dropout=0.0).double()
    U, losses = X, []
    for conv, head in zip(network.convs, network.heads, strict=True):
        U = relu(convolved(U, conv))
        losses.append(-log_softmax(linear(head)(U)[[0, 1]], axis=1)[[0, 1], [0, 1]].mean())
    assert_allclose(output(network), linear(head)(U))
    assert_allclose(network.loss(x, LINKS, NODES, CODES, WEIGHTS).item(), sum(losses))
    # the last layer's scores have no gradient in the first layer
    network(x, LINKS, WEIGHTS).sum().backward()
    assert network.convs[0].lin.weight.grad is None


def test_ordered_gnn_opens_its_gates_in_order():
    network = gated.OrderedGNN(3, 2, hidden=6, depth=3, chunk=2)
    Z = output(network)

    def norm(U):
        return (U - U.mean(axis=1, keepdims=True)) / np.sqrt(U.var(axis=1, keepdims=True) + 1e-5)

    U, g = norm(relu(linear(network.entrance)(X))), np.zeros((5, 3))
    for _ in range(3):
        M = MEAN @ U
        S = softmax(linear(network.gate)(np.hstack([U, M])), axis=1)
        g = g + (1.0 - g) * np.stack([S[:, c:].sum(axis=1) for c in range(3)], axis=1)
        wide = np.repeat(g, 2, axis=1)
        U = norm(wide * U + (1.0 - wide) * M)
    assert_allclose(Z, linear(network.exit)(U))


def test_gated_attention_weighs_neighbours_and_gates_heads():
    layer = gated.GatedAttention(3, 4, heads=2, values=3, queries=2, pooled=5)
    Z = output(layer, LINKS)
    query, key = (linear(part)(X).reshape(5, 2, 2) for part in (layer.query, layer.key))
    value, pooled = leaky(linear(layer.value)(X).reshape(5, 2, 3)), linear(layer.pool)(X)
    for i in range(5):
        near = np.flatnonzero(A[i])
        taken, greatest, mean = np.zeros((2, 3)), np.zeros(5), np.zeros(3)
        if len(near):
            greatest, mean = pooled[near].max(axis=0), X[near].mean(axis=0)
            for k in range(2):
                taken[k] = softmax(key[near, k] @ query[i, k]) @ value[near, k]
        g = sigmoid(linear(layer.gate)(np.concatenate([X[i], greatest, mean])))
        assert_allclose(Z[i], linear(layer.out)(np.concatenate([X[i], (g[:, None] * taken).ravel()])))


def test_gaan_is_gated_attention_between_linear_layers():
    network = gated.GaAN(3, 2, hidden=4, depth=2, heads=2, head_width=3)
    Z, U = output(network, LINKS), linear(network.entrance)(X)
    for conv in network.convs:
        U = leaky(numbers(conv(torch.tensor(U), LINKS)))
    assert_allclose(Z, linear(network.exit)(U))


def oags(**params):
    torch.manual_seed(0)
    given = {"hidden": 4, "edge_hidden": 2, "prior": 0.8, "dropout": 0.0, "temperature": 1e9, **params}
    return asymmetric.OAGS(3, 2, **given).double()


def oags_scores(network, S, labelled):
    """Return Z of the docstring for weights S of edges and a mask of labelled nodes."""
    P = ~(labelled[:, None] & ~labelled) * S * A + np.eye(5)
    P /= P.sum(axis=1, keepdims=True)
    first, second = map(linear, network.layers)
    return P @ second(relu(P @ first(X)))


def oags_probabilities(network):
    return expit(linear(network.query)(X) @ linear(network.key)(X).T + logit(0.8))


def test_oags_knows_the_labelled_nodes_of_its_fit_only():
    network = oags()
    network.loss(x, LINKS, NODES, CODES, WEIGHTS)
    p, labelled = oags_probabilities(network), np.arange(5) < 2
    assert_allclose(output(network), oags_scores(network, p, labelled))
    elsewhere = output(network, LINKS.flip(1), WEIGHTS.flip(0))
    assert_allclose(elsewhere, oags_scores(network, p, np.zeros(5, dtype=bool)))


def test_the_loss_of_oags_is_cross_entropy_of_hidden_labels_and_divergence():
    """All labels are hidden; at a high temperature, every sampled weight is one half."""
    network = oags(hide=1.0, kl_weight=0.3)
    loss = network.loss(x, LINKS, NODES, CODES, WEIGHTS).item()
    Z, p = oags_scores(network, np.full((5, 5), 0.5), np.zeros(5, dtype=bool)), oags_probabilities(network)
    divergence = (p * np.log(p / 0.8) + (1 - p) * np.log((1 - p) / 0.2))[np.nonzero(A.T)].mean()
    wanted = -log_softmax(Z[:2], axis=1)[[0, 1], [0, 1]].mean() + 0.3 * divergence
    assert_allclose(loss, wanted, rtol=1e-6)


def test_samples_of_oags_are_near_zero_or_one_with_the_probability_of_the_edge():
    torch.manual_seed(0)
    sample = asymmetric.concrete_sample(torch.full((20000,), logit(0.7)), 0.1).numpy()
    assert abs((sample > 0.5).mean() - 0.7) < 0.02
    assert ((sample < 0.1) | (sample > 0.9)).mean() > 0.8


@pytest.mark.parametrize(
    ("name", "decayed"),
    [
        ("GCN", {"convs.0.bias", "convs.0.lin.weight"}),
        ("APPNP", {"perceptron.first.weight"}),
        ("GCNII", {f"convs.{k}.weight1" for k in range(16)}),
        ("OAGS", {f"layers.{k}.{kind}" for k in (0, 1) for kind in ("weight", "bias")}),
    ],
)
def test_weight_decay_is_on_what_the_publication_says(name, decayed):
    network = build(name)(6, 2)
    names = {id(weight): key for key, weight in network.named_parameters()}
    groups = network.parameter_groups(0.25)
    assert {names[id(w)] for g in groups if g.get("weight_decay") == 0.25 for w in g["params"]} == decayed
    assert sorted(names[id(w)] for g in groups for w in g["params"]) == sorted(names.values())
