"""What all unsupervised networks do alike: learn, repeat themselves, leave things as they were, refuse."""

import pickle
import random

import numpy as np
import pytest
from scipy.sparse import block_diag, csr_array
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

pytest.importorskip("torch_geometric")

import torch

import gssl
from gssl.methods.base import watching
from gssl.torch import BGRL, DGI, GAE, VERSE, VGAE

QUICK = {
    "dgi": DGI(dimensions=6, epochs=2, random_state=0),
    "gae": GAE(dimensions=6, hidden=8, epochs=2, random_state=0),
    "vgae": VGAE(dimensions=6, hidden=8, epochs=2, random_state=0),
    "bgrl": BGRL(dimensions=6, epochs=2, random_state=0),
    "verse": VERSE(dimensions=6, epochs=2, random_state=0),
}
LONG = {"dgi": (60, 0.01), "gae": (100, 0.01), "vgae": (100, 0.01), "bgrl": (60, 0.01), "verse": (100, 0.05)}
ENCODERS = [name for name in QUICK if name != "verse"]


@pytest.fixture(params=QUICK)
def name(request):
    return request.param


@pytest.fixture
def blocks():
    """Two blocks of thirty nodes with few links between them; features hardly tell them apart."""
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
    embedder = clone(QUICK[name]).set_params(epochs=epochs, learning_rate=rate, dimensions=32)
    model = gssl.EmbeddingClassifier(embedder, head="logistic").fit(X, y, adjacency=A)
    assert (model.transduction_ == truth).mean() > 0.93
    losses = model.embedder_.losses_
    assert losses[-10:].mean() < 0.95 * losses[:3].mean()
    plain = gssl.EmbeddingClassifier(gssl.NoGraph()).fit(X, y)
    assert (plain.transduction_ == truth).mean() < 0.85


def test_a_seed_fixes_the_result_and_another_changes_it(name, blocks):
    X, A, *_ = blocks
    first, second = (clone(QUICK[name]).fit(X, adjacency=A) for _ in range(2))
    assert first.embedding_.tobytes() == second.embedding_.tobytes()
    assert first.embedding_.dtype == np.float32
    np.testing.assert_array_equal(first.losses_, second.losses_)
    other = clone(QUICK[name]).set_params(random_state=1).fit(X, adjacency=A)
    assert not np.array_equal(first.embedding_, other.embedding_)


def test_neither_inputs_nor_anyone_s_random_numbers_change(name, blocks):
    X, A, *_ = blocks
    X = csr_array(X)
    X_before, A_before = X.copy(), A.copy()
    torch.manual_seed(5)
    random.seed(5)
    np.random.seed(5)  # noqa: NPY002
    states = torch.get_rng_state().numpy(), random.getstate(), np.random.get_state()[1]  # noqa: NPY002
    clone(QUICK[name]).fit(X, adjacency=A)
    np.testing.assert_array_equal(torch.get_rng_state().numpy(), states[0])
    assert random.getstate() == states[1]
    np.testing.assert_array_equal(np.random.get_state()[1], states[2])  # noqa: NPY002
    for now, before in ((X, X_before), (A, A_before)):
        np.testing.assert_array_equal(now.data, before.data)
        np.testing.assert_array_equal(now.indices, before.indices)


