from dataclasses import replace

import numpy as np
from scipy.sparse import csr_array

from gssl.io import Preparation, Problem, read_features
from gssl.label.cards import NEIGHBOURS, NodeFacts


def facts(X=None, texts=None, names=(), n=4, A=None):
    ids = np.array([f"Node{i}" for i in range(n)], dtype=object)
    A = csr_array((n, n)) if A is None else csr_array(A)
    return NodeFacts(Problem(ids, A, X, np.full(n, None, dtype=object), feature_names=names), texts)


def test_rare_words_are_stronger_than_common_ones():
    X = csr_array(np.array([[1, 1, 0], [1, 0, 1], [1, 0, 0], [1, 1, 0]], dtype=np.float32))
    features = facts(X, names=("the", "graph", "ridge")).features(1)
    assert [each["name"] for each in features] == ["ridge", "the"][:1]
    assert features[0]["strength"] == 1.0


def test_dense_features_are_compared_with_their_columns():
    X = np.array([[10.0, 0.0], [10.0, 0.1], [10.0, 0.0], [9.0, 5.0]], dtype=np.float32)
    features = facts(X, names=("year", "size")).features(3)
    assert {each["name"] for each in features} == {"year", "size"}
    assert features[0]["value"] in (9.0, 5.0)
    assert facts(None).features(0) == []


def test_numbers_are_shown_as_they_are_in_the_file():
    rows = "SELECT unnest(['a', 'b', 'c']) AS id, unnest([20.0, 40.0, 90.0]) AS age"
    features = read_features(rows)
    preparation = Preparation.fit(features)
    X = preparation.apply(features).matrix
    ids, y = np.array(["a", "b", "c"], dtype=object), np.full(3, None, dtype=object)
    problem = Problem(ids, csr_array((3, 3)), X, y, feature_names=("age",), preparation=preparation)
    assert [NodeFacts(problem).features(node)[0]["value"] for node in (0, 2)] == [20.0, 90.0]
    # counts divided by their row sum cannot be restored
    counts = replace(preparation, row_scaled=(True,))
    assert NodeFacts(replace(problem, preparation=counts)).features(0)[0]["value"] is None


def test_labelled_neighbours_come_first_then_strong_links():
    A = np.zeros((20, 20))
    A[0, 1:] = A[1:, 0] = np.arange(19, 0, -1)
    nodes, degree = facts(n=20, A=A).neighbours(0, {7: 0, 19: 1})
    assert degree == 19
    assert nodes.tolist() == [7, 19, *[i for i in range(1, 15) if i != 7]][:NEIGHBOURS]


def test_search_prefers_equal_ids_then_beginnings_then_texts():
    texts = np.array(["about node2", None, "NODE1 <b>", "Straße"], dtype=object)
    cards = facts(texts=texts)
    assert cards.search("node1") == [1, 2]
    assert cards.search("NODE", limit=3) == [0, 1, 2]
    assert cards.search("STRASSE") == [3]
    assert cards.search("  ") == []
    assert cards.search("nothing") == []


def test_long_texts_are_cut():
    cards = facts(texts=np.array(["x" * 50, None, "", "y"], dtype=object))
    assert cards.text(0, 10) == "x" * 9 + "…"
    assert [cards.text(node) for node in (1, 2, 3)] == ["", "", "y"]


def test_features_have_names_and_words_of_the_text_no_prefix():
    X = csr_array(np.array([[1.0, 0.0], [0.0, 2.0]], dtype=np.float32))
    texts = np.array(["ridge", "graph: a"], dtype=object)
    assert (
        facts(X, names=("abstract:ridge", "abstract:graph"), n=2).features(0)[0]["name"] == "abstract:ridge"
    )
    assert facts(X, texts, ("abstract:ridge", "abstract:graph"), n=2).features(1)[0]["name"] == "graph"
    assert facts(X, n=2).features(1)[0]["name"] == "feature 1"
