"""Where labels are many, some of them teach the models that are compared, and all of them what predicts."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.special import log_softmax

import gssl
from gssl.evaluation.holdout import label_folds
from gssl.methods.labels import one_hot
from gssl.selection import search, spectrum_of_rows, trial
from gssl.selection.averaged import ridge
from gssl.selection.candidates import candidate_filters
from gssl.selection.labelled_rows import LabelledRows
from gssl.selection.search import fit_logistic, hidden_logits, try_all, try_filter, try_logistic, try_taught
from gssl.selection.trial import PENALTIES, Labels


@pytest.fixture
def problem():
    """Sixty labelled nodes of three classes, of which every other one teaches; weights differ."""
    rng = np.random.default_rng(0)
    codes = np.arange(60) % 3
    X = rng.normal(size=(60, 20)) + np.eye(3)[codes] @ rng.normal(size=(3, 20))
    rows = LabelledRows(X, csr_array((60, 60)), np.arange(60), depth=1)
    labels = Labels(one_hot(codes, 3, np.float64), np.array([1.0, 2.0, 0.5])[codes])
    return X, rows, labels, np.arange(0, 60, 2)


def test_those_who_teach_are_left_out_and_the_others_predicted(problem):
    X, rows, labels, part = problem
    plain = candidate_filters(1)[0]
    found = try_taught(rows, plain, labels, part)
    others = np.setdiff1d(np.arange(60), part)
    alone = LabelledRows(X[part], csr_array((30, 30)), np.arange(30), depth=1)
    np.testing.assert_allclose(
        found.predicted[:, part], try_filter(alone, plain, labels.part(part)).predicted, atol=1e-10
    )
    for k, penalty in enumerate(PENALTIES):
        expected = X[others] @ ridge(X[part], labels.part(part), [penalty])
        np.testing.assert_allclose(found.predicted[k, others], expected, atol=1e-10)
    # a decomposition of a part is no use for what predicts in the end
    assert found.spectrum is None


def test_logistic_heads_are_taught_by_the_same_labels(problem):
    X, _, labels, part = problem
    taught, others = labels.part(part), np.setdiff1d(np.arange(60), part)
    folds = label_folds(taught.Y.argmax(axis=1), 4, random_state=0)
    gram = spectrum_of_rows(X[part])
    said = hidden_logits(gram, taught, 1e-2, folds, X[others] @ X[part].T)
    np.testing.assert_allclose(said[:30], hidden_logits(gram, taught, 1e-2, folds), atol=2e-2)
    theta, b = fit_logistic(X[part], taught, 1e-2)
    np.testing.assert_allclose(said[30:], log_softmax(X[others] @ theta + b, axis=1), atol=5e-2)


def test_the_search_says_something_about_every_label(problem, monkeypatch):
    _, rows, labels, _ = problem
    monkeypatch.setattr(search, "SCREEN", 10)
    monkeypatch.setattr(trial, "TAUGHT", 15)
    monkeypatch.setattr(search, "CLUSTERED", 0)
    trials = try_all(rows, candidate_filters(1), labels)
    trials += try_logistic(rows, trials, labels)
    assert {t.head for t in trials} == {"ridge", "logistic"}
    assert all(t.predicted.shape[1:] == (60, 3) and t.spectrum is None for t in trials)
    assert max(t.scores.max() for t in trials) > 0.8


def test_what_predicts_has_seen_all_labels(monkeypatch):
    rng = np.random.default_rng(1)
    truth = np.arange(200) % 2
    X = rng.normal(size=(200, 40)) + 0.5 * truth[:, None]
    A = np.triu(rng.random((200, 200)) < np.where(truth[:, None] == truth, 0.05, 0.01), k=1).astype(float)
    y = np.where(np.arange(200) < 120, truth, -1)
    monkeypatch.setattr(search, "SCREEN", 20)
    monkeypatch.setattr(trial, "TAUGHT", 30)
    model = gssl.AutoClassifier(depth=2).fit(X, y, adjacency=A + A.T)
    assert model._leave_one_out.shape == (120, 2)
    assert (model.transduction_ == truth)[120:].mean() > 0.9
