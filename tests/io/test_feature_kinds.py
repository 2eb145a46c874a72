"""Features of several kinds of nodes become one matrix, in which a kind has zeros where it has no column."""

import numpy as np
import pandas as pd
import pytest

import gssl

WROTE = pd.DataFrame({"author_id": [1, 1, 2, 3], "paper_id": [1, 2, 1, 9]})
PAPERS = pd.DataFrame({"id": [1, 2, 9], "year": [2001.0, 2005.0, np.nan], "topic": ["bio", "math", "bio"]})
AUTHORS = pd.DataFrame({"id": [1, 2], "age": [40.0, 50.0], "topic": ["bio", "law"]})


def rows(problem):
    return {
        node: {name: round(float(x), 3) for name, x in zip(problem.feature_names, row, strict=True) if x}
        for node, row in zip(problem.node_ids, problem.features, strict=True)
    }


def test_features_of_kinds_of_nodes_are_joined_by_column_name():
    problem = gssl.read(WROTE, features={"paper": PAPERS, "author": AUTHORS})
    assert rows(problem) == {
        "paper_id:1": {"year": -1.0, "topic=bio": 1.0},
        "paper_id:2": {"year": 1.0, "topic=math": 1.0},
        "9": {"year=missing": 1.0, "topic=bio": 1.0},
        "author_id:1": {"age": -1.0, "topic=bio": 1.0},
        "author_id:2": {"age": 1.0, "topic=law": 1.0},
        "3": {},
    }
    assert any("1 node without a row got zeros: '3'" in note for note in problem.notes)


def test_a_saved_preparation_reads_new_tables_of_one_kind_in_the_same_way():
    problem = gssl.read(WROTE, features={"paper": PAPERS, "author": AUTHORS})
    new = gssl.read(
        WROTE, features={"author": AUTHORS, "paper": PAPERS}, preparation=problem.preparation, known=problem
    )
    assert rows(new) == rows(problem)


def test_a_text_column_of_two_tables_has_the_words_of_both():
    papers = pd.DataFrame({"id": [1, 2], "says": ["cats purr", "cats bark"]})
    authors = pd.DataFrame({"id": [1, 2], "says": ["dogs bark", "dogs purr"]})
    tables = {"paper": papers, "author": authors}
    problem = gssl.read(WROTE[:3], features=tables, text="says", normalize="none")
    assert problem.feature_names == ("says:bark", "says:cats", "says:purr", "says:dogs")
    again = gssl.read(WROTE[:3], features=tables, preparation=problem.preparation, known=problem)
    assert rows(again) == rows(problem)


@pytest.mark.parametrize(
    ("edges", "features", "message"),
    [
        (WROTE, {"papr": PAPERS}, "no nodes of the kind 'papr': name one of 'author_id', 'paper_id'"),
        (WROTE, {}, "no tables of features"),
        (WROTE, {3: PAPERS}, "name its kind of nodes by a text"),
        (pd.DataFrame({"src": [1], "dst": [2]}), {"a": PAPERS, "b": AUTHORS}, "more than one row for '1'"),
    ],
)
def test_kinds_that_do_not_fit_are_one_sentence(edges, features, message):
    with pytest.raises(ValueError, match=message):
        gssl.read(edges, features=features)


def test_without_kinds_in_the_edges_ids_tell_the_rows():
    edges = pd.DataFrame({"src": ["p1", "p2"], "dst": ["a1", "a1"]})
    papers = pd.DataFrame({"id": ["p1", "p2"], "x": [1.0, 3.0]})
    authors = pd.DataFrame({"id": ["a1"], "z": [7.0]})
    problem = gssl.read(edges, features={"paper": papers, "author": authors}, normalize="none")
    assert rows(problem) == {"p1": {"x": 1.0}, "p2": {"x": 3.0}, "a1": {"z": 7.0}}


def test_columns_of_texts_and_ids_are_those_that_a_table_has():
    papers = pd.DataFrame({"key": [1, 2], "x": [0.0, 1.0], "says": ["cats purr", "cats bark"]})
    tables = {"paper": papers, "author": AUTHORS}
    problem = gssl.read(WROTE[:3], features=tables, text="says", id_column="key", normalize="none")
    assert problem.feature_names[:2] == ("x", "says:bark")
    with pytest.raises(ValueError, match="no table of features has a column 'nope'"):
        gssl.read(WROTE[:3], features=tables, text="nope")
