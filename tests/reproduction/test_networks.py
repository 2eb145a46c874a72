"""Layers and filters against dense algebra, in double precision."""

import numpy as np
import pytest
import torch
from gssl.torch._graph import Graph
from gssl.torch._layers import GraphConvolution, Perceptron
from gssl.torch._sparse import SparseMatrix, drop_entries
from gssl.torch.appnp import PageRankNetwork
from gssl.torch.chebnet2 import ChebyshevFilter
from gssl.torch.fastgcn import sampled_rows
from gssl.torch.gat import Attention
from gssl.torch.gcn import ConvolutionNetwork
from gssl.torch.gcnii import ResidualNetwork
from gssl.torch.gnn_lf_hf import HighPassNetwork, LowPassNetwork
from gssl.torch.grand import RandomPropagationNetwork, consistency
from gssl.torch.incep import InceptionNetwork
from gssl.torch.jknet import JumpingNetwork
from gssl.torch.sage import Aggregation
from numpy.testing import assert_allclose
from scipy.sparse import csr_array
from torch_geometric.nn import GATConv, SAGEConv


@pytest.fixture
def graph(small):
    return Graph.from_scipy(csr_array(small[0]), dtype=torch.float64)


@pytest.fixture
def X():
    return torch.as_tensor(np.random.default_rng(1).normal(size=(5, 3)))


def relu(U):
    return np.maximum(U, 0.0)


def weights(layer):
    """Give W and b of a layer of PyG for U W + b."""
    linear = getattr(layer, "lin", layer)
    return linear.weight.detach().numpy().T, layer.bias.detach().numpy()


def steps(network, X, graph):
    network = network.double().eval()
    with torch.no_grad():
        return network(X, graph).numpy(), X.numpy()


def test_normalized_matrices(graph, small):
    A, A_hat = small
    assert_allclose(graph.A_hat.csr.to_dense().numpy(), A_hat)
    degrees = A.sum(axis=1)
    scale = np.divide(1.0, np.sqrt(degrees), out=np.zeros(5), where=degrees > 0)
    assert_allclose(graph.A_bare.csr.to_dense().numpy(), scale[:, None] * A * scale)
    mean = np.divide(A, degrees[:, None], out=np.zeros((5, 5)), where=degrees[:, None] > 0)
    assert_allclose(graph.mean.csr.to_dense().numpy(), mean)
    assert_allclose(graph.mean_with_loops.csr.to_dense().numpy(), (A + np.eye(5)) / (degrees + 1)[:, None])


def test_gradient_of_a_product_is_that_of_dense_algebra():
    rng = np.random.default_rng(0)
    M = np.where(rng.random((4, 6)) < 0.5, rng.normal(size=(4, 6)), 0.0)
    sparse = SparseMatrix.from_scipy(csr_array(M), dtype=torch.float64)
    for matrix in (sparse, sparse.dropped(0.5), sparse.with_values(2.0 * sparse.values)):
        U = torch.as_tensor(rng.normal(size=(6, 2))).requires_grad_()
        goal = torch.as_tensor(rng.normal(size=(4, 2)))
        ((matrix @ U) * goal).sum().backward()
        assert_allclose(U.grad.numpy(), matrix.csr.to_dense().numpy().T @ goal.numpy())


def test_sparse_features_are_as_dense_ones(X, graph):
    layer = GraphConvolution(3, 2).double()
    sparse = SparseMatrix.from_scipy(csr_array(X.numpy()), dtype=torch.float64)
    assert_allclose(
        layer(sparse, graph.A_hat).detach().numpy(), layer(X, graph.A_hat).detach().numpy(), atol=1e-12
    )
    assert_allclose(sparse.rows(np.array([3, 1])).csr.to_dense().numpy(), X.numpy()[[3, 1]])


def test_gcn(X, graph, small):
    network = ConvolutionNetwork([3, 4, 2], 0.5)
    Z, U = steps(network, X, graph)
    (W_0, b_0), (W_1, b_1) = map(weights, network.layers)
    assert_allclose(Z, small[1] @ relu(small[1] @ U @ W_0 + b_0) @ W_1 + b_1)


def test_jknet_puts_all_embeddings_side_by_side(X, graph, small):
    network = JumpingNetwork([3, 4, 4], 2, "cat", 0.5)
    Z, U = steps(network, X, graph)
    (W_0, b_0), (W_1, b_1), (W_2, b_2) = map(weights, [*network.layers, network.exit])
    first = relu(small[1] @ U @ W_0 + b_0)
    second = relu(small[1] @ first @ W_1 + b_1)
    assert_allclose(Z, small[1] @ np.hstack([first, second]) @ W_2 + b_2)


