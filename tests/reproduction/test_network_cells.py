"""Networks are trained only on the labels of their budget."""

import numpy as np
import pytest

from reproduction.network_cells import fitted, network, published_params
from reproduction.spec import MEASURES, Cell


def test_a_budget_with_validation_labels_trains_on_them(split_karate):
    pytest.importorskip("torch_geometric")
    settings = {"method": "GCN", "params": {"epochs": 30, "patience": None}}
    alone = MEASURES["network"](Cell("network", "karate", settings), 0)
    both = MEASURES["network"](Cell("network", "karate", settings, "train+validation"), 0)
    assert both["best_epoch"] == both["epochs"] == 30
    assert both["validation"] == 100.0
    assert alone["best_epoch"] <= 30


def test_published_settings_of_a_graph_come_over_those_of_all():
    assert published_params("GCNII", "planetoid/cora") == {"epochs": 1500, "depth": 64}
    assert published_params("DeepGCN", "planetoid/citeseer", drop_edge=True)["drop_edge"] == 0.8
    assert "drop_edge" not in published_params("DeepGCN", "planetoid/citeseer")
    assert network("GRAND", "planetoid/citeseer").settings["params"]["samples"] == 2
    assert network("GRAND", "planetoid/cora", depth=2).settings["params"] == {"epochs": 5000, "depth": 2}


def test_validation_nodes_choose_among_changes(split_karate, monkeypatch):
    def trained(cell, model):
        rate = cell.settings["params"]["learning_rate"]
        return {
            "accuracy": {0.1: 90.0, 0.2: 70.0, 0.3: 80.0}[rate],
            "validation": {0.1: 50.0}.get(rate, 60.0),
        }

    monkeypatch.setattr("reproduction.network_cells.fitted", lambda cell, seed, data: None)
    monkeypatch.setattr("reproduction.network_cells.scores", trained)
    choices = [{}, {"learning_rate": 0.2}, {"learning_rate": 0.3}]
    settings = {"method": "GCN", "params": {"learning_rate": 0.1}, "choices": choices}
    scores = MEASURES["network"](Cell("network", "karate", settings), 0)
    assert scores == {"accuracy": 70.0, "validation": 60.0, "choice": 1}


def test_a_network_trains_on_train_labels_alone_unless_its_budget_has_more(split_karate, monkeypatch):
    shown = []

    class Seen:
        def fit(self, X, y, *, adjacency, validation):
            shown.append((y, validation))
            return self

    monkeypatch.setattr("reproduction.network_cells.build", lambda settings, seed: Seen())
    for budget in ("train", "train+validation"):
        fitted(Cell("network", "karate", {"method": "GCN"}, budget), 0, split_karate)
    (train, held_out), (both, nothing) = shown
    np.testing.assert_array_equal(held_out, split_karate.splits["public"]["val"])
    assert nothing is None
    np.testing.assert_array_equal(train, split_karate.mask_labels("public", ("train", "val")))
    np.testing.assert_array_equal(both, train)
