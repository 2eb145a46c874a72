"""Networks trained without labels agree with the equations of their losses and behave as embedders."""

import pickle
import random

import numpy as np
import pytest
from scipy.sparse import block_diag, csr_array
from scipy.special import log_expit
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("torch_geometric", reason="torch-geometric is not installed")

import gssl  # noqa: E402
from gssl.graph import sample_negatives  # noqa: E402
from gssl.scale.progress import watching  # noqa: E402
from gssl.torch.links import sparse_csr_of  # noqa: E402
from gssl.torch.training import seeded  # noqa: E402
from reproduction.networks import EMBEDDERS, build, embedder  # noqa: E402
from reproduction.networks.unsupervised import (  # noqa: E402
    reconstruction_loss,
    target_momentum,
    warm_cosine,
    without_columns,
)
from reproduction.networks.verse import VERSE, noise_contrast, walk_ends  # noqa: E402
from reproduction.walks import transitions  # noqa: E402

LONG = {"DGI": (60, 0.01), "GAE": (100, 0.01), "VGAE": (100, 0.01), "BGRL": (60, 0.01), "VERSE": (100, 0.05)}
LONG |= {"SAGEWalks": (100, 0.01), "LINE": (200, 0.05), "N2N": (100, 0.01)}
ENCODERS = [name for name in EMBEDDERS if name not in ("LINE", "VERSE")]


def quick(name, **params):
    hidden = {"hidden": 8} if name in ("BGRL", "GAE", "VGAE") else {}
    return embedder(name, **{"random_state": 0, "dimensions": 6, "epochs": 2, **hidden, **params})


@pytest.fixture(params=EMBEDDERS)
def name(request):
    return request.param


@pytest.fixture
def blocks():
    """Two blocks of thirty nodes with few links between them and weakly informative features."""
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1], 30)
    chance = np.where(truth[:, None] == truth, 0.25, 0.02)
    A = np.triu(rng.random((60, 60)) < chance, k=1)
    X = (rng.random((60, 20)) < np.where(np.arange(20) % 2 == truth[:, None], 0.25, 0.15)).astype(float)
    X[~X.any(axis=1), 0] = 1.0
    y = np.full(60, -1)
    known = np.r_[0:5, 30:35]
    y[known] = truth[known]
    return X, csr_array(A + A.T, dtype=float), y, truth


def test_blocks_come_apart(name, blocks):
    X, A, y, truth = blocks
    epochs, rate = LONG[name]
    long = quick(name, epochs=epochs, learning_rate=rate, dimensions=32)
    model = gssl.EmbeddingClassifier(long, head="logistic").fit(X, y, adjacency=A)
    # N2N embeds a node by its own features, which are weak here
    least, most = (0.6, 0.99) if name == "N2N" else (0.93, 0.95)
    assert (model.transduction_ == truth).mean() > least
    losses = model.embedder_.losses_
    assert losses[-10:].mean() < most * losses[:3].mean()
    plain = gssl.EmbeddingClassifier(gssl.NoGraph()).fit(X, y)
    assert (plain.transduction_ == truth).mean() < 0.85


def test_a_seed_fixes_the_result_and_another_changes_it(name, blocks):
    X, A, *_ = blocks
    first, second = (quick(name).fit(X, adjacency=A) for _ in range(2))
    assert first.embedding_.tobytes() == second.embedding_.tobytes()
    assert first.embedding_.dtype == np.float32
    np.testing.assert_array_equal(first.losses_, second.losses_)
    other = quick(name, random_state=1).fit(X, adjacency=A)
    assert not np.array_equal(first.embedding_, other.embedding_)


