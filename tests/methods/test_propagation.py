"""Label spreading and propagation agree with dense algebra, also on graphs with long distances."""

import warnings

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.semi_supervised import LabelPropagation, LabelSpreading
from tests.methods.dense import one_hot

import gssl
from gssl.methods.propagation import nearest_nodes


def path(n):
    steps = np.arange(n - 1)
    A = csr_array((np.ones(n - 1), (steps, steps + 1)), shape=(n, n))
    return A + A.T


def ring_of_cliques(n_cliques, size):
    """Cliques in a ring, each linked to the next by one edge."""
    clique = np.kron(np.eye(n_cliques), np.ones((size, size)) - np.eye(size))
    for k in range(n_cliques):
        here, there = k * size, (k + 1) % n_cliques * size + 1
        clique[here, there] = clique[there, here] = 1
    return clique


def dense_spreading(A, y, alpha):
    D = A.sum(axis=1)
    Y = np.eye(y.max() + 1)[y] * (y >= 0)[:, None]
    return (1 - alpha) * np.linalg.solve(np.eye(len(A)) - alpha * A / np.sqrt(np.outer(D, D)), Y)


def test_on_a_long_path_every_node_is_reached_and_takes_the_nearest_label():
    n = 100_000
    y = np.full(n, -1)
    y[[0, n - 1]] = [0, 1]
    model = gssl.LabelSpreading().fit(None, y, adjacency=path(n))
    assert model.n_iter_ <= 200
    assert model.reached_.all()
    assert model.informed_.all()
    # the middle is equally far from both labels
    assert (model.transduction_[: n // 2 - 1] == 0).all()
    assert (model.transduction_[n // 2 + 1 :] == 1).all()


def test_on_a_ring_of_cliques_the_classes_are_those_of_dense_algebra():
    A = ring_of_cliques(200, 5)
    y = np.full(1000, -1)
    y[[0, 330, 700]] = [0, 1, 2]
    model = gssl.LabelSpreading().fit(None, y, adjacency=A)
    F = dense_spreading(A, y, 0.9)
    told = F.max(axis=1) > 1e-14  # smaller values of the dense solution are rounding errors
    assert model.n_iter_ <= 200
    assert told.sum() > 100
    np.testing.assert_array_equal(model.transduction_[told], F[told].argmax(axis=1))
    assert model.reached_.all()
    # each clique has the class of the nearest label, by hops around the ring
    away = np.abs(np.arange(200)[:, None] - np.array([0, 66, 140]))
    nearest = np.minimum(away, 200 - away).argmin(axis=1)
    agreed = (model.transduction_.reshape(200, 5) == nearest[:, None]).all(axis=1)
    assert agreed.mean() > 0.97


@pytest.mark.parametrize("spread", [0.01, 0.5, 0.9, 0.99, 0.999])
def test_every_distribution_is_within_tolerance_of_the_fixed_point(spread):
    rng = np.random.default_rng(0)
    A = np.triu(rng.random((300, 300)) < 0.02, k=1) * rng.random((300, 300))
    A += A.T
    y = np.full(300, -1)
    y[rng.permutation(300)[:18]] = np.arange(18) % 9
    model = gssl.LabelSpreading(spread).fit(None, y, adjacency=A)
    kept = np.flatnonzero(model.reached_)
    F = dense_spreading(A[np.ix_(kept, kept)], y[kept], spread)
    np.testing.assert_allclose(model.label_distributions_[kept], F / F.sum(axis=1, keepdims=True), atol=3e-5)


def test_too_few_iterations_are_said():
    y = np.full(50, -1)
    y[[0, -1]] = [0, 1]
    with pytest.warns(UserWarning, match="raise max_iter"):
        gssl.LabelSpreading(max_iter=5).fit(None, y, adjacency=path(50))
    with pytest.warns(UserWarning, match="raise max_iter"):
        gssl.LabelPropagation(max_iter=5).fit(None, y, adjacency=path(50))


@pytest.mark.parametrize("n_classes", [3, 12])
def test_the_harmonic_function_comes_out_of_a_few_combinations_of_the_classes(n_classes):
    """It also holds at the end of a long path, where single precision is not enough."""
    n = 1500
    A = path(n).toarray()
    rng = np.random.default_rng(1)
    links = rng.integers(0, 500, (2, 900))
    A[links[0], links[1]] = A[links[1], links[0]] = 1
    np.fill_diagonal(A, 0)
    y = np.full(n, -1)
    y[rng.permutation(500)[: 2 * n_classes]] = np.arange(2 * n_classes) % n_classes
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = gssl.LabelPropagation(class_mass=False).fit(None, y, adjacency=A)
    free = y < 0
    L = np.diag(A.sum(axis=1)) - A
    Y = np.eye(n_classes)[y[~free]]
    expected = np.linalg.solve(L[np.ix_(free, free)], A[np.ix_(free, ~free)] @ Y)
    np.testing.assert_allclose(model.label_distributions_[free], expected, atol=2e-3)


def test_free_nodes_without_links_between_them_take_one_step():
    star = np.zeros((4, 4))
    star[0, 1:] = star[1:, 0] = 1
    model = gssl.LabelPropagation(class_mass=False).fit(None, [-1, 0, 1, 1], adjacency=star)
    np.testing.assert_allclose(model.label_distributions_[0], [1 / 3, 2 / 3], rtol=1e-6)
    assert model.n_iter_ == 1


def test_the_nearest_of_the_other_nodes_is_found_in_hops():
    A = path(9)
    np.testing.assert_array_equal(nearest_nodes(A, np.array([2, 3, 4, 5, 6])), [1, 1, 1, 7, 7])
    np.testing.assert_array_equal(nearest_nodes(A, np.array([6, 7, 8])), [5, 5, 5])


def test_label_spreading(random_problem):
    A, y = random_problem.A, random_problem.y
    D = A.sum(axis=1)
    S = A / np.sqrt(np.outer(D, D))
    F = (1 - 0.8) * np.linalg.inv(np.eye(len(A)) - 0.8 * S) @ one_hot(y)
    model = gssl.LabelSpreading(spread=0.8, tol=1e-14).fit(None, y, adjacency=A)
    np.testing.assert_allclose(model.label_distributions_, F / F.sum(axis=1, keepdims=True), atol=1e-12)
    theirs = LabelSpreading(kernel=lambda X, Y: A, alpha=0.8, max_iter=1000, tol=1e-14)
    theirs.fit(random_problem.X, y)
    np.testing.assert_allclose(model.label_distributions_, theirs.label_distributions_, atol=1e-10)
    np.testing.assert_array_equal(model.transduction_, theirs.transduction_)


def test_label_propagation(random_problem):
    """The result is the harmonic solution L_uu F_u = A_ul Y_l, with given labels unchanged."""
    A, y = random_problem.A, random_problem.y
    known = y >= 0
    L = np.diag(A.sum(axis=1)) - A
    expected = one_hot(y)
    expected[~known] = np.linalg.solve(
        L[np.ix_(~known, ~known)], A[np.ix_(~known, known)] @ one_hot(y)[known]
    )
    model = gssl.LabelPropagation(tol=1e-14, class_mass=False).fit(None, y, adjacency=A)
    np.testing.assert_allclose(model.label_distributions_, expected, atol=1e-11)
    theirs = LabelPropagation(kernel=lambda X, Y: A, max_iter=10_000, tol=1e-14)
    theirs.fit(random_problem.X, y)
    np.testing.assert_allclose(model.label_distributions_, theirs.label_distributions_, atol=1e-10)


def test_label_spreading_is_at_its_fixed_point_far_from_labels():
    """The labels of the ends of a path are weak in the middle, but still determine the class."""
    n, alpha = 60, 0.9
    A = np.eye(n, k=1) + np.eye(n, k=-1)
    y = np.full(n, -1)
    y[[0, -1]] = [0, 1]
    D = A.sum(axis=1)
    F = np.linalg.solve(np.eye(n) - alpha * A / np.sqrt(np.outer(D, D)), np.eye(2)[y] * (y >= 0)[:, None])
    model = gssl.LabelSpreading(alpha).fit(None, y, adjacency=A)
    np.testing.assert_allclose(model.label_distributions_, F / F.sum(axis=1, keepdims=True), atol=0.01)


def test_class_mass_gives_every_class_its_share_of_all_nodes(random_problem):
    A, y = random_problem.A, random_problem.y
    plain = gssl.LabelPropagation(tol=1e-14, class_mass=False).fit(None, y, adjacency=A)
    scaled = gssl.LabelPropagation(tol=1e-14).fit(None, y, adjacency=A)
    free = y < 0
    F = plain.label_distributions_[free]
    counts = np.bincount(y[~free])
    expected = F * counts / (F.sum(axis=0) + counts)
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(scaled.label_distributions_[free], expected, rtol=1e-10)
    np.testing.assert_array_equal(scaled.transduction_[~free], y[~free])


def test_many_classes_cost_no_square_of_their_number():
    n = 4000
    steps = np.arange(n - 1)
    A = csr_array((np.ones(n - 1), (steps, steps + 1)), shape=(n, n))
    y = np.where(np.arange(n) % 2 == 0, np.arange(n) // 2, -1)
    model = gssl.LabelPropagation().fit(None, y, adjacency=A + A.T)
    assert len(model.classes_) == 2000
    assert (model.transduction_[::2] == y[::2]).all()
