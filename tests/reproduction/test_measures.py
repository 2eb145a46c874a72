"""Cells follow their settings and use only the labels of their budget."""

from typing import ClassVar

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin

import gssl
from reproduction import measures, spec
from reproduction.measures import candidates, choose, embedded_rows, samples
from reproduction.settings import ogc
from reproduction.spec import MEASURES, Cell

PARTS = {"train": ("train",), "train+validation": ("train", "val")}


class Seen(ClassifierMixin, BaseEstimator):
    """A classifier or head that records the labels passed to fit."""

    labels: ClassVar[list] = []

    def fit(self, X, y, validation=None, *, adjacency=None):
        Seen.labels.append(np.asarray(y))
        self.classes_ = np.unique(y)
        self.transduction_, self.n_iter_ = np.zeros(len(y), int), 1
        return self

    def predict(self, X):
        return np.zeros(len(X), int)


@pytest.fixture
def seen(monkeypatch):
    monkeypatch.setitem(spec._PARTS, "Seen", Seen)
    monkeypatch.setattr(measures, "_head", lambda *_: Seen())
    Seen.labels = []
    return Seen.labels


@pytest.mark.parametrize("budget", PARTS)
def test_a_classifier_learns_from_its_budget_alone(split_karate, seen, budget):
    MEASURES["classifier"](Cell("classifier", "karate", {"method": "Seen"}, budget), 0)
    np.testing.assert_array_equal(seen[0], split_karate.mask_labels("public", PARTS[budget]))


@pytest.mark.parametrize("budget", PARTS)
def test_a_head_learns_from_its_budget_alone(split_karate, seen, budget):
    MEASURES["embedding"](Cell("embedding", "karate", {"method": "SGC", "depths": [1]}, budget), 0)
    split = split_karate.splits["public"]
    expected = np.concatenate([split_karate.labels[split[part]] for part in PARTS[budget]])
    np.testing.assert_array_equal(seen[0], expected)


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
    labelled = np.concatenate([split["train"], split["val"]])
    Z = model.embedding_[labelled] @ model.coef_
    Y = np.eye(len(model.classes_))[np.searchsorted(model.classes_, split_karate.labels[labelled])]
    # the mean over labelled nodes and classes
    assert values["training_mse"] == pytest.approx(np.mean((Z - Y) ** 2), rel=1e-5)
    test = split["test"]
    right = model.transduction_[test] == split_karate.labels[test]
    assert values["accuracy"] == pytest.approx(100 * right.mean())
    assert values["iterations"] == model.n_iter_


@pytest.mark.usefixtures("split_karate")
def test_the_seed_is_that_of_the_method():
    errors = [MEASURES["classifier"](ogc("karate", max_iter=2), seed)["training_mse"] for seed in (0, 1)]
    assert errors[0] != errors[1]


@pytest.mark.usefixtures("split_karate")
def test_stopped_classifiers_take_so_many_iterations():
    settings = {"method": "OGC", "params": {"agreement": 1.0}, "depths": [1, 4], "anchors": ["train"]}
    values = MEASURES["stopped"](Cell("stopped", "karate", settings, "train+validation"), 0)
    alone = MEASURES["classifier"](ogc("karate", agreement=1.0, max_iter=4), 0)
    assert set(values) == {"accuracy@1", "accuracy@4"}
    assert values["accuracy@4"] == alone["accuracy"]
    assert alone["iterations"] == 4


def test_validation_nodes_choose_the_settings(split_karate):
    settings = {"method": "SGC", "depths": [1, 2, 8], "head": "ridge", "penalties": [1e-3, 10.0]}
    tried = list(candidates("karate", "public", settings, seed=0))
    assert [(c.depth, c.penalty) for c in tried] == [(k, p) for k in (1, 2, 8) for p in (1e-3, 10.0)]
    best = choose(tried)
    assert best.validation == max(c.validation for c in tried)
    values = MEASURES["embedding"](Cell("embedding", "karate", settings), 0)
    right = best.predicted == split_karate.labels[split_karate.splits["public"]["test"]]
    assert values["accuracy"] == pytest.approx(100 * right.mean())
    assert values["depth"] == best.depth
    assert values["validation@8"] == max(c.validation for c in tried if c.depth == 8)


@pytest.mark.usefixtures("split_karate")
def test_settings_of_a_grid_are_all_tried():
    settings = {"method": "PPR", "depths": [2], "head": "ridge", "grid": {"alpha": [0.1, 0.9]}}
    tried = [c.params for c in candidates("karate", "public", settings, seed=0)]
    assert tried == [{"alpha": 0.1}, {"alpha": 0.9}]


def test_rows_of_every_depth_are_those_of_a_fit(split_karate):
    rows = embedded_rows("karate", "public", "SSGC", (), (2, 5), seed=0)
    nodes = np.array([7, 0, 33])
    for depth in (2, 5):
        U = gssl.SSGC(depth=depth).fit_transform(split_karate.features, adjacency=split_karate.adjacency)
        np.testing.assert_allclose(rows[depth].of(nodes), U[nodes], rtol=1e-6, atol=1e-9)


def test_only_what_samples_is_embedded_anew_for_each_seed():
    assert not samples("SGC", {})
    assert not samples("GGC", {})
    assert samples("GGC", {"negatives": 20})
    assert samples("DeepWalk", {})
