"""Combining edges, features and labels into a problem."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array, issparse

from gssl.io import (
    Labels,
    assemble,
    build_graph_store,
    extend,
    from_scipy,
    read_edges,
    read_features,
    read_nodes,
)
from gssl.operators import dense


def edges(rows, weighted=False):
    values = ", ".join(f"('{a}', '{b}'" + (f", {w[0]})" if w else ")") for a, b, *w in rows)
    names = "a, b, weight" if weighted else "a, b"
    return read_edges(f"SELECT * FROM (VALUES {values}) AS e({names})")


def labels(**given):
    ids = np.array(list(given), dtype=object)
    return Labels(ids, np.array(list(given.values()), dtype=object))


def features(*ids):
    return read_features("SELECT * FROM (VALUES " + ", ".join(f"('{i}', 1.0)" for i in ids) + ") AS f(id, x)")


@pytest.mark.parametrize("back", [[], [("b", "a"), ("c", "b")]], ids=["one direction", "both"])
def test_an_edge_list_in_one_direction_or_both_is_nothing_odd(back):
    problem = assemble(edges([("a", "b"), ("b", "c"), *back]), labels=labels(a="x", c=None))
    assert problem.node_ids.tolist() == ["a", "b", "c"]
    np.testing.assert_array_equal(problem.adjacency.toarray(), [[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    assert problem.y.tolist() == ["x", None, None]
    assert problem.given.tolist() == [True, False, False]
    assert problem.notes == []
    assert repr(problem) == "Problem(nodes=3, edges=2, features=no, labels=1)"


def test_self_loops_repeated_edges_and_directions_are_noted():
    problem = assemble(edges([("a", "a"), ("a", "b"), ("a", "b"), ("b", "a"), ("b", "c"), ("d", "d")]))
    np.testing.assert_array_equal(problem.adjacency.toarray()[:3, :3], [[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    notes = [note.removeprefix("the query: ") for note in problem.notes]
    assert notes == [
        "removed 2 self-loops.",
        "merged 1 repeated edge; an edge listed twice stays one.",
        "1 edge listed in both directions and 1 in one; directions are ignored.",
        "1 node without any edge.",
    ]


def test_weights_are_added_and_the_larger_direction_counts():
    rows = [("a", "b", 2), ("a", "b", 3), ("b", "c", 1), ("c", "b", 4), ("a", "c", 0)]
    problem = assemble(edges(rows, weighted=True))
    np.testing.assert_array_equal(problem.adjacency.toarray(), [[0, 5, 0], [5, 0, 4], [0, 4, 0]])
    notes = " ".join(problem.notes)
    assert "has the sum of their weights" in notes
    assert "removed 1 edge of weight 0" in notes
    assert "1 edge of two weights, one per direction; the larger counts" in notes


def test_strict_lists_unknown_ids_up_to_five():
    rows = [("a", f"n{i}") for i in range(7)]
    with pytest.raises(ValueError, match=r"7 ids that the features do not have: 'n0', .*'n4' and 2 more"):
        assemble(edges(rows), features("a"), strict=True)
    some = labels(a="x", **{f"n{i}": "y" for i in range(7)})
    with pytest.raises(
        ValueError, match=r"labels for 7 ids that the graph does not have: 'n0', .*and 2 more"
    ):
        assemble(edges([("a", "b")]), labels=some, strict=True)
    with pytest.raises(ValueError, match="labels for 1 id that"):
        assemble(edges([("a", "b")]), features("a", "b"), labels(a="x", c="x"), strict=True)


@pytest.mark.parametrize("sparse", [False, True])
def test_nodes_without_features_get_zeros_and_are_counted(sparse):
    given = features("z", "b")
    given = replace(given, matrix=csr_array(given.matrix)) if sparse else given
    problem = assemble(edges([("a", "b"), ("b", "c")]), given, labels(b="x", q="y", r=None))
    assert problem.node_ids.tolist() == ["z", "b", "a", "c", "q", "r"]
    assert issparse(problem.features) == sparse
    assert dense(problem.features).tolist() == [[1], [1], [0], [0], [0], [0]]
    assert problem.feature_names == ("x",)
    assert problem.y.tolist() == [None, "x", None, None, "y", None]
    A = [[0, 0, 0, 0], [0, 0, 1, 1], [0, 1, 0, 0], [0, 1, 0, 0]]
    assert problem.adjacency.toarray()[:4, :4].tolist() == A
    assert problem.notes == [
        "labels: 2 ids that no other table has became nodes without edges: 'q', 'r'.",
        "the query: 4 nodes without a row got zeros: 'a', 'c', 'q', 'r'.",
        "3 nodes without any edge.",
    ]


def test_a_list_of_nodes_sets_their_order_and_others_are_added():
    nodes = read_nodes("SELECT unnest(['c', 'b', 'alone', 'b']) AS id")
    assert nodes.notes == ["the query: merged 1 repeated row."]
    problem = assemble(edges([("a", "b"), ("b", "c")]), nodes=nodes)
    assert problem.node_ids.tolist() == ["c", "b", "alone", "a"]
    assert "the query: added 1 id that the query does not list: 'a'." in problem.notes
    with pytest.raises(ValueError, match="names 1 id that the query does not have: 'a'; add them or remove"):
        assemble(edges([("a", "b"), ("b", "c")]), nodes=nodes, strict=True)


def test_a_store_is_joined_like_tables(tmp_path):
    store = build_graph_store("SELECT 'a' AS src, 'b' AS dst UNION ALL SELECT 'b', 'c'", tmp_path / "s")
    problem = assemble(store, features("z", "b"), labels(b="x", q="y"))
    assert problem.node_ids.tolist() == ["a", "b", "c", "z", "q"]
    assert problem.features.tolist() == [[0], [1], [0], [1], [0]]
    assert problem.y.tolist() == [None, "x", None, None, "y"]
    assert problem.adjacency.sum(axis=0).tolist() == [1, 2, 1, 0, 0]
    assert [note.split(": ")[1] for note in problem.notes] == [
        "1 id that no other table has became nodes without edges",
        "1 id that no other table has became nodes without edges",
        "3 nodes without a row got zeros",
    ]
    with pytest.raises(ValueError, match=r"names 1 id that .* does not have: 'z'; remove them, or build"):
        assemble(store, features("z", "b"), strict=True)
    with pytest.raises(ValueError, match=r"has no features for 2 ids of .*: 'a', 'c'; add them"):
        assemble(store, features("b"), strict=True)


@pytest.mark.parametrize(
    ("node", "label_id", "hint"),
    [
        ("7", "7.0", "written the ids as decimals"),
        ("7", "007", "leading zeros"),
        ("007", "7", "leading"),
        ("7", "7 ", "spaces"),
    ],
)
def test_tables_that_do_not_meet_are_refused_with_the_usual_reason(node, label_id, hint):
    given = Labels(np.array([label_id], dtype=object), np.array(["x"], dtype=object))
    with pytest.raises(ValueError, match=hint):
        assemble(edges([(node, "b")]), labels=given)
    with pytest.raises(ValueError, match=r"the query names 2 ids that the features do not have"):
        assemble(edges([("a", "b")]), features("c"))


def test_features_alone_are_a_graph_without_edges():
    problem = assemble(None, features("a", "b"), labels(a="x"))
    assert problem.adjacency.shape == (2, 2)
    assert problem.adjacency.nnz == 0
    with pytest.raises(ValueError, match="neither edges nor features"):
        assemble(None)


@pytest.mark.parametrize("kind", [np.array, csr_array])
def test_new_nodes_without_features_get_zeros(kind):
    known = from_scipy([[0, 1], [1, 0]], node_ids=["a", "b"], features=kind([[1.0], [2.0]]))
    joined, _ = extend(known, from_scipy([[0, 1], [1, 0]], node_ids=["c", "a"]))
    assert issparse(joined.features) == issparse(known.features)
    assert joined.features.dtype == known.features.dtype
    assert dense(joined.features).tolist() == [[1], [2], [0]]


@pytest.mark.parametrize("strict", [False, True])
def test_labels_that_are_all_missing_and_of_other_nodes_are_named(strict):
    with pytest.raises(ValueError, match="labels has labels for 1 id that the graph does not have: 'x'"):
        assemble(edges([("a", "b")]), labels=labels(x=None), strict=strict)
    assert len(assemble(edges([("a", "b")]), labels=labels(a="l", x=None), strict=True).node_ids) == 3


def test_the_kinds_of_new_nodes_are_kept():
    pairs = "SELECT unnest(['1', '2']) AS user, unnest(['1', '3']) AS item"
    known = assemble(read_edges(pairs))
    new = assemble(read_edges("SELECT '4' AS user, '3' AS item"), known=known)
    joined, _ = extend(known, new)
    assert joined.kinds.sides(joined.node_ids).tolist().count(0) == 3
    assert extend(known, from_scipy([[0.0]], node_ids=["z"]))[0].kinds is known.kinds


CITES, LIKES = np.array([[0, 1], [0, 0]]), np.array([[0, 2], [2, 0]])


def relations(problem):
    return {name: part.toarray().tolist() for name, part in problem.adjacency.relations.items()}


def test_new_links_join_the_relation_of_their_name_and_others_are_one_more():
    known = from_scipy({"cites": CITES, "likes": LIKES}, node_ids=["a", "b"], directed=True)
    new = from_scipy({"cites": CITES, "hates": LIKES}, node_ids=["b", "c"], directed=True)
    problem, positions = extend(known, new)
    assert positions.tolist() == [1, 2]
    assert relations(problem) == {
        "cites": [[0, 1, 0], [0, 0, 1], [0, 0, 0]],
        "hates": [[0, 0, 0], [0, 0, 2], [0, 2, 0]],
        "likes": [[0, 2, 0], [2, 0, 0], [0, 0, 0]],
    }
    assert problem.adjacency.toarray().tolist() == [[0, 2, 0], [2, 0, 2], [0, 2, 0]]


def test_new_links_without_a_relation_are_links_and_a_plain_graph_stays_plain():
    known = from_scipy({"cites": CITES, "likes": LIKES}, node_ids=["a", "b"], directed=True)
    plain = from_scipy(LIKES, node_ids=["b", "c"])
    assert list(extend(known, plain)[0].adjacency.relations) == ["cites", "likes", "links"]
    assert type(extend(plain, known)[0].adjacency) is csr_array
    one_way = from_scipy({"cites": CITES}, node_ids=["a", "b"], directed=True)
    for new in (from_scipy(CITES, node_ids=["b", "c"], directed=True), plain):
        assert list(extend(one_way, new)[0].adjacency.relations) == ["cites"]
