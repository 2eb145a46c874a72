"""What holds for every network as a classifier, and for every embedder."""

import pickle
import random

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("torch_geometric", reason="torch-geometric is not installed")

from tests.problems import block_graph  # noqa: E402
from tests.reproduction.networks import (  # noqa: E402
    CLASSIFIERS,
    EMBEDDERS,
    LINKS,
    TRANSDUCTIVE,
    X,
    classifier,
    embedder,
)
from torch.nn.functional import cross_entropy  # noqa: E402

import gssl  # noqa: E402
from gssl.scale.progress import watching  # noqa: E402
from reproduction.networks import EMBEDDERS as ENCODERS  # noqa: E402
from reproduction.networks import NETWORKS, build, parameters  # noqa: E402
from reproduction.networks import classifier as by_name  # noqa: E402

INDUCTIVE = sorted(EMBEDDERS.keys() - set(TRANSDUCTIVE))


@pytest.fixture(scope="module")
def blocks():
    """Two blocks of thirty nodes with few links between them and weakly informative features."""
    return block_graph(60, 2, p_in=0.3, p_out=0.02, signal=0.9, labels=5, width=3)


@pytest.fixture
def untouched():
    """Fail if someone else's random numbers have changed after the test."""

    def states():
        return torch.get_rng_state().tolist(), random.getstate(), np.random.get_state()[1].tolist()  # noqa: NPY002

    before = states()
    yield
    assert states() == before


def fitted(name, blocks, **params):
    return classifier(name, **params).fit(blocks.X, blocks.y, adjacency=blocks.A)


@pytest.mark.parametrize("name", sorted(CLASSIFIERS.keys() - {"MLP"}))
def test_a_classifier_tells_two_blocks_apart(name, blocks):
    model = fitted(name, blocks)
    assert (model.transduction_ == blocks.truth).mean() > 0.85
    np.testing.assert_allclose(model.label_distributions_.sum(axis=1), 1.0, rtol=1e-5)
    assert model.loss_curve_[-5:].mean() < model.loss_curve_[:5].mean()


@pytest.mark.usefixtures("untouched")
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_a_seed_fixes_a_classifier(name, blocks):
    first = fitted(name, blocks, epochs=2)
    again, other = clone(first), fitted(name, blocks, epochs=2, random_state=1)
    again.fit(blocks.X, blocks.y, adjacency=blocks.A)
    np.testing.assert_array_equal(first.label_distributions_, again.label_distributions_)
    assert not np.array_equal(first.label_distributions_, other.label_distributions_)
    shown = first.predict_proba(blocks.X, adjacency=blocks.A)
    np.testing.assert_allclose(shown, first.label_distributions_, rtol=1e-5)
    with pytest.raises(ValueError, match="5 features"):
        first.predict(blocks.X[:, :5], adjacency=blocks.A)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_gradients_reach_every_weight_and_sparse_features_are_as_dense_ones(name):
    torch.manual_seed(0)
    settings = {key: value for key, value in CLASSIFIERS[name].items() if key != "learning_rate"} | {
        "dropout": 0.2
    }
    network = build(name, **settings)(3, 2).double()
    nodes, codes, x = torch.tensor([0, 1, 3]), torch.tensor([0, 1, 1]), torch.tensor(X)
    for _ in range(5):  # in one draw, dropout may hide a weight
        if hasattr(network, "loss"):
            network.loss(x, LINKS, nodes, codes).backward()
        else:
            cross_entropy(network(x, LINKS)[nodes], codes).backward()
    assert [name for name, weight in network.named_parameters() if not weight.grad.abs().sum() > 0] == []
    network.eval()
    Z = network(x, LINKS)
    assert Z.shape == (5, 2)
    other = network if name != "EigenGCN" else build(name, **settings)(3, 2).double().eval()
    other.load_state_dict(network.state_dict())
    torch.testing.assert_close(other(x.to_sparse_csr(), LINKS), Z)


@pytest.mark.parametrize("name", NETWORKS)
def test_parameters_reach_the_network_or_its_training(name):
    known = parameters(name)
    model = by_name(name, **known)
    training = model.get_params(deep=False)
    assert known == {key: training.get(key, model.module.keywords.get(key)) for key in known}


@pytest.mark.parametrize("name", EMBEDDERS)
def test_an_embedder_separates_two_blocks(name, blocks):
    model = gssl.EmbeddingClassifier(embedder(name), head="logistic")
    model.fit(blocks.X, blocks.y, adjacency=blocks.A)
    assert (model.transduction_ == blocks.truth).mean() > 0.9
    if name in ENCODERS:
        losses = model.embedder_.losses_
        assert losses[-10:].mean() < 0.99 * losses[:3].mean()


@pytest.mark.usefixtures("untouched")
@pytest.mark.parametrize("name", EMBEDDERS)
def test_a_seed_fixes_an_embedder_and_every_epoch_is_reported(name, blocks):
    seen = []
    with watching(lambda done, total: seen.append(done / total)):
        first = embedder(name, epochs=2).fit(blocks.X, adjacency=blocks.A)
    assert seen[-1] == 1.0
    assert first.embedding_.shape == (60, 32)
    again = clone(first).fit_transform(blocks.X, adjacency=blocks.A)
    # sums over links in single precision depend on where arrays begin in memory
    np.testing.assert_allclose(first.embedding_, again, rtol=1e-4, atol=1e-6)
    other = clone(first).set_params(random_state=1).fit_transform(blocks.X, adjacency=blocks.A)
    assert np.abs(other - again).max() > 1e-3
    with pytest.raises(ValueError, match="5 features"):
        first.transform(blocks.X[:, :5], adjacency=blocks.A)


