"""DeepWalk and Node2Vec: walks as sentences; the contract of embedders is in test_networks_contract."""

import os
import subprocess
import sys
from importlib.util import find_spec

import numpy as np
import pytest
from scipy.sparse import csr_array
from tests.problems import grown

import gssl
from reproduction.skipgram import DeepWalk, Node2Vec

pytestmark = pytest.mark.skipif(find_spec("gensim") is None, reason="gensim has no wheel for Python 3.14")
SMALL = {"dimensions": 16, "walk_length": 20, "random_state": 0}


def classifier(embedder, head="logistic"):
    return gssl.EmbeddingClassifier(embedder, head=head, random_state=0)


@pytest.mark.parametrize("params", [{}, {"negative": 0, "epochs": 2}])
def test_nodes_are_classified_without_features(problem, params):
    model = classifier(DeepWalk(**SMALL, **params)).fit(None, problem.y, adjacency=problem.A)
    np.testing.assert_array_equal(model.transduction_, problem.truth)


def test_features_make_a_graph_if_there_is_none(problem):
    model = classifier(DeepWalk(**SMALL)).fit(problem.X, problem.y)
    np.testing.assert_array_equal(model.predict(problem.X[[3, 15, 27]] + 0.01), [0, 1, 2])


def test_no_bias_is_deepwalk(problem):
    walk = DeepWalk(**SMALL).fit_transform(None, adjacency=problem.A)
    plain = Node2Vec(p=1.0, q=1.0, **SMALL).fit_transform(None, adjacency=problem.A)
    biased = Node2Vec(p=8.0, q=0.1, **SMALL).fit_transform(None, adjacency=problem.A)
    np.testing.assert_array_equal(walk, plain)
    assert np.abs(walk - biased).max() > 0.01


def test_a_seed_fixes_the_result_in_every_process():
    """Python's hash of text differs between processes, and gensim uses it by default."""
    code = """
import gssl, hashlib
from reproduction.skipgram import Node2Vec
data = gssl.datasets.load("karate")
U = Node2Vec(dimensions=8, random_state=3).fit_transform(None, adjacency=data.adjacency)
print(hashlib.sha256(U.tobytes()).hexdigest())
"""
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1


def test_nodes_that_no_walk_links_to_a_label_are_uniform(problem):
    """Node 36 is isolated; 37 and 38 are linked only to each other."""
    more = grown(problem, 3)
    more.A[37, 38] = more.A[38, 37] = 1
    with pytest.warns(gssl.GraphWarning, match="nothing is known about 3 nodes"):
        model = classifier(DeepWalk(**SMALL)).fit(None, more.y, adjacency=more.A)
    np.testing.assert_allclose(model.label_distributions_[36:], 1 / 3, rtol=1e-6)
    np.testing.assert_array_equal(model.transduction_[:36], problem.truth)


def test_a_component_is_informed_once_it_has_a_label():
    A = csr_array(np.kron(np.eye(2), np.ones((4, 4)) - np.eye(4)))
    model = gssl.EmbeddingClassifier(DeepWalk(dimensions=4, random_state=0))
    with pytest.warns(gssl.GraphWarning, match="nothing is known about 4 nodes"):
        model.fit(None, [0, 1, -1, -1, -1, -1, -1, -1], adjacency=A)
    model.update_labels([0, 1, -1, -1, 1, -1, -1, -1])
    assert model.informed_.all()


def test_without_gensim_the_extra_is_named(problem, monkeypatch):
    monkeypatch.setitem(sys.modules, "gensim.models", None)
    with pytest.raises(ImportError, match=r"pip install gssl\[reproduction\]"):
        DeepWalk().fit(None, adjacency=problem.A)
