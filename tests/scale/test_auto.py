"""AutoClassifier within a budget, on a cluster and after a resume: same models and predictions."""

import pickle
import tracemalloc
import warnings
from functools import cache

import numpy as np
import pytest
from scipy.sparse import csr_array, tril, triu

import gssl
from gssl.graph import GraphWarning, check_adjacency
from gssl.operators import set_threads
from gssl.selection import views

pytestmark = pytest.mark.filterwarnings("ignore::gssl.graph.GraphWarning")


def fit(X, y, A, depth=4, **options):
    """Fit with options of gssl.execution."""
    with warnings.catch_warnings(), gssl.execution(**options):
        warnings.simplefilter("ignore", GraphWarning)
        return gssl.AutoClassifier(depth=depth).fit(X, y, adjacency=A)


@pytest.fixture(scope="module")
def plain(blocks):
    """A fit in memory on the graph of most tests, which no test changes."""
    X, y, A = blocks
    return fit(X, y, A)


def assert_same(found, plain, atol=1e-4):
    """Check that the same models were tried and chosen, with the same scores and predictions."""
    tables = [[(e.model, e.settings, e.chosen) for e in model.leaderboard_] for model in (found, plain)]
    assert tables[0] == tables[1]
    scores = [[e.score for e in model.leaderboard_] for model in (found, plain)]
    np.testing.assert_allclose(scores[0], scores[1], atol=1e-12)
    assert found.explain_ == plain.explain_
    assert found.n_iter_ == plain.n_iter_
    assert (found.transduction_ == plain.transduction_).all()
    np.testing.assert_allclose(found.label_distributions_, plain.label_distributions_, atol=atol)
    np.testing.assert_allclose(found._held_out_scores, plain._held_out_scores, atol=1e-3)


@pytest.mark.parametrize(("width", "kind"), [(1, "dense"), (7, "sparse"), (16, "double")])
def test_no_width_of_slabs_changes_anything(blocks, widths, width, kind):
    X, y, A = blocks
    X = {"dense": X, "sparse": csr_array(X), "double": X.astype(np.float64)}[kind]
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


@pytest.mark.parametrize("width", [1, 7])
def test_relations_do_not_depend_on_slabs(blocks, typed, widths, width):
    X, y, _ = blocks
    plain = fit(X, y, typed)
    assert any("of 'cites'" in entry.settings for entry in plain.leaderboard_)
    widths(width)
    assert_same(fit(X, y, typed, memory="1GB"), plain)


def test_relations_on_a_cluster(blocks, typed, client):
    X, y, _ = blocks
    assert_same(fit(X, y, typed, client=client), fit(X, y, typed))


def test_rare_features_within_a_budget(blocks, widths, monkeypatch):
    X, y, A = blocks
    X = np.where(np.quantile(X, 0.92) < X, X, 0.0)
    monkeypatch.setattr(views, "_RARE", 5)
    monkeypatch.setattr(views, "_LARGE", 10)
    plain = fit(csr_array(X), y, A)
    assert any("all features" in entry.model for entry in plain.leaderboard_)
    widths(3)
    assert_same(fit(csr_array(X), y, A, memory="1GB"), plain)


@pytest.mark.parametrize("budget", ["60kB", "200kB", "1GB"])
def test_a_budget_changes_nothing(blocks, plain, budget):
    X, y, A = blocks
    assert_same(fit(X, y, A, memory=budget), plain)


@pytest.mark.parametrize("order", ["C", "F"])
def test_features_and_graph_may_stay_in_files(blocks, plain, tmp_path, order):
    X, y, A = blocks
    files = {"X": np.asarray(X, order=order), "data": A.data, "indices": A.indices, "indptr": A.indptr}
    for name, array in files.items():
        np.save(tmp_path / f"{name}.npy", array)
    mapped = {name: np.load(tmp_path / f"{name}.npy", mmap_mode="r") for name in files}
    graph = csr_array((mapped["data"], mapped["indices"], mapped["indptr"]), shape=A.shape)
    found = fit(mapped["X"], y, graph, memory="100kB")
    assert_same(found, plain)
    again = found.predict_proba(mapped["X"], adjacency=graph)
    np.testing.assert_allclose(again, found.label_distributions_, atol=1e-5)


