"""The contract of every baseline network as a classifier."""

import inspect
import random
import subprocess
import sys

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("torch_geometric", reason="torch-geometric is not installed")

from reproduction.networks import NETWORKS, build, classifier, parameters  # noqa: E402

# settings for which little data and few epochs are enough
SETTINGS = {
    "ChebNetII": {"filter_dropout": 0.2, "filter_learning_rate": 0.1},
    "EigenGCN": {"eigenvectors": 4},
    "GCNII": {"depth": 4},
    "GRAND": {"samples": 2, "depth": 2, "drop_node": 0.2, "input_dropout": 0.2},
    "FastGCN": {"samples": 30},
}
DROPPING = ("DeepGCN", "JKNet", "Incep")


def make(name, **params):
    return classifier(name, **{"random_state": 0, **SETTINGS.get(name, {}), **params})


@pytest.fixture(scope="module")
def blocks():
    """Two blocks of 30 nodes with noisy features: X, A, all labels, and five given labels of each."""
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1], 30)
    chance = np.where(truth[:, None] == truth, 0.3, 0.02)
    upper = np.triu(rng.random((60, 60)) < chance, 1)
    A = csr_array((upper | upper.T).astype(np.float64))
    X = rng.normal(size=(60, 6)) + 0.8 * np.eye(2, 6)[truth]
    y = np.full(60, -1)
    known = np.concatenate([np.arange(5), np.arange(30, 35)])
    y[known] = truth[known]
    return X, A, truth, y


# all but MLP, which does not use the graph
@pytest.mark.parametrize("name", sorted({*NETWORKS} - {"MLP"}))
def test_two_blocks_are_told_apart(name, blocks):
    X, A, truth, y = blocks
    # these two have many weights for only ten labels
    special = {"GaAN": {"learning_rate": 0.01}, "OrderedGNN": {"depth": 2}}.get(name, {})
    model = make(name, **{"epochs": 30, "learning_rate": 0.05, **special}).fit(X, y, adjacency=A)
    assert (model.transduction_ == truth).mean() > 0.9
    np.testing.assert_allclose(model.label_distributions_.sum(axis=1), 1.0)
    assert model.n_iter_ == model.best_epoch_ == 30
    assert model.loss_curve_[-5:].mean() < model.loss_curve_[:5].mean()


@pytest.mark.parametrize("name", NETWORKS)
def test_a_seed_repeats_a_fit_and_nothing_is_touched(name, blocks, monkeypatch):
    X, A, _, y = blocks
    X = csr_array(np.where(X > 0.3, X, 0.0))
    kept = X.copy(), A.copy(), y.copy()
    reseeded = []
    for module in (torch.cuda, torch.mps, torch.xpu):
        for seed in ("manual_seed", "manual_seed_all"):
            if hasattr(module, seed):
                monkeypatch.setattr(module, seed, reseeded.append)
    torch.manual_seed(7)
    assert reseeded, "torch.manual_seed seeds other devices, which nobody seeds back"
    reseeded.clear()
    before = torch.get_rng_state(), random.getstate(), np.random.get_state()[1].copy()  # noqa: NPY002
    first, again, other = (make(name, epochs=2, random_state=s).fit(X, y, adjacency=A) for s in (1, 1, 2))
    assert torch.equal(torch.get_rng_state(), before[0])
    assert random.getstate() == before[1]
    np.testing.assert_array_equal(np.random.get_state()[1], before[2])  # noqa: NPY002
    assert reseeded == []
    np.testing.assert_array_equal(first.label_distributions_, again.label_distributions_)
    assert not np.array_equal(first.label_distributions_, other.label_distributions_)
    assert (kept[0] != X).nnz == 0
    assert (kept[1] != A).nnz == 0
    np.testing.assert_array_equal(y, kept[2])
    # on the graph of fit, predictions are those of fit
    np.testing.assert_allclose(first.predict_proba(X, adjacency=A), first.label_distributions_, rtol=1e-5)
    cloned = clone(first).fit(X, y, adjacency=A)
    np.testing.assert_array_equal(cloned.label_distributions_, first.label_distributions_)


