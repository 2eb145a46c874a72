"""What every deep classifier promises."""

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array
from sklearn.base import clone

import gssl
from gssl.methods.base import watching

NAMES = (
    "APPNP",
    "ChebNetII",
    "EigenGCN",
    "FastGCN",
    "GAT",
    "GCN",
    "GCNII",
    "GNNHF",
    "GNNLF",
    "GRAND",
    "GraphSAGE",
    "Incep",
    "JKNet",
)
# so that little data and few epochs are enough
SETTINGS = {
    "ChebNetII": {"filter_dropout": 0.2, "filter_learning_rate": 0.1},
    "EigenGCN": {"eigenvectors": 4},
    "GCNII": {"depth": 4},
    "GRAND": {"samples": 2, "depth": 2, "drop_node": 0.2, "input_dropout": 0.2},
    "FastGCN": {"samples": 30},
}
DROPPING = ("GCN", "JKNet", "Incep")


def make(name, **params):
    return getattr(gssl.torch, name)(**{"random_state": 0, **SETTINGS.get(name, {}), **params})


@pytest.mark.parametrize("name", NAMES)
def test_two_blocks_are_told_apart(name, blocks):
    X, A, truth, y = blocks
    model = make(name, epochs=30, learning_rate=0.05).fit(X, y, adjacency=A)
    assert (model.transduction_ == truth).mean() > 0.9
    np.testing.assert_allclose(model.label_distributions_.sum(axis=1), 1.0)
    assert model.n_iter_ == model.best_epoch_ == 30
    assert model.loss_curve_[-5:].mean() < model.loss_curve_[:5].mean()


@pytest.mark.parametrize("name", NAMES)
def test_a_seed_repeats_a_fit_and_nothing_is_touched(name, blocks):
    X, A, _, y = blocks
    X = csr_array(np.where(X > 0.3, X, 0.0))
    kept = X.copy(), A.copy(), y.copy()
    torch.manual_seed(7)
    before = torch.get_rng_state()
    first, again, other = (make(name, epochs=2, random_state=s).fit(X, y, adjacency=A) for s in (1, 1, 2))
    assert torch.equal(torch.get_rng_state(), before)
    np.testing.assert_array_equal(first.label_distributions_, again.label_distributions_)
    assert not np.array_equal(first.label_distributions_, other.label_distributions_)
    assert (kept[0] != X).nnz == 0
    assert (kept[1] != A).nnz == 0
    np.testing.assert_array_equal(y, kept[2])
    # on the graph of fit, predictions are those of fit
    np.testing.assert_allclose(first.predict_proba(X, adjacency=A), first.label_distributions_, rtol=1e-5)
    assert clone(first).get_params() == first.get_params()


@pytest.mark.parametrize("name", DROPPING)
def test_dropped_links_change_training_only(name, blocks):
    X, A, truth, y = blocks
    plain = make(name, epochs=2, dropout=0.0).fit(X, y, adjacency=A)
    dropped = make(name, epochs=2, dropout=0.0, drop_edge=0.5).fit(X, y, adjacency=A)
    assert plain.loss_curve_[0] != dropped.loss_curve_[0]
    model = make(name, epochs=30, learning_rate=0.05, drop_edge=0.3).fit(X, y, adjacency=A)
    assert (model.transduction_ == truth).mean() > 0.9
    np.testing.assert_array_equal(model.predict(X, adjacency=A), model.transduction_)


def test_validation_chooses_the_epoch_and_stops(blocks):
    X, A, truth, y = blocks
    held_out = np.array([10, 11, 40, 41])
    y = y.copy()
    y[held_out] = 1 - truth[held_out]  # wrong labels: what is learnt makes them less likely
    model = make("GCN", epochs=200, patience=5).fit(X, y, adjacency=A, validation=held_out)
    curve = model.validation_curve_
    assert model.best_epoch_ == curve.argmin() + 1
    assert model.n_iter_ == len(curve) == model.best_epoch_ + 5 < 200
    # the network is that of the best epoch, not of the last
    P = model.label_distributions_[held_out, y[held_out]]
    assert -np.log(P).mean() == pytest.approx(curve.min(), rel=1e-4)
    same = make("GCN", epochs=model.best_epoch_, patience=None).fit(X, y, adjacency=A, validation=held_out)
    np.testing.assert_allclose(same.label_distributions_, model.label_distributions_, rtol=1e-5)


def test_validation_labels_train_nothing(blocks):
    X, A, truth, y = blocks
    wrong, right = y.copy(), y.copy()
    held_out = [10, 40]
    right[held_out], wrong[held_out] = truth[held_out], 1 - truth[held_out]
    fits = [
        make("GCN", epochs=5).fit(X, labels, adjacency=A, validation=held_out) for labels in (right, wrong)
    ]
    np.testing.assert_array_equal(fits[0].loss_curve_, fits[1].loss_curve_)


def test_other_graphs_and_texts(blocks):
    X, A, _, y = blocks
    names = np.array(["left", "right"], dtype=object)
    labels = np.where(y < 0, None, names[y])
    model = make("GCN", epochs=60, learning_rate=0.02).fit(X, labels, adjacency=A)
    order = np.random.default_rng(0).permutation(60)
    predicted = model.predict(X[order], adjacency=A[order][:, order])
    np.testing.assert_array_equal(predicted, model.transduction_[order])
    with pytest.raises(ValueError, match="EigenGCN predicts only the graph of its fit"):
        make("EigenGCN", epochs=1).fit(X, y, adjacency=A).predict(X, adjacency=A[order][:, order])


def test_progress_is_told(blocks):
    X, A, _, y = blocks
    told = []
    with watching(lambda done, total: told.append((done, total))):
        make("GCN", epochs=3).fit(X, y, adjacency=A)
    assert told == [(1, 3), (2, 3), (3, 3)]


@pytest.mark.parametrize(
    ("name", "params", "message"),
    [
        ("GCN", {"dropout": 1.0}, "dropout"),
        ("GCN", {"drop_edge": -0.1}, "drop_edge"),
        ("GCN", {"hidden": 0}, "hidden"),
        ("GNNLF", {"mu": 0.2}, "mu"),
        ("JKNet", {"mode": "sum"}, "mode"),
        ("JKNet", {"depth": 1}, "depth"),
        ("GraphSAGE", {"aggregator": "lstm"}, "aggregator"),
        ("GCN", {"learning_rate": 1e30, "epochs": 20, "dropout": 0.0}, "learning_rate"),
    ],
)
def test_bad_settings_are_named(name, params, message, blocks):
    X, A, _, y = blocks
    with pytest.raises(ValueError, match=message):
        make(name, **params).fit(X, y, adjacency=A)


def test_validation_has_to_leave_classes(blocks):
    X, A, _, y = blocks
    with pytest.raises(ValueError, match="fewer than two classes"):
        make("GCN").fit(X, y, adjacency=A, validation=np.flatnonzero(y == 0))
    with pytest.raises(ValueError, match="has no label"):
        make("GCN").fit(X, y, adjacency=A, validation=[20])