def test_incep_has_a_branch_of_each_length(X, graph, small):
    network = InceptionNetwork((3, 4, 2), 2, 0.5)
    Z, U = steps(network, X, graph)

    def convolve(U, layer):
        W, b = weights(layer)
        return small[1] @ U @ W + b

    start = relu(convolve(U, network.entrance))
    (short,), (a, b) = network.branches
    ends = [start, relu(convolve(start, short)), relu(convolve(relu(convolve(start, a)), b))]
    assert_allclose(Z, convolve(np.hstack(ends), network.exit))


def test_gcnii(X, graph, small):
    network = ResidualNetwork((3, 4, 2), 3, alpha=0.2, theta=0.5)
    Z, U = steps(network, X, graph)
    W, b = weights(network.entrance)
    U_0 = U = relu(U @ W + b)
    for depth, layer in enumerate(network.layers, start=1):
        beta = np.log(0.5 / depth + 1.0)
        mixed = 0.8 * small[1] @ U + 0.2 * U_0
        U = relu(mixed @ ((1.0 - beta) * np.eye(4) + beta * layer.weight1.detach().numpy()))
    W, b = weights(network.exit)
    assert_allclose(Z, U @ W + b)


def test_appnp(X, graph, small):
    network = PageRankNetwork(Perceptron(3, 4, 2, 0.5, bias=False), 0.5, depth=400, alpha=0.1)
    Z, _ = steps(network, X, graph)
    H = network.perceptron(X).detach().numpy()
    assert_allclose(Z, 0.1 * np.linalg.solve(np.eye(5) - 0.9 * small[1], H))


def test_gnn_lf_approaches_its_closed_form(X, graph, small):
    alpha, mu, A_hat, eye = 0.3, 0.7, small[1], np.eye(5)
    network = LowPassNetwork(Perceptron(3, 4, 2, 0.5, bias=False), 0.5, 400, (alpha, mu))
    Z, _ = steps(network, X, graph)
    H = network.perceptron(X).detach().numpy()
    left = (mu + 1 / alpha - 1) * eye + (2 - mu - 1 / alpha) * A_hat
    assert_allclose(Z, np.linalg.solve(left, (mu * eye + (1 - mu) * A_hat) @ H))


def test_gnn_hf_approaches_its_closed_form(X, graph, small):
    alpha, beta, A_hat, eye = 0.3, 0.7, small[1], np.eye(5)
    network = HighPassNetwork(Perceptron(3, 4, 2, 0.5, bias=False), 0.5, 400, (alpha, beta))
    Z, _ = steps(network, X, graph)
    H = network.perceptron(X).detach().numpy()
    left = (beta + 1 / alpha) * eye + (1 - beta - 1 / alpha) * A_hat
    assert_allclose(Z, np.linalg.solve(left, (eye + beta * (eye - A_hat)) @ H))


def test_chebnet2_interpolates_its_values(X, graph):
    """The filter is the polynomial of degree K through its values at the Chebyshev nodes."""
    torch.manual_seed(0)
    filter_ = ChebyshevFilter(3).double()
    gamma = np.array([0.3, 1.2, 0.1, 0.8])
    filter_.gamma.data = torch.as_tensor(gamma)
    angles = (np.arange(4) + 0.5) * np.pi / 4
    filter_.T = torch.as_tensor(
        np.array([[(2 - (k == 0)) / 4 * np.cos(k * a) for a in angles] for k in range(4)])
    )
    polynomial = np.polyfit(np.cos(angles), gamma, 3)
    L_hat = -graph.A_bare.csr.to_dense().numpy()
    eigenvalues, Q = np.linalg.eigh(L_hat)
    expected = Q @ np.diag(np.polyval(polynomial, eigenvalues)) @ Q.T @ X.numpy()
    assert_allclose(filter_(X, graph).detach().numpy(), expected, atol=1e-10)
    assert_allclose(ChebyshevFilter(3).T.numpy(), filter_.T.numpy(), atol=1e-6)
    filter_.gamma.data = torch.as_tensor([-1.0, 1.0, 1.0, 1.0], dtype=torch.float64)
    clipped = filter_.coefficients().detach()
    filter_.gamma.data = torch.as_tensor([0.0, 1.0, 1.0, 1.0], dtype=torch.float64)
    assert_allclose(clipped, filter_.coefficients().detach())


