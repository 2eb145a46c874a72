"""The method that the manual adds gets the right numbers and keeps the contract of all others."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from scipy.linalg import expm
from sklearn.base import clone

import gssl

_FILE = Path(__file__).parents[2] / "docs" / "heat.py"


@pytest.fixture(scope="module")
def heat():
    spec = importlib.util.spec_from_file_location("heat", _FILE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Heat


def test_it_tends_to_the_heat_kernel(heat):
    A = gssl.datasets.load("karate").adjacency
    X = np.random.default_rng(0).random((34, 3))
    s = 1 / np.sqrt(A.sum(axis=1) + 1)
    A_hat = s[:, None] * (A.toarray() + np.eye(34)) * s
    exact = expm(-2.0 * (np.eye(34) - A_hat)) @ X
    np.testing.assert_allclose(
        heat(time=2.0, depth=4000).fit_transform(X, adjacency=A), exact, rtol=2e-3, atol=1e-4
    )


def test_it_serves_a_classifier_and_a_clone(heat):
    data = gssl.datasets.load("karate")
    y = data.mask_labels("default")
    model = gssl.EmbeddingClassifier(clone(heat(time=3.0)), head="ridge")
    model.fit(data.features, y, adjacency=data.adjacency)
    assert (model.transduction_ == data.labels).mean() > 0.9
    assert model.embedder_.get_params() == {"time": 3.0, "depth": 16}


def test_it_refuses_what_makes_no_sense(heat):
    with pytest.raises(ValueError, match="time"):
        heat(time=-1.0).fit(np.eye(2), adjacency=[[0, 1], [1, 0]])