@pytest.mark.parametrize("name", DROPPING)
def test_dropped_links_change_training_only(name, blocks):
    X, A, truth, y = blocks
    plain = make(name, epochs=2, dropout=0.0).fit(X, y, adjacency=A)
    dropped = make(name, epochs=2, dropout=0.0, drop_edge=0.5).fit(X, y, adjacency=A)
    assert plain.loss_curve_[0] != dropped.loss_curve_[0]
    model = make(name, epochs=30, learning_rate=0.05, drop_edge=0.3).fit(X, y, adjacency=A)
    assert (model.transduction_ == truth).mean() > 0.9
    np.testing.assert_array_equal(model.predict(X, adjacency=A), model.transduction_)


def test_eigenvectors_belong_to_the_graph_of_fit(blocks):
    X, A, _, y = blocks
    order = np.random.default_rng(0).permutation(60)
    with pytest.raises(ValueError, match="EigenGCN predicts only the graph of its fit"):
        make("EigenGCN", epochs=1).fit(X, y, adjacency=A).predict(X, adjacency=A[order][:, order])


@pytest.mark.parametrize(
    ("name", "decayed"),
    [
        ("GCN", {"convs.0.bias", "convs.0.lin.weight"}),
        ("APPNP", {"perceptron.first.weight"}),
        ("GCNII", {f"convs.{k}.weight1" for k in range(16)}),
    ],
)
def test_weight_decay_is_on_what_the_publication_says(name, decayed):
    network = build(name)(6, 2)
    names = {id(weight): key for key, weight in network.named_parameters()}
    groups = network.parameter_groups(0.25)
    with_decay = {
        names[id(w)] for group in groups if group.get("weight_decay") == 0.25 for w in group["params"]
    }
    assert with_decay == decayed
    assert sorted(names[id(w)] for group in groups for w in group["params"]) == sorted(names.values())


@pytest.mark.parametrize(
    ("name", "params", "message"),
    [
        ("GCN", {"dropout": 1.0}, "GCN: dropout must be a number from 0"),
        ("DeepGCN", {"drop_edge": -0.1}, "drop_edge"),
        ("GCN", {"hidden": 0}, "hidden"),
        ("GNNLF", {"mu": 0.2}, "mu"),
        ("JKNet", {"depth": 1}, "depth"),
        ("GraphSAGE", {"aggregator": "max"}, "aggregator"),
        ("GCN", {"learning_rate": 1e30, "epochs": 20, "dropout": 0.0}, "learning_rate"),
    ],
)
def test_bad_settings_are_named(name, params, message, blocks):
    X, A, _, y = blocks
    with pytest.raises(ValueError, match=message):
        make(name, **params).fit(X, y, adjacency=A)


def test_unknown_names_are_refused():
    with pytest.raises(ValueError, match="there is no network 'DeepMagic' here: there are ACMP,"):
        classifier("DeepMagic")
    with pytest.raises(ValueError, match="GCN has no parameter 'heads': it has"):
        classifier("GCN", heads=3)
    with pytest.raises(ValueError, match="GCN has no parameter 'epochs'"):
        build("GCN", epochs=3)


@pytest.mark.parametrize("name", NETWORKS)
def test_parameters_reach_the_network_or_its_training(name):
    known = parameters(name)
    model = classifier(name, **known)
    training = set(inspect.signature(type(model)).parameters)
    for key in known:
        value = getattr(model, key) if key in training else model.module.keywords[key]
        assert value == known[key]
    assert classifier(name).epochs == known["epochs"]
    assert {"hidden", "dropout"} <= known.keys() - training
    assert ("depth" in known) == (name != "MLP")


def test_networks_are_not_loaded_before_they_are_used():
    code = "import sys, gssl; gssl.torch.__all__; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
