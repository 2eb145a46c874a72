"""``gssl.execution(backend="torch")`` gives the results of the default for every method of an estimator."""

import pickle

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests import estimators
from tests.contract.test_scikit_learn import excused
from tests.problems import block_graph, random_graph, use_label_space

import gssl
from gssl.operators import (
    Filters,
    Mixture,
    add_scaled,
    complement_negatives,
    dense,
    fetch,
    multiply,
    normalized_adjacency,
    zeros,
)
from gssl.operators.arrays import alike

torch = pytest.importorskip("torch", reason="torch is not installed")
TorchExecution = pytest.importorskip("gssl.torch.backend").TorchExecution

EMBEDDERS = {
    **estimators.EMBEDDERS,
    "ggc of sampled negatives": gssl.GGC(depth=4, negatives=2, random_state=0),
    "ggcm with a decay": gssl.GGCM(depth=4, decay=0.9),
    "ggcm of sampled negatives": gssl.GGCM(depth=4, negatives=2, random_state=0),
    "sgc of depth 0": gssl.SGC(depth=0),
    "ssgc of depth 0": gssl.SSGC(depth=0),
}
every_embedder = pytest.mark.parametrize("embedder", EMBEDDERS.values(), ids=EMBEDDERS)


def on_torch():
    return gssl.execution(backend="torch", device="cpu")


@pytest.fixture(scope="module", params=["plain", "weighted"])
def data(request):
    X, A, _, truth = block_graph(120, signal=1.0, width=12)
    A[7, :] = A[:, 7] = 0.0  # an isolated node
    if request.param == "weighted":
        A *= random_graph(120, 1.0, weighted=True)
    y = np.where(np.arange(120) < 15, truth, -1)
    return csr_array(np.maximum(X, 0.0)), csr_array(A), y


