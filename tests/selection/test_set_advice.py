"""Advice about several labels per node: cells that look wrong, and nodes whose labels would help."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.neighbors import kneighbors_graph

import gssl
from gssl.io import from_scipy
from gssl.selection.set_advice import wrong_cells

N, KNOWN, NAMES = 600, 400, np.array(["a", "b", "c", "d"])
# rates at which labels are lost, and given where they do not belong
LOST, ADDED = 0.12, 0.04


def drawn(seed=0):
    """Return features, a graph, labels that features tell, and wrong cells among the known ones."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, 6))
    truth = (X @ rng.normal(size=(6, 4)) + 0.3 * rng.normal(size=(N, 4))) > 1.2
    wrong = rng.random(truth.shape) < np.where(truth, LOST, ADDED)
    wrong[KNOWN:] = False
    near = kneighbors_graph(X, 5)
    return X, ((near + near.T) > 0).astype(float), truth, wrong


def sets_of(given):
    return [set(NAMES[row]) if k < KNOWN else None for k, row in enumerate(given)]


@pytest.fixture(scope="module")
def noisy():
    X, A, truth, wrong = drawn()
    return gssl.AutoClassifier(depth=2).fit(X, sets_of(truth ^ wrong), adjacency=A), A, truth, wrong


def planted(found, wrong):
    return wrong[found.nodes, np.searchsorted(NAMES, found.labels)]


def test_planted_cells_come_first_and_are_counted(noisy):
    model, _, truth, wrong = noisy
    found = gssl.audit(model)
    given = (truth ^ wrong)[:KNOWN]
    assert (found.n_given, found.n_cells) == (given.sum(), KNOWN * 4)
    assert planted(found, wrong)[:20].mean() > 0.9
    assert planted(found, wrong)[: wrong.sum()].mean() > 0.6
    assert found.expected_spurious == pytest.approx((wrong & ~truth).sum(), rel=0.5)
    assert found.expected_missing == pytest.approx((wrong & truth).sum(), rel=0.5)
    assert (np.diff(found.p_wrong) <= 0).all()
    # both kinds are listed, and only what the model contradicts
    assert 0 < found.given.sum() < len(found) < found.n_cells
    columns = np.searchsorted(NAMES, found.labels)
    held_out = model.label_sets_.held_out_probabilities
    np.testing.assert_array_equal(found.probability, held_out[found.nodes, columns])
    np.testing.assert_array_equal(found.given, given[found.nodes, columns])
    np.testing.assert_array_equal(found.given, found.probability < model.label_sets_.thresholds_[columns])


def test_an_audit_is_told_and_tabulated(noisy):
    model, A, _, _ = noisy
    problem = replace(from_scipy(A, node_ids=[f"n{k}" for k in range(N)]), y=model.fit_answers)
    found = gssl.audit(model, problem=problem)
    table = found.to_dict()
    assert list(table) == ["id", "label", "given", "probability", "p_wrong"]
    assert table["id"][0] == f"n{found.nodes[0]}"
    assert set(table["given"]) == {"yes", "no"}
    assert found.summary.startswith(f"About {found.expected_spurious:.0f} of {found.n_given} given labels")
    assert f"about {found.expected_missing:.0f} are missing" in repr(found)
    assert "Audit of 1,600 cells" in repr(found)
    line = found.text(1)
    state = "is given" if found.given[0] else "is not given"
    assert line.startswith(f"n{found.nodes[0]}: {found.labels[0]} {state}, the model says")
    assert found.summary in found._repr_html_()


def test_clean_labels_are_hardly_suspect():
    X, A, truth, _ = drawn()
    found = gssl.audit(gssl.AutoClassifier(depth=2).fit(X, sets_of(truth), adjacency=A))
    assert found.expected_spurious + found.expected_missing < 0.01 * found.n_cells


def test_rates_are_found_from_flattened_probabilities():
    rng = np.random.default_rng(0)
    logits = 4.0 * rng.normal(size=(4000, 3)) - 2.0
    truth = rng.random(logits.shape) < 1.0 / (1.0 + np.exp(-logits))
    wrong = rng.random(truth.shape) < np.where(truth, 0.1, 0.03)
    known, share = rng.random(truth.shape) < 0.9, (truth ^ wrong).mean(axis=0)
    # wrong cells make a model less sure
    base = np.log(share / (1.0 - share))
    P = 1.0 / (1.0 + np.exp(-base - (logits - base) / 2.0))
    found = wrong_cells(P, truth ^ wrong, known)
    assert found[wrong[known]].mean() > 5 * found[~wrong[known]].mean()
    assert found.sum() == pytest.approx(wrong[known].sum(), rel=0.35)
    order = rng.permutation(4000)
    np.testing.assert_allclose(
        np.sort(wrong_cells(P[order], (truth ^ wrong)[order], known[order])), np.sort(found), atol=1e-8
    )


def test_unknown_cells_are_not_audited():
    X, A, truth, wrong = drawn()
    Y = np.where(np.arange(N)[:, None] < KNOWN, (truth ^ wrong).astype(float), np.nan)
    gaps = np.random.default_rng(1).random(Y.shape) < 0.3
    model = gssl.AutoClassifier(depth=2).fit(X, np.where(gaps, np.nan, Y), adjacency=A)
    found = gssl.audit(model)
    assert found.n_cells == (~gaps[:KNOWN]).sum()
    assert not gaps[found.nodes, found.labels].any()


def test_suggested_nodes_are_unsure_and_differ(noisy, tmp_path):
    model, A, _, _ = noisy
    picks = gssl.suggest(model, 10)
    assert len(picks) == len(set(picks.tolist())) == 10
    assert picks.min() >= KNOWN
    P = model.label_distributions_
    u = (4 * P * (1 - P)).mean(axis=1)
    assert u[picks].mean() > u[KNOWN:].mean()
    problem = replace(from_scipy(A, node_ids=[f"n{k}" for k in range(N)]), y=model.fit_answers)
    named = gssl.selection.suggestions(model, 10, problem=problem, X=drawn()[0])
    table = named.to_dict()
    assert list(table) == ["id", "labels", "model_says", "unsure", "speaks_for", "why"]
    assert table["id"] == [f"n{node}" for node in picks]
    assert set(table["labels"]) == {""}
    first = named[0]
    nearest = np.argsort(np.abs(P[first.node] - 0.5))[:2]
    assert [label for label, _ in first.unsure] == NAMES[nearest].tolist()
    assert first.labels == tuple(NAMES[model.transduction_[first.node] == 1])
    assert first.why.startswith(f"{NAMES[nearest[0]]} ({100 * P[first.node, nearest[0]]:.0f} %), ")
    gssl.save(model, tmp_path / "m.gssl", problem=True)
    loaded = gssl.load(tmp_path / "m.gssl")
    np.testing.assert_array_equal(gssl.suggest(loaded, 10), picks)
    np.testing.assert_allclose(gssl.audit(loaded).p_wrong, gssl.audit(model).p_wrong, atol=1e-4)