def test_sage_is_that_of_pyg(X, small):
    graph = Graph.from_scipy(csr_array((small[0] > 0).astype(float)), dtype=torch.float64)
    ours, theirs = Aggregation(3, 2, "mean").double(), SAGEConv(3, 2).double()
    theirs.lin_l.load_state_dict(ours.neighbours.state_dict())
    theirs.lin_r.load_state_dict(ours.own.state_dict())
    assert_allclose(ours(X, graph).detach().numpy(), theirs(X, graph.links).detach().numpy(), atol=1e-12)


@pytest.mark.parametrize("concat", [True, False])
def test_attention_is_that_of_pyg(X, graph, concat):
    ours, theirs = Attention(3, 2, 4, 0.5, concat), GATConv(3, 2, 4, concat=concat)
    state = {name: value for name, value in ours.attention.state_dict().items() if name != "lin.weight"}
    theirs.load_state_dict({**state, "lin.weight": ours.linear.weight})
    ours, theirs = ours.double().eval(), theirs.double().eval()
    assert_allclose(ours(X, graph).detach().numpy(), theirs(X, graph.links).detach().numpy(), atol=1e-12)


def test_grand_is_what_its_views_are_on_average(X, graph, small):
    network = RandomPropagationNetwork((3, 4, 2), 2, batch_norm=False).double()
    network.drop_node = 0.5
    A_hat = small[1]
    spread = (np.eye(5) + A_hat + A_hat @ A_hat) / 3.0
    assert_allclose(network.spread(X, graph).numpy(), spread @ X.numpy())
    torch.manual_seed(0)
    network.train()
    views = torch.stack([network.spread(network.kept(5, X) * X, graph) for _ in range(1500)])
    assert_allclose(views.mean(dim=0).numpy(), 0.5 * spread @ X.numpy(), atol=0.08)
    assert views.std(dim=0).max() > 0.1
    network.eval()
    assert_allclose(network.spread(network.kept(5, X) * X, graph).numpy(), 0.5 * spread @ X.numpy())


def test_grand_propagates_few_columns_or_many_alike(X, graph):
    network = RandomPropagationNetwork((3, 4, 2), 2, batch_norm=False).double().train()
    network.drop_node = 0.5
    scores = []
    for rate in (0.0, 1e-9):  # a rate at which nothing is dropped, and features are propagated
        network.input_dropout = rate
        torch.manual_seed(3)
        scores.append(network(X, graph).detach().numpy())
    assert_allclose(scores[0], scores[1], atol=1e-8)


def test_consistency_is_zero_for_equal_certain_views():
    views = [torch.tensor([[1.0, 0.0], [0.0, 1.0]])] * 3
    assert float(consistency(views, 0.5)) == 0.0
    blurred = torch.tensor([[0.75, 0.25]])
    # sharpened: (0.9, 0.1)
    assert_allclose(float(consistency([blurred] * 2, 0.5)), 2 * 0.15**2, rtol=1e-5)


def test_dropped_links_go_in_both_directions_at_the_rate():
    n = 200
    upper = np.triu(np.random.default_rng(0).random((n, n)) < 0.3, 1)
    A = upper | upper.T
    weights = np.where(A, 1.0 + np.arange(n)[:, None] + np.arange(n), 0.0)
    torch.manual_seed(0)
    graph = Graph.from_scipy(csr_array(weights))
    left = graph.dropped(0.4)
    kept = torch.sparse_coo_tensor(left.links, left.weights, (n, n)).to_dense().numpy()
    assert_allclose(kept, kept.T)
    assert_allclose(kept[kept > 0], weights[kept > 0])
    assert_allclose((kept > 0).sum() / A.sum(), 0.6, atol=0.02)
    assert graph.dropped(0.0) is graph


def test_dropped_entries_are_right_on_average():
    torch.manual_seed(0)
    values = drop_entries(torch.full((300, 301), 2.0), 0.3)
    assert values.unique().tolist() == pytest.approx([0.0, 2.0 / 0.7])
    assert_allclose(float((values == 0).float().mean()), 0.3, atol=0.01)
    assert_allclose(float(values.mean()), 2.0, atol=0.02)


def test_sampled_hops_are_right_on_average(small):
    A_hat, rows = csr_array(small[1]), np.array([0, 3])
    torch.manual_seed(0)
    U = np.random.default_rng(0).normal(size=(5, 2))
    total = np.zeros((2, 2))
    for _ in range(300):
        hop, drawn = sampled_rows(A_hat, rows, 32)
        total += hop @ U[drawn]
    assert_allclose(total / 300, small[1][rows] @ U, atol=0.05)
