"""LazyConv, InverseGraphConv and SupervisedEmbedding agree with gssl.operators and behave as layers."""

import copy

import numpy as np
import pytest

from gssl import operators

torch = pytest.importorskip("torch", reason="torch is not installed")
gt = pytest.importorskip("gssl.torch")
KINDS = [gt.LazyConv, gt.InverseGraphConv]


def convolve(kind, A, U, beta=1.0):
    """Return the equation of a layer by gssl.operators."""
    if kind is gt.LazyConv:
        return operators.lazy_convolution(operators.normalized_adjacency(A), U, beta)
    return operators.inverse_convolution(operators.complement_negatives(A), U, beta)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("beta", [1.0, 0.3, 0.0])
@pytest.mark.parametrize("form", ["edges", "coo", "csr"])
@pytest.mark.parametrize("cached", [False, True])
def test_layers_are_the_equations(graph, assert_close, kind, beta, form, cached):
    given = (graph.edge_index, graph.edge_weight) if form == "edges" else (graph.sparse(form),)
    layer = kind(beta, cached=cached)
    for _ in range(2):
        assert_close(layer(graph.x, *given), convolve(kind, graph.A, graph.U, beta))


def test_a_repeated_pair_counts_once_in_igc_and_adds_up_in_convolution(graph, assert_close):
    twice = torch.cat([graph.edge_index, graph.edge_index], dim=1)
    weight = torch.cat([graph.edge_weight, graph.edge_weight])
    assert_close(
        gt.inverse_convolution(graph.x, twice, weight), convolve(gt.InverseGraphConv, graph.A, graph.U)
    )
    assert_close(gt.lazy_convolution(graph.x, twice, weight), convolve(gt.LazyConv, 2 * graph.A, graph.U))


def test_a_link_of_weight_zero_is_none(graph, assert_close):
    edges = torch.cat([graph.edge_index, torch.tensor([[5, 6], [6, 5]])], dim=1)
    weight = torch.cat([graph.edge_weight, torch.zeros(2, dtype=graph.x.dtype)])
    assert_close(
        gt.inverse_convolution(graph.x, edges, weight), convolve(gt.InverseGraphConv, graph.A, graph.U)
    )


def test_sampled_negatives_push_apart_what_was_drawn(graph, assert_close, monkeypatch):
    """With the same sample the results agree, even if a pair was drawn twice."""
    pairs = torch.tensor([5, 5, 0]), torch.tensor([1, 1, 6])
    monkeypatch.setattr("gssl.torch.layers.sample_unlinked", lambda *_: pairs)
    N = np.zeros(graph.A.shape, graph.U.dtype)
    np.add.at(N, pairs, 1.0)
    N_hat = operators.normalized_negatives(operators.inverse.csr_array(N + N.T))
    layer = gt.InverseGraphConv(0.7, negatives=2)
    assert_close(
        layer(graph.x, graph.edge_index, graph.edge_weight),
        operators.inverse_convolution(N_hat, graph.U, beta=0.7),
    )


def test_samples_hold_no_link_and_no_self_loop_and_are_as_many_as_asked_for(graph):
    from gssl.torch.layers import sample_unlinked
    from gssl.torch.links import read_links

    torch.manual_seed(0)
    links = read_links(graph.x, graph.edge_index, graph.edge_weight)
    source, target = sample_unlinked(links, 7.5)
    assert len(source) == round(7.5 * graph.A.nnz / 2)
    assert not graph.A.toarray()[source, target].any()
    assert (source != target).all()
    unlinked = {(u, v) for u, v in zip(*np.nonzero(graph.A.toarray() == 0), strict=True) if u != v}
    assert len(set(zip(source.tolist(), target.tolist(), strict=True))) > len(unlinked) // 2


def test_samples_follow_the_seed(graph):
    layer = gt.InverseGraphConv(negatives=1.0)
    outputs = []
    for seed in (0, 0, 1):
        torch.manual_seed(seed)
        outputs.append(layer(graph.x, graph.edge_index, graph.edge_weight))
    assert torch.equal(outputs[0], outputs[1])
    assert not torch.equal(outputs[0], outputs[2])


@pytest.mark.parametrize("loss", ["squared", "cross_entropy"])
def test_supervised_embedding(graph, assert_close, dtype, loss):
    rng = np.random.default_rng(1)
    W = rng.normal(size=(3, 4)).astype(dtype)
    nodes, labels = np.array([2, 7, 5]), np.array([0, 3, 1])
    R = operators.residual(graph.U[nodes] @ W, np.eye(4, dtype=dtype)[labels], loss)
    expected = graph.U.copy()
    operators.supervised_embedding(R, W, 0.05 * 0.9, nodes).add_to(expected)
    layer = gt.SupervisedEmbedding(eta_sup=0.05, decay=0.9, loss=loss)
    given = graph.x, torch.tensor(W)
    assert_close(layer(*given, torch.tensor(labels), torch.tensor(nodes), k=2), expected)
    assert_close(layer(*given, torch.eye(4)[labels], torch.tensor(nodes), k=2), expected)
    assert np.abs(expected - graph.U).max() > 1e-3


@pytest.mark.parametrize("dtype", ["float64"], indirect=True)  # float32 is too coarse for finite differences
@pytest.mark.parametrize("form", ["edges", "cached edges", "coo", "csr"])
@pytest.mark.parametrize("kind", KINDS)
def test_gradients(graph, kind, form):
    layer = kind(0.6, cached=form == "cached edges")
    given = (graph.edge_index, graph.edge_weight) if "edges" in form else (graph.sparse(form),)
    x = graph.x.clone().requires_grad_()
    assert torch.autograd.gradcheck(lambda x: layer(x, *given), (x,))
    if "edges" in form and kind is gt.LazyConv:
        weight = graph.edge_weight.clone().requires_grad_()
        assert torch.autograd.gradcheck(lambda w: layer(graph.x, graph.edge_index, w), (weight,))


