"""One estimator trains any network of PyTorch Geometric's shape."""

import copy
import pickle

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("torch_geometric", reason="torch-geometric is not installed")

from torch.nn.functional import cross_entropy  # noqa: E402
from torch_geometric.nn import GAT, GCN, GraphSAGE  # noqa: E402

from gssl.scale.execution import watching  # noqa: E402
from gssl.torch import NetworkClassifier, sharpen, start_from_identity, supervise  # noqa: E402


class SmallGCN(GCN):
    """A class is a function that makes networks, too, and one whose name does not change."""

    def __init__(self, n_features, n_classes):
        super().__init__(n_features, 16, 2, n_classes, dropout=0.5)


def make(module=SmallGCN, **params):
    return NetworkClassifier(module, **{"random_state": 0, **params})


class Scores(torch.nn.Module):
    """The plainest network: one weight for each feature and class, and what it was called with."""

    accepts_sparse = False

    def __init__(self, n_features, n_classes):
        super().__init__()
        self.linear = torch.nn.Linear(n_features, n_classes)
        self.seen = []

    def forward(self, x, edge_index):
        self.seen.append((x, edge_index))
        return self.linear(x)


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


def test_training_is_adam_on_cross_entropy(blocks):
    X, A, _, y = blocks
    x, labelled = torch.tensor(X, dtype=torch.float32), torch.tensor(np.flatnonzero(y >= 0))
    torch.manual_seed(0)
    module = Scores(6, 2)
    twin = copy.deepcopy(module)
    model = make(module, epochs=5, learning_rate=0.1, weight_decay=0.01).fit(X, y, adjacency=A)
    optimizer = torch.optim.Adam(twin.parameters(), lr=0.1, weight_decay=0.01)
    losses = []
    for _ in range(5):
        optimizer.zero_grad()
        loss = cross_entropy(twin.linear(x)[labelled], torch.tensor(y)[labelled])
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    np.testing.assert_allclose(model.loss_curve_, losses, rtol=1e-5)
    P = torch.softmax(twin.linear(x), dim=1).detach().numpy()
    np.testing.assert_allclose(model.label_distributions_, P, atol=1e-5)


def test_a_network_may_have_its_own_loss_and_groups(blocks):
    X, A, _, y = blocks

    class Own(Scores):
        def loss(self, x, edge_index, nodes, codes):
            self.given = nodes, codes
            return cross_entropy(self(x, edge_index)[nodes], codes) + 7.0

        def parameter_groups(self, weight_decay):
            self.weight_decay = weight_decay
            return [{"params": [self.linear.weight], "lr": 0.0}, {"params": [self.linear.bias]}]

    torch.manual_seed(0)
    module = Own(6, 2)
    model = make(module, epochs=2, weight_decay=0.25).fit(X, y, adjacency=A, validation=[0, 30])
    network = model.network_
    assert network.given[0].tolist() == [1, 2, 3, 4, 31, 32, 33, 34]
    assert network.given[1].tolist() == [0] * 4 + [1] * 4
    assert model.loss_curve_.min() > 7.0 > model.validation_curve_.max()
    assert network.weight_decay == 0.25
    assert torch.equal(network.linear.weight, module.linear.weight)
    assert not torch.equal(network.linear.bias, module.linear.bias)


def test_a_network_sees_dense_features_and_an_edge_index(blocks):
    X, A, _, y = blocks
    model = make(Scores, epochs=1).fit(csr_array(X), y, adjacency=A)
    x, edge_index = model.network_.seen[0]
    torch.testing.assert_close(x, torch.tensor(X, dtype=torch.float32))
    assert edge_index.dtype == torch.long
    np.testing.assert_array_equal(
        csr_array((np.ones(A.nnz), edge_index.numpy()), A.shape).toarray(), A.toarray()
    )

    class Sparse(Scores):
        accepts_sparse = True

        def forward(self, x, edge_index):
            self.seen.append((x, edge_index))
            return x @ self.linear.weight.T + self.linear.bias

    same = make(Sparse, epochs=1).fit(csr_array(X), y, adjacency=A)
    assert same.network_.seen[0][0].layout == torch.sparse_csr
    np.testing.assert_allclose(same.label_distributions_, model.label_distributions_, atol=1e-6)
    double = make(lambda d, c: Scores(d, c).double(), epochs=1).fit(X, y, adjacency=A)
    assert double.network_.seen[0][0].dtype == torch.float64


