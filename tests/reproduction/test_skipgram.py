"""DeepWalk and Node2Vec separate communities, are reproducible by a seed, and refuse other graphs."""

import os
import subprocess
import sys

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.problems import grown

import gssl
from reproduction import skipgram
from reproduction.skipgram import DeepWalk, Node2Vec

SMALL = {"dimensions": 16, "walk_length": 20, "random_state": 0}
EMBEDDERS = {"deepwalk": DeepWalk(**SMALL), "node2vec": Node2Vec(p=2.0, q=0.5, **SMALL)}


@pytest.fixture(params=EMBEDDERS)
def embedder(request):
    return clone(EMBEDDERS[request.param])


def classifier(embedder, head="logistic"):
    return gssl.EmbeddingClassifier(embedder, head=head, random_state=0)


@pytest.mark.parametrize("head", ["logistic", "ridge", "adam"])
def test_nodes_are_classified_without_features(embedder, problem, head):
    model = classifier(embedder, head).fit(None, problem.y, adjacency=problem.A)
    np.testing.assert_array_equal(model.transduction_, problem.truth)
    np.testing.assert_array_equal(model.embedding_, embedder.fit(None, adjacency=problem.A).embedding_)
    # well above one third, which would be no information
    assert model.label_distributions_[np.arange(36), problem.truth].mean() > 0.6


def test_features_change_nothing_where_there_is_a_graph(embedder, problem):
    without = clone(embedder).fit_transform(None, adjacency=problem.A)
    np.testing.assert_array_equal(embedder.fit_transform(problem.X, adjacency=problem.A), without)
    assert embedder.n_features_in_ == 6


def test_features_make_a_graph_where_there_is_none(embedder, problem):
    model = classifier(embedder).fit(problem.X, problem.y)
    np.testing.assert_array_equal(model.transduction_, problem.truth)
    np.testing.assert_array_equal(model.predict(problem.X[[3, 15, 27]] + 0.01), [0, 1, 2])
    with pytest.raises(ValueError, match="neither X nor adjacency"):
        embedder.fit(None)


def test_no_bias_is_deepwalk(problem):
    walk = DeepWalk(**SMALL).fit_transform(None, adjacency=problem.A)
    plain = Node2Vec(p=1.0, q=1.0, **SMALL).fit_transform(None, adjacency=problem.A)
    biased = Node2Vec(p=8.0, q=0.1, **SMALL).fit_transform(None, adjacency=problem.A)
    np.testing.assert_array_equal(walk, plain)
    assert np.abs(walk - biased).max() > 0.01


def test_walks_follow_weights(problem):
    """Nodes of two rings with bridges of weight 1000 co-occur on walks."""
    heavy = problem.A.copy()
    heavy[:12, 12:24] = heavy[12:24, :12] = 1000 * np.eye(12)
    cosines = []
    for A in (problem.A, heavy):
        U = DeepWalk(epochs=5, **SMALL).fit_transform(None, adjacency=A)
        U /= np.linalg.norm(U, axis=1, keepdims=True)
        cosines.append(np.mean([U[i] @ U[i + 12] for i in range(12)]))
    assert cosines[1] > cosines[0] + 0.1


def test_a_seed_fixes_the_result_and_another_changes_it(embedder, problem):
    first, second = (clone(embedder).fit_transform(None, adjacency=problem.A) for _ in range(2))
    assert first.tobytes() == second.tobytes()
    other = embedder.set_params(random_state=1).fit_transform(None, adjacency=problem.A)
    assert not np.array_equal(first, other)


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
    assert len(outputs.pop().strip()) == 64


def test_nodes_that_no_walk_links_to_a_label_are_uniform(embedder, problem):
    """Node 36 is isolated; 37 and 38 are linked only to each other."""
    more = grown(problem, 3)
    more.A[37, 38] = more.A[38, 37] = 1
    with pytest.warns(gssl.GraphWarning, match="nothing is known about 3 nodes"):
        model = classifier(embedder).fit(None, more.y, adjacency=more.A)
    np.testing.assert_array_equal(model.embedding_[36], np.zeros(16))
    assert np.isfinite(model.embedding_).all()
    assert np.abs(model.embedding_[37:]).min(axis=1).max() > 0
    np.testing.assert_allclose(model.label_distributions_[36:], 1 / 3, rtol=1e-6)
    np.testing.assert_array_equal(model.transduction_[:36], problem.truth)


def test_an_isolated_node_with_a_label_spoils_nothing(embedder, problem):
    more = grown(problem, 1)
    more.y[36] = 0
    with pytest.warns(gssl.GraphWarning, match="nothing is known about 1 node"):
        model = classifier(embedder).fit(None, more.y, adjacency=more.A)
    np.testing.assert_array_equal(model.transduction_[:36], problem.truth)
    np.testing.assert_allclose(model.label_distributions_[36], 1 / 3, rtol=1e-6)


