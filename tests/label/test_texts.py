from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import gssl
from gssl.label.texts import read_texts


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_texts_are_read_as_they_are_written():
    Path("d.csv").write_text('name,abstract\nb,"Two, <b>words</b>"\na,\nc,one two\nd,two one\n')
    problem = gssl.read(features="d.csv", text="abstract", knn=1, id_column="name")
    shown = ["Two, <b>words</b>", None, "one two", "two one"]
    assert read_texts("d.csv", problem, "abstract", id_column="name").tolist() == shown
    # by default, the columns that were read as text
    assert read_texts("d.csv", problem, id_column="name").tolist() == shown
    assert read_texts("d.csv", problem, ()) is None


def test_several_texts_are_shown_below_each_other():
    Path("d.csv").write_text("id,title,body\na,one,two words\nb,,three\nc,,\n")
    problem = gssl.read(features="d.csv", text=("title", "body"), knn=1)
    assert read_texts("d.csv", problem, ("title", "body")).tolist() == ["one\n\ntwo words", "three", None]


def test_texts_without_a_header_begin_on_the_first_line():
    Path("d.csv").write_text("b,one two\na,two one\nc,one\n")
    problem = gssl.read(features="d.csv", text="column2", knn=1, header=False)
    assert problem.node_ids.tolist() == ["b", "a", "c"]
    assert read_texts("d.csv", problem, header=False).tolist() == ["one two", "two one", "one"]


def test_texts_of_users_and_items_with_the_same_id_are_shown():
    Path("e.csv").write_text("user_id,item_id\n1,1\n1,2\n3,1\n")
    Path("d.csv").write_text("user_id,bio\n1,likes one\n1,likes one\n3,likes three\n")
    problem = gssl.read("e.csv", features="d.csv", text="bio")
    shown = dict(zip(problem.node_ids, read_texts("d.csv", problem), strict=True))
    assert shown == {"user_id:1": "likes one", "3": "likes three", "item_id:1": None, "2": None}


def test_texts_of_several_kinds_of_nodes_are_those_of_their_tables(tmp_path):
    wrote = pd.DataFrame({"author_id": [1, 2], "paper_id": [1, 2]})
    papers = pd.DataFrame({"id": [1, 2], "abstract": ["cats purr", "cats bark"]})
    authors = pd.DataFrame({"id": [2, 1], "bio": ["likes dogs", "likes cats"]})
    np.savez(tmp_path / "more.npz", ids=np.array(["9"]), features=np.ones((1, 2)))
    features = {"paper": papers, "author": authors}
    problem = gssl.read(wrote, features=features, text=("abstract", "bio"))
    texts = read_texts({**features, "more": str(tmp_path / "more.npz")}, problem)
    assert dict(zip(problem.node_ids, texts, strict=True)) == {
        "paper_id:1": "cats purr",
        "paper_id:2": "cats bark",
        "author_id:1": "likes cats",
        "author_id:2": "likes dogs",
    }
