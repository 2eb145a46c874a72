"""Running times, and the clock that stops training."""

import numpy as np
import pytest

from reproduction.catalogue import ARTEFACTS
from reproduction.running_time import GROUP, Clock, _ReachedError, race_claims
from reproduction.spec import MEASURES, Cell


@pytest.mark.parametrize(("target", "epochs"), [(50.0, 2), (75.1, 3)])
def test_a_clock_stops_at_the_first_good_epoch(target, epochs):
    labels = np.array([0, 1, 0, 1, 1])
    clock = Clock(labels, np.array([0, 1, 2, 3]), target)
    # one of four is right, then two, then all; the fifth node is not a test node
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
    networks = {"GCN": {"method": "GCN", "params": {"epochs": 7, "patience": None}, "target": target}}
    cell = Cell("race", "karate", {"OGC": {"method": "OGC", "params": {"max_iter": 4}}, "networks": networks})
    values = MEASURES["race"](cell, 0)
    assert values["GCN reached"] == reached
    # one prediction per epoch, and one at the end
    assert values["GCN epochs"] == (1 if reached else 8)
    assert values["GCN ratio"] == pytest.approx(values["GCN seconds"] / values["OGC seconds"])
    assert values["OGC ratio"] == 1.0


def test_claims_about_time():
    times = {(GROUP, "GCNII", "time / OGC's"): 129.0, (GROUP, "GRAND", "time / OGC's"): 500.0}
    assert [claim.holds(times) for claim in race_claims()] == [False, True]


def test_times_are_ratios_to_sgc():
    kinds = {"SGC": {"method": "SGC"}, "OGC": {"method": "OGC"}}
    cell = Cell("time", "karate", {"estimators": kinds, "depths": [1, 2], "repeats": 1}, split="default")
    values = MEASURES["time"](cell, 0)
    assert values["SGC@1"] == values["SGC@2"] == 1.0
    assert values["OGC@2"] == pytest.approx(values["OGC@2s"] / values["SGC@2s"])


def test_published_times_of_networks_are_ratios_to_ogc():
    known = {e.row: e.published for e in ARTEFACTS["time"].entries if e.column == "time / OGC's"}
    assert known == {"GCNII": round(923.61 / 14.63, 1), "GRAND": round(4361.91 / 14.63, 1)}


def test_ogc_races_alone_where_no_network_does():
    cell = Cell("race", "karate", {"OGC": {"method": "OGC"}, "networks": {}}, split="default")
    values = MEASURES["race"](cell, 0)
    assert values["OGC ratio"] == 1.0
    assert set(values) == {"OGC seconds", "OGC ratio", "OGC accuracy", "OGC epochs"}