def test_complements_of_graphs_with_as_many_links_are_told_apart():
    A = csr_array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    other = csr_array([[0.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    filters = Filters(normalized_adjacency(A), complement_negatives(other))
    step, U = Mixture(smooth=0.3, sharp=0.7), np.eye(3)
    mixed = TorchExecution("cpu").place(filters).mix(U, step)
    expected = 0.3 * (filters.A_hat @ U) + 0.7 * (filters.N_hat @ U)
    np.testing.assert_allclose(mixed, expected, atol=1e-14)


@every_embedder
@pytest.mark.parametrize("form", ["sparse", "dense", "float32"])
def test_embeddings_are_the_same(data, embedder, form):
    X, A, _ = data
    X = X.astype(np.float32) if form == "float32" else X.toarray() if form == "dense" else X
    expected = embedder.fit_transform(X, adjacency=A)
    with on_torch():
        embedding = clone(embedder).fit_transform(X, adjacency=A)
    assert embedding.dtype == expected.dtype
    assert type(embedding) is np.ndarray
    tolerance = 1e-6 if form == "float32" else 1e-13
    np.testing.assert_allclose(embedding, expected, atol=tolerance * np.abs(expected).max())


@every_embedder
def test_every_depth_is_the_same_and_an_array_of_its_own(data, embedder):
    X, A, _ = data
    expected = list(embedder.iter_embeddings(X, adjacency=A))
    with on_torch():
        embeddings = list(clone(embedder).iter_embeddings(X, adjacency=A))
    for ours, theirs in zip(embeddings, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-12)


@pytest.mark.parametrize("in_label_space", [True, False])
@every_embedder
def test_classifiers_on_them_predict_the_same(data, embedder, in_label_space, monkeypatch):
    X, A, y = data
    use_label_space(monkeypatch, gssl.EmbeddingClassifier, in_label_space)
    plain = gssl.EmbeddingClassifier(embedder, head="ridge").fit(X, y, adjacency=A)
    with on_torch():
        other = gssl.EmbeddingClassifier(embedder, head="ridge").fit(X, y, adjacency=A)
        embedding, predicted = other.embedding_, other.predict_proba(X, adjacency=A)
    np.testing.assert_allclose(other.label_distributions_, plain.label_distributions_, atol=1e-9)
    np.testing.assert_array_equal(other.transduction_, plain.transduction_)
    np.testing.assert_allclose(embedding, plain.embedding_, atol=1e-12)
    np.testing.assert_allclose(predicted, plain.predict_proba(X, adjacency=A), atol=1e-9)


@pytest.mark.parametrize("in_label_space", [True, False])
@pytest.mark.parametrize("loss", ["squared", "cross_entropy"])
def test_ogc_learns_the_same(data, loss, in_label_space, monkeypatch):
    X, A, y = data
    use_label_space(monkeypatch, gssl.OGC, in_label_space)
    plain = gssl.OGC(loss=loss, eta_sup=0.05, max_iter=20, random_state=0)
    with on_torch():
        other = clone(plain).fit(X, y, adjacency=A, anchors=0.5)
        predicted = other.predict_proba(X, adjacency=A)
        assert other.history_
        assert other.embedding_.shape == X.shape
    plain.fit(X, y, adjacency=A, anchors=0.5)
    assert other.n_iter_ == plain.n_iter_
    np.testing.assert_array_equal(other.transduction_, plain.transduction_)
    for name in ("coef_", "label_distributions_", "embedding_"):
        np.testing.assert_allclose(getattr(other, name), getattr(plain, name), atol=1e-10)
    for name, values in plain.history_.items():
        np.testing.assert_allclose(other.history_[name], values, rtol=1e-9)
    np.testing.assert_allclose(predicted, plain.predict_proba(X, adjacency=A), atol=1e-10)
    more = y.copy()
    more[50] = 1
    with on_torch():
        other.update_labels(more)
    plain.update_labels(more)
    np.testing.assert_allclose(other.label_distributions_, plain.label_distributions_, atol=1e-9)


def test_the_graph_is_passed_over_by_torch(data, monkeypatch):
    """This shows that the tests above do not compare the default with itself."""
    from gssl.torch.backend import TorchFilters

    X, A, y = data
    calls = []
    mix = TorchFilters.mix
    monkeypatch.setattr(TorchFilters, "mix", lambda *a, **k: (calls.append(type(a[1])), mix(*a, **k))[1])
    with on_torch():
        gssl.SGC().fit(X, adjacency=A)
        assert calls == [torch.Tensor] * 2
        gssl.OGC(max_iter=5, random_state=0).fit(X, y, adjacency=A)
    assert len(calls) > 2


def test_models_survive_pickles_and_files(data, tmp_path):
    X, A, y = data
    with on_torch():
        model = gssl.OGC(max_iter=5, random_state=0).fit(X, y, adjacency=A)
    gssl.save(model, tmp_path / "m.gssl")
    for other in (pickle.loads(pickle.dumps(model)), gssl.load(tmp_path / "m.gssl")):  # noqa: S301
        np.testing.assert_allclose(other.predict_proba(X, adjacency=A), model.predict_proba(X, adjacency=A))
    again = pickle.loads(pickle.dumps(model))  # noqa: S301
    np.testing.assert_allclose(again.embedding_, model.embedding_)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
def test_a_gpu_gives_the_same(data):
    X, A, y = data
    plain = gssl.OGC(random_state=0).fit(X, y, adjacency=A)
    with gssl.execution(backend="torch"):
        other = gssl.OGC(random_state=0).fit(X, y, adjacency=A)
    np.testing.assert_array_equal(other.transduction_, plain.transduction_)


def test_what_cannot_be_is_named(data):
    X, A, _ = data
    with (
        pytest.raises(ValueError, match="torch has no device 'abacus' here"),
        gssl.execution(backend="torch", device="abacus"),
    ):
        gssl.SGC().fit(X, adjacency=A)


def test_loops_ask_the_same_of_arrays_and_tensors():
    U = np.arange(6.0).reshape(3, 2)
    tensor = torch.tensor(U)
    for given in (U, tensor):
        np.testing.assert_array_equal(fetch(zeros(given, n_rows=2)), np.zeros((2, 2)))
        np.testing.assert_array_equal(fetch(alike(U[0], given)), U[0])
        np.testing.assert_array_equal(fetch(multiply(given, U.T)), U @ U.T)
        copy = dense(given, copy=True)
        add_scaled(copy, 2.0, given)
        np.testing.assert_array_equal(fetch(copy), 3.0 * U)
    np.testing.assert_array_equal(U, np.arange(6.0).reshape(3, 2))
    assert fetch(tensor)[2, 1] == 5.0


CONTRACTED = [
    gssl.GGCM(depth=3),
    gssl.OGC(max_iter=10, random_state=0),
    gssl.EmbeddingClassifier(gssl.SGC(), head="ridge"),
]


@parametrize_with_checks(CONTRACTED, expected_failed_checks=excused)
def test_scikit_learn_contract(estimator, check):
    with on_torch():
        check(estimator)
