import io
from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console

from gssl.evaluation import Summary, graph_health
from gssl.io import tabulate
from gssl.report import (
    classification_table,
    comparison_table,
    health_table,
    prediction_table,
    suggestion_table,
)
from gssl.selection import Suggestion
from gssl.wording import printable


def show(table):
    """Return the lines that a terminal shows, with single spaces and no frame."""
    file = io.StringIO()
    Console(file=file, width=120).print(table)
    lines = file.getvalue().replace("│", " ").replace("┃", " ").splitlines()
    return [" ".join(line.split()) for line in lines]


@pytest.fixture
def predictions():
    P = np.array([[0.9, 0.1], [0.2, 0.8], [0.4, 0.6]])
    rows = tabulate(["a", "b", "[red]c\x1b"], P, ["cook", "spy"])
    return replace(rows, given=np.array([True, False, False]))


def test_control_characters_are_escaped_and_letters_are_not():
    assert printable("naïve\x1b[31m\n\u202e") == "naïve\\x1b[31m\\n\\u202e"


def test_labels_are_counted_by_class(predictions):
    lines = show(classification_table(predictions, "Agents"))
    assert "label given predicted mean confidence" in lines
    assert "cook 1 0 –" in lines
    assert "spy 0 2 0.70" in lines


def test_nodes_that_nothing_reaches_are_counted_where_there_are_any(predictions):
    unreached = replace(predictions, given=np.zeros(3, bool), reached=np.array([True, True, False]))
    lines = show(classification_table(unreached, "Agents"))
    assert "label predicted mean confidence unreached" in lines
    assert "spy 2 0.70 1" in lines


def test_names_of_nodes_are_no_markup(predictions):
    lines = show(prediction_table([(predictions[2], "cook")], "Agents"))
    assert "[red]c\\x1b spy 0.60 cook cook" in lines


def test_methods_and_suggestions_stand_in_rows():
    rows = [Summary("OGC", "train", 0.8, 0.01, 24.0, 1.0), Summary("SGC", "train", 0.7, 0.02, 2.0, 0.5)]
    lines = show(comparison_table(rows, "Cora"))
    assert "OGC 80.0 1.0 24 1.00" in lines
    assert "SGC 70.0 2.0 2 0.50" in lines
    pick = Suggestion(0, "spy", "cook", 0.55, 0.1, 12)
    assert "007 spy (55 %) or cook (45 %); like 12 other nodes" in show(
        suggestion_table([("007", pick)], "x")
    )


def test_facts_about_a_graph_name_what_is_unknown():
    A = np.array([[0, 1, 0], [1, 0, 0], [0, 0, 0]])
    lines = show(health_table(graph_health(A, ["a", "a", None], n_features=5)))
    assert "edges within a class 100 % of 1 edges with two labels" in lines
    assert "components 2 (largest: 2 nodes)" in lines
    assert "labels of a 2" in lines
    lines = show(health_table(graph_health(A, [None] * 3)))
    assert "edges within a class unknown: no edge has two labels" in lines
    assert "features none" in lines