def test_many_labels_are_judged_alike(blocks, monkeypatch):
    monkeypatch.setattr("gssl.selection.comparison.MOST_EVALUATED", 20)
    monkeypatch.setattr("gssl.selection.model_search.TEACHERS", 50)
    X, _, A = blocks
    y = np.where(np.arange(300) % 2, np.argmax(X[:, :5], axis=1), -1)
    assert_same(fit(X, y, A, memory="100kB"), fit(X, y, A))


def test_without_features(blocks):
    _, y, A = blocks
    plain = fit(None, y, A)
    assert "no features" in plain.explain_
    assert_same(fit(None, y, A, memory="300kB"), plain)


def test_a_rival_that_wins_predicts_within_the_budget_too(blocks, monkeypatch):
    monkeypatch.setattr("gssl.selection.rivals._CLEAR", -100.0)
    X, _, A = blocks
    y = np.where(np.arange(300) % 3 == 0, np.random.default_rng(0).integers(3, size=300), -1)
    plain = fit(X, y, A)
    assert [entry.model for entry in plain.leaderboard_ if entry.chosen] == ["LabelSpreading"]
    assert_same(fit(X, y, A, memory="200kB"), plain)


def test_other_labels_after_a_fit_within_a_budget(blocks, tmp_path):
    X, y, A = blocks
    more = np.array(y)
    more[:30] = np.arange(30) % 5
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


@pytest.fixture(scope="module")
def uninterrupted(blocks):
    """Fit within a budget without a stop, once for each budget and kind of features."""
    X, y, A = blocks
    return cache(
        lambda memory, kind="dense": fit(csr_array(X) if kind == "sparse" else X, y, A, memory=memory)
    )


@pytest.mark.parametrize("stop", [0, 3, 21])
def test_it_goes_on_after_any_file(blocks, tmp_path, stopping, uninterrupted, stop):
    X, y, A = blocks
    expected = uninterrupted("60kB")
    stopping(stop)
    with pytest.raises(stopping.error):
        fit(X, y, A, memory="60kB", resume=tmp_path)
    stopping(10**9)
    again = fit(X, y, A, memory="60kB", resume=tmp_path)
    assert_same(again, expected)
    assert np.array_equal(again.label_distributions_, expected.label_distributions_)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize(("before", "after"), [("60kB", "150kB"), ("150kB", "60kB")])
def test_it_goes_on_with_another_budget(blocks, tmp_path, stopping, uninterrupted, kind, before, after):
    X, y, A = blocks
    X = csr_array(X) if kind == "sparse" else X
    expected = uninterrupted(before, kind)
    stopping(7)
    with pytest.raises(stopping.error):
        fit(X, y, A, memory=before, resume=tmp_path)
    stopping(10**9)
    again = fit(X, y, A, memory=after, resume=tmp_path)
    assert_same(again, expected)
    assert_same(fit(X, y, A, memory=before, resume=tmp_path), expected)


def test_a_finished_run_is_not_done_again(blocks, tmp_path, monkeypatch):
    X, y, A = blocks
    first = fit(X, y, A, memory="100kB", resume=tmp_path)
    monkeypatch.setattr("gssl.selection.filtered_rows.Powers.__call__", None)
    again = fit(X, y, A, memory="100kB", resume=tmp_path)
    assert np.array_equal(again.label_distributions_, first.label_distributions_)


def test_other_labels_do_not_take_up_what_was_done(blocks, tmp_path):
    X, y, A = blocks
    fit(X, y, A, memory="100kB", resume=tmp_path)
    changed = np.array(y)
    changed[np.flatnonzero(changed == -1)[0]] = 0
    with pytest.raises(ValueError, match="other features, graph, labels or parameters"):
        fit(X, changed, A, memory="100kB", resume=tmp_path)


def test_what_cannot_be_is_one_sentence(blocks, tmp_path):
    X, y, A = blocks
    message = r"time_budget cannot be combined with resume: leave out one\.$"
    with gssl.execution(resume=tmp_path), pytest.raises(ValueError, match=message):
        gssl.AutoClassifier(time_budget=9.0).fit(X, y, adjacency=A)
    with pytest.raises(ValueError, match=r"budget of 10.0 kB is too small: a column needs \d+\.\d kB"):
        fit(X, y, A, memory="10kB")


