"""The baseline networks agree with dense algebra, in double precision."""

import gc

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.sparse import csr_array

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("torch_geometric", reason="torch-geometric is not installed")

from torch_geometric.nn import GATConv, SAGEConv  # noqa: E402

from gssl.torch.links import SparseMatrix, sparse_csr_of  # noqa: E402
from reproduction.networks import convolutional as cv  # noqa: E402
from reproduction.networks import decoupled as de  # noqa: E402
from reproduction.networks import graphs  # noqa: E402
from reproduction.networks.neighborhood import Aggregation, Attention  # noqa: E402


@pytest.fixture(scope="module")
def small():
    """A dense weighted graph of five nodes, one of them isolated, and its Â."""
    A = np.zeros((5, 5))
    for i, j, weight in [(0, 1, 1.0), (1, 2, 2.0), (0, 2, 0.5), (2, 3, 1.0)]:
        A[i, j] = A[j, i] = weight
    degrees = A.sum(axis=1) + 1.0
    return A, (A + np.eye(5)) / np.sqrt(np.outer(degrees, degrees))


@pytest.fixture
def links(small):
    ends = np.nonzero(small[0])
    return torch.tensor(np.vstack(ends)), torch.tensor(small[0][ends])


@pytest.fixture
def X():
    return torch.as_tensor(np.random.default_rng(1).normal(size=(5, 3)))


def relu(U):
    return np.maximum(U, 0.0)


def weights(layer):
    """Return W and b of a PyG layer U W + b."""
    linear = getattr(layer, "lin", layer)
    return linear.weight.detach().numpy().T, layer.bias.detach().numpy()


def predicted(network, X, links):
    network = network.double().eval()
    with torch.no_grad():
        return network(X, *links).numpy(), X.numpy()


def dense(matrix):
    return matrix.csr.to_dense().numpy()


def test_normalized_matrices(links, small):
    A, A_hat = small
    graph = graphs.graph_of(*links, 5, torch.float64)
    assert_allclose(dense(graph.A), A)
    assert_allclose(dense(graph.A_hat), A_hat)
    degrees = A.sum(axis=1)
    scale = np.divide(1.0, np.sqrt(degrees), out=np.zeros(5), where=degrees > 0)
    assert_allclose(dense(graph.A_bare), scale[:, None] * A * scale)
    assert_allclose(graph.degrees.numpy().ravel(), degrees)
    assert_allclose(graph.scipy.toarray(), A)


def test_a_graph_is_found_once_and_forgotten_with_its_links(links):
    edge_index, weight = links
    graph = graphs.graph_of(edge_index, weight, 5, torch.float64)
    assert graphs.graph_of(edge_index, weight, 5, torch.float64) is graph
    assert graph.A_hat is graph.A_hat
    for other in ((edge_index, None, 5), (edge_index, weight, 6), (edge_index.clone(), weight, 5)):
        assert graphs.graph_of(*other, torch.float64) is not graph
    x = sparse_csr_of(csr_array(np.eye(3)))
    dropped = graphs.drop(x, 0.5, training=True)
    before = len(graphs._GRAPHS), len(graphs._MATRICES)
    del edge_index, links, x, dropped
    gc.collect()
    assert len(graphs._MATRICES) <= before[1] - 2
    assert graphs.graph_of(graph.edge_index, None, 5, torch.float64) is not graph


def test_gradient_of_a_product_is_that_of_dense_algebra():
    rng = np.random.default_rng(0)
    M = np.where(rng.random((4, 6)) < 0.5, rng.normal(size=(4, 6)), 0.0)
    sparse = SparseMatrix(sparse_csr_of(csr_array(M)))
    thinned = sparse.with_values(graphs.drop_entries(sparse.values, 0.5))
    for matrix in (sparse, thinned, sparse.with_values(2.0 * sparse.values)):
        U = torch.as_tensor(rng.normal(size=(6, 2))).requires_grad_()
        goal = torch.as_tensor(rng.normal(size=(4, 2)))
        ((matrix @ U) * goal).sum().backward()
        assert_allclose(U.grad.numpy(), dense(matrix).T @ goal.numpy())
        assert torch.autograd.gradcheck(lambda U: matrix @ U, (U,))  # noqa: B023