def test_neither_inputs_nor_anyone_s_random_numbers_change(name, blocks):
    X, A, *_ = blocks
    X = csr_array(X)
    X_before, A_before = X.copy(), A.copy()
    torch.manual_seed(5)
    random.seed(5)
    np.random.seed(5)  # noqa: NPY002
    states = torch.get_rng_state().numpy(), random.getstate(), np.random.get_state()[1]  # noqa: NPY002
    quick(name).fit(X, adjacency=A)
    np.testing.assert_array_equal(torch.get_rng_state().numpy(), states[0])
    assert random.getstate() == states[1]
    np.testing.assert_array_equal(np.random.get_state()[1], states[2])  # noqa: NPY002
    for now, before in ((X, X_before), (A, A_before)):
        np.testing.assert_array_equal(now.data, before.data)
        np.testing.assert_array_equal(now.indices, before.indices)


@pytest.mark.parametrize("encoder", ENCODERS)
def test_sparse_and_dense_features_are_embedded_alike(encoder, blocks):
    X, A, *_ = blocks
    # dropout would draw only for stored entries, so the draws would differ
    fixed = {"dropout": 0.0} if encoder == "N2N" else {}
    dense = quick(encoder, **fixed).fit_transform(X, adjacency=A)
    sparse = quick(encoder, **fixed).fit_transform(csr_array(X), adjacency=A)
    np.testing.assert_allclose(sparse, dense, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("encoder", ENCODERS)
def test_an_encoder_embeds_another_graph(encoder, blocks):
    """Nodes of two copies of the graph of fit have the same embeddings, also after pickling."""
    X, A, *_ = blocks
    model = quick(encoder).fit(X, adjacency=A)
    twice = {"X": np.vstack([X, X]), "adjacency": csr_array(block_diag([A, A]))}
    U = model.transform(**twice)
    np.testing.assert_allclose(U[:60], model.embedding_, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(U[60:], model.embedding_, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).transform(**twice), U)  # noqa: S301


def test_verse_knows_one_graph_and_needs_no_features(blocks):
    X, A, *_ = blocks
    model = quick("VERSE").fit(None, adjacency=A)
    np.testing.assert_array_equal(clone(model).fit_transform(X, adjacency=A), model.embedding_)
    np.testing.assert_array_equal(model.transform(None, adjacency=A), model.embedding_)
    with pytest.raises(ValueError, match="VERSE embeds only the graph of its fit"):
        model.transform(None, adjacency=A[:50, :50])


def test_a_node_without_links_has_zeros_in_verse(blocks):
    alone = csr_array(block_diag([blocks[1], csr_array((1, 1))]))
    U = quick("VERSE").fit_transform(None, adjacency=alone)
    np.testing.assert_array_equal(U[60], np.zeros(6))
    assert np.abs(U[:60]).min(axis=1).min() > 0


@pytest.mark.parametrize("encoder", ["DGI", "GAE"])
def test_patience_stops_at_the_lowest_loss(encoder, blocks):
    X, A, *_ = blocks
    model = quick(encoder, epochs=300, patience=3).fit(X, adjacency=A)
    best = int(np.argmin(model.losses_)) + 1
    assert model.n_iter_ == best + 3 < 300
    # the network has the weights of the epoch with the lowest loss
    stopped = clone(model).set_params(patience=None, epochs=best).fit(X, adjacency=A)
    np.testing.assert_array_equal(stopped.losses_, model.losses_[:best])
    np.testing.assert_array_equal(stopped.embedding_, model.embedding_)


def test_every_epoch_is_told(name, blocks):
    X, A, *_ = blocks
    seen = []
    with watching(lambda done, total: seen.append((done, total))):
        quick(name).fit(X, adjacency=A)
    assert seen == [(1, 2), (2, 2)]


@pytest.mark.parametrize(
    ("name", "params", "message"),
    [
        ("DGI", {"dimensions": 0}, "DGI: dimensions must be a whole number from 1 on, not 0."),
        ("GAE", {"hidden": 1.5}, "GAE: hidden must be a whole number from 1 on, not 1.5."),
        ("DGI", {"patience": 0}, "patience must be a whole number from 1 on, not 0."),
        ("VGAE", {"learning_rate": -1.0}, "learning_rate must be a number from 0.0 on, not -1.0."),
        ("BGRL", {"hidden": 0}, "BGRL: hidden must be a whole number from 1 on, not 0."),
        ("BGRL", {"drop_edges": (0.2, 1.0)}, "BGRL: drop_edges must be two numbers from 0 to below 1"),
        ("VERSE", {"alpha": 1.0}, "VERSE: alpha must be a number between 0.0 and 1.0, both excluded"),
        ("GAE", {"epochs": -1}, "epochs must be a whole number from 0 on, not -1."),
        ("DGI", {"negative": 3}, "DGI has no parameter 'negative'"),
        ("VERSE", {"hidden": 3}, "VERSE has no parameter 'hidden'"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(name, params, message, blocks):
    with pytest.raises(ValueError, match=message):
        embedder(name, **params).fit(blocks[0], adjacency=blocks[1])


def test_a_loss_that_explodes_is_told(blocks):
    with pytest.raises(ValueError, match=r"loss of epoch 1 is not a finite number: lower learning_rate"):
        quick("GAE").fit(1e30 * blocks[0], adjacency=blocks[1])


def test_saving_says_what_can_be_saved(blocks, tmp_path):
    model = quick("DGI").fit(blocks[0], adjacency=blocks[1])
    with pytest.raises(ValueError, match="NetworkEmbedder is not a method of gssl"):
        gssl.save(model, tmp_path / "m.gssl")
    assert list(tmp_path.iterdir()) == []


def excused(model):
    """Return the checks a model cannot pass, with reasons."""
    exceptions = {
        "check_methods_subset_invariance": "a part of the nodes is another graph",
        "check_methods_sample_order_invariance": "sums in single precision depend on their order",
    }
    if isinstance(model, VERSE):
        exceptions["check_fit_idempotent"] = "it transforms nodes that were not in fit, which it refuses"
    return exceptions


# all but VERSE have the same estimator; BGRL also has its own optimizer
@parametrize_with_checks([quick(name) for name in ("BGRL", "VERSE")], expected_failed_checks=excused)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.fixture
def graph():
    """A weighted graph of twelve nodes, one of them isolated, and sparse features."""
    rng = np.random.default_rng(3)
    A = np.triu(rng.random((12, 12)) < 0.3, k=1) * rng.integers(1, 4, (12, 12)) / 2.0
    A[np.arange(10), np.arange(1, 11)] = 1.0
    A[:, 11] = 0.0
    return A + A.T, rng.random((12, 5)) * (rng.random((12, 5)) < 0.6)


def convolution(A):
    A_tilde = A + np.eye(len(A))
    root = 1 / np.sqrt(A_tilde.sum(axis=1))
    return root[:, None] * A_tilde * root


def sigmoid(x):
    return np.exp(log_expit(x))


def weights_of(module):
    """Return the weights of a network by name, as float64."""
    return {name: value.double().numpy() for name, value in module.state_dict().items()}


def convolved(A, X, w, name):
    return convolution(A) @ X @ w[f"{name}.lin.weight"].T + w.get(f"{name}.bias", 0.0)


@pytest.mark.parametrize("kind", [np.asarray, csr_array])
def test_the_loss_of_dgi(graph, kind):
    A, X = graph
    model = embedder("DGI", 0, dimensions=4, epochs=1, patience=None)
    with seeded(0):
        network = build("DGI", dimensions=4)(5)
        order = torch.randperm(12).numpy()
    w, slope = weights_of(network.infomax), 0.25

    def embedded(features):
        H = convolved(A, features, w, "encoder.convs.0")
        return np.where(H > 0, H, slope * H)

    U, U_bar = embedded(X), embedded(X[order])
    s = sigmoid(U.mean(axis=0))
    M = w["weight"]
    expected = -np.log(sigmoid(U @ M @ s)).mean() - np.log(1 - sigmoid(U_bar @ M @ s)).mean()
    assert model.fit(kind(X), adjacency=A).losses_ == pytest.approx([expected], rel=1e-5)
    # without training, the embedding is that of the initial weights
    untrained = model.set_params(epochs=0).fit(kind(X), adjacency=A)
    np.testing.assert_allclose(untrained.embedding_, U, rtol=1e-4, atol=1e-6)
    assert untrained.n_iter_ == 0


@pytest.mark.parametrize("kind", [np.asarray, csr_array])
def test_the_loss_of_gae(graph, kind):
    A, X = graph
    model = embedder("GAE", 0, dimensions=3, hidden=4, epochs=1)
    with seeded(0):
        w = weights_of(build("GAE", dimensions=3, hidden=4)(5))
        N = sample_negatives(A, 1.0, int(torch.randint(2**31, ()))).toarray()
    U = convolved(A, np.maximum(convolved(A, X, w, "first"), 0), w, "second")
    S = U @ U.T
    assert N.sum() == (A > 0).sum()
    assert not (N * A).any()
    expected = -np.log(sigmoid(S))[A > 0].mean() - np.log(1 - sigmoid(S))[N > 0].mean()
    assert model.fit(kind(X), adjacency=A).losses_ == pytest.approx([expected], rel=1e-5)


def test_the_loss_of_vgae(graph):
    A, X = graph
    model = embedder("VGAE", 0, dimensions=3, hidden=4, epochs=1)
    with seeded(0):
        w = weights_of(build("VGAE", dimensions=3, hidden=4)(5))
        noise = torch.randn(12, 3).double().numpy()
        N = sample_negatives(A, 1.0, int(torch.randint(2**31, ()))).toarray()
    H = np.maximum(convolved(A, X, w, "first"), 0)
    U, S = convolved(A, H, w, "second"), convolved(A, H, w, "deviation")
    Z = U + noise * np.exp(S)
    P = sigmoid(Z @ Z.T)
    expected = -np.log(P)[A > 0].mean() - np.log(1 - P)[N > 0].mean()
    expected -= (1 + 2 * S - U**2 - np.exp(2 * S)).sum() / (2 * 12**2)
    assert model.fit(X, adjacency=A).losses_ == pytest.approx([expected], rel=1e-5)


@pytest.mark.parametrize("kind", [np.asarray, csr_array])
def test_the_loss_of_bgrl(graph, kind):
    """Without dropping, both views are the graph itself, and initially the target is the encoder."""
    A, X = graph
    whole = {"drop_edges": (0.0, 0.0), "drop_features": (0.0, 0.0)}
    model = embedder("BGRL", 0, dimensions=3, hidden=4, epochs=1, **whole)
    with seeded(0):
        network = build("BGRL", dimensions=3, hidden=4)(5)
    w, U = weights_of(network), X
    for k in (0, 1):
        H = convolved(A, U, w, f"encoder.convs.{k}")
        H = (H - H.mean(axis=0)) / np.sqrt(H.var(axis=0) + 1e-5)
        U = np.where(H > 0, H, 0.25 * H)
    H = U @ w["predictor.0.weight"].T + w["predictor.0.bias"]
    P = np.where(H > 0, H, 0.25 * H) @ w["predictor.2.weight"].T + w["predictor.2.bias"]
    cosines = (P * U).sum(axis=1) / np.linalg.norm(P, axis=1) / np.linalg.norm(U, axis=1)
    assert model.fit(kind(X), adjacency=A).losses_ == pytest.approx([2 - 2 * cosines.mean()], rel=1e-4)


def test_the_target_of_bgrl_follows_without_a_gradient(graph):
    A, X = graph
    with seeded(1):
        network = build("BGRL", dimensions=3, hidden=4)(5)
    first = weights_of(network.target)
    network.loss(torch.tensor(X, dtype=torch.float32), torch.tensor(np.vstack(np.nonzero(A)))).backward()
    assert all(value.grad is None for value in network.target.parameters())
    assert network.encoder.convs[0].lin.weight.grad.abs().sum() > 0
    with torch.no_grad():
        network.encoder.convs[0].lin.weight += 1.0
    network.follow(0.9)
    moved = weights_of(network.target)
    name = "convs.0.lin.weight"
    np.testing.assert_allclose(moved[name], first[name] + 0.1, rtol=1e-5)
    np.testing.assert_array_equal(moved["convs.1.lin.weight"], first["convs.1.lin.weight"])


def test_walks_of_verse_end_as_page_rank_says(graph):
    A, _ = graph
    alpha, n = 0.7, len(A)
    degrees = A.sum(axis=1, keepdims=True)
    # walks stay at nodes without links
    P = np.where(degrees > 0, A / np.maximum(degrees, 1e-9), np.eye(n))
    Pi = (1 - alpha) * np.linalg.inv(np.eye(n) - alpha * P)
    starts = np.repeat(np.arange(n), 20_000)
    ends = walk_ends(transitions(csr_array(A)), starts, alpha, np.random.default_rng(0))
    counts = np.zeros((n, n))
    np.add.at(counts, (starts, ends), 1 / 20_000)
    # five standard deviations, at most those of a share of one half
    np.testing.assert_allclose(counts, Pi, atol=5 * 0.5 / np.sqrt(20_000))


def test_the_loss_of_verse():
    rng = np.random.default_rng(0)
    U = rng.standard_normal((6, 4))
    v, u, k = rng.integers(6, size=9), rng.integers(6, size=9), rng.integers(6, size=(9, 2))
    expected = 0.0
    for i in range(9):
        expected -= np.log(sigmoid(U[v[i]] @ U[u[i]] - np.log(6))) / 9
        expected -= sum(np.log(1 - sigmoid(U[v[i]] @ U[j] - np.log(6 / 2))) for j in k[i]) / 9
    given = (torch.tensor(part) for part in (U, v, u, k))
    assert float(noise_contrast(*given)) == pytest.approx(expected, rel=1e-9)


def test_products_of_verse_grow_with_page_rank():
    """With as many dimensions as nodes, off-diagonal products grow with the logarithms of Π."""
    A = np.zeros((6, 6))
    for i, j in [(0, 1), (1, 2), (0, 2), (2, 3), (3, 4), (4, 5), (3, 5)]:
        A[i, j] = A[j, i] = 1.0
    U = VERSE(dimensions=6, epochs=150, walks_per_node=50, learning_rate=0.05, random_state=0).fit_transform(
        None, adjacency=A
    )
    P = A / A.sum(axis=1, keepdims=True)
    Pi = 0.15 * np.linalg.inv(np.eye(6) - 0.85 * P)
    off = ~np.eye(6, dtype=bool)
    both = np.corrcoef((U @ U.T)[off], np.log((Pi + Pi.T) / 2)[off])
    assert both[0, 1] > 0.9


def test_columns_are_dropped_alike_in_both_forms(graph):
    X = graph[1].astype(np.float32)
    with seeded(0):
        dense = without_columns(torch.tensor(X), 0.5).numpy()
    with seeded(0):
        sparse = without_columns(sparse_csr_of(csr_array(X)), 0.5)
    np.testing.assert_array_equal(sparse.to_dense(), dense)
    kept = dense.any(axis=0)
    assert 0 < kept.sum() < 5
    np.testing.assert_array_equal(dense, X * kept)


def test_schedules_of_bgrl():
    assert (target_momentum(0, 10), target_momentum(10, 10)) == (0.99, 1.0)
    shares = [warm_cosine(epoch, 20) for epoch in (0, 1, 2, 11, 20)]
    np.testing.assert_allclose(shares, [0.5, 1.0, 1.0, 0.5, 0.0], atol=1e-12)
    with seeded(0):
        network = build("BGRL", dimensions=3, hidden=4)(5)
    optimizer = network.optimizer(0.1, 20)
    rates = []
    for _ in range(3):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
    np.testing.assert_allclose(rates, [0.05, 0.1, 0.1])


def test_a_graph_without_other_pairs_can_be_reconstructed():
    pair = torch.tensor([[0], [1]])
    assert float(reconstruction_loss(torch.zeros(2, 1), pair, pair[:, :0])) == pytest.approx(np.log(2))
