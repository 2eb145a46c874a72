"""Networks in the paper's artefacts: plug-ins, the clock that stops a training, rows without the extra."""

import numpy as np
import pytest
from reproduction.measures import MEASURES
from reproduction.oversmoothing import dirichlet_energy, limit_distance
from reproduction.plugins import KINDS, plugged
from reproduction.race import GROUP, Clock, _ReachedError, race_claims
from reproduction.sources import dataset_of

from reproduction import ARTEFACTS, Cell, Store, estimators, summarize

DEEP = ("plugins", "time", "karate", "budget", "reddit")


@pytest.fixture
def split_karate(monkeypatch):
    """Give the karate club a split with validation nodes."""
    data = dataset_of("karate")
    nodes = np.arange(data.n_nodes)
    parts = {"train": np.array([0, 1, 32, 33]), "val": np.array([2, 3, 30, 31]), "test": nodes[4:30]}
    divided = type(data)(**{**vars(data), "splits": {"public": parts}})
    for place in ("plugins.load", "plugins.dataset_of", "network_cells.dataset_of", "race.dataset_of"):
        monkeypatch.setattr(f"reproduction.{place}", lambda name: divided)
    return divided


def small(method, **params):
    return {"method": method, "params": {"epochs": 30, "patience": None, **params}}


def test_a_plugged_network_is_scored_and_its_smoothness_told(split_karate):
    pytest.importorskip("torch_geometric")
    settings = {"method": "PluggedClassifier", "params": {"classifier": small("GCN", depth=4)}}
    cell = Cell("plugged", "karate", settings)
    values = MEASURES["plugged"](cell, 0)
    from gssl.torch import GCN, PluggedClassifier

    model = PluggedClassifier(GCN(depth=4, epochs=30, patience=None), random_state=0)
    seen = np.concatenate([split_karate.splits["public"][part] for part in ("train", "val")])
    y = np.full(34, -1)
    y[seen] = split_karate.labels[seen]
    adjacency, validation = split_karate.adjacency, split_karate.splits["public"]["val"]
    model.fit(split_karate.features, y, adjacency=adjacency, validation=validation)
    right = model.transduction_[4:30] == split_karate.labels[4:30]
    assert values["accuracy"] == pytest.approx(100 * right.mean())
    assert values["energy"] == pytest.approx(dirichlet_energy(model.hidden_embedding_, adjacency))
    assert values["distance"] == pytest.approx(limit_distance(model.hidden_embedding_, adjacency))
    assert values["best_epoch"] <= values["epochs"] == 30


def test_a_budget_with_validation_labels_trains_on_them(split_karate):
    pytest.importorskip("torch_geometric")
    settings = small("GCN")
    alone = MEASURES["network"](Cell("network", "karate", settings), 0)
    both = MEASURES["network"](Cell("network", "karate", settings, "train+validation"), 0)
    assert both["best_epoch"] == both["epochs"] == 30
    assert both["validation"] == 100.0
    assert alone["best_epoch"] <= 30


def test_plug_ins_change_nothing_else():
    """All kinds of one network share depth, learning rate, width and epochs; and two layers share cells."""
    for method in ("GCN", "JKNet", "GCNII", "APPNP"):
        for depth in (4, 64):
            cells = [plugged(method, depth, kind) for kind in KINDS]
            inner = [cell.settings["params"]["classifier"] for cell in cells]
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


def test_quick_runs_have_few_networks():
    quick = ARTEFACTS["plugins"].cells(quick=True)
    inner = [cell.settings["params"]["classifier"] for cell in quick]
    assert sorted((one["method"], one["params"]["depth"]) for one in inner) == [
        ("GCN", 2),
        ("GCN", 64),
        ("GCN", 64),
    ]
    for name in ("time", "reddit"):
        assert not any(
            "GraphSAGE" in cell.title or "GCNII" in cell.title for cell in ARTEFACTS[name].cells(True)
        )


@pytest.mark.parametrize(("target", "epochs"), [(50.0, 2), (75.1, 3)])
def test_a_clock_stops_at_the_first_good_epoch(target, epochs):
    labels = np.array([0, 1, 0, 1, 1])
    clock = Clock(labels, np.array([0, 1, 2, 3]), target)
    # one right of four, then two, then all; the fifth node does not test
    guesses = [[0, 0, 1, 0, 1], [0, 1, 1, 0, 0], [0, 1, 0, 1, 0]]
    for guess in guesses[: epochs - 1]:
        clock.look(np.array(guess))
        assert not clock.reached
    with pytest.raises(_ReachedError):
        clock.look(np.array(guesses[epochs - 1]))
    assert clock.reached
    assert clock.epochs == epochs


@pytest.mark.parametrize(("target", "reached"), [(0.0, 1.0), (100.1, 0.0)])
def test_a_race_times_every_network_to_its_target(split_karate, target, reached):
    pytest.importorskip("torch_geometric")
    networks = {"GCN": {**small("GCN", epochs=7), "target": target}}
    cell = Cell("race", "karate", {"OGC": {"method": "OGC", "params": {"max_iter": 4}}, "networks": networks})
    values = MEASURES["race"](cell, 0)
    assert values["GCN reached"] == reached
    # one look per epoch, and one at the end that predicts
    assert values["GCN epochs"] == (1 if reached else 8)
    assert values["GCN ratio"] == pytest.approx(values["GCN seconds"] / values["OGC seconds"])
    assert values["OGC ratio"] == 1.0


def test_claims_about_time():
    times = {(GROUP, "GCNII", "time / OGC's"): 129.0, (GROUP, "GRAND", "time / OGC's"): 500.0}
    assert [claim.holds(times) for claim in race_claims()] == [False, True]


@pytest.mark.parametrize("name", DEEP)
def test_without_the_extra_networks_are_not_run_and_the_page_says_so(name, monkeypatch, tmp_path):
    monkeypatch.setattr(estimators, "find_spec", lambda package: None)
    titles = " ".join(cell.title for cell in ARTEFACTS[name].cells())
    assert not any(word in titles for word in ("GCN,", "GCN on", "Plugged", "GRAND", "SAGE", "DGI"))
    result = summarize(ARTEFACTS[name], Store(tmp_path / "records.jsonl"))
    assert result.having("published only")
    assert "gssl[baselines]" in ARTEFACTS[name].note


def test_a_gcn_of_uniform_weights_is_as_smooth_as_theorem_1_says():
    pytest.importorskip("torch_geometric")
    cells = [cell for cell in ARTEFACTS["karate"].cells() if cell.settings["method"] == "UniformGCN"]
    assert [cell.settings["params"]["depth"] for cell in cells] == [64, 1024]
    for cell in cells:
        values = MEASURES["oversmoothing"](cell, 0)
        assert values["node 33"] == pytest.approx(3.0, abs=0.002)
        assert values["gap"] < 1e-3
