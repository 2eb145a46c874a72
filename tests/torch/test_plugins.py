"""SEB and IGC in networks: equations layer by layer, use of training labels only, and the example."""

import copy
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("torch_geometric", reason="torch-geometric is not installed")

from torch_geometric.nn import GAT, GCN, GCNConv, GraphSAGE  # noqa: E402

from gssl.datasets.location import find_file  # noqa: E402
from gssl.torch import (  # noqa: E402
    Guide,
    InverseGraphConv,
    LazyConv,
    SupervisedEmbedding,
    inverse_convolution,
    lazy_convolution,
    sharpen,
    start_from_identity,
    supervise,
)


@pytest.fixture
def ring():
    torch.manual_seed(0)
    step = torch.arange(8)
    edges = torch.stack([torch.cat([step, (step + 1) % 8]), torch.cat([(step + 1) % 8, step])])
    return torch.randn(8, 5), edges, torch.tensor([0, 0, 0, 0, 1, 1, 1, 1])


@pytest.mark.parametrize("weighted", [False, True])
def test_a_sharpened_layer_averages_with_the_inverse_convolution_of_its_input(ring, weighted):
    x, edges, _ = ring
    weight = torch.rand(16) + 0.5 if weighted else None
    layers = [GCNConv(5, 5), GCNConv(5, 5), GCNConv(5, 2)]
    plugged = sharpen(layers, beta=0.8, decay=0.5)
    for k, beta in enumerate((0.8, 0.4)):
        sharp = inverse_convolution(x, edges, weight, beta)
        torch.testing.assert_close(
            plugged[k](x, edges, edge_weight=weight), (layers[k](x, edges, weight) + sharp) / 2
        )
    assert plugged[2] is layers[2]


def test_a_layer_that_changes_the_width_stays_as_it_is(ring):
    x, edges, _ = ring
    layers = [GCNConv(5, 3), GCNConv(3, 2)]
    torch.testing.assert_close(sharpen(layers)[0](x, edges), layers[0](x, edges))


def test_a_supervised_layer_moves_labelled_rows_by_the_last_layers_weights(ring):
    x, edges, y = ring
    train = torch.tensor([1, 6])
    layers = [GCNConv(5, 3), GCNConv(3, 3), GCNConv(3, 2)]
    plugged = supervise(layers, y[train], train, eta_sup=0.3, decay=0.5)
    W = layers[2].lin.weight.T
    out = layers[0](x, edges)
    second = layers[1](out, edges)
    for k, (given, plain) in enumerate([(x, out), (out, second)]):
        output = plugged[k](given, edges)
        U = plain[train]
        expected = plain.clone()
        expected[train] = U - 0.3 * 0.5**k * (U @ W - torch.eye(2)[y[train]]) @ W.T
        torch.testing.assert_close(output, expected)
        assert (output[train] - plain[train]).abs().min() > 1e-5


def test_labels_of_other_nodes_are_never_seen(ring):
    """Changing the labels of test nodes, before or after, does not change predictions."""
    x, edges, y = ring
    train = torch.tensor([1, 6])
    outputs = []
    for labels in (y, torch.where(torch.isin(torch.arange(8), train), y, 1 - y)):
        torch.manual_seed(0)
        network = GCN(5, 4, 3, 2)
        network.convs = supervise(network.convs, labels[train], train, eta_sup=1.0)
        labels = labels.fill_(0)  # later changes by the caller have no effect
        outputs.append(network.eval()(x, edges))
    assert torch.equal(*outputs)


def test_weights_learn_from_the_loss_and_not_through_supervision(ring):
    x, edges, y = ring
    train = torch.tensor([1, 6])
    head = torch.nn.Linear(5, 2, bias=False)
    guide = Guide(head, y[train], train)
    assert not guide.weight().requires_grad
    assert list(guide.parameters()) == []
    network = GCN(5, 4, 3, 2)
    n_before = len(network.state_dict()), sum(p.numel() for p in network.parameters())
    network.convs = supervise(sharpen(network.convs), y[train], train)
    assert (len(network.state_dict()), sum(p.numel() for p in network.parameters())) == n_before
    network(x, edges).sum().backward()
    assert all(p.grad is not None for p in network.parameters())


def test_hidden_labels_move_nothing_and_come_back(ring):
    x, edges, y = ring
    train = torch.tensor([0, 1, 6, 7])
    network = GCN(5, 4, 3, 2)
    network.convs = supervise(network.convs, y[train], train, eta_sup=1.0)
    guide, full = network.convs[0].guide, network(x, edges)
    hidden = guide.hide(0.5)
    assert len(hidden) == 2
    assert set(hidden.tolist()) | set(guide.nodes.tolist()) == {0, 1, 6, 7}
    assert torch.equal(guide.labels, y[guide.nodes])
    assert not torch.allclose(network(x, edges), full)
    assert len(guide.hide(0.0)) == 0
    torch.testing.assert_close(network(x, edges), full)
    guide.hide(1.0)
    plain = GCN(5, 4, 3, 2)
    plain.convs = torch.nn.ModuleList([getattr(c, "layer", c) for c in network.convs])
    torch.testing.assert_close(network(x, edges), plain(x, edges))


def test_a_guide_without_labels_moves_nothing_until_it_sees_some(ring):
    x, edges, y = ring
    layers = [GCNConv(5, 3), GCNConv(3, 2)]
    plugged = supervise(layers, eta_sup=1.0)
    plain = layers[0](x, edges)
    torch.testing.assert_close(plugged[0](x, edges), plain)
    train = torch.tensor([1, 6])
    plugged[0].guide.see(y[train], train)
    full = supervise(layers, y[train], train, eta_sup=1.0)
    torch.testing.assert_close(plugged[0](x, edges), full[0](x, edges))
    assert not torch.allclose(plugged[0](x, edges), plain)