def test_weights_of_links_go_to_networks_that_take_them(blocks):
    X, A, _, y = blocks
    heavy = A.copy()
    heavy.data[:] = 3.0
    taking = [make(epochs=2).fit(X, y, adjacency=each).label_distributions_ for each in (A, heavy)]
    assert np.abs(taking[0] - taking[1]).max() > 1e-4
    blind = [make(Scores, epochs=2).fit(X, y, adjacency=each).label_distributions_ for each in (A, heavy)]
    np.testing.assert_array_equal(*blind)


def test_validation_chooses_the_epoch_and_stops(blocks):
    X, A, truth, y = blocks
    held_out = np.array([10, 11, 40, 41])
    y = y.copy()
    y[held_out] = 1 - truth[held_out]  # wrong labels: what is learnt makes them less likely
    model = make(epochs=200, patience=5).fit(X, y, adjacency=A, validation=held_out)
    curve = model.validation_curve_
    assert model.best_epoch_ == curve.argmin() + 1
    assert model.n_iter_ == len(curve) == model.best_epoch_ + 5 < 200
    # the network is that of the best epoch, not of the last
    P = model.label_distributions_[held_out, y[held_out]]
    assert -np.log(P).mean() == pytest.approx(curve.min(), rel=1e-4)
    same = make(epochs=model.best_epoch_, patience=None).fit(X, y, adjacency=A, validation=held_out)
    np.testing.assert_allclose(same.label_distributions_, model.label_distributions_, rtol=1e-5)


def test_validation_labels_train_nothing(blocks):
    X, A, truth, y = blocks
    wrong, right = y.copy(), y.copy()
    held_out = [10, 40]
    right[held_out], wrong[held_out] = truth[held_out], 1 - truth[held_out]
    fits = [make(epochs=5).fit(X, labels, adjacency=A, validation=held_out) for labels in (right, wrong)]
    np.testing.assert_array_equal(fits[0].loss_curve_, fits[1].loss_curve_)


def test_other_graphs_and_texts(blocks):
    X, A, _, y = blocks
    names = np.array(["left", "right"], dtype=object)
    labels = np.where(y < 0, None, names[y])
    model = make(epochs=60, learning_rate=0.02).fit(X, labels, adjacency=A)
    order = np.random.default_rng(0).permutation(60)
    predicted = model.predict(X[order], adjacency=A[order][:, order])
    np.testing.assert_array_equal(predicted, model.transduction_[order])


def test_progress_is_told(blocks):
    X, A, _, y = blocks
    told = []
    with watching(lambda done, total: told.append((done, total))):
        make(epochs=3).fit(X, y, adjacency=A)
    assert told == [(1, 3), (2, 3), (3, 3)]


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
    # a validation label may choose another epoch, so there is one
    model, other = (
        make(plugged, epochs=1).fit(X, labels, adjacency=A, validation=held_out) for labels in (y, wrong)
    )
    np.testing.assert_array_equal(other.label_distributions_, model.label_distributions_)
    guide = model.network_.convs[0].guide
    training = np.setdiff1d(np.flatnonzero(y >= 0), held_out)
    assert sorted(guide.nodes.tolist()) == training.tolist()
    np.testing.assert_array_equal(y[guide.nodes.numpy()], guide.labels.numpy())
    # half of the labels are hidden in each epoch, and the loss is taken on these
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
        ({"module": lambda d, c: 3}, r"module made 3, which is no torch\.nn\.Module"),
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


def test_seb_is_plugged_in_once(blocks):
    X, A, _, y = blocks
    network = plugged(6, 2)
    network.convs = supervise(network.convs)
    with pytest.raises(ValueError, match="the network has 2 guides"):
        make(network).fit(X, y, adjacency=A)


def test_validation_has_to_leave_classes(blocks):
    X, A, _, y = blocks
    with pytest.raises(ValueError, match="fewer than two classes"):
        make().fit(X, y, adjacency=A, validation=np.flatnonzero(y == 0))
    with pytest.raises(ValueError, match="has no label"):
        make().fit(X, y, adjacency=A, validation=[20])


EXCUSED = {"check_classifiers_classes": "it names a class −1, which here means unlabelled"}


@parametrize_with_checks(
    [NetworkClassifier(SmallGCN, learning_rate=0.1, epochs=15, random_state=0)],
    expected_failed_checks=lambda estimator: EXCUSED,
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)
