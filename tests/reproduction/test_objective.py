"""Eq. 4: the effect of each method on Q_sup + Q_smo, and the order of the final losses."""

import numpy as np
import pytest

import gssl
from reproduction.objective import (
    METHODS,
    hidden_layers,
    losses_by_iteration,
    losses_by_layer,
)


def test_the_losses_of_ogc_are_those_of_its_history(problem):
    model = gssl.OGC(max_iter=12, agreement=1.0, random_state=0)
    history = model.fit(problem.X, problem.y, adjacency=problem.A).history_
    by_iteration = list(
        losses_by_iteration("OGC", problem.X, model._fit_inputs.A, problem.y, iterations=12, seed=0)
    )
    np.testing.assert_allclose([losses.supervised for losses in by_iteration], history["classification_loss"])
    np.testing.assert_allclose([losses.smoothing for losses in by_iteration], history["smoothing_loss"])


def test_ogc_ends_lowest_on_cora_and_lowers_the_sum_longest(needs_planetoid):
    """The paper argues for the order OGC, lazy convolution, SGC; GGC does not use labels."""
    needs_planetoid("cora")
    data = gssl.datasets.load("planetoid/cora").normalized()
    y = data.mask_labels("public", parts=("train",))
    by_method = {
        method: list(losses_by_iteration(method, data.features, data.adjacency, y, iterations=16, seed=0))
        for method in METHODS
    }
    sums = [
        by_method[m][-1].supervised + by_method[m][-1].smoothing for m in ("OGC", "lazy SGC", "SGC", "GGC")
    ]
    assert sums == sorted(sums)
    assert not any(losses.raised for losses in by_method["OGC"])
    assert sum(losses.raised for losses in by_method["SGC"]) > 8


def test_the_losses_of_layers_are_those_of_iterations_that_gave_them(problem):
    """Both agree on SGC's iterations; W steps before U moves in one, and after it in the other."""
    A = gssl.graph.check_adjacency(problem.A)
    A_hat = gssl.operators.normalized_adjacency(A, np.float64)
    layers = [np.asarray(problem.X, dtype=np.float64)]
    for _ in range(6):
        layers.append(np.asarray(gssl.operators.lazy_convolution(A_hat, layers[-1], 1.0)))
    by_layer = list(losses_by_layer(layers, A, problem.y, seed=0))[1:]
    by_iteration = list(losses_by_iteration("SGC", problem.X, A, problem.y, iterations=6, seed=0))
    for one, other in zip(by_layer, by_iteration, strict=True):
        np.testing.assert_allclose(
            (one.supervised, one.smoothing), (other.supervised, other.smoothing), rtol=1e-9
        )
        assert one.raised == other.raised


def test_the_layers_of_a_gcn_are_what_it_computes():
    torch = pytest.importorskip("torch")
    pytest.importorskip("torch_geometric")
    from reproduction.networks.convolutional import GCN

    data = gssl.datasets.load("karate")
    X = np.random.default_rng(0).normal(size=(34, 3))
    network = GCN(3, 2, hidden=4, depth=3).double()
    layers = hidden_layers(network, X, data.adjacency)
    A_hat = gssl.operators.normalized_adjacency(data.adjacency, np.float64).tocsr().toarray()
    U = X
    assert len(layers) == 2
    for conv, layer in zip(network.convs, layers, strict=True):
        U = np.maximum(A_hat @ U @ conv.lin.weight.detach().numpy().T + conv.bias.detach().numpy(), 0.0)
        np.testing.assert_allclose(layer, U, atol=1e-12)
    assert not any(len(conv._forward_hooks) for conv in network.convs)
    assert torch.is_grad_enabled()
