"""Propagation agrees with PyTorch Geometric and scikit-network."""

import warnings

import numpy as np
import pytest
from scipy.sparse import csr_array, csr_matrix

import gssl
from gssl.operators import normalized_adjacency


@pytest.fixture(params=[False, True], ids=["unweighted", "weighted"])
def graph(request):
    """A graph of forty nodes with features, three of them isolated."""
    rng = np.random.default_rng(0)
    upper = np.triu(rng.random((40, 40)) < 0.12, k=1)
    upper[:, 37:] = False
    A = upper * (rng.integers(1, 9, (40, 40)) / 4 if request.param else 1.0)
    return rng.random((40, 6)), A + A.T


@pytest.fixture
def pyg(graph):
    """PyTorch Geometric's convolutions, and the graph in its format."""
    torch = pytest.importorskip("torch")
    convolutions = pytest.importorskip("torch_geometric.nn")
    X, A = graph
    row, column = np.nonzero(A)
    edges = torch.from_numpy(np.stack([row, column]))
    return convolutions, torch.from_numpy(X), edges, torch.from_numpy(A[row, column])


def applied(layer, X, edges, weights):
    """Run a layer whose linear part, if it has one, is the identity."""
    import torch

    layer = layer.double()
    if hasattr(layer, "lin"):
        layer.lin.weight.data = torch.eye(6, dtype=torch.float64)
    with torch.no_grad():
        return layer(X, edges, weights).numpy()


def test_normalisation_is_gcn_norm(graph, pyg):
    from torch_geometric.nn.conv.gcn_conv import gcn_norm

    _, X, edges, weights = pyg
    (row, column), values = gcn_norm(edges, weights, num_nodes=len(X), dtype=X.dtype)
    dense = np.zeros((40, 40))
    np.add.at(dense, (row.numpy(), column.numpy()), values.numpy())
    np.testing.assert_allclose(normalized_adjacency(csr_array(graph[1])).toarray(), dense, atol=1e-14)


def test_sgc_is_sgconv(graph, pyg):
    layers, *given = pyg
    ours = gssl.SGC(depth=3).fit_transform(graph[0], adjacency=graph[1])
    np.testing.assert_allclose(ours, applied(layers.SGConv(6, 6, K=3, bias=False), *given), atol=1e-12)


def test_ssgc_is_ssgconv(graph, pyg):
    layers, *given = pyg
    ours = gssl.SSGC(depth=4, alpha=0.2).fit_transform(graph[0], adjacency=graph[1])
    theirs = applied(layers.SSGConv(6, 6, alpha=0.2, K=4, bias=False), *given)
    np.testing.assert_allclose(ours, theirs, atol=1e-12)


def test_ppr_is_appnp(graph, pyg):
    layers, *given = pyg
    ours = gssl.PPR(depth=5, alpha=0.15).fit_transform(graph[0], adjacency=graph[1])
    np.testing.assert_allclose(ours, applied(layers.APPNP(K=5, alpha=0.15), *given), atol=1e-12)


def test_ppr_is_pagerank_of_the_graph_with_self_loops(graph):
    """Symmetric and random-walk normalisation differ by two scalings: P = D̃^-½ Â D̃^½."""
    ranking = pytest.importorskip("sknetwork.ranking")
    _, A = graph
    root = np.sqrt(A.sum(axis=1) + 1)[:, None]
    starts = np.eye(40)[:, [0, 11, 38]]
    ours = root * gssl.PPR(depth=400, alpha=0.15).fit_transform(starts / root, adjacency=A)
    walk = ranking.PageRank(damping_factor=0.85, n_iter=400, tol=0)
    for column, node in enumerate([0, 11, 38]):
        theirs = walk.fit_predict(csr_matrix(A + np.eye(40)), weights={node: 1})
        np.testing.assert_allclose(ours[:, column], theirs, atol=1e-10)


def test_label_propagation_is_the_dirichlet_problem(graph):
    regression = pytest.importorskip("sknetwork.regression")
    _, A = graph
    y = np.full(40, -1)
    y[[0, 5, 9, 14]] = [0, 1, 1, 0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gssl.GraphWarning)
        model = gssl.LabelPropagation(tol=1e-14, class_mass=False).fit(None, y, adjacency=A)
    heat = {node: float(y[node]) for node in np.flatnonzero(y >= 0)}
    theirs = regression.Dirichlet(n_iter=20_000).fit_predict(csr_matrix(A), values=heat)
    reached = model.reached_
    assert reached.sum() > 30
    np.testing.assert_allclose(model.label_distributions_[reached, 1], theirs[reached], atol=1e-6)
