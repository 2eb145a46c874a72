"""Training of networks: labels, optimizer steps and number of epochs."""

import copy

import numpy as np
import pytest
from scipy.sparse import csr_array

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("torch_geometric", reason="torch-geometric is not installed")

from tests.torch.networks import Scores, make  # noqa: E402
from torch.nn.functional import cross_entropy  # noqa: E402

from gssl.scale.progress import watching  # noqa: E402


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
    y[held_out] = 1 - truth[held_out]  # wrong labels, which become less likely as the network learns
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


def test_progress_is_told(blocks):
    X, A, _, y = blocks
    reported = []
    with watching(lambda done, total: reported.append((done, total))):
        make(epochs=3).fit(X, y, adjacency=A)
    assert reported == [(1, 3), (2, 3), (3, 3)]
