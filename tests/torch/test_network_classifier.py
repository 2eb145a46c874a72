"""NetworkClassifier trains any network with PyTorch Geometric's interface."""

import copy
import pickle

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("torch_geometric", reason="torch-geometric is not installed")

from tests.contract.test_scikit_learn import excused  # noqa: E402
from tests.torch.networks import Scores, SmallGCN, make  # noqa: E402
from torch_geometric.nn import GAT, GCN, GraphSAGE  # noqa: E402

from gssl.torch import NetworkClassifier, sharpen, start_from_identity, supervise  # noqa: E402


@pytest.mark.parametrize("kind", [GCN, GraphSAGE, GAT])
def test_networks_of_pyg_tell_two_blocks_apart(kind, blocks):
    X, A, truth, y = blocks
    model = make(lambda d, c: kind(d, 16, 2, c, dropout=0.5), epochs=30, learning_rate=0.05).fit(
        X, y, adjacency=A
    )
    assert (model.transduction_ == truth).mean() > 0.9
    np.testing.assert_allclose(model.label_distributions_.sum(axis=1), 1.0)
    assert model.n_iter_ == model.best_epoch_ == 30
    assert model.loss_curve_[-5:].mean() < model.loss_curve_[:5].mean()


def test_a_seed_repeats_a_fit_and_nothing_is_touched(blocks):
    X, A, _, y = blocks
    X = csr_array(np.where(X > 0.3, X, 0.0))
    kept = X.copy(), A.copy(), y.copy()
    torch.manual_seed(7)
    before = torch.get_rng_state()
    first, again, other = (make(epochs=2, random_state=s).fit(X, y, adjacency=A) for s in (1, 1, 2))
    assert torch.equal(torch.get_rng_state(), before)
    np.testing.assert_array_equal(first.label_distributions_, again.label_distributions_)
    assert not np.array_equal(first.label_distributions_, other.label_distributions_)
    assert (kept[0] != X).nnz == 0
    assert (kept[1] != A).nnz == 0
    np.testing.assert_array_equal(y, kept[2])
    # on the graph of fit, predictions are those of fit
    np.testing.assert_allclose(first.predict_proba(X, adjacency=A), first.label_distributions_, rtol=1e-5)
    assert clone(first).get_params() == first.get_params()


def test_a_module_is_copied_and_trained_from_its_weights(blocks):
    X, A, _, y = blocks
    torch.manual_seed(0)
    module = SmallGCN(6, 2)
    before = copy.deepcopy(module.state_dict())
    model = make(module, epochs=3).fit(X, y, adjacency=A)
    assert all(torch.equal(value, before[name]) for name, value in module.state_dict().items())
    assert not torch.equal(model.network_.convs[0].lin.weight, before["convs.0.lin.weight"])
    still = make(module, epochs=1, learning_rate=0.0, random_state=5).fit(X, y, adjacency=A)
    assert torch.equal(still.network_.convs[0].lin.weight, before["convs.0.lin.weight"])
    cloned = clone(model).fit(X, y, adjacency=A)
    np.testing.assert_array_equal(cloned.label_distributions_, model.label_distributions_)
    again = pickle.loads(pickle.dumps(model))  # noqa: S301
    np.testing.assert_array_equal(again.predict(X, adjacency=A), model.transduction_)


def test_other_graphs_and_texts(blocks):
    X, A, _, y = blocks
    names = np.array(["left", "right"], dtype=object)
    labels = np.where(y < 0, None, names[y])
    model = make(epochs=60, learning_rate=0.02).fit(X, labels, adjacency=A)
    order = np.random.default_rng(0).permutation(60)
    predicted = model.predict(X[order], adjacency=A[order][:, order])
    np.testing.assert_array_equal(predicted, model.transduction_[order])


