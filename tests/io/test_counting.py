"""Tables are counted as they would be read."""

import numpy as np
import pytest

from gssl.io import count_tables

EDGES = "src,dst\n007,8\n8,007\n8,9\n9,9\n"


@pytest.mark.parametrize("form", ["wide", "long", "npz"])
def test_reversed_edges_are_counted_once_and_features_in_every_form(write, tmp_path, form):
    if form == "npz":
        np.savez(tmp_path / "f.npz", ids=np.array(["007", "8", "9"]), features=np.ones((3, 2)))
        file = tmp_path / "f.npz"
    elif form == "long":
        file = write("f.csv", "id,feature,value\n007,x,1\n8,y,1\nextra,x,1\n")
    else:
        file = write("f.csv", "id,x,y\n007,1,2\n8,3,4\nextra,5,6\n")
    counts = count_tables(write("e.csv", EDGES), file)
    # an array does not tell the ids to the table of edges
    assert counts == {"edges": 2, "weighted": False, "features": 2, "nodes": 3 if form == "npz" else 4}


def test_what_is_not_given_is_not_counted(write):
    assert count_tables(write("e.csv", "src,dst,weight\na,b,2\n")) == {
        "edges": 1,
        "weighted": True,
        "nodes": 2,
    }
    assert count_tables(features=write("f.csv", "id,x\na,1\nb,2\n")) == {"features": 1, "nodes": 2}
    assert count_tables() == {}


def test_categories_and_thousands_of_columns_are_counted(write):
    assert count_tables(features=write("f.csv", "id,age,city\na,1,x\nb,2,y\nc,3,z\n"))["features"] == 4
    names = ",".join(f"w{j}" for j in range(1100))
    wide = write("wide.csv", f"id,{names}\na,{','.join('1' * 1100)}\n")
    assert count_tables(features=wide) == {"features": 1100, "nodes": 1}


def test_users_and_items_with_the_same_ids_are_counted_apart(write):
    counts = count_tables(write("e.csv", "user_id,item_id\n1,1\n1,2\n2,1\n3,9\n"))
    assert (counts["nodes"], counts["edges"]) == (6, 4)


def test_relations_are_counted_in_their_union(write):
    wrote = write("w.csv", "author_id,paper_id\n1,1\n1,2\n")
    cites = write("c.csv", "paper_id,cited_paper_id\n1,2\n")
    counts = {"edges": 3, "weighted": False, "nodes": 3}
    assert count_tables({"wrote": wrote, "cites": cites}) == counts
    assert count_tables({"cites": cites, "again": cites})["edges"] == 1