@pytest.mark.parametrize("name", INDUCTIVE)
def test_an_encoder_embeds_sparse_features_and_other_graphs_alike(name, blocks):
    """Nodes of two copies of the graph of fit have the same embeddings, also after pickling."""
    # dropout would draw only for stored entries
    model = embedder(name, epochs=2, **({"dropout": 0.0} if name == "N2N" else {}))
    U = model.fit_transform(csr_array(blocks.X), adjacency=blocks.A)
    # Adam's first step is the sign of the gradient, so rounding may turn a step whose gradient is nearly zero
    np.testing.assert_allclose(model.fit_transform(blocks.X, adjacency=blocks.A), U, rtol=1e-2, atol=1e-2)
    U = model.transform(csr_array(blocks.X), adjacency=blocks.A)
    twice = {"X": np.vstack([blocks.X] * 2), "adjacency": np.kron(np.eye(2), blocks.A)}
    both = pickle.loads(pickle.dumps(model)).transform(**twice)  # noqa: S301
    np.testing.assert_allclose(both, np.vstack([U] * 2), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("name", TRANSDUCTIVE)
def test_other_embedders_know_one_graph_and_need_no_features(name, blocks):
    alone = np.pad(blocks.A, (0, 1))
    model = embedder(name, epochs=2).fit(None, adjacency=alone)
    np.testing.assert_array_equal(model.embedding_[60], 0.0)
    assert (np.abs(model.embedding_[:60]).max(axis=1) > 0).all()
    shown = model.transform(None, adjacency=alone)
    np.testing.assert_array_equal(shown, model.embedding_)
    shown[:] = 0.0
    assert np.abs(model.embedding_).max() > 0
    with pytest.raises(ValueError, match=f"{name} embeds only the graph of its fit"):
        model.transform(None, adjacency=blocks.A)


@pytest.mark.parametrize("name", ["DGI", "GAE"])
def test_patience_stops_at_the_lowest_loss(name, blocks):
    model = embedder(name, epochs=300, patience=3).fit(blocks.X, adjacency=blocks.A)
    best = int(np.argmin(model.losses_)) + 1
    assert model.n_iter_ == best + 3 < 300
    stopped = clone(model).set_params(patience=None, epochs=best).fit(blocks.X, adjacency=blocks.A)
    np.testing.assert_array_equal(stopped.embedding_, model.embedding_)


@pytest.mark.parametrize(
    ("name", "params", "message"),
    [
        ("GCN", {"dropout": 1.0}, "GCN: dropout must be a number from 0"),
        ("GCN", {"hidden": 0}, "GCN: hidden must be a whole number from 1 on, not 0"),
        ("GCN", {"heads": 3}, "GCN has no parameter 'heads': it has"),
        ("GCN", {"learning_rate": 1e30, "dropout": 0.0}, "learning_rate"),
        ("GNNLF", {"mu": 0.2}, "GNNLF: mu must be a number from 0.5"),
        ("JKNet", {"depth": 1}, "JKNet: depth must be 2 or more"),
        ("GraphSAGE", {"aggregator": "max"}, "aggregator must be one of mean, gcn, lstm"),
        ("OrderedGNN", {"hidden": 5, "chunk": 2}, "hidden must be a multiple of chunk, not 5 of 2"),
        ("BGRL", {"drop_edges": (0.2, 1.0)}, "BGRL: drop_edges must be two numbers from 0 to below 1"),
        ("DGI", {"patience": 0}, "patience must be a whole number from 1 on, not 0"),
        ("VERSE", {"alpha": 1.0}, "VERSE: alpha must be a number between 0.0 and 1.0, both excluded"),
        ("VERSE", {"hidden": 3}, "VERSE has no parameter 'hidden'"),
        ("DeepWalk", {"walk_length": 1}, "DeepWalk: walk_length must be"),
        ("Node2Vec", {"q": np.inf}, "Node2Vec: q must be"),
    ],
)
def test_bad_parameters_are_named(name, params, message, blocks):
    make = embedder if name in EMBEDDERS else classifier
    labels = () if name in EMBEDDERS else (blocks.y,)
    with pytest.raises(ValueError, match=message):
        make(name, **params).fit(blocks.X, *labels, adjacency=blocks.A)


def test_unknown_networks_are_refused():
    with pytest.raises(ValueError, match="there is no network 'DeepMagic' here: there are ACMP,"):
        by_name("DeepMagic")


EXCUSED = {
    "check_methods_subset_invariance": "a part of the nodes is another graph",
    "check_methods_sample_order_invariance": "nodes in another order are another graph",
}
REFUSES = {"check_fit_idempotent": "it transforms nodes that were not in fit, which it refuses"}


# encoders have one estimator, and the others one base class
@parametrize_with_checks(
    [embedder(name, epochs=2, dimensions=6) for name in ("DGI", "VERSE")],
    expected_failed_checks=lambda model: EXCUSED | (REFUSES if not hasattr(model, "module") else {}),
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)
