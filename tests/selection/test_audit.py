from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.special import softmax

import gssl
from gssl.evaluation import held_out_distributions
from gssl.io import list_predictions
from gssl.methods.labels import UNLABELLED
from gssl.methods.softmax import fit_softmax_map, inverse_temperatures
from gssl.selection import audit
from gssl.selection.audit import leave_one_out_logits, robust_distributions
from gssl.selection.ensemble import Ensemble


def _problem(n=150, d=10, seed=0):
    rng = np.random.default_rng(seed)
    truth = np.arange(n) % 3
    X = np.eye(3, d)[truth] * 1.5 + rng.standard_normal((n, d))
    same = truth[:, None] == truth
    A = np.triu(rng.random((n, n)) < np.where(same, 0.1, 0.01), 1)
    y = np.where(np.arange(n) < 90, truth, UNLABELLED)
    return X, csr_array((A | A.T).astype(float)), y, truth


PLANTED = np.array([4, 17, 33, 58, 71, 88])


@pytest.fixture(scope="module")
def spoiled():
    X, A, y, _ = _problem()
    y[PLANTED] = (y[PLANTED] + 1) % 3
    return X, A, y, gssl.AutoClassifier(depth=4).fit(X, y, adjacency=A)


def test_planted_labels_come_first_and_are_counted(spoiled):
    _, _, y, model = spoiled
    found = audit(model, changes=3)
    assert set(found.nodes[:6]) == set(PLANTED)
    assert 3 <= found.expected_wrong <= 9
    assert found.interval[0] <= found.expected_wrong <= found.interval[1]
    assert (found.given == y[found.nodes]).all()
    assert (found.says[:6] == (y[found.nodes[:6]] - 1) % 3).all()
    assert (found.p_wrong[:6] > 0.5).all()
    assert np.isfinite(found.probability).all()
    assert len(found) == 90
    assert (found.removed[:3] >= 0).all()
    assert (found.removed[3:] == -1).all()


def test_clean_labels_are_believed():
    X, A, y, _ = _problem()
    found = audit(gssl.AutoClassifier(depth=4).fit(X, y, adjacency=A), changes=0)
    assert found.expected_wrong < 3


def test_changes_are_those_of_another_fit_of_the_same_models(spoiled):
    average = spoiled[3]._fitted_average
    found = audit(spoiled[3], changes=90)
    k = int(found.flipped.argmax())
    j = int(np.searchsorted(average.labelled, found.nodes[k]))
    other = np.where(found.says[k] != found.given[k], found.says[k], -1)
    weights, Y = average.targets.weights.copy(), average.targets.Y.copy()
    weights[j] = 0.0
    fits = [_fit(average, weights, Y)]
    for code in range(3):
        Y[j] = np.eye(3)[code]
        fits.append(_fit(average, average.targets.weights, Y))
    said = average.ensemble.logits([average.fit, *fits]).argmax(axis=2)
    removed, *flipped = (said[:, 1:] != said[:, :1]).sum(axis=0)
    assert found.removed[k] == removed
    assert found.flipped[k] == (flipped[other] if other >= 0 else max(flipped))
    assert found.flipped[k] > 0


def _fit(average, weights, Y):
    found = []
    for member, U in zip(average.members, average.rows, strict=True):
        G = U.T @ (weights[:, None] * U) + member.penalty * np.eye(U.shape[1])
        found.append((np.linalg.solve(G, U.T @ (weights[:, None] * Y)), member.score_map))
    return found


def test_leave_one_out_with_weights_is_that_of_other_fits(spoiled):
    average = spoiled[3]._fitted_average
    one = replace(average, ensemble=Ensemble(average.ensemble.tables, average.members[:1]))
    Y, trusted = average.labels.Y, np.linspace(0.2, 1.0, 90)
    U, said = one.rows[0][:90], np.empty((90, 3))
    for i in range(90):
        w = np.where(np.arange(90) == i, 0.0, trusted * average.labels.weights)
        G = U.T @ (w[:, None] * U) + one.members[0].penalty * np.eye(U.shape[1])
        said[i] = U[i] @ np.linalg.solve(G, U.T @ (w[:, None] * Y))
        mass = w @ Y[:, Y[i].argmax()]
        said[i, Y[i].argmax()] *= (mass + trusted[i] * average.labels.weights[i]) / mass
    weights = trusted * average.labels.weights
    t = float(inverse_temperatures(said[None], Y, weights)[0][0])
    wanted = fit_softmax_map(said, Y, weights, t, one.members[0].map_penalty).map.logits(said)
    np.testing.assert_allclose(leave_one_out_logits(one, trusted), wanted, atol=1e-4)