def plugged(n_features, n_classes, igc=True):
    network = GCN(n_features, 4, 4, n_classes)
    start_from_identity(network.convs)
    if igc:
        network.convs = sharpen(network.convs)
    network.convs = supervise(network.convs, eta_sup=0.3, decay=1.0, loss="cross_entropy")
    return network


def test_seb_sees_the_labels_that_train_and_no_others(blocks):
    X, A, truth, y = blocks
    y, held_out = y.copy(), [10, 40]
    y[held_out] = truth[held_out]
    wrong = y.copy()
    wrong[held_out] = 1 - wrong[held_out]
    # one epoch, because validation labels may choose another
    model, other = (
        make(plugged, epochs=1).fit(X, labels, adjacency=A, validation=held_out) for labels in (y, wrong)
    )
    np.testing.assert_array_equal(other.label_distributions_, model.label_distributions_)
    guide = model.network_.convs[0].guide
    training = np.setdiff1d(np.flatnonzero(y >= 0), held_out)
    assert sorted(guide.nodes.tolist()) == training.tolist()
    np.testing.assert_array_equal(y[guide.nodes.numpy()], guide.labels.numpy())
    # half of the labels are hidden in each epoch, and the loss is computed on these
    hidden, hide = [], type(guide).hide
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(guide), "hide", lambda *given: hidden.append(hide(*given)) or hidden[-1])
        make(plugged, epochs=2).fit(X, y, adjacency=A, validation=held_out)
    assert [len(nodes) for nodes in hidden] == [5, 0, 5, 0]


def test_on_another_graph_seb_moves_nothing_and_remembers(blocks):
    X, A, _, y = blocks
    model = make(lambda d, c: plugged(d, c, igc=False), epochs=3).fit(X, y, adjacency=A)
    unmoved = model.predict_proba(X, adjacency=A)
    assert np.abs(unmoved - model.label_distributions_).max() > 1e-4
    assert len(model.network_.convs[0].guide.nodes) == 10


def test_a_sharpened_network_sees_each_graph_as_it_is(blocks):
    X, A, _, y = blocks
    model = make(plugged, epochs=3).fit(X, y, adjacency=A)
    order = np.random.default_rng(0).permutation(60)
    here = model.predict_proba(X, adjacency=A)
    there = model.predict_proba(X[order], adjacency=A[order][:, order])
    np.testing.assert_allclose(there, here[order], atol=1e-5)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"module": 3}, r"module must be a torch\.nn\.Module, or a function .* not 3"),
        ({"module": lambda d, c: 3}, r"module returned 3: expected a torch\.nn\.Module"),
        ({"module": torch.nn.Identity()}, "Identity has no parameters to train"),
        (
            {"module": lambda d, c: SmallGCN(d, c + 1)},
            r"shape \(60, 3\) for 60 nodes and 2 classes",
        ),
        ({"epochs": 0}, "epochs must be a whole number from 1 on"),
        ({"weight_decay": -1.0}, "weight_decay"),
        ({"patience": 0}, "patience"),
        ({"module": Scores, "learning_rate": 1e30, "epochs": 20}, "lower learning_rate"),
    ],
)
def test_bad_settings_are_named(params, message, blocks):
    X, A, _, y = blocks
    with pytest.raises(ValueError, match=message):
        make(**params).fit(X, y, adjacency=A)


def test_labels_that_cannot_be_trained_on_are_named(blocks):
    X, A, _, y = blocks
    network = plugged(6, 2)
    network.convs = supervise(network.convs)
    with pytest.raises(ValueError, match="the network has 2 guides"):
        make(network).fit(X, y, adjacency=A)
    with pytest.raises(ValueError, match="fewer than two classes"):
        make().fit(X, y, adjacency=A, validation=np.flatnonzero(y == 0))
    with pytest.raises(ValueError, match="has no label"):
        make().fit(X, y, adjacency=A, validation=[20])


@parametrize_with_checks(
    [NetworkClassifier(SmallGCN, learning_rate=0.1, epochs=15, random_state=0)],
    expected_failed_checks=excused,
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)
