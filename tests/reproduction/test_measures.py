"""Cells follow their settings and use only the labels of their budget."""

from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin

import gssl
from gssl.datasets import draw_split, make_block_graph
from reproduction.measures import candidates, choose, embedded_rows, samples
from reproduction.ndls import NDLSClassifier
from reproduction.network_cells import fitted
from reproduction.settings import ogc
from reproduction.spec import BUDGETS, MEASURES, Cell, part
from reproduction.splits import classify_random_split


@part
class Seen(ClassifierMixin, BaseEstimator):
    """A classifier, embedder and network that records the labels passed to fit."""

    calls: ClassVar[list] = []

    def fit(self, X, y, *, adjacency=None, validation=None, anchors=None):
        Seen.calls.append((np.asarray(y), validation, anchors))
        self.classes_ = np.unique(y)
        self.transduction_, self.n_iter_ = np.zeros(len(y), int), 1
        return self


@part
class Labels(BaseEstimator):
    """Embed each node of the karate club by its label, or by nothing if it is outside of a part."""

    def __init__(self, known="train"):
        self.known = known

    def fit_transform(self, X, *, adjacency):
        parts = {"train": [0, 1, 32, 33], "val": [2, 3, 30, 31]}
        known = np.isin(np.arange(34), parts[self.known])
        return np.eye(2)[gssl.datasets.load("karate").labels] * known[:, None]


@pytest.fixture
def seen():
    Seen.calls = []
    return Seen.calls


@pytest.mark.parametrize("budget", BUDGETS)
def test_a_classifier_learns_from_its_budget_alone(split_karate, seen, budget):
    MEASURES["classifier"](Cell("classifier", "karate", {"method": "Seen"}, budget), 0)
    np.testing.assert_array_equal(seen[0][0], split_karate.mask_labels("public", BUDGETS[budget]))


@pytest.mark.usefixtures("split_karate")
@pytest.mark.parametrize("budget", BUDGETS)
def test_a_head_learns_from_its_budget_alone(budget):
    """If only validation nodes have features, a head of the train budget learns nothing from them."""
    settings = {"method": "Labels", "params": {"known": "val"}, "depths": [0], "head": "ridge"}
    values = MEASURES["embedding"](Cell("embedding", "split karate", settings, budget), 0)
    assert values["validation"] == (100.0 if budget == "train+validation" else 50.0)


@pytest.mark.parametrize("budget", BUDGETS)
def test_a_network_trains_on_its_budget_alone(split_karate, seen, budget):
    """It is given the labels of both parts, and which of them only judge."""
    fitted(Cell("network", "karate", {"method": "Seen"}, budget), 0, split_karate)
    y, held_out, _ = seen[0]
    np.testing.assert_array_equal(y, split_karate.mask_labels("public", ("train", "val")))
    judges = None if budget == "train+validation" else split_karate.splits["public"]["val"]
    np.testing.assert_array_equal(held_out, judges)


def test_a_random_split_is_that_of_the_seed(load_instead, seen):
    data = load_instead(make_block_graph(1700, 6000, 8, 3, random_state=0))
    cell = Cell("random split", "small", {"method": "Seen", "anchors": ["train"]}, "train+validation")
    classify_random_split(cell, 3)
    y, _, anchors = seen[0]
    split = draw_split(data.labels, 20, 500, 1000, random_state=3)
    np.testing.assert_array_equal(anchors, split["train"])
    np.testing.assert_array_equal(np.flatnonzero(y >= 0), np.union1d(split["train"], split["val"]))


@pytest.mark.parametrize("anchors", [["train"], ["train", "val"]])
def test_less_is_more_anchors_the_parts_it_names(split_karate, anchors):
    values = MEASURES["classifier"](ogc("karate", anchors=anchors, max_iter=6, eta_sup=0.3), 0)
    split = split_karate.splits["public"]
    model = gssl.OGC(max_iter=6, eta_sup=0.3, random_state=0).fit(
        split_karate.features,
        split_karate.mask_labels("public", ("train", "val")),
        adjacency=split_karate.adjacency,
        anchors=np.concatenate([split[part] for part in anchors]),
    )
    labelled, test = np.concatenate([split["train"], split["val"]]), split["test"]
    Y = np.eye(2)[split_karate.labels[labelled]]
    # the mean over labelled nodes and classes
    assert values["training_mse"] == pytest.approx(
        np.mean((model.embedding_[labelled] @ model.coef_ - Y) ** 2), rel=1e-5
    )
    right = model.transduction_[test] == split_karate.labels[test]
    assert values["accuracy"] == pytest.approx(100 * right.mean())
    assert values["iterations"] == model.n_iter_