def test_sparse_features_are_as_dense_ones(X, links):
    sparse = sparse_csr_of(csr_array(X.numpy()))
    for layer in (graphs.GraphConvolution(3, 2), Attention(3, 2, 2, 0.0, True), Aggregation(3, 2, "mean")):
        layer = layer.double()
        given = links[:1] if isinstance(layer, Attention) else links
        of_sparse, of_dense = layer(sparse, *given), layer(X, *given)
        assert_allclose(of_sparse.detach().numpy(), of_dense.detach().numpy(), atol=1e-12)
    rows = torch.tensor([3, 1, 3])
    assert_allclose(graphs.take_rows(sparse, rows).to_dense().numpy(), X.numpy()[[3, 1, 3]])
    assert_allclose(graphs.take_rows(X, rows).numpy(), X.numpy()[[3, 1, 3]])


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_gcn(X, links, small, depth):
    network = cv.GCN(3, 2, hidden=4, depth=depth)
    Z, U = predicted(network, X, links)
    for k, (W, b) in enumerate(map(weights, [*network.convs, network.exit])):
        U = small[1] @ (relu(U) if k else U) @ W + b
    assert_allclose(Z, U)


def test_gcnii(X, links, small):
    network = cv.GCNII(3, 2, hidden=4, depth=3, alpha=0.2, theta=0.5)
    Z, U = predicted(network, X, links)
    W, b = weights(network.entrance)
    U_0 = U = relu(U @ W + b)
    for depth, layer in enumerate(network.convs, start=1):
        beta = np.log(0.5 / depth + 1.0)
        mixed = 0.8 * small[1] @ U + 0.2 * U_0
        U = relu(mixed @ ((1.0 - beta) * np.eye(4) + beta * layer.weight1.detach().numpy()))
    W, b = weights(network.exit)
    assert_allclose(Z, U @ W + b)


def test_eigenvectors_are_further_features(X, links, small):
    network = cv.EigenGCN(3, 2, eigenvectors=4, hidden=4)
    Z, U = predicted(network, X, links)
    A_hat = small[1]
    values, vectors = np.linalg.eigh(A_hat)
    Q = cv.leading_eigenvectors(csr_array(small[0]), 4)
    # five nodes have at most three eigenvectors here, so the fourth column is zero
    assert_allclose(A_hat @ Q[:, :3], Q[:, :3] * values[::-1][:3], atol=1e-10)
    assert not Q[:, 3].any()
    assert (Q[np.abs(Q).argmax(axis=0), np.arange(4)] >= 0).all()
    assert_allclose(np.abs(Q[:, 2]), np.abs(vectors[:, 2]), atol=1e-10)
    joined = np.hstack([U, Q])
    (W_0, b_0), (W_1, b_1) = map(weights, [*network.convs, network.exit])
    assert_allclose(Z, A_hat @ relu(A_hat @ joined @ W_0 + b_0) @ W_1 + b_1, atol=1e-12)
    with pytest.raises(ValueError, match="EigenGCN predicts only the graph of its fit"):
        network(X, links[0].clone(), 2 * links[1])


def test_appnp(X, links, small):
    network = de.APPNP(3, 2, hidden=4, depth=400, alpha=0.1)
    Z, _ = predicted(network, X, links)
    H = network.perceptron(X).detach().numpy()
    assert_allclose(Z, 0.1 * np.linalg.solve(np.eye(5) - 0.9 * small[1], H))


def test_mlp(X, links):
    network = de.MLP(3, 2, hidden=4)
    Z, U = predicted(network, X, links[:1])
    (W_1, b_1), (W_2, b_2) = weights(network.layers.first), weights(network.layers.second)
    assert_allclose(Z, relu(U @ W_1 + b_1) @ W_2 + b_2)


def test_gnn_lf_approaches_its_closed_form(X, links, small):
    alpha, mu, A_hat, eye = 0.3, 0.7, small[1], np.eye(5)
    network = de.GNNLF(3, 2, hidden=4, depth=400, alpha=alpha, mu=mu)
    Z, _ = predicted(network, X, links)
    H = network.perceptron(X).detach().numpy()
    left = (mu + 1 / alpha - 1) * eye + (2 - mu - 1 / alpha) * A_hat
    assert_allclose(Z, np.linalg.solve(left, (mu * eye + (1 - mu) * A_hat) @ H))


