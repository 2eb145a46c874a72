"""What holds for every automatic model: of classes, numbers, sets, relations, directions and trees."""

import copy
import pickle
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from tests.problems import (
    block_graph,
    checkerboard,
    communities_with_sets,
    directed_flow,
    friends_and_noise,
    near_places,
)

import gssl


class Case(NamedTuple):
    """A model, what it is fitted to, other answers, and how near its results are to each other."""

    model: Any
    X: Any
    A: Any
    y: Any
    more: Any
    predicted: float = 1e-6
    copied: float = 1e-6
    reordered: float = 1e-6
    updated: float = 1e-9


def classes(features):
    X, A, y, truth = block_graph()
    more = np.where(np.arange(120) < 40, truth, -1)
    model = gssl.AutoClassifier(depth=4, priors=[0.5, 0.25, 0.25])
    return Case(model, X if features else None, A, y, more, 1e-12, 0.0, updated=1e-5)


def numbers(features):
    X, A, y, known = near_places()
    more = np.where(np.arange(len(y)) % 3 > 0, y + 1.0, np.nan)
    given = np.where(known, y, np.nan)
    return Case(gssl.AutoRegressor(depth=4), X if features else None, A, given, more, 1e-9, 1e-9)


def sets():
    X, A, truth = communities_with_sets()
    y, more = (np.where(np.arange(500)[:, None] < known, truth, np.nan) for known in (250, 300))
    return Case(gssl.AutoClassifier(depth=4), X, A, y, more, 1e-6, 1e-5, 1e-4, 1e-8)


def relations(answers):
    X, links, y, truth = friends_and_noise()
    more = np.where(np.arange(len(y)) < 20, truth, y)
    if answers == "classes":
        return Case(gssl.AutoClassifier(depth=3), X, links, y, more)
    # one of the relations has directions
    links = {"friends": links["friends"], "noise": csr_array(np.triu(links["noise"].toarray()))}
    if answers == "numbers":
        model, values = gssl.AutoRegressor(depth=3, directed=True), truth + 0.1 * X[:, 0]
    else:
        model, values = gssl.AutoClassifier(depth=3, directed=True), np.eye(3)[truth]
    given, others = (
        np.where((each != -1).reshape(-1, *[1] * (values.ndim - 1)), values, np.nan) for each in (y, more)
    )
    return Case(model, X, links, given, others, updated=1e-5)


def directions():
    X, R, y, truth = directed_flow()
    more = np.where(np.arange(len(y)) < 20, truth, y)
    return Case(gssl.AutoClassifier(depth=3, directed=True), X, R, y, more)


def trees():
    X, A, y, truth = checkerboard()
    more = np.where(np.arange(len(y)) < 650, truth, -1)
    return Case(gssl.AutoClassifier(depth=4), X, A, y, more, 1e-6, 1e-5)


CASES = {
    "classes": lambda: classes(True),
    "classes without features": lambda: classes(False),
    "numbers": lambda: numbers(True),
    "numbers without features": lambda: numbers(False),
    "sets": sets,
    "relations": lambda: relations("classes"),
    "numbers of relations": lambda: relations("numbers"),
    "sets of relations": lambda: relations("sets"),
    "directions": directions,
    "trees": trees,
}
ALL = pytest.mark.parametrize("name", CASES)


@cache
def case(name):
    return CASES[name]()


@cache
def fitted(name):
    """Return a fit that no test changes."""
    model, X, A, y, *_ = case(name)
    return clone(model).fit(X, y, adjacency=A)


@cache
def fitted_to_more(name):
    model, X, A, _, more, *_ = case(name)
    return clone(model).fit(X, more, adjacency=A)


def predictions(model, X, A):
    if isinstance(model, gssl.AutoRegressor):
        return model.predict_with_intervals(X, adjacency=A)
    return model.predict_proba(X, adjacency=A)


def results(model):
    """Return what a fit says about its nodes."""
    if isinstance(model, gssl.AutoRegressor):
        return np.column_stack([model.transduction_, model.intervals_])
    return model.label_distributions_


def picked(A, nodes):
    """Return the graph of some nodes."""
    if isinstance(A, dict):
        return {name: picked(links, nodes) for name, links in A.items()}
    return A[nodes][:, nodes]


def grown(A):
    """Return a graph with a new node, linked to three others."""
    if isinstance(A, dict):
        return {name: grown(links) for name, links in A.items()}
    n = A.shape[0]
    dense = np.pad(A.toarray() if hasattr(A, "toarray") else A, (0, 1))
    dense[n, 3:6] = dense[3:6, n] = 1.0
    return csr_array(dense)


