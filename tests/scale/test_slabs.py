"""Results do not depend on the memory budget."""

import os
import pickle

import numpy as np
import pytest
from scipy.sparse import csr_array

import gssl
from gssl.operators import DenseEmbedding, Filters, Pull, normalized_adjacency
from gssl.scale import columns
from gssl.scale.execution import InMemory
from gssl.scale.progress import watching
from gssl.scale.slabs import SlabEmbedding, SlabExecution

EMBEDDERS = [
    gssl.SGC(depth=3),
    gssl.SSGC(depth=5),
    gssl.PPR(depth=4),
    gssl.GGC(depth=3),
    gssl.GGCM(depth=4),
    gssl.GGCM(depth=3, negatives=2, random_state=0),
    gssl.G2CN(),
    gssl.NDLS(),
]


def _name(estimator):
    return type(estimator).__name__


@pytest.mark.parametrize("embedder", EMBEDDERS, ids=_name)
@pytest.mark.parametrize("width", [1, 16, 24])
def test_embeddings_are_the_same_at_any_width(blocks, fit, widths, embedder, width):
    X, _, A = blocks
    expected = fit(embedder, X, adjacency=A).embedding_
    widths(width)
    for features in (X, csr_array(X)):
        found = fit(embedder, features, adjacency=A, memory="1GB").embedding_
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_slabs_report_their_progress(blocks, fit, widths):
    X, _, A = blocks
    widths(8)
    seen = []
    with watching(lambda done, total: seen.append((done, total))):
        fit(gssl.SGC(depth=1), X, adjacency=A, memory="1GB")
    # progress of the pass over each slab, and of the slabs
    assert seen == [(1, 1), (1, 3), (1, 1), (2, 3), (1, 1), (3, 3)]


def test_a_task_may_return_any_number_of_rows(blocks, widths, map_columns):
    X, _, _ = blocks
    widths(7)
    execution = SlabExecution(10**9)
    sums = map_columns(execution, lambda X, filters, columns: X.sum(axis=0, keepdims=True))
    np.testing.assert_allclose(sums, X.sum(axis=0, keepdims=True), rtol=1e-6)
    assert map_columns(execution, lambda X, *_: X.sum(axis=0, keepdims=True), X[:, :0]).shape == (300, 0)


def _problem(blocks):
    """Return the inputs of OGC's iterations: features, filters, labelled nodes, predictors and six pulls."""
    X, y, A = blocks
    rng = np.random.default_rng(0)
    labelled = np.flatnonzero(y != -1)
    W = [rng.standard_normal((24, 5)).astype(np.float32) for _ in range(7)]
    pulls = [
        Pull(labelled[::2], rng.standard_normal((len(labelled[::2]), 5)).astype(np.float32), W[k])
        for k in range(6)
    ]
    return X, Filters(normalized_adjacency(A, X.dtype)), labelled, W, pulls


def _products(U, labelled, W, pulls):
    """Take steps, some of them combined, and collect products and rows of the embedding in between."""
    seen = [np.array(U @ W[0])]  # a copy, because the next product may overwrite it
    for k in range(3):
        U = U.step(0.3, pulls[k])
    seen += [U.rows(labelled) @ W[1], U.rows(labelled).T @ np.ones((len(labelled), 3), np.float32)]
    U = U.step(0.5, None)
    for k in range(3, 6):
        U = U.step(0.1, pulls[k])
        seen += [np.array(U @ W[k]), np.asarray(U.rows(np.array([5, 3, 200]))), np.asarray(U.rows(labelled))]
    return [*seen, U @ W[6]]


@pytest.mark.parametrize("budget", [75_000, 90_000, 10**9])
@pytest.mark.parametrize("kind", ["array", "sparse", "file"])
def test_an_embedding_in_slabs_is_that_in_memory(blocks, in_form, budget, kind):
    X, filters, *more = _problem(blocks)
    expected = _products(DenseEmbedding(X, filters), *more)
    found = _products(SlabEmbedding(in_form(X, kind), filters, more[0], budget), *more)
    for mine, theirs in zip(found, expected, strict=True):
        assert mine.dtype == theirs.dtype == np.float32
        np.testing.assert_allclose(mine, theirs, rtol=1e-4, atol=1e-5)
    assert np.array_equal(X, blocks[0])