def test_the_part_of_wrong_labels_is_found_from_sure_contradictions():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 4, 1000)
    logits = 4.0 * np.eye(4)[truth] + rng.standard_normal((1000, 4))
    codes = np.array([rng.choice(4, p=p) for p in softmax(2.0 * logits, axis=1)])
    given = codes.copy()
    given[:100] = (given[:100] + rng.integers(1, 4, 100)) % 4
    _, right, rate, (low, high) = robust_distributions(logits, given)
    assert rate == pytest.approx(0.1, abs=0.03)
    assert low < 0.1 < high
    assert right[:100].mean() < 0.2
    assert right[100:].mean() > 0.97
    assert robust_distributions(logits, codes)[2] < 0.02


@pytest.mark.parametrize(
    "model", [gssl.LabelSpreading(), gssl.EmbeddingClassifier(gssl.SSGC()), gssl.OGC(random_state=0)]
)
def test_other_models_are_audited_by_what_they_say_without_some_labels(spoiled, model):
    X, A, y, _ = spoiled
    model = model.fit(X, y, adjacency=A)
    found = audit(model)
    assert len(set(found.nodes[:10]) & set(PLANTED)) >= 4
    assert (found.removed == -1).all()
    held = held_out_distributions(model, X, A)
    order = np.argsort(found.nodes)
    assert (found.says[order] == held.predicted).all()


def test_a_model_without_features_is_audited_too(spoiled):
    _, A, y, _ = spoiled
    found = audit(gssl.LabelPropagation().fit(None, y, adjacency=A))
    assert len(set(found.nodes[:10]) & set(PLANTED)) >= 3


def test_a_class_with_one_label_is_left_out_and_the_rest_is_judged():
    X, A, y, truth = _problem()
    y = np.where(np.arange(150) < 40, truth, UNLABELLED)
    y[(y == 2) & (np.arange(150) != 2)] = UNLABELLED
    found = audit(gssl.AutoClassifier(depth=2).fit(X, y, adjacency=A), changes=2)
    assert 2 not in found.nodes
    assert len(found) == (y != UNLABELLED).sum() - 1
    assert np.isfinite(found.p_wrong).all()


def test_columns_have_names_and_unknown_changes_are_empty(spoiled):
    columns = audit(spoiled[3], changes=1).columns(node_ids=[f"n{k}" for k in range(150)])
    assert columns["id"][0].startswith("n")
    assert columns["changes_if_removed"][1] is None
    assert isinstance(columns["changes_if_flipped"][0], int)


def test_a_problem_names_the_labels(spoiled):
    _, A, _, model = spoiled
    ids = [f"n{k}" for k in range(150)]
    problem = SimpleNamespace(node_ids=ids, adjacency=A)
    report = audit(model, changes=1, problem=problem)
    assert report.to_dict()["id"][0] == f"n{report.nodes[0]}"
    first, second = report.text(2).splitlines()
    assert first.startswith(f"n{report.nodes[0]}: given {report.given[0]}, the model says {report.says[0]} (")
    assert "; predictions that change: " in first
    assert "predictions that change" not in second
    assert len(report.text().splitlines()) == 10


def test_bad_arguments_and_loaded_models_are_refused(spoiled, tmp_path):
    with pytest.raises(ValueError, match="changes"):
        audit(spoiled[3], changes=-1)
    gssl.save(spoiled[3], tmp_path / "m.gssl")
    with pytest.raises(ValueError, match="fit it again"):
        audit(gssl.load(tmp_path / "m.gssl"))


def test_the_table_and_the_audit_count_the_same_contradicted_labels(spoiled):
    _, _, y, model = spoiled
    predictions = list_predictions(model, np.arange(len(y)).astype(str), y != UNLABELLED)
    found = audit(model, changes=0)
    assert found.n_contradicted == len(predictions.doubted) > 0
    assert (predictions.model_says[found.nodes] == found.says.astype(str)).all()
    assert f"contradicts {found.n_contradicted:,} labels" in found.summary
