"""A memory budget changes where numbers are, not what they are."""

import os
import subprocess
import sys

import numpy as np
import pytest
from gssl.scale.local import LocalExecution
from scipy.sparse import csr_array

import gssl
from gssl.scale import source
from gssl.scale.execution import InMemory

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
def test_embeddings_are_the_same_at_any_width(blocks, embedder, width):
    X, _, A = blocks
    filters = embedder._filters(gssl.graph.check_adjacency(A), X.dtype)
    embedder._learn(A, X)
    expected = embedder._embed(X, filters, InMemory())
    found = embedder._embed(X, filters, LocalExecution("1GB", width=width))
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    sparse = embedder._embed(csr_array(X), filters, LocalExecution("1GB", width=width))
    np.testing.assert_allclose(sparse, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("budget", ["100kB", "200kB", "1GB"])
def test_a_budget_gives_the_embeddings_of_a_plain_fit(blocks, budget):
    X, _, A = blocks
    expected = gssl.GGCM(depth=4).fit(X, adjacency=A).embedding_
    found = gssl.GGCM(depth=4).fit(X, adjacency=A, memory_budget=budget).embedding_
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


@pytest.fixture
def direct(monkeypatch):
    """Make OGC keep its embeddings, as it does where features are fewer."""
    monkeypatch.setattr(gssl.OGC, "_label_space_pays", lambda *_: False)


@pytest.mark.usefixtures("direct")
@pytest.mark.parametrize("loss", ["squared", "cross_entropy"])
def test_ogc_learns_the_same_within_a_budget(blocks, loss):
    X, y, A = blocks
    models = [
        gssl.OGC(loss=loss, random_state=0).fit(X, y, adjacency=A, anchors=0.5, memory_budget=budget)
        for budget in (None, "90kB", "200kB", "1GB")
    ]
    plain, *budgeted = models
    assert plain.n_iter_ > 3
    for model in budgeted:
        assert model.n_iter_ == plain.n_iter_
        assert (model.transduction_ == plain.transduction_).all()
        np.testing.assert_allclose(model.label_distributions_, plain.label_distributions_, atol=1e-5)
        np.testing.assert_allclose(model.embedding_, plain.embedding_, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(model.coef_, plain.coef_, rtol=1e-3, atol=1e-5)
        for name, values in plain.history_.items():
            np.testing.assert_allclose(model.history_[name], values, rtol=1e-3)


@pytest.mark.usefixtures("direct")
def test_no_bit_of_ogc_depends_on_the_width_of_slabs(blocks, monkeypatch):
    X, y, A = blocks
    found = []
    for width in (1, 16, 24):
        monkeypatch.setattr(
            "gssl.methods.ogc.choose_execution",
            lambda self, width=width, **_: LocalExecution("60kB" if width < 24 else "1GB", width=width),
        )
        found.append(gssl.OGC(random_state=0).fit(X, y, adjacency=A).label_distributions_)
    assert np.array_equal(found[0], found[1])
    assert np.array_equal(found[0], found[2])


@pytest.mark.parametrize("embedder", [gssl.SGC(), gssl.GGCM(depth=4)], ids=_name)
@pytest.mark.parametrize("labels", ["few", "many"])
def test_classifiers_predict_the_same_within_a_budget(blocks, embedder, labels):
    X, y, A = blocks
    if labels == "many":
        y = np.array(y)
        y[:200] = np.arange(200) % 5
    plain = gssl.EmbeddingClassifier(embedder).fit(X, y, adjacency=A)
    found = gssl.EmbeddingClassifier(embedder).fit(X, y, adjacency=A, memory_budget="100kB")
    assert (found.transduction_ == plain.transduction_).all()
    np.testing.assert_allclose(found.label_distributions_, plain.label_distributions_, atol=1e-4)
    np.testing.assert_allclose(found.embedding_, plain.embedding_, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("method", [gssl.LabelPropagation(), gssl.LabelSpreading()], ids=_name)
@pytest.mark.parametrize("width", [1, 2, 5])
def test_labels_spread_the_same_however_classes_are_cut(blocks, method, width, monkeypatch):
    _, y, A = blocks
    plain = method.fit(None, y, adjacency=A)
    distributions, n_iter = plain.label_distributions_, plain.n_iter_
    for module in ("label_propagation", "label_spreading"):
        monkeypatch.setattr(
            f"gssl.methods.{module}.choose_execution",
            lambda self, **_: LocalExecution("1GB", width=width),
            raising=False,
        )
    found = method.fit(None, y, adjacency=A)
    assert found.n_iter_ == n_iter
    np.testing.assert_allclose(found.label_distributions_, distributions, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("method", [gssl.LabelPropagation(), gssl.LabelSpreading()], ids=_name)
def test_labels_spread_the_same_within_a_budget(blocks, method):
    _, y, A = blocks
    distributions = method.fit(None, y, adjacency=A).label_distributions_
    found = method.fit(None, y, adjacency=A, memory_budget="300kB")
    np.testing.assert_allclose(found.label_distributions_, distributions, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("method", ["OGC", "GGCM", "EmbeddingClassifier"])
def test_features_and_graph_may_stay_in_files(blocks, tmp_path, order, method):
    X, y, A = blocks
    files = {"X": np.asarray(X, order=order), "data": A.data, "indices": A.indices, "indptr": A.indptr}
    for name, array in files.items():
        np.save(tmp_path / f"{name}.npy", array)
    mapped = {name: np.load(tmp_path / f"{name}.npy", mmap_mode="r") for name in files}
    graph = csr_array((mapped["data"], mapped["indices"], mapped["indptr"]), shape=A.shape)
    make = getattr(gssl, method)
    seed = {"random_state": 0}
    plain = make(**seed).fit(X, y, adjacency=A)
    found = make(**seed).fit(mapped["X"], y, adjacency=graph, memory_budget="150kB")
    np.testing.assert_allclose(found.embedding_, plain.embedding_, rtol=1e-4, atol=1e-5)
    if method != "GGCM":
        assert (found.transduction_ == plain.transduction_).all()


def test_a_large_embedding_is_a_file_that_goes_with_its_last_user(blocks):
    X, _, A = blocks
    U = gssl.SGC().fit(X, adjacency=A, memory_budget="80kB").embedding_
    assert isinstance(U, np.memmap)
    path = U.filename
    assert path.exists() if hasattr(path, "exists") else os.path.exists(path)  # noqa: PTH110
    column = U[:, 3]
    del U
    np.testing.assert_allclose(column, gssl.SGC().fit(X, adjacency=A).embedding_[:, 3], rtol=1e-6)
    del column
    assert not os.path.exists(path)  # noqa: PTH110


@pytest.mark.parametrize("method", ["SGC", "OGC"])
def test_a_fit_within_a_budget_is_saved_like_any_other(blocks, tmp_path, method):
    X, y, A = blocks
    model = getattr(gssl, method)().fit(X, y, adjacency=A, memory_budget="120kB")
    gssl.save(model, tmp_path / "m.gssl")
    loaded = gssl.load(tmp_path / "m.gssl")
    if method == "SGC":
        assert np.array_equal(loaded.transform(X, adjacency=A), gssl.SGC().fit_transform(X, adjacency=A))
    else:
        assert np.array_equal(loaded.predict(X, adjacency=A), model.predict(X, adjacency=A))


def test_a_file_of_rows_is_sorted_into_slabs_once(blocks, tmp_path, monkeypatch):
    X, _, A = blocks
    np.save(tmp_path / "x.npy", X)
    passes = []
    read = source.read_rows
    monkeypatch.setattr(source, "read_rows", lambda X: passes.append(1) or read(X))
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    found = gssl.SGC().fit(mapped, adjacency=A, memory_budget="45kB").embedding_
    assert np.array_equal(found, gssl.SGC().fit(X, adjacency=A).embedding_)
    assert passes == [1]


def test_a_budget_that_nothing_fits_in_is_refused_with_what_would_do(blocks):
    X, _, A = blocks
    with pytest.raises(ValueError, match=r"budget of 10.0 kB is too small: a column needs \d+\.\d kB"):
        gssl.SGC().fit(X, adjacency=A, memory_budget="10kB")
    for wrong in ("4 apples", "-1", "", True, float("nan"), "1e30GB"):
        with pytest.raises(ValueError, match="no amount of memory"):
            gssl.SGC().fit(X, adjacency=A, memory_budget=wrong)


def test_fitted_models_survive_a_pickle(blocks):
    # in a process of its own, as joblib would
    code = (
        "import pickle, sys, numpy as np, gssl\n"
        "d = gssl.datasets.load('karate')\n"
        "m = gssl.OGC(random_state=0).fit(d.features, d.mask_labels('default'), adjacency=d.adjacency, "
        "memory_budget='1MB')\n"
        "n = pickle.loads(pickle.dumps(m))\n"
        "assert np.array_equal(n.embedding_, m.embedding_)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
