"""What is kept of old labels: the same result as a new fit, for the columns of new labels alone."""

import pickle

import numpy as np
import pytest
from scipy.sparse import csr_array

import gssl
from gssl.methods.inputs import FitInputs
from gssl.operators import complement_negatives
from gssl.selection import averaged, search
from gssl.selection.candidates import candidate_filters
from gssl.selection.graph_features import Features, GraphOperator, complement_rows
from gssl.selection.labelled_rows import KnownTables, LabelledRows
from gssl.selection.search import choose_scaling
from gssl.selection.trial import Labels

DEPTH = 4


@pytest.fixture
def graph():
    """Three groups, links mostly within them, sixty noisy features, eight labels in each group."""
    rng = np.random.default_rng(0)
    truth = np.arange(120) % 3
    near = truth[:, None] == truth
    A = np.triu(rng.random((120, 120)) < np.where(near, 0.1, 0.01), k=1).astype(float)
    X = 0.3 * np.eye(3)[truth].repeat(20, axis=1) + rng.normal(size=(120, 60))
    return X, csr_array(A + A.T), np.where(np.arange(120) < 24, truth, -1), truth


@pytest.fixture
def columns(monkeypatch):
    """Count the columns that are smoothed, but for the scores of three classes by one head or two."""
    seen = []

    apply = GraphOperator.__call__

    def counted(operator, V, **more):
        if operator.mixture.smooth and operator.filters.N_hat is not None and V.shape[1] not in (3, 6):
            seen.append(V.shape[1])
        return apply(operator, V, **more)

    monkeypatch.setattr(GraphOperator, "__call__", counted)
    # they need all columns of the labels, whatever is kept
    monkeypatch.setattr(search, "CLUSTERED", 0)
    return seen


def test_only_the_columns_of_new_labels_are_propagated(graph, columns):
    X, A, y, truth = graph
    model = gssl.AutoClassifier(depth=DEPTH).fit(X, y, adjacency=A)
    # features are fewer than what the labels would need: four powers of rows of length one, two as given
    assert columns == [60] * (DEPTH + 2)
    columns.clear()
    y[[60, 61]] = truth[[60, 61]]
    model.update_labels(y)
    # one column for each new label: powers, what GGCM sharpens, and two powers of the rows as given
    assert columns == [2] * (2 * DEPTH + 2)
    columns.clear()
    y[:3] = -1
    model.update_labels(y)
    assert columns == []
    fresh = gssl.AutoClassifier(depth=DEPTH).fit(X, y, adjacency=A)
    # but for rounding, which a logistic head that is solved by iteration may enlarge
    np.testing.assert_allclose(model.label_distributions_, fresh.label_distributions_, atol=1e-5)
    np.testing.assert_allclose(model._leave_one_out, fresh._leave_one_out, atol=5e-3)
    assert model.explain_ == fresh.explain_
    chosen = ({(e.model, e.settings) for e in m.leaderboard_ if e.chosen} for m in (model, fresh))
    assert next(chosen) == next(chosen)


def test_too_many_numbers_are_not_kept(graph, columns, monkeypatch):
    X, A, y, _ = graph
    monkeypatch.setattr(averaged, "_MOST_KEPT", 24 * 60 * 9)
    model = gssl.AutoClassifier(depth=DEPTH).fit(X, y, adjacency=A)
    # what is tried has a limit of its own
    assert model.n_iter_ == DEPTH
    assert model._fit_inputs.known == {}
    n_hops = len(columns)
    model.update_labels(y)
    assert len(columns) == 2 * n_hops > 0


def test_depth_is_less_where_rows_would_not_fit(graph, monkeypatch):
    X, A, y, _ = graph
    monkeypatch.setattr(averaged, "_MOST_NUMBERS", 24 * 60 * 9)
    assert gssl.AutoClassifier(depth=DEPTH).fit(X, y, adjacency=A).n_iter_ == 2


@pytest.mark.parametrize("wins", [True, False], ids=["unit rows", "as given"])
def test_the_scaling_that_lost_leaves_its_tables_alone(graph, wins, monkeypatch):
    """Neither its features nor columns of all nodes stay while models are tried."""
    X, A, y, _ = graph
    if not wins:
        monkeypatch.setattr(search, "NEAR", -100.0)  # any difference is enough
    labels = Labels(np.eye(3)[y[:24]], np.ones(24))
    unit, _, lost = choose_scaling(FitInputs(X, A), np.arange(24), labels, DEPTH)
    assert unit is wins
    assert list(lost) == [not wins]
    (tables,) = lost.values()
    assert isinstance(tables, KnownTables)
    other = Features(X) if wins else Features.unit(X)
    assert set(tables.tables) == {("smooth", 0), ("smooth", 1), ("smooth", 2)}
    np.testing.assert_array_equal(tables.tables["smooth", 0], other.rows(np.arange(24)))


def test_a_pickled_model_leaves_them_behind(graph):
    X, A, y, truth = graph
    model = gssl.AutoClassifier(depth=DEPTH).fit(X, y, adjacency=A)
    assert set(model._fit_inputs.known) == {True, False}
    copy = pickle.loads(pickle.dumps(model))  # noqa: S301 - made in the same line
    assert copy._fit_inputs.known == {}
    y[[60, 61]] = truth[[60, 61]]
    np.testing.assert_allclose(
        copy.update_labels(y).label_distributions_, model.update_labels(y).label_distributions_, atol=1e-5
    )


@pytest.mark.parametrize("filter_", candidate_filters(8), ids=lambda f: f"{f.model} {f.settings}")
def test_merged_rows_are_those_of_all_nodes(graph, filter_):
    X, A, _, _ = graph
    old, nodes = np.array([3, 5, 70]), np.array([0, 3, 70, 90, 119])
    known = LabelledRows(X, A, old, 8)
    for other in candidate_filters(8):
        known.rows(other)
    merged = LabelledRows(X, A, nodes, 8, known=known.tables)
    direct = LabelledRows(X, A, nodes, 8)
    np.testing.assert_allclose(merged.rows(filter_), direct.rows(filter_), atol=1e-12)
    np.testing.assert_allclose(
        merged.rows(filter_, np.array([1, 4])), direct.rows(filter_)[[1, 4]], atol=1e-12
    )


def test_rows_of_the_complement_are_those_of_the_whole(graph):
    X, A, _, _ = graph
    negatives, nodes = complement_negatives(A, np.float64), np.array([2, 80])
    np.testing.assert_allclose(complement_rows(negatives, X, nodes), (negatives @ X)[nodes], atol=1e-12)
