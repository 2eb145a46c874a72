"""Links of several kinds, from one table with a column of kinds or from several, and their directions."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

import gssl
from gssl.graph import TypedAdjacency

LINKS = """src,dst,kind
1,2,cites
1,2,cites
2,1,cites
3,3,cites
2,3,likes
4,1,
4,2, likes
5,1,NA
5,5,self
"""
WROTE = "author_id,paper_id\n1,1\n1,2\n2,1\n3,\n7,2\n"
CITES = "paper_id,cited_paper_id\n1,2\n2,9\n2,9\n9,9\n"


def links(problem):
    """Return the links of each relation as pairs of ids, those without directions in both."""
    named = {}
    for name, relation in problem.adjacency.relations.items():
        entries, ids = relation.tocoo(), problem.node_ids
        named[name] = sorted(zip(ids[entries.row], ids[entries.col], entries.data, strict=True))
    return named


def both(*pairs):
    return sorted([(a, b, 1.0) for a, b in pairs] + [(b, a, 1.0) for a, b in pairs])


def test_a_column_of_kinds_makes_relations_and_a_blank_kind_is_other(write):
    problem = gssl.read(write("e.csv", LINKS), edge_type="kind")
    assert repr(problem) == "Problem(nodes=5, edges=5, relations=3, features=no, labels=0)"
    assert links(problem) == {
        "cites": both(("1", "2")),
        "likes": both(("2", "3"), ("2", "4")),
        "other": both(("1", "4"), ("1", "5")),
    }
    notes = "\n".join(problem.notes)
    assert "2 edges without a kind in column 'kind' became the relation 'other'" in notes
    assert "relation 'cites': removed 1 self-loop." in notes
    assert "relation 'cites': merged 1 repeated edge; an edge listed twice stays one." in notes
    assert "relation 'self' has no edges between different nodes and is left out." in notes
    assert ">likes</td>" in problem._repr_html_()


def test_directions_are_kept_and_not_said_to_be_ignored(write):
    problem = gssl.read(write("e.csv", LINKS), edge_type="kind", directed=True)
    assert links(problem)["likes"] == [("2", "3", 1.0), ("4", "2", 1.0)]
    assert links(problem)["cites"] == both(("1", "2"))
    assert not any("directions are" in note for note in problem.notes)
    plain = gssl.read(write("e.csv", LINKS))
    assert (problem.adjacency.toarray() == plain.adjacency.toarray()).all()
    assert any("directions are ignored" in note for note in plain.notes)


def test_a_column_of_kinds_that_is_not_named_is_noted_with_its_option(write):
    problem = gssl.read(write("e.csv", LINKS))
    assert type(problem.adjacency) is csr_array
    assert any("not used: 'kind' (--edge-type 'kind' tells" in note for note in problem.notes)
    headless = write("h.csv", "1,2,cites\n2,3,likes\n")
    assert any("(--edge-type 'column3' tells" in note for note in gssl.read(headless).notes)
    assert list(gssl.read(headless, edge_type="column3").adjacency.relations) == ["cites", "likes"]
    numbered = gssl.read(write("n.csv", "src,dst,type\n1,2,0\n2,3,1\n"))
    assert any("--edge-type 'type' tells" in note for note in numbered.notes)


def test_one_relation_without_directions_is_a_plain_graph(write):
    for problem in (
        gssl.read({"knows": write("e.csv", "src,dst\na,b\n")}),
        gssl.read(write("k.csv", "src,dst,kind\na,b,knows\n"), edge_type="kind"),
        gssl.read(write("b.csv", "src,dst\na,b\nb,a\n"), directed=True),
    ):
        assert type(problem.adjacency) is csr_array
        assert problem.adjacency.toarray().tolist() == [[0, 1], [1, 0]]
    one_way = gssl.read({"knows": write("e.csv", "src,dst\na,b\n")}, directed=True)
    assert links(one_way) == {"knows": [("a", "b", 1.0)]}


def test_weights_of_relations_scale_the_union_alone(write):
    weight = {"likes": 2.5, "other": 0.0}
    problem = gssl.read(write("e.csv", LINKS), edge_type="kind", relation_weight=weight)
    A, ids = problem.adjacency.toarray(), problem.node_ids.tolist()
    assert A[ids.index("2"), ids.index("3")] == 2.5
    assert A[ids.index("1"), ids.index("4")] == 0.0
    assert links(problem)["likes"] == both(("2", "3"), ("2", "4"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"edge_type": "nope"}, "has no column 'nope'"),
        ({"edge_type": "src"}, "column 'src' is an end of the edges"),
        ({"edge_type": "kind", "relation_weight": {"nope": 2.0}}, "`relation_weight` names 'nope': give"),
        ({"edge_type": "kind", "relation_weight": {"likes": -1.0}}, "must be a number from 0 on"),
        ({"edge_type": "when"}, "has 1,001 different texts and may not be a column of kinds"),
    ],
)
def test_wrong_names_and_weights_are_one_sentence(write, options, message):
    rows = "".join(f"a,b,{k}\n" for k in range(1001))
    text = f"src,dst,when\n{rows}" if options["edge_type"] == "when" else LINKS
    with pytest.raises(ValueError, match=message):
        gssl.read(write("e.csv", text), **options)


def test_tables_are_relations_and_columns_of_different_names_kinds_of_nodes(write):
    tables = {"wrote": write("w.csv", WROTE), "cites": write("c.csv", CITES)}
    problem = gssl.read(tables, labels=write("l.csv", "paper_id,label\n1,a\n9,b\n"))
    expected = {
        "cites": both(("paper_id:1", "paper_id:2"), ("paper_id:2", "9")),
        "wrote": both(
            ("author_id:1", "paper_id:1"),
            ("author_id:1", "paper_id:2"),
            ("author_id:2", "paper_id:1"),
            ("7", "paper_id:2"),
        ),
    }
    assert links(problem) == expected
    known = {n: y for n, y in zip(problem.node_ids, problem.y, strict=True) if y is not None}
    assert known == {"paper_id:1": "a", "9": "b"}
    notes = "\n".join(problem.notes)
    assert "columns 'paper_id' and 'author_id' share 2 ids; each is two nodes" in notes
    assert "w.csv: skipped 1 edge without an id, in row 4." in notes
    frames = {name: pd.read_csv(file, dtype=str) for name, file in reversed(tables.items())}
    again = gssl.read(frames)
    assert links(again) == expected
    assert again.node_ids.tolist() == problem.node_ids.tolist()


def test_a_table_without_kinds_of_nodes_names_nodes_of_any_kind(write):
    wrote = write("w.csv", WROTE)
    problem = gssl.read({"wrote": wrote, "knows": write("k.csv", "source,target\n7,author_id:1\n7,99\n")})
    assert links(problem)["knows"] == both(("7", "author_id:1"), ("7", "99"))
    with pytest.raises(ValueError, match=r"h\.csv: id '1' may be 'paper_id:1' or 'author_id:1' of the edges"):
        gssl.read({"wrote": wrote, "cites": write("h.csv", "1,2\n2,9\n")})
    with pytest.raises(ValueError, match=r"columns 'gizmo' and 'paper_id' share 1 id, .* --same-nodes"):
        gssl.read({"wrote": wrote, "uses": write("u.csv", "gizmo,with_gizmo\n2,3\n")})
    same = gssl.read({"wrote": wrote, "uses": write("u.csv", "gizmo,with_gizmo\n2,3\n")}, two_sided=False)
    assert same.node_ids.tolist() == ["1", "2", "3", "7"]


@pytest.mark.parametrize(
    ("edges", "options", "message"),
    [
        ({}, {}, "no tables of edges"),
        ({"": "e.csv"}, {}, "name its relation by a text"),
        ({3: "e.csv"}, {}, "name its relation by a text"),
        ({"a": "e.csv", "b": np.eye(2)}, {}, "both tables and matrices"),
        ({"a": "SELECT 1 AS a, 2 AS b"}, {"edge_type": "b"}, "cannot be combined"),
        ({"a": "SELECT 1 AS a, 2 AS b", "b": "nowhere.csv"}, {}, "nowhere.csv does not exist"),
        (np.eye(3)[::-1], {"edge_type": "b"}, "names a column or an attribute"),
    ],
)
def test_relations_that_cannot_be_read_are_one_sentence(edges, options, message):
    with pytest.raises((ValueError, FileNotFoundError), match=message):
        gssl.read(edges, **options)


def test_tables_beside_a_graph_keep_its_relations(write):
    A = {"cites": np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]]), "likes": np.ones((3, 3)) - np.eye(3)}
    labels = write("l.csv", "id,label\n0,a\n2,b\n")
    problem = gssl.read(A, labels=labels, directed=True)
    assert isinstance(problem.adjacency, TypedAdjacency)
    assert problem.adjacency.relations["cites"].toarray().tolist() == A["cites"].tolist()
    assert problem.adjacency.relations["likes"].toarray().tolist() == A["likes"].tolist()
    assert problem.y.tolist() == ["a", None, "b"]


def test_rows_may_be_in_any_order_and_neighbours_are_one_more_relation():
    frame = pd.DataFrame({"src": list("abcda"), "dst": list("bcdab"), "kind": list("xyxyy")})
    first = gssl.read(frame, edge_type="kind", directed=True)
    other = gssl.read(frame.sample(frac=1.0, random_state=1), edge_type="kind", directed=True)
    assert links(first) == links(other)
    assert (first.adjacency != other.adjacency).nnz == 0
    features = pd.DataFrame({"id": list("abcd"), "x": [0.0, 0.1, 5.0, 5.1], "z": [1.0, 1.1, 0.0, 0.1]})
    problem = gssl.read(frame, edge_type="kind", features=features, knn=1)
    assert list(problem.adjacency.relations) == ["nearest neighbours", "x", "y"]