def test_steps_wait_and_are_taken_in_one_go(blocks, widths, monkeypatch):
    X, filters, labelled, W, pulls = _problem(blocks)
    widths(8)
    passes, add = [], columns.add_product
    monkeypatch.setattr("gssl.scale.slabs.add_product", lambda *a: passes.append(1) or add(*a))
    U = SlabEmbedding(X, filters, labelled, 60_000)
    for k in range(4):
        U = U.step(0.3, pulls[k])
    assert not passes
    assert U._slabs is None
    scores = U @ W[4]
    assert len(passes) == 3  # one for each slab
    written = sorted(path.name for path in U._slabs._folder.path.glob("slab-*"))
    assert written == ["slab-0000", "slab-0001", "slab-0002"]
    dense = DenseEmbedding(X, filters)
    for k in range(4):
        dense = dense.step(0.3, pulls[k])
    np.testing.assert_allclose(scores, dense @ W[4], rtol=1e-4, atol=1e-5)


@pytest.mark.usefixtures("direct")
@pytest.mark.parametrize("loss", ["squared", "cross_entropy"])
def test_ogc_learns_the_same_within_a_budget(blocks, fit, loss):
    X, y, A = blocks
    plain = fit(gssl.OGC(loss=loss, random_state=0), X, y, adjacency=A, anchors=0.5)
    assert plain.n_iter_ > 3
    for budget in ("90kB", "200kB", "1GB"):
        with gssl.execution(memory=budget):
            model = gssl.OGC(loss=loss, random_state=0).fit(X, y, adjacency=A, anchors=0.5)
            embedding, history = model.embedding_, model.history_
        assert model.n_iter_ == plain.n_iter_
        assert (model.transduction_ == plain.transduction_).all()
        np.testing.assert_allclose(model.label_distributions_, plain.label_distributions_, atol=1e-5)
        np.testing.assert_allclose(embedding, plain.embedding_, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(model.coef_, plain.coef_, rtol=1e-3, atol=1e-5)
        for name, values in plain.history_.items():
            np.testing.assert_allclose(history[name], values, rtol=1e-3)


@pytest.mark.usefixtures("direct")
def test_no_bit_of_ogc_depends_on_the_width_of_slabs(blocks, fit, widths):
    X, y, A = blocks
    found = []
    for width in (1, 16, 24):
        widths(width)
        budget = "60kB" if width < 24 else "1GB"
        model = fit(gssl.OGC(random_state=0), X, y, adjacency=A, memory=budget)
        found.append(model.label_distributions_)
    assert np.array_equal(found[0], found[1])
    assert np.array_equal(found[0], found[2])


@pytest.mark.parametrize("embedder", [gssl.SGC(), gssl.GGCM(depth=4)], ids=_name)
@pytest.mark.parametrize("labels", ["few", "many"])
def test_classifiers_predict_the_same_within_a_budget(blocks, fit, embedder, labels):
    X, y, A = blocks
    if labels == "many":
        y = np.array(y)
        y[:200] = np.arange(200) % 5
    plain = fit(gssl.EmbeddingClassifier(embedder), X, y, adjacency=A)
    found = fit(gssl.EmbeddingClassifier(embedder), X, y, adjacency=A, memory="100kB")
    assert (found.transduction_ == plain.transduction_).all()
    np.testing.assert_allclose(found.label_distributions_, plain.label_distributions_, atol=1e-4)
    np.testing.assert_allclose(found.embedding_, plain.embedding_, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("method", [gssl.LabelPropagation(), gssl.LabelSpreading()], ids=_name)
@pytest.mark.parametrize(("budget", "width"), [("1GB", 1), ("1GB", 2), ("1GB", 5), ("300kB", None)])
def test_labels_spread_the_same_however_classes_are_cut(blocks, fit, widths, method, budget, width):
    _, y, A = blocks
    plain = fit(method, None, y, adjacency=A)
    distributions, n_iter = plain.label_distributions_, plain.n_iter_
    if width is not None:
        widths(width)
    found = fit(method, None, y, adjacency=A, memory=budget)
    assert found.n_iter_ == n_iter
    np.testing.assert_allclose(found.label_distributions_, distributions, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("method", ["OGC", "GGCM", "EmbeddingClassifier"])
def test_features_and_graph_may_stay_in_files(blocks, fit, in_files, order, method):
    X, y, A = blocks
    mapped, graph = in_files(order)
    make = getattr(gssl, method)
    plain = fit(make(random_state=0), X, y, adjacency=A)
    found = fit(make(random_state=0), mapped, y, adjacency=graph, memory="150kB")
    np.testing.assert_allclose(found.embedding_, plain.embedding_, rtol=1e-4, atol=1e-5)
    if method != "GGCM":
        assert (found.transduction_ == plain.transduction_).all()


def test_a_large_embedding_is_a_file_that_goes_with_its_last_user(blocks, fit):
    X, _, A = blocks
    U = fit(gssl.SGC(), X, adjacency=A, memory="80kB").embedding_
    assert isinstance(U, np.memmap)
    path = U.filename
    assert os.path.exists(path)  # noqa: PTH110
    column = U[:, 3]
    del U
    np.testing.assert_allclose(column, fit(gssl.SGC(), X, adjacency=A).embedding_[:, 3], rtol=1e-6)
    del column
    assert not os.path.exists(path)  # noqa: PTH110


@pytest.mark.parametrize("method", ["SGC", "OGC"])
def test_a_fit_within_a_budget_is_saved_like_any_other(blocks, fit, tmp_path, method):
    X, y, A = blocks
    model = fit(getattr(gssl, method)(), X, y, adjacency=A, memory="120kB")
    gssl.save(model, tmp_path / "m.gssl")
    loaded = gssl.load(tmp_path / "m.gssl")
    if method == "SGC":
        assert np.array_equal(loaded.transform(X, adjacency=A), gssl.SGC().fit_transform(X, adjacency=A))
    else:
        assert np.array_equal(loaded.predict(X, adjacency=A), model.predict(X, adjacency=A))


def test_a_file_of_rows_is_sorted_into_slabs_once(blocks, fit, in_form, monkeypatch):
    X, _, A = blocks
    passes, read = [], columns.read_row_blocks
    monkeypatch.setattr(columns, "read_row_blocks", lambda *a: passes.append(1) or read(*a))
    found = fit(gssl.SGC(), in_form(X, "file"), adjacency=A, memory="45kB").embedding_
    assert np.array_equal(found, fit(gssl.SGC(), X, adjacency=A).embedding_)
    assert passes == [1]


@pytest.mark.parametrize("model", [gssl.SGC(), gssl.AutoClassifier(depth=4)], ids=_name)
def test_a_budget_that_nothing_fits_in_is_refused_with_what_would_do(blocks, fit, model):
    X, y, A = blocks
    with pytest.raises(ValueError, match=r"budget of 10.0 kB is too small: a column needs \d+\.\d kB"):
        fit(model, X, y, adjacency=A, memory="10kB")


def test_executions_and_fitted_models_survive_a_pickle(blocks, fit, tmp_path, map_columns):
    X, y, A = blocks
    execution = SlabExecution(10**9, tmp_path)
    expected = map_columns(execution, lambda X, *_: 2 * X)
    again = pickle.loads(pickle.dumps(execution))  # noqa: S301
    assert np.array_equal(map_columns(again, lambda X, *_: 2 * X), expected)
    assert np.array_equal(map_columns(InMemory(), lambda X, *_: 2 * X), expected)
    model = fit(gssl.OGC(random_state=0), X, y, adjacency=A, memory="1MB")
    loaded = pickle.loads(pickle.dumps(model))  # noqa: S301
    assert np.array_equal(loaded.embedding_, model.embedding_)