def test_gnn_hf_approaches_its_closed_form(X, links, small):
    alpha, beta, A_hat, eye = 0.3, 0.7, small[1], np.eye(5)
    network = de.GNNHF(3, 2, hidden=4, depth=400, alpha=alpha, beta=beta)
    Z, _ = predicted(network, X, links)
    H = network.perceptron(X).detach().numpy()
    left = (beta + 1 / alpha) * eye + (1 - beta - 1 / alpha) * A_hat
    assert_allclose(Z, np.linalg.solve(left, (eye + beta * (eye - A_hat)) @ H))


def test_chebnet2_interpolates_its_values(X, links):
    """The filter is the polynomial of degree K through its values at the Chebyshev nodes."""
    filter_ = de.ChebyshevFilter(3).double()
    gamma = np.array([0.3, 1.2, 0.1, 0.8])
    filter_.gamma.data = torch.as_tensor(gamma)
    angles = (np.arange(4) + 0.5) * np.pi / 4
    filter_.T = torch.as_tensor(
        np.array([[(2 - (k == 0)) / 4 * np.cos(k * a) for a in angles] for k in range(4)])
    )
    polynomial = np.polyfit(np.cos(angles), gamma, 3)
    L_hat = -dense(graphs.graph_of(*links, 5, torch.float64).A_bare)
    eigenvalues, Q = np.linalg.eigh(L_hat)
    expected = Q @ np.diag(np.polyval(polynomial, eigenvalues)) @ Q.T @ X.numpy()
    assert_allclose(filter_(X, *links).detach().numpy(), expected, atol=1e-10)
    assert_allclose(de.ChebyshevFilter(3).T.numpy(), filter_.T.numpy(), atol=1e-6)
    # it is initialized as the identity
    assert_allclose(de.ChebyshevFilter(2).coefficients().detach().numpy(), [1.0, 0.0, 0.0], atol=1e-6)
    filter_.gamma.data = torch.as_tensor([-1.0, 1.0, 1.0, 1.0], dtype=torch.float64)
    clipped = filter_.coefficients().detach()
    filter_.gamma.data = torch.as_tensor([0.0, 1.0, 1.0, 1.0], dtype=torch.float64)
    assert_allclose(clipped, filter_.coefficients().detach())


def test_sage_takes_means_as_pyg_does(X, links, small):
    ours, theirs = Aggregation(3, 2, "mean").double(), SAGEConv(3, 2).double()
    theirs.lin_l.load_state_dict(ours.neighbours.state_dict())
    theirs.lin_r.load_state_dict(ours.own.state_dict())
    unweighted = ours(X, links[0]).detach().numpy()
    assert_allclose(unweighted, theirs(X, links[0]).detach().numpy(), atol=1e-12)
    # PyG's layer has no weights, and no mean that includes the node itself
    A = small[0]
    W_1, b = weights(ours.neighbours)
    degrees = A.sum(axis=1, keepdims=True)
    mean = np.divide(A, degrees, out=np.zeros((5, 5)), where=degrees > 0)
    own = X.numpy() @ ours.own.weight.detach().numpy().T
    assert_allclose(ours(X, *links).detach().numpy(), mean @ X.numpy() @ W_1 + own + b, atol=1e-12)
    layer = Aggregation(3, 2, "gcn").double()
    W, b = weights(layer.neighbours)
    expected = (A + np.eye(5)) / (degrees + 1) @ X.numpy() @ W + b
    assert_allclose(layer(X, *links).detach().numpy(), expected, atol=1e-12)


@pytest.mark.parametrize("concat", [True, False])
def test_attention_is_that_of_pyg(X, links, concat):
    ours, theirs = Attention(3, 2, 4, 0.5, concat), GATConv(3, 2, 4, concat=concat)
    theirs.load_state_dict(ours.state_dict())
    ours, theirs = ours.double().eval(), theirs.double().eval()
    assert_allclose(ours(X, links[0]).detach().numpy(), theirs(X, links[0]).detach().numpy(), atol=1e-12)


