"""AutoRegressor within a budget, on a cluster and after a resume: same models and numbers."""

import warnings

import numpy as np
import pytest
from scipy.sparse import csr_array

import gssl
from gssl.graph import GraphWarning

pytestmark = pytest.mark.filterwarnings("ignore::gssl.graph.GraphWarning")


def fit(X, y, A, depth=4, **options):
    """Fit with options of gssl.execution."""
    with warnings.catch_warnings(), gssl.execution(**options):
        warnings.simplefilter("ignore", GraphWarning)
        return gssl.AutoRegressor(depth=depth).fit(X, y, adjacency=A)


@pytest.fixture(scope="module")
def numbers(blocks):
    """Features in double precision, numbers of every second node, and the graph."""
    X, _, A = blocks
    X = X.astype(np.float64)
    rng = np.random.default_rng(0)
    near = (A @ X) / np.maximum(np.diff(A.indptr), 1)[:, None]
    y = X[:, 0] + 2.0 * near[:, 1] + 0.3 * X[:, 2] * X[:, 3] + 0.1 * rng.normal(size=len(X))
    return X, np.where(rng.random(len(X)) < 0.5, y, np.nan), A


@pytest.fixture(scope="module")
def plain(numbers):
    """A fit in memory, which no test changes."""
    return fit(*numbers)


def assert_same(found, plain):
    """Check that the same models were tried and chosen, with the same scores and numbers."""
    tables = [[(e.model, e.settings, e.chosen) for e in model.leaderboard_] for model in (found, plain)]
    assert tables[0] == tables[1]
    scores = [[e.score for e in model.leaderboard_] for model in (found, plain)]
    np.testing.assert_allclose(scores[0], scores[1], atol=1e-9)
    assert found.explain_ == plain.explain_
    for name in ("transduction_", "intervals_", "held_out_"):
        np.testing.assert_allclose(getattr(found, name), getattr(plain, name), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("budget", ["150kB", "1MB", "50MB"])
def test_a_budget_changes_nothing(numbers, plain, budget):
    assert_same(fit(*numbers, memory=budget), plain)


@pytest.mark.parametrize("width", [1, 7])
def test_no_width_of_slabs_changes_anything(numbers, plain, widths, width):
    widths(width)
    assert_same(fit(*numbers, memory="1GB"), plain)


def test_without_features(numbers):
    _, y, A = numbers
    assert_same(fit(None, y, A, memory="1MB"), fit(None, y, A))


def test_prediction_within_a_budget(numbers, plain):
    X, y, A = numbers
    new = np.isnan(y)
    with gssl.execution(memory="150kB"):
        found = plain.predict(X, adjacency=A)
    np.testing.assert_allclose(found[new], plain.transduction_[new], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_a_cluster_changes_nothing(numbers, client, kind):
    X, y, A = numbers
    X = csr_array(X) if kind == "sparse" else X
    found = fit(X, y, A, client=client)
    assert_same(found, fit(X, y, A))
    more = np.where(np.arange(len(y)) % 3 == 0, np.nan_to_num(y), y)
    assert_same(found.update_labels(more), fit(X, more, A))


@pytest.mark.parametrize("stop", [0, 3, 12])
def test_it_goes_on_after_any_file(numbers, plain, tmp_path, stopping, stop):
    stopping(stop)
    with pytest.raises(stopping.error):
        fit(*numbers, memory="150kB", resume=tmp_path)
    stopping(10**9)
    assert_same(fit(*numbers, memory="150kB", resume=tmp_path), plain)


def test_time_and_resume_are_not_combined(numbers, tmp_path):
    X, y, A = numbers
    message = r"time_budget cannot be combined with resume: leave out one\.$"
    with gssl.execution(resume=tmp_path), pytest.raises(ValueError, match=message):
        gssl.AutoRegressor(time_budget=9.0).fit(X, y, adjacency=A)


@pytest.mark.parametrize("where", ["budget", "cluster"])
def test_several_labels_are_the_same_anywhere(numbers, client, where):
    X, y, A = numbers
    known = ~np.isnan(y)
    Y = np.where(known[:, None], np.stack([X[:, 0] > 0, y > np.nanmedian(y), X[:, 2] > 0], axis=1), np.nan)
    plain = gssl.AutoClassifier(depth=4).fit(X, Y, adjacency=A)
    options = {"memory": "1MB"} if where == "budget" else {"client": client}
    with gssl.execution(**options):
        found = gssl.AutoClassifier(depth=4).fit(X, Y, adjacency=A)
    np.testing.assert_allclose(found.label_distributions_, plain.label_distributions_, atol=1e-6)
    assert found.explain_ == plain.explain_