@pytest.mark.parametrize("method", [gssl.LabelPropagation(), gssl.LabelSpreading(spread=0.99)])
@pytest.mark.parametrize("budget", [None, "300kB"])
def test_spreading_labels_goes_on_after_any_file(blocks, tmp_path, stopping, monkeypatch, method, budget):
    monkeypatch.setattr("gssl.methods.recurrences.CHECKPOINT", 5)
    _, y, A = blocks
    plain = method.fit(None, y, adjacency=A)
    distributions, n_iter = plain.label_distributions_, plain.n_iter_
    assert n_iter > 15
    stopping(6)
    with gssl.execution(memory=budget, resume=tmp_path):
        with pytest.raises(stopping.error):
            method.fit(None, y, adjacency=A)
        stopping(10**9)
        again = method.fit(None, y, adjacency=A)
    assert again.n_iter_ == n_iter
    np.testing.assert_allclose(again.label_distributions_, distributions, rtol=1e-9, atol=1e-12)
    message = "other features, graph, labels or parameters"
    with gssl.execution(resume=tmp_path), pytest.raises(ValueError, match=message):
        method.fit(None, np.where(y == 0, 1, y), adjacency=A)


@pytest.mark.parametrize("kind", ["sparse", "file"])
def test_a_cluster_changes_nothing(blocks, client, tmp_path, kind):
    X, y, A = blocks
    np.save(tmp_path / "X.npy", X)
    features = csr_array(X) if kind == "sparse" else np.load(tmp_path / "X.npy", mmap_mode="r")
    plain = fit(features, y, A)
    found = fit(features, y, A, client=client)
    assert_same(found, plain)
    more = np.array(y)
    more[:30] = np.arange(30) % 5
    assert_same(found.update_labels(more), fit(features, more, A), atol=1e-3)


def test_labels_are_updated_when_the_cluster_is_gone(blocks, monkeypatch):
    distributed = pytest.importorskip("distributed", reason="the extra 'distributed' is not installed")
    monkeypatch.setattr("gssl.selection.rivals._CLEAR", -100.0)  # also fits a rival
    X, y, A = blocks
    cluster = distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0", memory_limit=None
    )
    with cluster, distributed.Client(cluster) as lost:
        found = fit(X, y, A, client=lost)
        again = pickle.loads(pickle.dumps(found))  # noqa: S301
    more = np.array(y)
    more[:30] = np.arange(30) % 5
    for model in (found, again):
        assert_same(model.update_labels(more), fit(X, more, A), atol=1e-3)


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


@pytest.mark.parametrize("how", ["memory", "resume", pytest.param("workers", marks=pytest.mark.slow)])
def test_the_command_takes_its_options_without_a_method(classify, tables, tmp_path, how):
    if how == "workers":
        pytest.importorskip("distributed", reason="the extra 'distributed' is not installed")
    options = {"memory": ["--memory", "1MB"], "workers": ["--workers", "2"]}
    options["resume"] = [*options["memory"], "--resume", str(tmp_path / "run")]
    plain, found, again = (tmp_path / f"{name}.csv" for name in ("plain", "found", "again"))
    assert classify(tables, plain).exit_code == 0
    done = classify(tables, found, *options[how])
    assert done.exit_code == 0, done.output
    columns = [[line.split(",")[:2] for line in out.read_text().splitlines()] for out in (plain, found)]
    assert columns[0] == columns[1]
    if how == "resume":
        assert (tmp_path / "run" / "run.json").exists()
        assert classify(tables, again, *options[how]).exit_code == 0
        assert again.read_bytes() == found.read_bytes()


@pytest.mark.parametrize(
    ("method", "options", "flag"),
    [
        ("manifoldregularization", ["--memory", "1GB"], "--memory"),
        ("correctandsmooth", ["--resume", "r"], "--resume"),
        ("correctandsmooth", ["--workers", "2"], "--workers"),
        ("manifoldregularization", ["--dask", "tcp://127.0.0.1:1"], "--dask"),
    ],
)
def test_options_are_refused_before_anything_is_read(classify, tmp_path, method, options, flag):
    # none of the files exist
    done = classify(tmp_path, tmp_path / "p.csv", "--method", method, *options)
    assert done.exit_code == 2
    told = done.output.strip()
    assert told == f"gssl: {flag} does not work with --method {method}: choose another, such as ogc or ggcm."
