"""OGC beside the average: when it is tried, when it predicts, and that it then behaves like OGC."""

import numpy as np
import pytest
from scipy.sparse import csr_array

import gssl
from gssl.evaluation.holdout import held_out_distributions, label_folds
from gssl.selection import rivals
from gssl.selection.rivals import Rival, clear_winner, hide_from_ogc
from gssl.selection.trial import Entry


def noisy(seed=0, n=240):
    """Three groups that links and features tell of alike, both with much noise; every other node labelled."""
    rng = np.random.default_rng(seed)
    truth = np.arange(n) % 3
    near = truth[:, None] == truth
    A = np.triu(rng.random((n, n)) < np.where(near, 0.02, 0.008), k=1).astype(float)
    X = np.abs(0.8 * np.eye(3)[truth].repeat(4, axis=1) + rng.normal(size=(n, 12)))
    return X, csr_array(A + A.T), np.where(np.arange(n) % 4 < 2, truth, -1), truth


@pytest.fixture
def problem():
    return noisy()


@pytest.fixture
def ogc_wins(monkeypatch):
    """Make OGC the only rival, and any difference clear."""
    monkeypatch.setattr(rivals, "_CLEAR", -100.0)
    monkeypatch.setattr(rivals, "judge_spreading", lambda *_: None)


def test_it_is_judged_on_one_fold_that_was_hidden_from_it(problem):
    X, A, y, truth = problem
    model = gssl.AutoClassifier(depth=4).fit(X, y, adjacency=A)
    (entry,) = (entry for entry in model.leaderboard_ if entry.model == "OGC")
    fold = label_folds(y, 5, random_state=0)[0]
    shown = y.copy()
    shown[fold] = -1
    alone = gssl.OGC(random_state=0).fit(X, shown, adjacency=A)
    assert entry.score == pytest.approx((alone.transduction_[fold] == truth[fold]).mean())
    assert entry.standard_error > 0.05
    assert entry.seconds > 0
    # about as good is not clearly better
    assert not entry.chosen
    assert not hasattr(model, "propagation_")


def test_it_is_not_tried_where_it_could_not_win(problem):
    X, A, y, truth = problem
    easy = gssl.AutoClassifier(depth=4).fit(X + 5 * np.eye(3)[truth].repeat(4, axis=1), y, adjacency=A)
    weighted = gssl.AutoClassifier(depth=4, class_weight="balanced").fit(X, y, adjacency=A)
    hurried = gssl.AutoClassifier(depth=4, time_budget=0.0).fit(X, y, adjacency=A)
    for model in (easy, weighted, hurried):
        assert "OGC" not in [entry.model for entry in model.leaderboard_]


def test_where_it_wins_it_is_ogc_that_predicts(problem, ogc_wins):
    X, A, y, _ = problem
    model = gssl.AutoClassifier(depth=4).fit(X, y, adjacency=A)
    ogc = gssl.OGC(random_state=0).fit(X, y, adjacency=A)
    assert [entry.model for entry in model.leaderboard_ if entry.chosen] == ["OGC"]
    assert model.explain_.endswith("so OGC predicts instead.")
    assert not hasattr(model, "coef_")
    assert not hasattr(model, "logistic_coef_")
    np.testing.assert_array_equal(model.label_distributions_, ogc.label_distributions_)
    # a graph that has grown by a node
    grown = csr_array(np.pad(A.toarray(), (0, 1)))
    X_grown = np.vstack([X, X[:1]])
    np.testing.assert_array_equal(
        model.predict_proba(X_grown, adjacency=grown), ogc.predict_proba(X_grown, adjacency=grown)
    )
    expected = held_out_distributions(ogc, X, A)
    np.testing.assert_allclose(model._leave_one_out, expected.distributions, atol=1e-12)


def test_it_is_updated_saved_and_given_priors(problem, ogc_wins, tmp_path):
    X, A, y, truth = problem
    priors = [0.6, 0.2, 0.2]
    model = gssl.AutoClassifier(depth=4, priors=priors).fit(X, y, adjacency=A)
    P = gssl.OGC(random_state=0).fit(X, y, adjacency=A).label_distributions_ * (3 * np.array(priors))
    np.testing.assert_allclose(model.label_distributions_, P / P.sum(axis=1, keepdims=True), atol=1e-12)
    gssl.save(model, tmp_path / "m.gssl")
    loaded = gssl.load(tmp_path / "m.gssl")
    assert isinstance(loaded.propagation_, gssl.OGC)
    np.testing.assert_array_equal(loaded.predict_proba(X, adjacency=A), model.predict_proba(X, adjacency=A))
    y[[2, 3]] = truth[[2, 3]]
    again = gssl.AutoClassifier(depth=4, priors=priors).fit(X, y, adjacency=A)
    np.testing.assert_allclose(
        model.update_labels(y).label_distributions_, again.label_distributions_, atol=1e-12
    )


def test_the_clearest_wins():
    codes, nodes = np.zeros(60, dtype=int), np.arange(60)
    entry = Entry("some", "", 1.0, 0.0, 0.0, 0.0, False)
    wrong, right = np.array([0.0, 1.0]), np.array([1.0, 0.0])
    few = Rival(gssl.OGC(), entry, (nodes[:12], np.tile(right, (12, 1))))
    many = Rival(gssl.LabelSpreading(), entry, (nodes, np.where(nodes[:, None] < 50, right, wrong)))
    ours = nodes % 2 == 0
    # 6 of 12 more are right, or 25 of 60 more and 5 fewer
    assert clear_winner([few], codes, ours)[0] is few
    assert clear_winner([few, many], codes, ours)[0] is many
    assert clear_winner([few, many], codes, nodes < 55) is None


def test_folds_come_together_in_order(problem):
    X, A, y, _ = problem
    folds = label_folds(y, 3, random_state=0)
    nodes, P = hide_from_ogc(X, A, y, folds)
    np.testing.assert_array_equal(nodes, np.flatnonzero(y != -1))
    one, said = hide_from_ogc(X, A, y, folds[1:2])
    np.testing.assert_array_equal(P[np.searchsorted(nodes, one)], said)


def test_any_other_fault_of_it_is_told(problem, monkeypatch):
    X, A, y, _ = problem

    def broken(*_):
        raise ValueError("a fault of its own")

    monkeypatch.setattr(rivals, "hide_from_ogc", broken)
    with pytest.raises(ValueError, match="a fault of its own"):
        gssl.AutoClassifier(depth=4).fit(X, y, adjacency=A)


def test_features_out_of_its_range_leave_it_out(problem):
    X, A, y, _ = problem
    model = gssl.AutoClassifier(depth=2).fit(X.astype(np.float32) * np.float32(1e19), y, adjacency=A)
    assert "OGC" not in [entry.model for entry in model.leaderboard_]
    assert np.isfinite(model.label_distributions_).all()
