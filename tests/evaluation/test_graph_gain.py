import numpy as np
import pytest

import gssl
from gssl.evaluation import graph_gain, held_out_accuracy
from gssl.evaluation.graph_gain import compare_hits


def blocks(p_out, signal, seed=0, n=120):
    """Two classes with edge probability 0.15 within and p_out between them; one feature is informative."""
    rng = np.random.default_rng(seed)
    labels = np.repeat([0, 1], n // 2)
    same = labels[:, None] == labels
    A = np.triu(rng.random((n, n)) < np.where(same, 0.15, p_out), 1).astype(float)
    X = rng.normal(size=(n, 5))
    X[:, 0] += signal * labels
    return X, labels, A + A.T


def test_a_graph_of_classes_helps_weak_features():
    X, y, A = blocks(p_out=0.01, signal=0.5)
    gain = graph_gain(X, y, A)
    assert gain.verdict.startswith("The graph helps: ")
    assert gain.difference == pytest.approx(gain.with_graph - gain.without_graph)
    assert gain.difference > 2 * gain.standard_error
    assert gain.n_labels == 120


def test_a_random_graph_hurts_clear_features():
    X, y, A = blocks(p_out=0.15, signal=6.0)
    assert graph_gain(X, y, A).verdict.startswith("The graph hurts: ")


def test_few_labels_give_no_verdict():
    X, y, A = blocks(p_out=0.01, signal=0.5)
    y[np.arange(120) % 60 > 1] = -1
    assert graph_gain(X, y, A).verdict.startswith("The graph makes no clear difference: ")


def test_smoothing_once_is_the_same_as_smoothing_in_every_fold():
    X, y, A = blocks(p_out=0.02, signal=1.0)
    full = held_out_accuracy(gssl.EmbeddingClassifier(gssl.SSGC()), X, y, A)
    assert graph_gain(X, y, A).with_graph == full.accuracy


def test_without_features_the_yardstick_is_the_most_frequent_class():
    data = gssl.datasets.load("karate")
    y = data.labels.copy()
    y[[5, 6, 10]] = -1
    done = []
    gain = graph_gain(None, y, data.adjacency, on_fold=lambda *counts: done.append(counts))
    assert gain.without_graph == pytest.approx(np.mean(y[y != -1] == 1))
    assert gain.difference > 0.3
    assert done == [(k, 5) for k in range(1, 6)]


def test_pairs_are_compared_pair_by_pair():
    gain = compare_hits(np.array([1, 1, 1, 0], dtype=bool), np.array([0, 0, 1, 1], dtype=bool))
    assert (gain.with_graph, gain.without_graph, gain.difference) == (0.75, 0.5, 0.25)
    d = np.array([1, 1, 0, -1, 1, -1])  # the four differences, plus one win and one loss
    assert gain.standard_error == pytest.approx(d.std() / np.sqrt(6))


def test_no_graph_cannot_be_judged():
    with pytest.raises(ValueError, match="no graph to judge"):
        graph_gain(np.eye(4), [0, 0, 1, 1], None)