@pytest.mark.usefixtures("split_karate")
def test_stopped_classifiers_take_so_many_iterations():
    cell = ogc("karate", agreement=1.0)
    stopped = replace(cell, measure="stopped", settings={**cell.settings, "depths": [1, 4]})
    values = MEASURES["stopped"](stopped, 0)
    alone = MEASURES["classifier"](ogc("karate", agreement=1.0, max_iter=4), 0)
    assert set(values) == {"accuracy@1", "accuracy@4"}
    assert values["accuracy@4"] == alone["accuracy"]
    assert alone["iterations"] == 4


def test_validation_nodes_choose_the_settings(split_karate):
    settings = {"method": "SGC", "depths": [1, 2, 8], "head": "ridge", "penalties": [1e-3, 10.0]}
    tried = list(candidates("split karate", "public", settings, seed=0))
    assert [(c.depth, c.penalty) for c in tried] == [(k, p) for k in (1, 2, 8) for p in (1e-3, 10.0)]
    best = choose(tried)
    assert best.validation == max(c.validation for c in tried) > min(c.validation for c in tried)
    values = MEASURES["embedding"](Cell("embedding", "split karate", settings), 0)
    right = best.predicted == split_karate.labels[split_karate.splits["public"]["test"]]
    assert values["accuracy"] == pytest.approx(100 * right.mean())
    assert values["depth"] == best.depth
    assert values["validation@8"] == max(c.validation for c in tried if c.depth == 8)
    grid = {"method": "PPR", "depths": [2], "head": "ridge", "grid": {"alpha": [0.1, 0.9]}}
    tried = candidates("split karate", "public", grid, seed=0)
    assert [c.params for c in tried] == [{"alpha": 0.1}, {"alpha": 0.9}]


@pytest.mark.usefixtures("split_karate")
def test_validation_nodes_choose_among_changes_of_a_network():
    pytest.importorskip("torch_geometric")
    params = {"epochs": 20, "patience": None, "dropout": 0.0, "learning_rate": 0.0}
    settings = {"method": "GCN", "params": params, "choices": [{}, {"learning_rate": 0.1}]}
    values = MEASURES["network"](Cell("network", "karate", settings), 0)
    assert values["choice"] == 1
    assert values["validation"] == 100.0


def test_rows_of_every_depth_are_those_of_a_fit(split_karate):
    rows = embedded_rows("split karate", "public", "SSGC", (), (2, 5), seed=0)
    nodes = np.array([7, 0, 33])
    for depth in (2, 5):
        U = gssl.SSGC(depth=depth).fit_transform(split_karate.features, adjacency=split_karate.adjacency)
        np.testing.assert_allclose(rows[depth].of(nodes), U[nodes], rtol=1e-6, atol=1e-9)


def test_only_what_samples_is_embedded_anew_for_each_seed():
    assert not samples("SGC", {})
    assert not samples("GGC", {})
    assert samples("GGC", {"negatives": 20})
    assert samples("DeepWalk", {})


class Says(BaseEstimator):
    """A classifier with given predictions."""

    def __init__(self, Z):
        self.Z = Z

    def fit(self, X, y, *, adjacency, validation):
        self.shown_, self.label_distributions_, self.classes_ = X, self.Z, np.array([3, 7])
        self.n_iter_ = self.best_epoch_ = 1
        return self


def test_ndls_smooths_features_and_predictions_as_often_as_validation_nodes_choose():
    karate = gssl.datasets.load("karate")
    Z = np.random.default_rng(0).dirichlet([1.0, 1.0], size=34)
    smooth = gssl.NDLS(2, 0.05, 0.15).fit_transform(Z, adjacency=karate.adjacency)
    raw, better = (np.array([3, 7])[scores.argmax(axis=1)] for scores in (Z, smooth))
    moved = np.flatnonzero(raw != better)
    for truth, validation, depth in ((raw, moved, 0), (better, moved, 2), (better, None, 0)):
        model = NDLSClassifier(Says(Z), depth=4, epsilon=0.1, alpha=0.15, label_depths=(0, 2))
        model.fit(karate.features, truth, adjacency=karate.adjacency, validation=validation)
        np.testing.assert_array_equal(model.transduction_, better if depth else raw)
    U = gssl.NDLS(4, 0.1, 0.15).fit_transform(karate.features, adjacency=karate.adjacency)
    np.testing.assert_array_equal(model.model_.shown_, U)