def test_grand_is_what_its_views_are_on_average(X, links, small):
    network = de.GRAND(3, 2, hidden=4, depth=2, drop_node=0.5).double()
    A_hat = small[1]
    spread = (np.eye(5) + A_hat + A_hat @ A_hat) / 3.0
    assert_allclose(network.propagated(X, *links).numpy(), spread @ X.numpy())
    torch.manual_seed(0)
    network.train()
    views = torch.stack([network.propagated(network.kept(5, X) * X, *links) for _ in range(1500)])
    assert_allclose(views.mean(dim=0).numpy(), 0.5 * spread @ X.numpy(), atol=0.08)
    assert views.std(dim=0).max() > 0.1
    network.eval()
    assert_allclose(network.propagated(network.kept(5, X) * X, *links).numpy(), 0.5 * spread @ X.numpy())


def test_grand_propagates_few_columns_or_many_alike(X, links):
    network = de.GRAND(3, 2, hidden=4, depth=2, drop_node=0.5, dropout=0.0).double().train()
    scores = []
    for rate in (0.0, 1e-9):  # 1e-9 drops nothing, but propagates features instead of hidden columns
        network.input_dropout = rate
        torch.manual_seed(3)
        scores.append(network(X, *links).detach().numpy())
    assert_allclose(scores[0], scores[1], atol=1e-8)


def test_disagreement_is_zero_for_equal_certain_views():
    views = [torch.tensor([[1.0, 0.0], [0.0, 1.0]])] * 3
    assert float(de.disagreement(views, 0.5)) == 0.0
    opposite = [torch.tensor([[1.0, 0.0]]), torch.tensor([[0.0, 1.0]])]
    assert float(de.disagreement(opposite, 0.5)) == 0.5
    blurred = torch.tensor([[0.75, 0.25]])
    # sharpened: (0.9, 0.1)
    assert_allclose(float(de.disagreement([blurred] * 2, 0.5)), 2 * 0.15**2, rtol=1e-5)


def test_dropped_links_go_in_both_directions_at_the_rate():
    n = 200
    upper = np.triu(np.random.default_rng(0).random((n, n)) < 0.3, 1)
    A = upper | upper.T
    weight = np.where(A, 1.0 + np.arange(n)[:, None] + np.arange(n), 0.0)
    ends = np.nonzero(A)
    links = torch.tensor(np.vstack(ends)), torch.tensor(weight[ends])
    torch.manual_seed(0)
    left = graphs.drop_links(*links, 0.4, training=True)
    kept = csr_array((left[1].numpy(), left[0].numpy()), (n, n)).toarray()
    assert_allclose(kept, kept.T)
    assert_allclose(kept[kept > 0], weight[kept > 0])
    assert_allclose((kept > 0).sum() / A.sum(), 0.6, atol=0.02)
    for rate, training in ((0.0, True), (0.4, False)):
        assert graphs.drop_links(*links, rate, training) == links


def test_dropped_entries_are_right_on_average():
    torch.manual_seed(0)
    values = graphs.drop_entries(torch.full((300, 301), 2.0), 0.3)
    assert values.unique().tolist() == pytest.approx([0.0, 2.0 / 0.7])
    assert_allclose(float((values == 0).float().mean()), 0.3, atol=0.01)
    assert_allclose(float(values.mean()), 2.0, atol=0.02)


def test_dropout_of_sparse_features_draws_for_what_is_stored():
    X = csr_array(np.triu(np.ones((40, 40))))
    torch.manual_seed(0)
    dropped = graphs.drop(sparse_csr_of(X), 0.5, training=True)
    W = torch.randn(40, 3, dtype=torch.float64, requires_grad=True)
    graphs.times(dropped, W).sum().backward()
    thinned = dropped.to_dense().numpy()
    assert set(np.unique(thinned)) == {0.0, 2.0}
    assert 0.3 < (thinned > 0).sum() / X.nnz < 0.7
    assert_allclose(W.grad.numpy(), np.repeat(thinned.sum(axis=0)[:, None], 3, axis=1))


def test_sampled_hops_are_right_on_average(small):
    A_hat, rows = csr_array(small[1]), np.array([0, 3])
    torch.manual_seed(0)
    U = np.random.default_rng(0).normal(size=(5, 2))
    total = np.zeros((2, 2))
    for _ in range(300):
        hop, drawn = cv.sampled_rows(A_hat, rows, 32)
        assert hop.shape == (2, 32)
        total += hop @ U[drawn]
    assert_allclose(total / 300, small[1][rows] @ U, atol=0.05)
