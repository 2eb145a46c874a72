"""Named operators agree with dense algebra, without copies of the links."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from gssl.graph import TypedAdjacency, check_adjacency
from gssl.operators import Mixture, mix
from gssl.operators.named import HOPS, TRANSPOSED, directed_operators, named_operators
from gssl.operators.program import Program, Step
from gssl.selection.candidates import GraphOperators, links_of, relation_operators


def test_operators_on_weighted_links():
    rng = np.random.default_rng(0)
    A = np.triu(rng.random((30, 30)) * (rng.random((30, 30)) < 0.2), k=1)
    A[:, 5] = A[5] = 0.0
    A[0, 6], A[0, 1:6], A[0, 7:], A[1:, 6], A[6] = 1e-9, 0.0, 0.0, 0.0, 0.0  # a tiny degree
    A = A + A.T
    degree = A.sum(axis=1)
    s = np.divide(1.0, np.sqrt(degree), out=np.zeros(30), where=degree > 0)
    t = 1.0 / np.sqrt(2.0 + degree)
    T = named_operators(csr_array(A), np.float64)
    hop, high = s[:, None] * A * s, t[:, None] * (2 * np.eye(30) - A) * t
    np.testing.assert_allclose(mix(T["hop"], np.eye(30), HOPS["hop"]), hop, atol=1e-14)
    np.testing.assert_allclose(mix(T["high"], np.eye(30), HOPS["high"]), high, atol=1e-14)


def inverse_root(degrees):
    return np.diag(np.divide(1.0, np.sqrt(degrees), out=np.zeros(len(degrees)), where=degrees > 0))


@pytest.fixture(params=["unweighted", "weighted"])
def R(request):
    rng = np.random.default_rng(3)
    dense = np.where(rng.random((12, 12)) < 0.2, rng.uniform(0.5, 2.0, (12, 12)), 0.0)
    np.fill_diagonal(dense, 0.0)
    dense[4] = dense[:, 7] = 0.0
    return (dense > 0).astype(float) if request.param == "unweighted" else dense


def as_matrix(filters):
    return mix(filters, np.eye(12), Mixture(smooth=1.0))


def test_links_are_followed_in_both_directions(R):
    out = inverse_root(R.sum(axis=1)) @ R @ inverse_root(R.sum(axis=0))
    both = directed_operators(csr_array(R), np.float64)
    np.testing.assert_allclose(as_matrix(both["out"]), out, atol=1e-14)
    np.testing.assert_allclose(as_matrix(both["in"]), out.T, atol=1e-14)


def test_symmetric_links_lead_to_neighbours_in_both_directions(R):
    A = csr_array(R + R.T)
    both, hop = directed_operators(A, np.float64), named_operators(A, np.float64)["hop"]
    for name in ("out", "in"):
        np.testing.assert_allclose(as_matrix(both[name]), as_matrix(hop), atol=1e-14)


def test_a_program_of_directed_links_is_transposed_with_the_transposed_matrices(R):
    both = directed_operators(csr_array(R), np.float64)
    steps = [
        Step(Mixture(smooth=0.7, keep=0.1), gather=Mixture(keep=0.3)),
        Step(Mixture(smooth=1.0), past=0.2),
    ]
    program = Program(steps, start=0.5, keep=0.25)
    for name, other in TRANSPOSED.items():
        if name in both:
            F = program.run(np.eye(12), lambda graph, name=name: both[name])
            transposed = program.transpose().run(np.eye(12), lambda graph, other=other: both[other])
            np.testing.assert_allclose(transposed, F.T, atol=1e-13)


def test_a_relation_is_one_more_name(R):
    S = np.maximum(np.roll(R, 2, axis=1), np.roll(R, 2, axis=1).T)
    np.fill_diagonal(S, 0.0)
    A = check_adjacency({"cites": R, "likes": S}, directed=True)
    names = relation_operators(A)
    assert names == ["out:cites", "in:cites", "smooth:cites", "hop:likes", "smooth:likes"]
    operators = GraphOperators(A, np.float64, 4, names)
    symmetric = np.maximum(R, R.T)
    loops = symmetric + np.eye(12)
    expected = {
        "out:cites": inverse_root(R.sum(axis=1)) @ R @ inverse_root(R.sum(axis=0)),
        "smooth:cites": inverse_root(loops.sum(axis=1)) @ loops @ inverse_root(loops.sum(axis=1)),
        "hop:likes": inverse_root(S.sum(axis=1)) @ S @ inverse_root(S.sum(axis=1)),
    }
    for name, T in expected.items():
        operator = operators[name]
        one = operator.program.run(np.eye(12), lambda graph, operator=operator: operator.filters)
        np.testing.assert_allclose(one, T, atol=1e-14)
        np.testing.assert_allclose(operator.apply_transposed(np.eye(12)), T.T, atol=1e-14)
    assert {name: operators[name].highest for name in names} == dict(zip(names, [2, 2, 4, 2, 4], strict=True))


def test_a_graph_without_a_relation_has_no_such_links():
    A = check_adjacency([[0, 1], [1, 0]])
    assert not links_of(A, "out:cites").nnz
    assert not relation_operators(A)
    operators = GraphOperators(A, np.float64, 2, ["hop:likes"])
    operator = operators["hop:likes"]
    assert not operator.program.run(np.eye(2), lambda graph: operator.filters).any()


def test_one_relation_without_directions_is_the_whole_graph(R):
    assert not relation_operators(TypedAdjacency.of(csr_array(R + R.T), {"likes": csr_array(R + R.T)}))
    assert relation_operators(check_adjacency({"cites": R}, directed=True)) == ["out:cites", "in:cites"]
    assert set(HOPS) == set(TRANSPOSED)