@pytest.mark.parametrize("encoder", ENCODERS)
def test_sparse_and_dense_features_are_embedded_alike(encoder, blocks):
    X, A, *_ = blocks
    dense = clone(QUICK[encoder]).fit_transform(X, adjacency=A)
    sparse = clone(QUICK[encoder]).fit_transform(csr_array(X), adjacency=A)
    np.testing.assert_allclose(sparse, dense, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("encoder", ENCODERS)
def test_an_encoder_embeds_another_graph(encoder, blocks):
    """In two copies of the graph of fit every node is embedded as before, and so it is after a pickle."""
    X, A, *_ = blocks
    model = clone(QUICK[encoder]).fit(X, adjacency=A)
    twice = {"X": np.vstack([X, X]), "adjacency": csr_array(block_diag([A, A]))}
    U = model.transform(**twice)
    np.testing.assert_allclose(U[:60], model.embedding_, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(U[60:], model.embedding_, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).transform(**twice), U)  # noqa: S301


def test_verse_knows_one_graph_and_needs_no_features(blocks):
    X, A, *_ = blocks
    model = clone(QUICK["verse"]).fit(None, adjacency=A)
    np.testing.assert_array_equal(clone(model).fit_transform(X, adjacency=A), model.embedding_)
    np.testing.assert_array_equal(model.transform(None, adjacency=A), model.embedding_)
    with pytest.raises(ValueError, match="VERSE embeds only the graph of its fit"):
        model.transform(None, adjacency=A[:50, :50])


def test_a_node_without_links_has_zeros_in_verse(blocks):
    alone = csr_array(block_diag([blocks[1], csr_array((1, 1))]))
    U = clone(QUICK["verse"]).fit_transform(None, adjacency=alone)
    np.testing.assert_array_equal(U[60], np.zeros(6))
    assert np.abs(U[:60]).min(axis=1).min() > 0


@pytest.mark.parametrize("model", [DGI(dimensions=6, epochs=300), GAE(dimensions=6, epochs=300)])
def test_patience_stops_at_the_lowest_loss(model, blocks):
    X, A, *_ = blocks
    model = clone(model).set_params(patience=3, random_state=0).fit(X, adjacency=A)
    best = int(np.argmin(model.losses_)) + 1
    assert model.n_iter_ == best + 3 < 300
    # the weights are those of the epoch with the lowest loss
    stopped = clone(model).set_params(patience=None, epochs=best).fit(X, adjacency=A)
    np.testing.assert_array_equal(stopped.losses_, model.losses_[:best])
    np.testing.assert_array_equal(stopped.embedding_, model.embedding_)


def test_a_device_may_be_named(name, blocks):
    X, A, *_ = blocks
    named = clone(QUICK[name]).set_params(device="cpu").fit(X, adjacency=A)
    np.testing.assert_array_equal(named.embedding_, clone(QUICK[name]).fit_transform(X, adjacency=A))
    assert "backend" not in named.get_params()


def test_every_epoch_is_told(name, blocks):
    X, A, *_ = blocks
    seen = []
    with watching(lambda done, total: seen.append((done, total))):
        clone(QUICK[name]).fit(X, adjacency=A)
    assert seen == [(1, 2), (2, 2)]


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (DGI(dimensions=0), "DGI: dimensions must be a whole number from 1 on, not 0."),
        (GAE(hidden=1.5), "GAE: hidden must be a whole number from 1 on, not 1.5."),
        (DGI(patience=0), "DGI: patience must be a whole number from 1 on, not 0."),
        (VGAE(learning_rate=-1.0), "VGAE: learning_rate must be a number from 0.0 on, not -1.0."),
        (BGRL(drop_edges=(0.2, 1.0)), "BGRL: drop_edges must be two numbers from 0 to below 1"),
        (VERSE(alpha=1.0), "VERSE: alpha must be a number between 0.0 and 1.0, both excluded, not 1.0."),
        (GAE(epochs=-1), "GAE: epochs must be a whole number from 0 on, not -1."),
    ],
)
def test_parameters_that_make_no_sense_are_refused(model, said, blocks):
    with pytest.raises(ValueError, match=said.replace("(", r"\(")):
        model.fit(blocks[0], adjacency=blocks[1])


def test_a_loss_that_explodes_is_told(blocks):
    with pytest.raises(ValueError, match=r"loss of epoch 1 is not a finite number: lower learning_rate"):
        GAE(epochs=3, random_state=0).fit(1e30 * blocks[0], adjacency=blocks[1])


def excused(model):
    """Name the checks a model cannot pass, with the reason."""
    exceptions = {
        "check_methods_subset_invariance": "a part of the nodes is another graph",
        "check_methods_sample_order_invariance": "sums in single precision depend on their order",
    }
    if isinstance(model, VERSE):
        exceptions["check_fit_idempotent"] = "it transforms nodes that were not in fit, which it refuses"
    return exceptions


# GAE and VGAE share their checks
@parametrize_with_checks([QUICK[name] for name in QUICK if name != "vgae"], expected_failed_checks=excused)
def test_scikit_learn_contract(estimator, check):
    check(estimator)
