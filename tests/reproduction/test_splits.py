"""Random splits are the same for every method, and as large as the public split."""

import numpy as np
import pytest

from gssl.datasets import draw_split
from reproduction import splits
from reproduction.spec import Cell, dataset_of
from reproduction.splits import SPLITS, classify_random_split


def test_a_method_is_fitted_and_scored_on_the_split_of_the_seed(monkeypatch):
    monkeypatch.setattr(splits, "_PER_CLASS", 2)
    monkeypatch.setattr(splits, "_N_VAL", 4)
    monkeypatch.setattr(splits, "_N_TEST", 20)
    data = dataset_of("karate")
    seen = []

    def compare(models, data, given, *, parts, fit_settings):
        seen.append((next(iter(models.values())).random_state, given[0], parts, fit_settings))
        return [type("Record", (), {"accuracy": 0.875})()]

    monkeypatch.setattr(splits, "compare", compare)
    cell = Cell("random split", "karate", {"method": "OGC", "anchors": ["train"]}, "train+validation")
    assert classify_random_split(cell, 3) == {"accuracy": 87.5}
    seed, split, parts, settings = seen[0]
    wanted = draw_split(data.labels, 2, 4, 20, random_state=3)
    for part, nodes in wanted.items():
        np.testing.assert_array_equal(split[part], nodes)
    np.testing.assert_array_equal(settings["anchors"], wanted["train"])
    assert (seed, parts) == (3, ("train", "val"))


def test_a_run_learns_what_it_should(monkeypatch):
    monkeypatch.setattr(splits, "_PER_CLASS", 4)
    monkeypatch.setattr(splits, "_N_VAL", 4)
    monkeypatch.setattr(splits, "_N_TEST", 20)
    cell = Cell("random split", "karate", {"method": "LabelPropagation"}, "train")
    assert classify_random_split(cell, 0)["accuracy"] == pytest.approx(90.0)


def test_claims_compare_inside_one_budget_or_are_about_budgets():
    budgets = {entry.row: entry.labels for entry in SPLITS.entries}
    for claim in SPLITS.claims:
        ((_, better, graph), (_, worse, other)) = claim.pairs[0]
        assert graph == other
        assert budgets[better] == budgets[worse] or "with validation labels than without" in claim.text
    assert all(entry.cell.random and entry.cell.split == "random" for entry in SPLITS.entries)
