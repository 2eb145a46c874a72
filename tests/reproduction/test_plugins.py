"""Networks with SEB and IGC plugged in."""

import numpy as np
import pytest

from reproduction.catalogue import ARTEFACTS
from reproduction.oversmoothing import dirichlet_energy, limit_distance
from reproduction.plugins import KINDS, plugged
from reproduction.spec import MEASURES, Cell


def test_a_plugged_network_is_scored_and_its_smoothness_told(split_karate):
    pytest.importorskip("torch_geometric")
    settings = {"method": "GCN", "params": {"epochs": 30, "patience": None, "depth": 4}, "plugins": {}}
    cell = Cell("plugged", "karate", settings)
    values = MEASURES["plugged"](cell, 0)
    from reproduction.networks import plugged_classifier
    from reproduction.networks.plugged import hidden_embedding

    model = plugged_classifier("GCN", random_state=0, depth=4, epochs=30, patience=None)
    seen = np.concatenate([split_karate.splits["public"][part] for part in ("train", "val")])
    y = np.full(34, -1)
    y[seen] = split_karate.labels[seen]
    adjacency, validation = split_karate.adjacency, split_karate.splits["public"]["val"]
    model.fit(split_karate.features, y, adjacency=adjacency, validation=validation)
    right = model.transduction_[4:30] == split_karate.labels[4:30]
    assert values["accuracy"] == pytest.approx(100 * right.mean())
    U = hidden_embedding(model.network_).numpy()
    assert values["energy"] == pytest.approx(dirichlet_energy(U, adjacency))
    assert values["distance"] == pytest.approx(limit_distance(U, adjacency))
    assert values["best_epoch"] <= values["epochs"] == 30


def test_plug_ins_change_nothing_else():
    """All kinds of a network have the same depth, learning rate, width and epochs; some cells are shared."""
    for method in ("GCN", "JKNet", "GCNII", "APPNP"):
        for depth in (4, 64):
            cells = [plugged(method, depth, kind) for kind in KINDS]
            inner = [(cell.settings["method"], cell.settings["params"]) for cell in cells]
            assert all(settings == inner[0] for settings in inner)
    assert len({plugged("GCN", 2, kind).key(0) for kind in KINDS}) == 2
    assert len({plugged("GCN", 4, kind).key(0) for kind in KINDS}) == 5
    assert len({plugged("GCNII", 2, kind).key(0) for kind in KINDS}) == 4


def test_claims_about_plug_ins_compare_with_the_same_start():
    claims = ARTEFACTS["plugins"].claims
    means = {("GCN", kind, "64"): 70.0 for kind in KINDS if kind.startswith("with")}
    with pytest.raises(KeyError):
        claims[0].holds(means)
    start = ("GCN", "plain, from the identity", "64")
    assert claims[0].holds(means | {start: 69.9})
    assert not claims[0].holds(means | {start: 70.0})


def test_deep_networks_learn_slowly_and_run_slowly():
    cell = plugged("GCN", 64, "with SEB")
    assert cell.settings["params"]["learning_rate"] == 0.002
    assert plugged("GCN", 4, "with SEB").settings["params"]["learning_rate"] == 0.01
    assert cell.slow
