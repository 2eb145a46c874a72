"""AutoClassifier and AutoRegressor within a budget, on a cluster and resumed: same models and predictions."""

import pickle
import tracemalloc
import warnings
from functools import cache

import numpy as np
import pytest
from scipy.sparse import csr_array, tril, triu
from tests.problems import arcs

import gssl
from gssl.graph import GraphWarning, check_adjacency
from gssl.operators import set_threads
from gssl.scale.execution import InMemory
from gssl.scale.slabs import SlabExecution
from gssl.selection.filtered_rows import FilteredRows
from gssl.selection.views import Views

pytestmark = pytest.mark.filterwarnings("ignore::gssl.graph.GraphWarning")


def fit(X, y, A, depth=4, **options):
    """Fit a classifier, or a regressor to numbers, with options of gssl.execution."""
    model = gssl.AutoRegressor if y.dtype.kind == "f" and y.ndim == 1 else gssl.AutoClassifier
    with warnings.catch_warnings(), gssl.execution(**options):
        warnings.simplefilter("ignore", GraphWarning)
        return model(depth=depth).fit(X, y, adjacency=A)


@pytest.fixture(scope="module")
def numbers(blocks):
    """Features in double precision, numbers of every second node, and the graph."""
    X, _, A = blocks
    X = X.astype(np.float64)
    rng = np.random.default_rng(0)
    near = (A @ X) / np.maximum(np.diff(A.indptr), 1)[:, None]
    y = X[:, 0] + 2.0 * near[:, 1] + 0.3 * X[:, 2] * X[:, 3] + 0.1 * rng.normal(size=len(X))
    return X, np.where(rng.random(len(X)) < 0.5, y, np.nan), A


@pytest.fixture(scope="module", params=["blocks", "numbers"])
def problem(request):
    """Features, classes or numbers, and the graph."""
    return request.getfixturevalue(request.param)


@pytest.fixture(scope="module")
def plain(problem):
    """A fit in memory, which no test changes."""
    return fit(*problem)


@pytest.fixture(scope="module")
def uninterrupted(problem):
    """Fit within a budget without a stop, once for each budget and kind of features."""
    X, y, A = problem
    return cache(lambda memory, form=np.asarray: fit(form(X), y, A, memory=memory))


def on(*cases):
    """Parametrize the problem and further arguments."""
    return pytest.mark.parametrize(("problem", "case"), cases, indirect=["problem"])


def assert_same(found, plain, atol=1e-4):
    """Check that the same models were tried and chosen, with the same scores and predictions."""
    tables = [[(e.model, e.settings, e.chosen) for e in model.leaderboard_] for model in (found, plain)]
    assert tables[0] == tables[1]
    assert found.explain_ == plain.explain_
    scores = [[e.score for e in model.leaderboard_] for model in (found, plain)]
    if isinstance(plain, gssl.AutoRegressor):
        np.testing.assert_allclose(scores[0], scores[1], atol=1e-9)
        for name in ("transduction_", "intervals_", "held_out_"):
            np.testing.assert_allclose(getattr(found, name), getattr(plain, name), rtol=1e-6, atol=1e-6)
        return
    np.testing.assert_allclose(scores[0], scores[1], atol=1e-12)
    assert found.n_iter_ == plain.n_iter_
    assert (found.transduction_ == plain.transduction_).all()
    np.testing.assert_allclose(found.label_distributions_, plain.label_distributions_, atol=atol)
    hidden = [m.distributions_without(np.flatnonzero(m.fit_codes >= 0)) for m in (found, plain)]
    np.testing.assert_allclose(hidden[0], hidden[1], atol=1e-3)


def more_labels(y):
    """Return other labels, or numbers, for some nodes."""
    if y.dtype.kind == "f":
        return np.where(np.arange(len(y)) % 3 == 0, np.nan_to_num(y), y)
    return np.where(np.arange(len(y)) < 30, np.arange(len(y)) % 5, y)


@on(
    *[("blocks", case) for case in ((1, "array"), (7, "sparse"), (16, "double"))],
    *[("numbers", case) for case in ((1, "array"), (7, "array"))],
)
def test_no_width_of_slabs_changes_anything(problem, in_form, widths, case):
    X, y, A = problem
    width, kind = case
    X = in_form(X, kind)
    plain = fit(X, y, A)
    widths(width)
    assert_same(fit(X, y, A, memory="1GB"), plain)