def test_gradients_of_links_in_one_direction():
    """Links need not be symmetric, so gradients use the transpose."""
    torch.manual_seed(0)
    edges, x = torch.tensor([[0, 1, 2, 2], [1, 2, 0, 3]]), torch.randn(4, 2, dtype=torch.float64)
    matrix = torch.sparse_coo_tensor(
        edges.flip(0), torch.rand(4, dtype=torch.float64), (4, 4), check_invariants=True
    )
    for given in (edges, matrix, matrix.to_sparse_csr()):
        layer = gt.LazyConv(0.6, cached=True)
        assert torch.autograd.gradcheck(lambda x: layer(x, given), (x.clone().requires_grad_(),))  # noqa: B023


@pytest.mark.parametrize("loss", ["squared", "cross_entropy"])
def test_gradients_of_supervision(loss):
    torch.manual_seed(0)
    x, W = (torch.randn(*shape, dtype=torch.float64, requires_grad=True) for shape in [(5, 3), (3, 2)])
    layer = gt.SupervisedEmbedding(0.3, loss=loss)
    labels, nodes = torch.tensor([0, 1]), torch.tensor([4, 0])
    assert torch.autograd.gradcheck(lambda x, W: layer(x, W, labels, nodes), (x, W))


@pytest.mark.parametrize("kind", KINDS)
def test_a_cache_is_made_anew_for_another_graph(graph, assert_close, kind):
    layer, weight = kind(cached=True), graph.edge_weight
    layer(graph.x, graph.edge_index, weight)
    fewer = graph.edge_index[:, 4:]
    torch.testing.assert_close(layer(graph.x, fewer, weight[4:]), kind()(graph.x, fewer, weight[4:]))
    torch.testing.assert_close(layer(graph.x, fewer, 2 * weight[4:]), kind()(graph.x, fewer, 2 * weight[4:]))


def test_a_cache_is_made_anew_for_other_rows(graph):
    layer = gt.LazyConv(cached=True)
    layer(graph.x, graph.edge_index, graph.edge_weight)
    other = torch.ones(3, 1, dtype=torch.float64)
    pair = torch.tensor([[0, 1], [1, 0]])
    torch.testing.assert_close(layer(other, pair), other)
    assert copy.deepcopy(layer)(other, pair).dtype == torch.float64


def test_layers_in_a_sequence_of_pyg(graph, assert_close):
    geometric = pytest.importorskip("torch_geometric.nn", reason="torch-geometric is not installed")
    network = geometric.Sequential(
        "x, edge_index, edge_weight",
        [
            (gt.LazyConv(0.5), "x, edge_index, edge_weight -> x"),
            (gt.InverseGraphConv(0.5), "x, edge_index, edge_weight -> x"),
        ],
    )
    smooth = convolve(gt.LazyConv, graph.A, graph.U, 0.5)
    expected = convolve(gt.InverseGraphConv, graph.A, smooth, 0.5)
    assert_close(network(graph.x, graph.edge_index, graph.edge_weight), expected)


@pytest.mark.parametrize("dtype", ["float32"], indirect=True)  # one dtype only, because compiling is slow
@pytest.mark.parametrize(
    "layer", [*(kind(0.6) for kind in KINDS), gt.SupervisedEmbedding(0.3, loss="cross_entropy")]
)
def test_layers_compile_into_one_graph(graph, layer):
    given = graph.x, graph.edge_index, graph.edge_weight
    if isinstance(layer, gt.SupervisedEmbedding):
        given = graph.x, torch.randn(3, 2), torch.tensor([0, 1]), torch.tensor([4, 0])
    torch._dynamo.reset()
    compiled = torch.compile(layer, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(*given), layer(*given))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
def test_layers_follow_their_input_to_the_gpu(graph, assert_close):
    x, edge_index, weight = (part.cuda() for part in graph[2:])
    for layer in (gt.LazyConv(0.6, cached=True), gt.InverseGraphConv(0.6, cached=True)):
        here = layer(graph.x, graph.edge_index, graph.edge_weight)
        torch.testing.assert_close(layer(x, edge_index, weight).cpu(), here)


def test_bad_input_is_named(graph):
    with pytest.raises(ValueError, match="LazyConv: beta must be a number from 0 to 1, not 2"):
        gt.LazyConv(2)
    with pytest.raises(ValueError, match='negatives must be "complement" or a positive multiple'):
        gt.InverseGraphConv(negatives=0)
    with pytest.raises(ValueError, match="eta_sup must be a number of at least 0, not -1"):
        gt.SupervisedEmbedding(-1)
    with pytest.raises(ValueError, match=r"edge_index must be a long tensor of shape \(2, E\)"):
        gt.lazy_convolution(graph.x, graph.edge_index.T)
    with pytest.raises(ValueError, match=r"edge_weight has the shape \(3,\)"):
        gt.lazy_convolution(graph.x, graph.edge_index, torch.ones(3))
    with pytest.raises(ValueError, match="has its own weights"):
        gt.lazy_convolution(graph.x, graph.sparse("coo"), graph.edge_weight)
    with pytest.raises(ValueError, match=r"shape \(12, 12\) for 3 rows"):
        gt.lazy_convolution(graph.x[:3], graph.sparse("csr"))
    with pytest.raises(ValueError, match="1 labels for 2 nodes"):
        gt.SupervisedEmbedding()(graph.x, torch.ones(3, 2), torch.tensor([0]), torch.tensor([0, 1]))