def reproduced(model, how, path):
    if "copied" in how:
        model = copy.deepcopy(model)
    if "saved" in how:
        gssl.save(model, path, problem="problem" in how)
        model = gssl.load(path)
    if "pickled" in how:
        model = pickle.loads(pickle.dumps(model))  # noqa: S301
    return model


@ALL
def test_the_graph_of_fit_is_predicted_as_in_fit(name):
    model, (_, X, A, y, *_) = fitted(name), case(name)
    found, expected = predictions(model, X, A), results(model)
    if isinstance(model, gssl.AutoRegressor):
        np.testing.assert_allclose(found[:, 0], expected[:, 0], rtol=case(name).predicted)
        found, expected = found[np.isnan(y)], expected[np.isnan(y)]
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=case(name).predicted)
    np.testing.assert_allclose(model.predict(X, adjacency=A), model.transduction_, rtol=case(name).predicted)


@ALL
def test_the_order_of_nodes_and_columns_does_not_matter(name):
    model, X, A, y, *_ = case(name)
    rng = np.random.default_rng(1)
    order = rng.permutation(len(y))
    if X is not None:
        X = X[order][:, rng.permutation(X.shape[1])]
    other = clone(model).fit(X, y[order], adjacency=picked(A, order))
    found, expected = results(other), results(fitted(name))[order]
    if isinstance(model, gssl.AutoRegressor):
        np.testing.assert_allclose(found[:, 1:], expected[:, 1:], rtol=1e-4)
        found, expected = found[:, 0], expected[:, 0]
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=case(name).reordered)


@ALL
@pytest.mark.parametrize(
    "how", ["saved", "saved with its problem", "pickled", "saved and pickled", "copied", "copied and saved"]
)
def test_a_reproduced_model_says_and_predicts_the_same(tmp_path, name, how):
    model, (_, X, A, *_) = fitted(name), case(name)
    again = reproduced(model, how, tmp_path / "m.gssl")
    assert type(again) is type(model)
    assert again.get_params() == model.get_params()
    assert again.explain_ == model.explain_
    assert again.leaderboard_ == model.leaderboard_
    np.testing.assert_array_equal(again.transduction_, model.transduction_)
    np.testing.assert_array_equal(again.reached_, model.reached_)
    hidden = "held_out_" if isinstance(model, gssl.AutoRegressor) else "_held_out_scores"
    if hasattr(model, hidden):
        np.testing.assert_array_equal(getattr(again, hidden), getattr(model, hidden))
    for features, graph in ((X, A), (None if X is None else np.vstack([X, X[:1]]), grown(A))):
        expected = predictions(model, features, graph)
        found = predictions(again, features, graph)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=case(name).copied)


@pytest.mark.parametrize(
    ("name", "how"),
    [
        *((name, "copied") for name in CASES),
        ("numbers", "pickled"),
        *((name, "saved with its problem") for name in CASES if name.startswith(("numbers", "rel", "sets"))),
    ],
)
def test_an_update_is_a_fit_to_the_other_answers(tmp_path, name, how):
    fresh, (_, X, A, _, more, *_) = fitted_to_more(name), case(name)
    model = reproduced(fitted(name), how, tmp_path / "m.gssl")
    assert model.update_labels(more) is model
    atol = case(name).updated
    np.testing.assert_allclose(results(model), results(fresh), rtol=1e-9, atol=atol)
    np.testing.assert_allclose(predictions(model, X, A), predictions(fresh, X, A), rtol=1e-9, atol=atol)
    assert model.explain_ == fresh.explain_


@pytest.mark.parametrize("name", ["sets", "relations", "directions"])
def test_a_memory_budget_changes_nothing(name):
    model, X, A, y, *_ = case(name)
    with gssl.execution(memory="200kB"):
        slabs = clone(model).fit(X, y, adjacency=A)
    np.testing.assert_allclose(results(slabs), results(fitted(name)), atol=1e-6)
    assert slabs.relations_used == fitted(name).relations_used


@pytest.mark.parametrize("name", ["numbers", "sets", "trees"])
def test_a_graph_without_the_nodes_of_fit_is_refused(name):
    model, (_, X, A, y, *_) = fitted(name), case(name)
    assert model.knows_nodes
    message = f"must begin with the {len(y)} nodes of fit, but this one has only 50"
    with pytest.raises(ValueError, match=message):
        model.predict(X[:50], adjacency=picked(A, np.arange(50)))