def test_every_depth_and_weighted_links(blocks, widths):
    X, y, A = blocks
    A = A.astype(np.float64)
    weights = np.random.default_rng(0).uniform(1e-3, 3.0, A.nnz)
    A = csr_array((weights, A.indices, A.indptr), shape=A.shape)
    A = (A + A.T) / 2
    plain = fit(X, y, A, depth=16)
    assert {"HeatKernel", "GGCM", "PPR", "high-pass"} <= {entry.model for entry in plain.leaderboard_}
    widths(5)
    assert_same(fit(X, y, A, depth=16, memory="1GB"), plain)


@pytest.fixture(scope="module")
def typed(blocks):
    """The graph of most tests as two relations, of which one has directions."""
    _, _, A = blocks
    upper, lower = (csr_array(part) for part in (triu(A[:, ::-1])[:, ::-1], tril(A)))
    return check_adjacency({"cites": csr_array(upper), "likes": lower + lower.T}, directed=True)


@pytest.mark.parametrize("width", [1, 7, None])
def test_relations_give_the_same_in_slabs_and_on_a_cluster(blocks, typed, widths, client, width):
    X, y, _ = blocks
    plain = fit(X, y, typed)
    assert any("of 'cites'" in entry.settings for entry in plain.leaderboard_)
    if width is None:
        assert_same(fit(X, y, typed, client=client), plain)
    else:
        widths(width)
        assert_same(fit(X, y, typed, memory="1GB"), plain)


def test_rare_features_within_a_budget(blocks, widths):
    X, y, A = blocks
    views = Views(csr_array(np.where(np.quantile(X, 0.92) < X, X, 0.0)), A)
    labelled, powers = np.flatnonzero(y >= 0), np.array([0.2, 0.0, 0.8])
    plain, slabs = (
        FilteredRows(views, A, X.dtype, labelled, 4, execution)
        for execution in (InMemory(), SlabExecution(10**9))
    )
    expected = plain.labelled_rows(labelled, powers)
    widths(3)
    np.testing.assert_allclose(slabs.labelled_rows(labelled, powers), expected, rtol=1e-5, atol=1e-6)


@on(
    *[("blocks", budget) for budget in ("60kB", "200kB", "1GB")],
    *[("numbers", budget) for budget in ("150kB", "1MB", "50MB")],
)
def test_a_budget_changes_nothing(problem, plain, case):
    assert_same(fit(*problem, memory=case), plain)


@on(("blocks", "C"), ("blocks", "F"))
def test_features_and_graph_may_stay_in_files(problem, plain, in_files, case):
    X, A = in_files(case)
    found = fit(X, problem[1], A, memory="100kB")
    assert_same(found, plain)
    again = found.predict_proba(X, adjacency=A)
    np.testing.assert_allclose(again, found.label_distributions_, atol=1e-5)


def test_many_labels_are_judged_alike():
    """More than a thousand labels are sampled, and more than a thousand other nodes."""
    data = gssl.datasets.make_block_graph(2100, 9000, 24, 5, features="dense", random_state=3)
    X, y = data.features.astype(np.float32), np.where(np.arange(2100) % 2, data.labels, -1)
    assert_same(fit(X, y, data.adjacency, depth=2, memory="1MB"), fit(X, y, data.adjacency, depth=2))


@on(("blocks", "300kB"), ("numbers", "1MB"))
def test_without_features(problem, case):
    _, y, A = problem
    plain = fit(None, y, A)
    assert "no features" in plain.explain_
    assert_same(fit(None, y, A, memory=case), plain)


def test_a_rival_that_wins_predicts_within_the_budget_too():
    X, A, y = arcs(300, 5)
    plain = fit(X, y, A, depth=2)
    assert [entry.model for entry in plain.leaderboard_ if entry.chosen] == ["LabelSpreading"]
    assert_same(fit(X, y, A, depth=2, memory="200kB"), plain)


def test_other_labels_after_a_fit_within_a_budget(blocks, tmp_path):
    X, y, A = blocks
    more = more_labels(y)
    found = fit(X, y, A, memory="100kB", resume=tmp_path)
    plain = fit(X, more, A)
    assert_same(found.update_labels(more), plain, atol=1e-3)