def test_the_graph_of_fit_is_embedded_again_and_any_other_refused(embedder, problem):
    model = classifier(embedder).fit(problem.X, problem.y, adjacency=problem.A)
    np.testing.assert_array_equal(
        model.predict_proba(problem.X, adjacency=problem.A), model.label_distributions_
    )
    alone = embedder.fit(None, adjacency=problem.A)
    np.testing.assert_array_equal(alone.transform(None, adjacency=problem.A), alone.embedding_)
    more = grown(problem, 1)
    reweighted = problem.A * (1 + np.eye(36)[0] + np.eye(36)[0][:, None])
    for A in (more.A, problem.A[:30, :30], reweighted):
        X = np.zeros((len(A), 6))
        with pytest.raises(
            ValueError, match=r"embeds only the graph of its fit, because nodes are learnt from walks"
        ):
            alone.transform(X, adjacency=A)
        with pytest.raises(
            ValueError, match=r"embeds only the graph of its fit, because nodes are learnt from walks"
        ):
            model.predict(X, adjacency=A)
    with pytest.raises(ValueError, match="was fitted with a graph"):
        alone.transform(problem.X)


def test_what_transform_gives_is_the_callers_own(embedder, problem):
    embedder.fit(None, adjacency=problem.A)
    embedder.transform(None, adjacency=problem.A)[:] = 0
    assert np.abs(embedder.embedding_).max() > 0


def test_hierarchical_softmax_tells_communities_apart_too(problem):
    model = classifier(DeepWalk(negative=0, epochs=2, **SMALL))
    model.fit(None, problem.y, adjacency=problem.A)
    np.testing.assert_array_equal(model.transduction_, problem.truth)


def test_more_epochs_read_the_same_walks_again(problem, monkeypatch):
    seen = []
    original = skipgram._Sentences.__iter__

    def watched(sentences):
        seen.append(sentences.walks.tobytes())
        return original(sentences)

    monkeypatch.setattr(skipgram._Sentences, "__iter__", watched)
    model = DeepWalk(walks_per_node=3, epochs=2, **SMALL).fit(None, adjacency=problem.A)
    assert model.n_iter_ == 2
    assert seen[:3] == seen[3:]
    assert len(set(seen)) == 3


@pytest.mark.parametrize(
    ("method", "wrong"),
    [
        (DeepWalk, {"dimensions": 0}),
        (DeepWalk, {"walk_length": 1}),
        (DeepWalk, {"walks_per_node": 1.5}),
        (DeepWalk, {"window": 0}),
        (DeepWalk, {"epochs": 0}),
        (DeepWalk, {"negative": -1}),
        (DeepWalk, {"workers": 0}),
        (Node2Vec, {"p": 0.0}),
        (Node2Vec, {"q": np.inf}),
    ],
)
def test_parameters_without_sense_are_named(problem, method, wrong):
    (name,) = wrong
    with pytest.raises(ValueError, match=f"{method.__name__}: {name} must be"):
        method(**wrong).fit(None, adjacency=problem.A)
    with pytest.raises(ValueError, match=f"{method.__name__}: {name} must be"):
        classifier(method(**wrong)).fit(None, problem.y, adjacency=problem.A)


def test_without_gensim_the_extra_is_named(problem, monkeypatch):
    monkeypatch.setitem(sys.modules, "gensim", None)
    monkeypatch.setitem(sys.modules, "gensim.models", None)
    with pytest.raises(ImportError, match=r"pip install gssl\[reproduction\]"):
        DeepWalk().fit(None, adjacency=problem.A)


def test_progress_is_told(problem):
    from gssl.scale.progress import watching

    seen = []
    with watching(lambda done, total: seen.append((done, total))):
        DeepWalk(walks_per_node=3, **SMALL).fit(None, adjacency=problem.A)
    assert seen == [(1, 3), (2, 3), (3, 3)]


def test_new_labels_walk_nothing_again(embedder, problem, monkeypatch):
    y = np.where(np.arange(36) % 2, problem.truth, problem.y)
    model = classifier(embedder).fit(None, problem.y, adjacency=problem.A)
    fresh = classifier(embedder).fit(None, y, adjacency=problem.A)
    monkeypatch.setattr(DeepWalk, "_learn", None)
    model.update_labels(y)
    np.testing.assert_array_equal(model.label_distributions_, fresh.label_distributions_)
    np.testing.assert_array_equal(model.informed_, fresh.informed_)


def test_a_component_is_informed_once_it_has_a_label():
    A = csr_array(np.kron(np.eye(2), np.ones((4, 4)) - np.eye(4)))
    model = gssl.EmbeddingClassifier(DeepWalk(dimensions=4, random_state=0))
    with pytest.warns(gssl.GraphWarning, match="nothing is known about 4 nodes"):
        model.fit(None, [0, 1, -1, -1, -1, -1, -1, -1], adjacency=A)
    np.testing.assert_array_equal(model.label_distributions_[4:], 0.5)
    model.update_labels([0, 1, -1, -1, 1, -1, -1, -1])
    assert model.informed_.all()
    assert (model.label_distributions_[4:] != 0.5).all()


def test_columns_cannot_be_taken_apart(problem):
    with (
        gssl.execution(memory="1MB"),
        pytest.raises(ValueError, match="DeepWalk cannot run on some columns at a time"),
    ):
        DeepWalk().fit(problem.X, adjacency=problem.A)


SHORT = {"dimensions": 8, "walk_length": 5, "walks_per_node": 2, "random_state": 0}
EXCUSED = {
    "check_methods_subset_invariance": "a part of the nodes is another graph",
    "check_methods_sample_order_invariance": (
        "walks know nodes by their place, so nodes in another order are another graph, which it refuses"
    ),
    "check_fit_idempotent": "it transforms nodes that were not in fit, which it refuses",
}


@parametrize_with_checks(
    [DeepWalk(**SHORT), Node2Vec(**SHORT)], expected_failed_checks=lambda estimator: EXCUSED
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)
