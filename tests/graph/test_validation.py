"""Bad graphs and features get one sentence: what, where, what to do."""

import warnings

import numpy as np
import pytest
from scipy import sparse

from gssl.graph import GraphWarning, check_adjacency, check_finite

PATH = np.array([[0.0, 1, 0], [1, 0, 1], [0, 1, 0]])
CONTAINERS = [np.asarray, sparse.csr_array, sparse.csc_array, sparse.coo_array, sparse.lil_matrix]


def with_entry(row, column, value):
    weights = PATH.copy()
    weights[row, column] = value
    return weights


def caught(*args, **kwargs):
    """The result and the messages of the warnings."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        result = check_adjacency(*args, **kwargs)
    assert all(issubclass(warning.category, GraphWarning) for warning in seen)
    return result, [str(warning.message) for warning in seen]


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize(
    ("value", "what"),
    [(np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "infinity"), (-2, "negative weight -2.0")],
)
def test_bad_weights_name_the_first_place(container, value, what):
    weights = with_entry(1, 2, value)
    weights[2, 0] = value
    with pytest.raises(ValueError, match=rf"{what} at row 1, column 2"):
        check_adjacency(container(weights))


def test_the_first_place_is_first_by_row_then_column():
    matrix = sparse.csr_array((np.array([-1.0, -2.0, 1.0]), np.array([2, 0, 1]), np.array([0, 0, 2, 3])))
    with pytest.raises(ValueError, match=r"weight -2.0 at row 1, column 0"):
        check_adjacency(matrix)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_shapes(container):
    with pytest.raises(ValueError, match=r"square, got shape \(2, 3\)"):
        check_adjacency(container(PATH[:2]))
    with pytest.raises(ValueError, match="3 nodes but 4 are expected"):
        check_adjacency(container(PATH), n_nodes=4)
    np.testing.assert_array_equal(check_adjacency(container(PATH), n_nodes=3).toarray(), PATH)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("weights", [np.zeros((3, 3)), np.eye(3)])
def test_a_graph_without_edges(container, weights):
    with pytest.raises(ValueError, match="the graph has no edges"):
        check_adjacency(container(weights))
    empty, _ = caught(container(weights), allow_empty=True)
    np.testing.assert_array_equal(empty.toarray(), np.zeros((3, 3)))


def test_zero_nodes():
    with pytest.raises(ValueError, match="zero nodes"):
        check_adjacency(np.zeros((0, 0)), allow_empty=True)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        (PATH.astype(complex), ValueError, "Complex data not supported"),
        (sparse.csr_array(PATH.astype(complex)), ValueError, "Complex data not supported"),
        (PATH.astype(object), TypeError, "dtype object"),
        (PATH.astype(str), TypeError, "convert it to numbers"),
        (None, TypeError, "got NoneType"),
        ([[0, 1], [1]], ValueError, "different lengths"),
        (np.ones(3), ValueError, "Reshape your data"),
        (sparse.coo_array(np.ones(3)), ValueError, "must be 2-D"),
    ],
)
def test_what_is_no_adjacency(given, error, message):
    with pytest.raises(error, match=message):
        check_adjacency(given)


def test_clean_input_passes_in_silence():
    for dtype in (bool, np.int8, np.uint64, np.float16, np.float64):
        result, messages = caught(PATH.astype(dtype))
        assert (messages, result.dtype) == ([], np.float64)
        np.testing.assert_array_equal(result.toarray(), PATH)
    assert check_adjacency(sparse.csr_array(PATH.astype(np.float32))).dtype == np.float32


def test_self_loops_are_removed_and_counted():
    result, messages = caught(PATH + np.diag([1, 0, 5]))
    np.testing.assert_array_equal(result.toarray(), PATH)
    assert messages == ["removed 2 self-loops"]


def test_asymmetry_takes_the_larger_weight():
    weights = with_entry(0, 1, 3)
    weights[2, 0] = 2
    result, messages = caught(weights)
    np.testing.assert_array_equal(result.toarray(), [[0, 3, 2], [3, 0, 1], [2, 1, 0]])
    assert len(messages) == 1
    assert "not symmetric in 2 pairs" in messages[0]
    assert "larger" in messages[0]


def test_keeping_directions_is_an_error():
    with pytest.raises(
        ValueError, match=r'1 pair\(s\).*nodes 0 and 1 with weights 3\.0 and 1\.0.*"symmetrize"'
    ):
        check_adjacency(with_entry(0, 1, 3), directed="keep")
    np.testing.assert_array_equal(check_adjacency(PATH, directed="keep").toarray(), PATH)
    with pytest.raises(ValueError, match='"symmetrize" or "keep"'):
        check_adjacency(PATH, directed="no")


def test_one_warning_for_each_kind_of_change():
    row, column = [0, 0, 1, 1, 2, 2], [1, 1, 0, 1, 0, 1]
    _, messages = caught(sparse.coo_array(([2.0, 2, 4, 9, 0, 1], (row, column)), shape=(3, 3)))
    assert [message.split(":")[0].split(" (")[0] for message in messages] == [
        "removed 1 self-loop",
        "merged 1 duplicate edge",
        "the adjacency is not symmetric in 1 pair of nodes",
        "removed 1 stored zero",
    ]


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize(("value", "what"), [(np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "infinity")])
def test_bad_features_name_the_first_place(container, value, what):
    X = np.arange(12.0).reshape(4, 3)
    X[2, 1] = X[3, 0] = value
    with pytest.raises(ValueError, match=f"^features contains {what} at row 2, column 1: "):
        check_finite(container(X), "features")


def test_finite_features_pass():
    check_finite(np.full((2, 2), np.finfo(np.float32).max, dtype=np.float32))
    check_finite([[1, 2], [3, 4]])
    check_finite(sparse.csr_array((3, 2)))
    check_finite(np.array([[True, False]]))
