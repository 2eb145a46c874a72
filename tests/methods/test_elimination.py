"""Label propagation on long, thin graphs: exact by elimination."""

import numpy as np
import pytest
from scipy.sparse import block_diag, csr_array, diags_array, eye_array, kron
from sklearn.exceptions import ConvergenceWarning

import gssl
from gssl.methods.elimination import eliminate, thin_order


def path(n, weights=None):
    weights = np.ones(n - 1) if weights is None else weights
    return csr_array(diags_array([weights, weights], offsets=[-1, 1]))


def ladder(n, width):
    return csr_array(kron(path(n), eye_array(width)) + kron(eye_array(n), path(width)))


def ends(n):
    y = np.full(n, -1)
    y[[0, -1]] = 0, 1
    return y


def test_on_a_path_of_100_000_nodes_probabilities_rise_evenly_from_end_to_end():
    n = 100_000
    model = gssl.LabelPropagation(class_mass=False).fit(None, ends(n), adjacency=path(n))
    np.testing.assert_allclose(model.label_distributions_[:, 1], np.linspace(0, 1, n), atol=1e-8)
    assert model.n_iter_ == 1


def test_weights_divide_a_path_as_resistances_do():
    weights = np.random.default_rng(0).uniform(0.1, 10.0, 999)
    model = gssl.LabelPropagation(class_mass=False).fit(None, ends(1000), adjacency=path(1000, weights))
    risen = np.concatenate([[0.0], np.cumsum(1 / weights)])
    np.testing.assert_allclose(model.label_distributions_[:, 1], risen / risen[-1], atol=1e-9)


def test_any_order_of_nodes_gives_the_same():
    A, y = ladder(600, 5), ends(3000)
    order = np.random.default_rng(1).permutation(3000)
    first = gssl.LabelPropagation().fit(None, y, adjacency=A)
    other = gssl.LabelPropagation().fit(None, y[order], adjacency=A[order][:, order])
    assert first.n_iter_ == other.n_iter_ == 1
    np.testing.assert_allclose(other.label_distributions_, first.label_distributions_[order], atol=1e-9)


def test_elimination_solves_the_equation_of_dense_algebra():
    A, free = ladder(30, 3), np.arange(3, 90)
    links, degrees = A[free][:, free], np.asarray(A.sum(axis=1))[free]
    B = csr_array(A[free][:, :3])
    near = np.flatnonzero(np.diff(B.indptr))
    order = thin_order(links, near, far=20)
    expected = np.linalg.solve(np.diag(degrees) - links.toarray(), B.toarray())
    np.testing.assert_allclose(eliminate(links, degrees, B, order), expected, atol=1e-12)
    # labels have not far to go, or elimination would fill the matrix
    assert thin_order(links, near, far=40) is None
    assert thin_order(links, near, far=20, fill=0) is None


def test_a_clique_at_the_end_of_a_path_does_not_prevent_it():
    clique = np.ones((100, 100)) - np.eye(100)
    A = csr_array(block_diag([clique, path(900)])).tolil()
    A[99, 100] = A[100, 99] = 1.0
    model = gssl.LabelPropagation(class_mass=False).fit(None, ends(1000), adjacency=csr_array(A))
    assert model.n_iter_ == 1
    np.testing.assert_allclose(model.label_distributions_[100:, 1], np.linspace(1, 901, 900) / 901, atol=1e-3)


def test_weights_lost_in_rounding_are_left_to_iterations_and_said():
    weights = np.ones(999)
    weights[[300, 600]] = 1e-30
    with pytest.warns(ConvergenceWarning, match="LabelPropagation has not settled"):
        model = gssl.LabelPropagation(max_iter=50).fit(None, ends(1000), adjacency=path(1000, weights))
    assert np.isfinite(model.label_distributions_).all()
