import numpy as np
import pytest

from gssl.evaluation import accuracy, confusion_matrix
from gssl.evaluation.metrics import score_error


def test_accuracy_counts_only_the_nodes_asked_for():
    truth, predicted = [0, 1, 2, 2], [0, 1, 1, 0]
    assert accuracy(truth, predicted) == 0.5
    assert accuracy(truth, predicted, nodes=[0, 1, 2]) == pytest.approx(2 / 3)
    assert accuracy(truth, predicted, nodes=np.array([False, False, True, True])) == 0.0


def test_accuracy_of_no_nodes_is_an_error():
    with pytest.raises(ValueError, match="at least one node"):
        accuracy([0, 1], [0, 1], nodes=[])


def test_confusion_has_truth_in_rows_and_names_on_both_sides():
    confusion = confusion_matrix([2, 2, 1, 1], [2, 1, 1, 1], classes=[1, 2, 3], source="From the census.")
    assert confusion.classes == ("1", "2", "3")
    assert confusion.counts.tolist() == [[2, 0, 0], [1, 1, 0], [0, 0, 0]]
    assert (confusion.accuracy, confusion.n_nodes, confusion.source) == (0.75, 4, "From the census.")


def test_recall_precision_and_mistakes_are_those_of_rows_and_columns():
    confusion = confusion_matrix([2, 2, 1, 1, 1], [2, 1, 1, 1, 2], classes=[1, 2, 3])
    np.testing.assert_allclose(confusion.recall, [2 / 3, 1 / 2, np.nan])
    np.testing.assert_allclose(confusion.precision, [2 / 3, 1 / 2, np.nan])
    assert confusion.mistakes == [("1", "2", 1), ("2", "1", 1)]


def test_no_node_has_no_confusion():
    with pytest.raises(ValueError, match="at least one node"):
        confusion_matrix([], [])


def test_a_few_labels_are_never_certain():
    assert score_error(1.0, 2) == pytest.approx(np.sqrt(0.75 * 0.25 / 4))
