"""NDLS smooths features, then the predictions of a classifier."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import BaseEstimator

import gssl
from reproduction.ndls import NDLSClassifier, ndls
from reproduction.spec import MEASURES, Cell


class Recorder(BaseEstimator):
    """A classifier with given predictions that records its inputs."""

    def __init__(self, says):
        self.says = says

    def fit(self, X, y, *, adjacency, validation):
        self.shown_ = X, y, validation
        self.label_distributions_, self.classes_ = self.says, np.array([3, 7])
        self.n_iter_ = self.best_epoch_ = 1
        return self


@pytest.fixture
def karate():
    return gssl.datasets.load("karate")


def test_the_classifier_sees_smooth_features(karate):
    y = np.where(karate.labels == karate.labels[0], 3, 7)
    model = Recorder(np.full((34, 2), 0.5))
    classifier = NDLSClassifier(model, depth=4, epsilon=0.1, alpha=0.2).fit(
        karate.features, y, adjacency=karate.adjacency, validation=np.arange(5)
    )
    U, shown, validation = classifier.model_.shown_
    smooth = gssl.NDLS(4, 0.1, 0.2).fit_transform(karate.features, adjacency=karate.adjacency)
    assert_array_equal(U, smooth)
    assert_array_equal(shown, y)
    assert_array_equal(validation, np.arange(5))
    assert classifier.n_iter_ == classifier.best_epoch_ == 1


def test_validation_nodes_choose_how_often_predictions_are_smoothed(karate):
    Z = np.random.default_rng(0).dirichlet([1.0, 1.0], size=34)
    smooth = gssl.NDLS(2, 0.05, 0.15).fit_transform(Z, adjacency=karate.adjacency)
    raw, better = (np.array([3, 7])[scores.argmax(axis=1)] for scores in (Z, smooth))
    moved = np.flatnonzero(raw != better)
    assert len(moved)
    for truth, depth in ((raw, 0), (better, 2)):
        model = NDLSClassifier(Recorder(Z), label_depths=(0, 2))
        model.fit(karate.features, truth, adjacency=karate.adjacency, validation=moved)
        assert model.label_depth_ == depth
        assert_array_equal(model.transduction_, truth)
    model = NDLSClassifier(Recorder(Z), label_depths=(0, 2))
    model.fit(karate.features, better, adjacency=karate.adjacency)
    assert_array_equal(model.transduction_, raw)


def test_its_cell_trains_a_perceptron(split_karate):
    pytest.importorskip("torch_geometric")
    settings = ndls("planetoid/cora").settings
    assert settings["params"]["model"] == {
        "method": "MLP",
        "params": {"learning_rate": 0.1, "epochs": 200, "patience": None},
    }
    values = MEASURES["network"](Cell("network", "karate", settings), 0)
    assert values["accuracy"] > 70.0