def test_a_head_elsewhere_may_differ_by_layer(ring):
    x, edges, y = ring
    train = torch.tensor([1, 6])
    layers = [GCNConv(5, 3), GCNConv(3, 4)]
    parts = [torch.randn(3, 2), torch.randn(4, 2)]
    plugged = supervise(layers, y[train], train, eta_sup=0.3, decay=1.0, head=lambda k: parts[k - 1])
    given = x
    for k, (layer, W) in enumerate(zip(layers, parts, strict=True)):
        plain = layer(given, edges)
        expected = plain.clone()
        expected[train] -= 0.3 * (plain[train] @ W - torch.eye(2)[y[train]]) @ W.T
        torch.testing.assert_close(plugged[k](given, edges), expected)
        given = plain


@pytest.mark.parametrize("model", [GCN, GraphSAGE, GAT])
def test_other_networks_take_them_and_learn(ring, model):
    x, edges, y = ring
    train = torch.tensor([1, 2, 5, 6])
    torch.manual_seed(0)
    network = model(5, 4, 3, 2)
    network.convs = sharpen(network.convs)
    network.convs = supervise(network.convs, y[train], train, eta_sup=0.1)
    network = copy.deepcopy(network)
    optimizer = torch.optim.Adam(network.parameters(), lr=0.05)
    losses = []
    for _ in range(40):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(network(x, edges)[train], y[train])
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.5 * losses[0]


def test_layers_that_keep_the_width_can_start_from_the_identity(ring):
    x, edges, _ = ring
    layers = start_from_identity([GCNConv(5, 5, bias=False), GCNConv(5, 2)])
    torch.testing.assert_close(layers[0](x, edges), lazy_convolution(x, edges))
    assert layers[1].lin.weight.shape == (2, 5)


def test_a_copy_has_a_last_layer_of_its_own(ring):
    _, _, y = ring
    network = GCN(5, 4, 3, 2)
    network.convs = supervise(network.convs, y[:2], torch.tensor([0, 1]), eta_sup=1.0)
    other = copy.deepcopy(network)
    with torch.no_grad():
        other.convs[-1].lin.weight.zero_()
    assert not other.convs[0].guide.weight().any()
    assert network.convs[0].guide.weight().any()


def test_bad_input_is_named(ring):
    x, edges, y = ring
    with pytest.raises(ValueError, match="one row for each node"):
        LazyConv()(torch.ones(6), edges)
    guided = supervise([GCNConv(5, 4), GCNConv(4, 2)], np.array([1, 0]), np.array([2, 4]))
    assert guided[0].guide.labels.tolist() == [1, 0]
    with pytest.raises(ValueError, match="node 4 has the label -1"):
        supervise([GCNConv(5, 4), GCNConv(4, 2)], np.array([1, -1]), np.array([2, 4]))
    with pytest.raises(ValueError, match=r"such as y\[train\] and train"):
        supervise([GCNConv(5, 4), GCNConv(4, 2)], y, torch.tensor([1]))
    narrow = supervise([GCNConv(5, 3), LazyConv(), GCNConv(4, 2)], y[:1], torch.tensor([0]))
    with pytest.raises(ValueError, match="a layer outputs 3 columns but the last one takes 4"):
        narrow[0](x, edges)
    with pytest.raises(ValueError, match="LazyConv has no linear layer"):
        supervise([GCNConv(5, 3), LazyConv()], y[:1], torch.tensor([0]))
    assert isinstance(narrow[0].step, SupervisedEmbedding)
    assert isinstance(sharpen([GCNConv(5, 4), GCNConv(4, 2)])[0].inverse, InverseGraphConv)


@pytest.fixture
def run_example(monkeypatch, capsys):
    """Return a function that runs the example and returns the mean accuracy of each network."""
    example = str(Path(__file__).parents[2] / "examples" / "plugins.py")

    def run(*options):
        monkeypatch.setattr(sys, "argv", [example, *options])
        runpy.run_path(example, run_name="__main__")
        printed = capsys.readouterr().out
        lines = (line.partition(" ± ")[0].rsplit(maxsplit=1) for line in printed.splitlines())
        return {name.strip(): float(mean) for name, mean in lines}

    return run


def test_the_example_runs(run_example):
    means = run_example("--data", "karate", "--depth", "4", "--epochs", "60", "--seeds", "1")
    assert list(means) == [
        "GCN of 2 layers",
        "GCN of 4 layers",
        "GCN of 4 layers from identity",
        "GCN of 4 layers with IGC",
        "GCN of 4 layers with SEB",
        "GCN of 4 layers with both",
    ]
    assert all(0.0 <= mean <= 100.0 for mean in means.values())
    assert means["GCN of 4 layers with SEB"] > 50.0


@pytest.mark.slow
def test_64_layers_learn_with_plug_ins_and_not_without(run_example):
    try:
        find_file("planetoid/ind.cora.graph")
    except FileNotFoundError:
        pytest.skip("the Planetoid files are not on this machine: set GSSL_DATA_DIR to their folder")
    means = run_example("--seeds", "2", "--kinds", "plain", "IGC", "SEB")
    plain = means.pop("GCN of 64 layers")
    assert plain < 40.0
    assert min(means.values()) > plain + 20.0