def test_a_fit_within_a_budget_is_saved_like_any_other(blocks, tmp_path):
    X, y, A = blocks
    found = fit(X, y, A, memory="100kB")
    gssl.save(found, tmp_path / "m.gssl")
    loaded = gssl.load(tmp_path / "m.gssl")
    assert loaded.leaderboard_ == found.leaderboard_
    P = loaded.predict_proba(X, adjacency=A)
    np.testing.assert_array_equal(P, found.predict_proba(X, adjacency=A))
    np.testing.assert_allclose(P, found.label_distributions_, atol=1e-5)


def test_calibration_passes_the_options_on(blocks, tmp_path):
    X, y, A = blocks
    plain = gssl.CalibratedClassifier(gssl.AutoClassifier(depth=4)).fit(X, y, adjacency=A)
    found = gssl.CalibratedClassifier(gssl.AutoClassifier(depth=4))
    with gssl.execution(memory="100kB", resume=tmp_path):
        found.fit(X, y, adjacency=A)
    assert (tmp_path / "run.json").exists()
    assert_same(found.classifier_, plain.classifier_)
    np.testing.assert_allclose(found.label_distributions_, plain.label_distributions_, atol=1e-3)
    y = np.array(y)
    y[:10] = np.arange(10) % 5
    plain.update_labels(y)
    np.testing.assert_allclose(
        found.update_labels(y).label_distributions_, plain.label_distributions_, atol=1e-3
    )


@pytest.mark.slow
def test_no_array_of_all_nodes_and_features_is_made(tmp_path, monkeypatch):
    monkeypatch.setattr("gssl.scale.columns._BLOCK_BYTES", 1 << 18)  # by default this file is a single block
    monkeypatch.setattr("gssl.selection.views._ROWS", 2000)
    n, d, budget = 32_000, 512, 8_000_000
    data = gssl.datasets.make_block_graph(n, 4 * n, d, 4, features="dense", random_state=0)
    y = data.mask_labels("default")
    np.save(tmp_path / "X.npy", np.asarray(data.features, dtype=np.float32))
    X = np.load(tmp_path / "X.npy", mmap_mode="r")
    # load and compile everything before memory is measured
    fit(X[:300], np.arange(300) % 2, np.ones((300, 300)), memory="20MB")
    # one thread, so that the peak does not depend on the load of the machine
    set_threads(1)
    tracemalloc.start()
    try:
        fit(X, y, data.adjacency, memory=budget)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
        set_threads(None)
    # in addition to the budget: sampled rows for the directions, one kind at a time with a copy; tables of
    # powers of three kinds at training nodes; scores of all nodes and folds
    sampled = 2.5 * 2000 * d * 4
    tables = 3 * 9 * (1000 + int((y != -1).sum())) * 256 * 4
    scores = 6 * n * 4 * 3 * 4
    most = budget + sampled + tables + scores
    assert peak < most < X.nbytes


@on(
    *[("blocks", ("60kB", stop)) for stop in (0, 3, 21)],
    *[("numbers", ("150kB", stop)) for stop in (0, 3, 12)],
)
def test_it_goes_on_after_any_file(problem, tmp_path, stopping, uninterrupted, case):
    memory, stop = case
    expected = uninterrupted(memory)
    with stopping(stop):
        fit(*problem, memory=memory, resume=tmp_path)
    again = fit(*problem, memory=memory, resume=tmp_path)
    assert_same(again, expected)
    predicted = "transduction_" if isinstance(again, gssl.AutoRegressor) else "label_distributions_"
    assert np.array_equal(getattr(again, predicted), getattr(expected, predicted))


@pytest.mark.parametrize("problem", ["blocks"], indirect=True)
@pytest.mark.parametrize("form", [np.asarray, csr_array])
@pytest.mark.parametrize(("before", "after"), [("60kB", "150kB"), ("150kB", "60kB")])
def test_it_goes_on_with_another_budget(problem, tmp_path, stopping, uninterrupted, form, before, after):
    X, y, A = problem
    X = form(X)
    with stopping(7):
        fit(X, y, A, memory=before, resume=tmp_path)
    for budget in (after, before):
        assert_same(fit(X, y, A, memory=budget, resume=tmp_path), uninterrupted(before, form))


