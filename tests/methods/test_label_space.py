"""Label space gives the same predictions as propagation of all features, with fewer columns."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from tests.problems import use_label_space

import gssl
from gssl.datasets import draw_split, make_block_graph
from gssl.methods import label_space
from gssl.methods.inputs import check_features
from gssl.methods.linear_filters import LinearFilter
from gssl.operators import Filters, Mixture, complement_negatives, normalized_adjacency

EMBEDDERS = [
    gssl.SGC(depth=3),
    gssl.SGC(depth=0),
    gssl.SSGC(depth=6, alpha=0.2),
    gssl.PPR(depth=5, alpha=0.2),
    gssl.G2CN(depth=3, b_low=0.2, b_high=1.8, mix=0.3),
    gssl.NDLS(depth=5, epsilon=0.3),
    gssl.GGC(depth=5, beta=0.9, decay=0.8, igc_beta=0.7, igc_decay=0.6),
    gssl.GGCM(depth=6, beta=0.9, decay=0.95, igc_decay=0.7),
    gssl.GGCM(depth=4, negatives=3, random_state=0),
    gssl.GGC(depth=4, negatives=3, random_state=None),
    gssl.HopFilter(depth=2),
    gssl.HopFilter(depth=2, operator="high"),
]


@pytest.fixture(scope="module", params=["sparse", "dense"])
def data(request):
    return make_block_graph(600, 2400, 400, 4, features=request.param, random_state=3)


@pytest.fixture(scope="module")
def y(data):
    train = draw_split(data.labels, per_class=6, random_state=0)["train"]
    y = np.full(600, -1)
    y[train] = data.labels[train]
    return y


@pytest.mark.parametrize("embedder", EMBEDDERS, ids=lambda e: f"{type(e).__name__}-{e.depth}")
def test_transposed_filter_embeds_single_rows(data, embedder):
    X = check_features(embedder, data.features.astype(np.float64), reset=True)
    embedder = embedder.set_params(random_state=1) if "random_state" in embedder.get_params() else embedder
    U = embedder.fit_transform(X, adjacency=data.adjacency)
    nodes = np.array([5, 77, 599])
    E = csr_array((np.ones(3), (nodes, np.arange(3))), shape=(600, 3))
    filters = embedder._filters(data.adjacency, X.dtype)
    V = filters.program.transpose().run(E, filters.matrices)
    np.testing.assert_allclose(V.T @ X, U[nodes], atol=1e-12)


class Restarting(LinearFilter):
    """A filter, not a published method, in which both branches restart from X with different weights."""

    def __init__(self, depth=4, alpha=0.3):
        self.depth = depth
        self.alpha = alpha

    def step(self, k, U, X, graph):
        return Mixture(0.6, 0.1, 0.2, restart=0.3 / k), Mixture(0.5, 0.2, 0.1, restart=0.7 * k)

    def _matrices(self, A, dtype):
        filters = Filters(normalized_adjacency(A, dtype), complement_negatives(A, dtype))
        return lambda k: filters


class RestartingAtAllScales(Restarting):
    multiscale = True


@pytest.mark.parametrize("kind", [Restarting, RestartingAtAllScales])
def test_both_branches_may_restart(data, kind):
    """The filter agrees with dense algebra, and the transposed filter with the filter."""
    embedder = kind()
    X = check_features(embedder, data.features.astype(np.float64), reset=True)
    A = data.adjacency.toarray()
    N = np.ones_like(A) - np.eye(len(A)) - (A > 0)
    root, negative_root = 1 / np.sqrt(A.sum(axis=1) + 1), 1 / np.sqrt(N.sum(axis=1) + 2)
    A_hat = (A + np.eye(len(A))) * np.outer(root, root)
    N_hat = (2 * np.eye(len(A)) - N) * np.outer(negative_root, negative_root)
    features = X.toarray() if hasattr(X, "toarray") else X
    U, total = features, 0
    for k in range(1, 5):
        total = total + 0.5 * A_hat @ U + 0.2 * N_hat @ U + 0.1 * U + 0.7 * k * features
        U = 0.6 * A_hat @ U + 0.1 * N_hat @ U + 0.2 * U + 0.3 / k * features
    expected = 0.3 * features + 0.7 * total / 4 if kind is RestartingAtAllScales else U
    np.testing.assert_allclose(embedder.fit_transform(X, adjacency=data.adjacency), expected, atol=1e-12)
    E = csr_array((np.ones(2), ([5, 599], [0, 1])), shape=(600, 2))
    filters = embedder._filters(data.adjacency, X.dtype)
    V = filters.program.transpose().run(E, filters.matrices)
    np.testing.assert_allclose(V.T @ features, expected[[5, 599]], atol=1e-12)


@pytest.mark.parametrize("embedder", EMBEDDERS, ids=lambda e: f"{type(e).__name__}-{e.depth}")
@pytest.mark.parametrize("head", ["logistic", "ridge", "adam"])
def test_classifiers_predict_the_same_in_label_space(data, y, embedder, head, monkeypatch):
    if "random_state" in embedder.get_params():
        embedder = embedder.set_params(random_state=1)
    models = []
    for pays in (True, False):
        use_label_space(monkeypatch, gssl.EmbeddingClassifier, pays)
        model = gssl.EmbeddingClassifier(embedder, head=head, random_state=0)
        models.append(model.fit(data.features.astype(np.float64), y, adjacency=data.adjacency))
        assert ("embedding_" in model.__dict__) is not pays
    there, here = models
    np.testing.assert_allclose(there.label_distributions_, here.label_distributions_, atol=1e-6)
    np.testing.assert_array_equal(there.transduction_, here.transduction_)
    np.testing.assert_allclose(there.embedding_, here.embedding_, atol=1e-12)


@pytest.mark.parametrize("loss", ["squared", "cross_entropy"])
def test_ogc_learns_the_same_in_label_space(data, y, loss, monkeypatch):
    models = []
    for in_label_space in (True, False):
        use_label_space(monkeypatch, gssl.OGC, in_label_space)
        model = gssl.OGC(eta_sup=0.05, loss=loss, max_iter=30, agreement=1.0, random_state=0)
        models.append(model.fit(data.features.astype(np.float64), y, adjacency=data.adjacency, anchors=0.5))
    there, here = models
    np.testing.assert_allclose(there.coef_, here.coef_, atol=1e-9)
    np.testing.assert_allclose(there.label_distributions_, here.label_distributions_, atol=1e-9)
    np.testing.assert_allclose(there.embedding_, here.embedding_, atol=1e-9)
    for name, values in there.history_.items():
        np.testing.assert_allclose(values, here.history_[name], rtol=1e-7, atol=1e-12)
    np.testing.assert_allclose(
        there.embedding_ @ there.coef_, np.asarray(there.embedding_ @ here.coef_), atol=1e-9
    )


def test_the_cheaper_path_is_chosen(y):
    """Label space is used for wide features, not for narrow ones."""
    for n_features, in_label_space in ((4000, True), (16, False)):
        data = make_block_graph(600, 2400, n_features, 4, random_state=3)
        model = gssl.EmbeddingClassifier(gssl.SGC()).fit(data.features, y, adjacency=data.adjacency)
        assert ("embedding_" in model.__dict__) is not in_label_space


def test_powers_of_the_lazy_convolution():
    P = 0.3 * np.array([[0.5, 0.5], [0.5, 0.5]]) + 0.7 * np.eye(2)
    A_hat = np.array([[0.5, 0.5], [0.5, 0.5]])
    weights = label_space.lazy_powers(np.array([0, 5, 40]), 0.3)
    values, Q = np.linalg.eigh(A_hat)
    for k, row in zip((0, 5, 40), weights, strict=True):
        total = Q * np.polynomial.chebyshev.chebval(values, row) @ Q.T
        np.testing.assert_allclose(total, np.linalg.matrix_power(P, k), atol=1e-14)


@pytest.mark.parametrize(("beta", "most"), [(0.1, 17), (1.0, 45), (0.0, 1)])
def test_terms_that_do_not_count_are_left_out(beta, most):
    weights = label_space.lazy_powers(np.arange(65), beta, np.float32)
    assert weights.shape[1] <= most
    np.testing.assert_allclose(weights.sum(axis=1), 1.0, atol=1e-6)


@pytest.mark.parametrize("kind", [Restarting, RestartingAtAllScales])
def test_the_last_of_all_depths_is_the_embedding(data, kind):
    *_, last = kind().iter_embeddings(data.features, adjacency=data.adjacency)
    np.testing.assert_allclose(last, kind().fit_transform(data.features, adjacency=data.adjacency), atol=1e-6)
