import copy
import pickle
import warnings

import numpy as np
import pytest
from scipy import sparse

from gssl.graph import GraphWarning, TypedAdjacency, check_adjacency
from gssl.graph.adjacency import relations_of, union_of

CITES = np.array([[0.0, 1, 0, 0], [0, 0, 1, 0], [1, 0, 0, 0], [0, 0, 0, 0]])
WROTE = np.array([[0.0, 0, 0, 1], [0, 0, 0, 1], [0, 0, 0, 0], [0, 0, 0, 0]])


def test_the_union_takes_the_largest_weight_of_any_relation():
    A = check_adjacency({"wrote": 3 * WROTE, "cites": CITES + CITES.T + 2 * (WROTE + WROTE.T)})
    expected = np.maximum(CITES, 3 * WROTE)
    np.testing.assert_array_equal(A.toarray(), np.maximum(expected, expected.T))
    np.testing.assert_array_equal(A.relations["wrote"].toarray(), 3 * (WROTE + WROTE.T))


def test_weights_of_relations_scale_their_links_in_the_union_only():
    given = {"cites": CITES, "wrote": WROTE}
    A = check_adjacency(given, relation_weight={"wrote": 0.5})
    assert A[0, 3] == 0.5
    assert A[0, 1] == 1.0
    assert A.relations["wrote"][0, 3] == 1.0
    # also of a union that was made before
    again = check_adjacency(check_adjacency(given), relation_weight={"wrote": np.float32(0.5)})
    np.testing.assert_array_equal(again.toarray(), A.toarray())
    without = check_adjacency(given, relation_weight={"wrote": 0})
    assert without[0, 3] == 0.0
    assert without.nnz == 6


@pytest.mark.parametrize("directed", [True, "auto"])
def test_directions_are_kept_only_if_asked_for(directed):
    A = check_adjacency(CITES, directed=directed)
    np.testing.assert_array_equal(A.toarray(), np.maximum(CITES, CITES.T))
    np.testing.assert_array_equal(A.relations["links"].toarray(), CITES)
    with pytest.warns(GraphWarning, match="not symmetric in 3 pairs"):
        plain = check_adjacency(CITES)
    assert not relations_of(plain)


def test_symmetric_links_have_no_directions():
    both = CITES + CITES.T
    assert type(check_adjacency(both, directed=True)) is sparse.csr_array


def test_auto_ignores_directions_between_two_kinds_of_nodes():
    A = check_adjacency({"wrote": WROTE, "cites": CITES}, directed="auto")
    np.testing.assert_array_equal(A.relations["wrote"].toarray(), WROTE + WROTE.T)
    np.testing.assert_array_equal(A.relations["cites"].toarray(), CITES)
    B = check_adjacency({"wrote": WROTE}, directed=True)
    np.testing.assert_array_equal(B.relations["wrote"].toarray(), WROTE)


def test_relations_are_in_the_order_of_their_names():
    one, other = {"b": CITES, "a": WROTE}, {"a": WROTE, "b": CITES}
    assert list(check_adjacency(one).relations) == list(check_adjacency(other).relations) == ["a", "b"]


def test_a_typed_graph_is_an_adjacency_that_can_be_copied_and_checked_again():
    A = check_adjacency({"cites": CITES, "wrote": WROTE}, directed=True)
    pickled = pickle.loads(pickle.dumps(A))  # noqa: S301
    for B in (pickled, copy.deepcopy(A), check_adjacency(A)):
        assert isinstance(B, TypedAdjacency)
        np.testing.assert_array_equal(B.toarray(), A.toarray())
        np.testing.assert_array_equal(B.relations["cites"].toarray(), CITES)
    # what is computed from it has no relations
    assert not relations_of(A[:2][:, :2])
    assert not relations_of(A.astype(np.float32))
    assert type(union_of(A)) is sparse.csr_array


def test_a_dictionary_of_keys_is_one_matrix():
    A = check_adjacency(sparse.dok_array(CITES + CITES.T))
    assert type(A) is sparse.csr_array


@pytest.mark.parametrize(
    ("given", "options", "message"),
    [
        ({}, {}, "no relations: give the matrix of at least one"),
        ({"a": CITES, "b": np.zeros((2, 2))}, {}, "different numbers of nodes"),
        ({"a": CITES[:2]}, {}, "relation 'a': the adjacency must be square"),
        ({"a": -CITES}, {}, "relation 'a': .*negative weight"),
        ({("x", "a", "y"): CITES}, {}, "joined by gssl.read"),
        ({"": CITES}, {}, "a relation is named ''"),
        (CITES + CITES.T, {"relation_weight": {"a": 1.0}}, "needs links of several kinds"),
        ({"a": CITES}, {"relation_weight": {"b": 1.0}}, "relation_weight names 'b': give some of 'a'"),
        ({"a": CITES}, {"relation_weight": {"a": -1.0}}, "a number from 0 on, not -1.0"),
        ({"a": CITES}, {"n_nodes": 5}, "4 nodes but 5 are expected"),
        ({"a": 0 * CITES}, {}, "no edges between different nodes"),
        (CITES, {"directed": "no"}, 'directed must be True, False or "auto"'),
    ],
)
def test_what_is_wrong_with_relations_is_said(given, options, message):
    with pytest.raises((TypeError, ValueError), match=message):
        check_adjacency(given, **options)


def test_repairs_of_a_relation_are_said_once():
    with pytest.warns(GraphWarning) as caught:
        A = check_adjacency({"cites": CITES + np.eye(4), "wrote": WROTE})
    loops, pairs = (str(warning.message) for warning in caught)
    assert loops == "relation 'cites': removed 4 self-loops"
    assert pairs.startswith("relation 'cites': the adjacency is not symmetric in 3 pairs of nodes")
    assert not A.diagonal().any()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_adjacency(A)
    with pytest.warns(GraphWarning, match="removed 4 self-loops"):
        check_adjacency(CITES + np.eye(4), directed=True)