def test_a_finished_run_is_not_repeated_and_other_labels_are_refused(blocks, tmp_path, monkeypatch):
    X, y, A = blocks
    first = fit(X, y, A, memory="100kB", resume=tmp_path)
    monkeypatch.setattr("gssl.selection.filtered_rows.Powers.__call__", None)
    again = fit(X, y, A, memory="100kB", resume=tmp_path)
    assert np.array_equal(again.label_distributions_, first.label_distributions_)
    changed = np.array(y)
    changed[np.flatnonzero(changed == -1)[0]] = 0
    with pytest.raises(ValueError, match="other features, graph, labels or parameters"):
        fit(X, changed, A, memory="100kB", resume=tmp_path)


@pytest.mark.parametrize("model", [gssl.AutoClassifier, gssl.AutoRegressor])
def test_time_and_resume_are_not_combined(blocks, tmp_path, model):
    X, y, A = blocks
    message = r"time_budget cannot be combined with resume: leave out one\.$"
    with gssl.execution(resume=tmp_path), pytest.raises(ValueError, match=message):
        model(time_budget=9.0).fit(X, y, adjacency=A)


@on(("numbers", "150kB"))
def test_numbers_are_predicted_within_a_budget(problem, plain, case):
    X, y, A = problem
    new = np.isnan(y)
    with gssl.execution(memory=case):
        found = plain.predict(X, adjacency=A)
    np.testing.assert_allclose(found[new], plain.transduction_[new], rtol=1e-6, atol=1e-6)


@on(("blocks", "sparse"), ("blocks", "file"), ("numbers", "array"), ("numbers", "sparse"))
def test_a_cluster_changes_nothing(problem, client, in_form, case):
    X, y, A = problem
    X = in_form(X, case)
    found = fit(X, y, A, client=client)
    assert_same(found, fit(X, y, A))
    more = more_labels(y)
    assert_same(found.update_labels(more), fit(X, more, A), atol=1e-3)


@pytest.mark.parametrize("where", ["budget", "cluster"])
def test_several_labels_are_the_same_anywhere(numbers, client, where):
    X, y, A = numbers
    known = ~np.isnan(y)
    Y = np.where(known[:, None], np.stack([X[:, 0] > 0, y > np.nanmedian(y), X[:, 2] > 0], axis=1), np.nan)
    plain = fit(X, Y, A)
    found = fit(X, Y, A, **({"memory": "1MB"} if where == "budget" else {"client": client}))
    np.testing.assert_allclose(found.label_distributions_, plain.label_distributions_, atol=1e-6)
    assert found.explain_ == plain.explain_


def test_labels_are_updated_when_the_cluster_is_gone():
    distributed = pytest.importorskip("distributed", reason="the extra 'distributed' is not installed")
    X, A, y = arcs(300, 5)  # label spreading predicts
    cluster = distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0", memory_limit=None
    )
    with cluster, distributed.Client(cluster) as lost:
        found = fit(X, y, A, depth=2, client=lost)
        again = pickle.loads(pickle.dumps(found))  # noqa: S301
    more = more_labels(y)
    for model in (found, again):
        assert_same(model.update_labels(more), fit(X, more, A, depth=2), atol=1e-3)


def _load(name):
    try:
        return gssl.datasets.load(name)
    except Exception as error:
        pytest.skip(f"{name} is not here: {str(error).splitlines()[0]}")


@pytest.mark.parametrize(
    ("name", "split", "parts"),
    [
        ("cora", "default", ("train",)),
        # the same graph with other labels
        pytest.param("planetoid/cora", "public", ("train",), marks=pytest.mark.slow),
        pytest.param("planetoid/cora", "public", ("train", "val"), marks=pytest.mark.slow),
        ("graphs/texas", "fold0", ("train",)),
        ("graphs/chameleon_filtered", "fold0", ("train",)),
    ],
)
def test_graphs_that_people_know(client, name, split, parts):
    data = _load(name)
    y, (n, d) = data.mask_labels(split, parts=parts), data.features.shape
    plain = fit(data.features, y, data.adjacency, depth=16)
    # an eighth of the features, plus the graph
    budget = int(n * d * data.features.dtype.itemsize / 8 + data.adjacency.nnz * 16)
    for settings in ({"memory": budget}, {"client": client}):
        assert_same(fit(data.features, y, data.adjacency, depth=16, **settings), plain)
