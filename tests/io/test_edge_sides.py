"""Users and items with the same ids stay two nodes, in memory and in a store, and other tables find them."""

import pytest

from gssl.io import assemble, build_graph_store, read_edges, read_features, read_labels, read_nodes

RATINGS = "user_id,item_id\n1,1\n1,2\n2,1\n2,3\n7,2\n"
IDS = ["3", "7", "item_id:1", "item_id:2", "user_id:1", "user_id:2"]


@pytest.fixture(params=["memory", "store"])
def join(request, write, tmp_path):
    """Return a function that joins tables to the ratings, in memory or in a store."""
    file = write("e.csv", RATINGS)
    graph = read_edges(file) if request.param == "memory" else build_graph_store(file, tmp_path / "store")

    def join(features=None, labels=None, nodes=None):
        features = None if features is None else read_features(write("f.csv", features))
        labels = None if labels is None else read_labels(write("l.csv", labels))
        nodes = None if nodes is None else read_nodes(write("n.csv", nodes))
        return assemble(graph, features, labels, nodes=nodes)

    return join


def known(problem):
    return {node: label for node, label in zip(problem.node_ids, problem.y, strict=True) if label is not None}


@pytest.mark.parametrize(
    ("labels", "wanted"),
    [
        ("item_id,label\n1,old\n3,new\n", {"item_id:1": "old", "3": "new"}),
        ("itemId,label\n1,old\n3,new\n", {"item_id:1": "old", "3": "new"}),
        ("item,label\n1,old\n3,new\n", {"item_id:1": "old", "3": "new"}),
        ("id,label\nuser_id:1,a\n7,b\nitem_id:3,c\n", {"user_id:1": "a", "7": "b", "3": "c"}),
        ("item_id,label\n7,new\n1,old\n", {"item_id:7": "new", "item_id:1": "old"}),
    ],
    ids=["name", "other notation", "thing", "prefixes", "an id of the other kind"],
)
def test_a_table_names_a_kind_by_its_column_or_by_prefixes(join, labels, wanted):
    problem = join(labels=labels)
    assert known(problem) == wanted
    # an id of the other kind is a new node
    assert set(problem.node_ids) == {*IDS, *wanted}
    assert problem.adjacency.nnz == 10
    assert not any("self-loop" in note for note in problem.notes)
    with pytest.raises(ValueError, match=r"l\.csv has more than one row for '7'"):
        join(labels="id,label\nuser_id:7,a\n7,b\n")


def test_features_mean_that_kind_too(join):
    problem = join(features="user_id,x\n7,0.5\n1,0.25\n2,4\n")
    row = dict(zip(problem.node_ids, problem.features.ravel().tolist(), strict=True))
    assert {node: x for node, x in row.items() if x} == {"7": 0.5, "user_id:1": 0.25, "user_id:2": 4.0}


@pytest.mark.parametrize("table", ["labels", "features", "nodes"])
def test_a_shared_id_without_a_prefix_is_one_sentence(join, table):
    message = (
        r"[fln]\.csv: id '1' may be 'user_id:1' or 'item_id:1' of the edges: write it so, or name the id "
        r"column 'user_id' or 'item_id'\.$"
    )
    with pytest.raises(ValueError, match=message):
        join(**{table: "id,label\n7,3\n1,4\n" if table == "labels" else "id,x\n7,3\n1,4\n"})


def test_a_prefixed_id_that_is_there_already_is_refused(write, tmp_path):
    file = write("e.csv", "user_id,item_id\n1,1\n1,user_id:1\n")
    message = "and 'user_id:1', which would name one of these nodes, is an id already: rename the column"
    with pytest.raises(ValueError, match=message):
        read_edges(file)
    with pytest.raises(ValueError, match=message):
        build_graph_store(file, tmp_path / "store")


def test_nodes_of_a_store_are_listed_by_their_prefixed_ids(write, tmp_path):
    file = write("e.csv", RATINGS)
    listed = ["lonely", *reversed(IDS)]
    nodes = write("n.csv", "id\n" + "\n".join(listed) + "\n")
    store = build_graph_store(file, tmp_path / "store", nodes=nodes)
    assert store.node_ids.tolist() == listed
    labels = read_labels(write("l.csv", "item_id,label\n3,a\n2,b\n"))
    assert known(assemble(store, labels=labels)) == {"3": "a", "item_id:2": "b"}
    # they are of both kinds, so that advice to name their column after one would not help
    message = r"n\.csv: id '2' may be 'user_id:2' or 'item_id:2' of the edges: write it so\.$"
    for column in ("id", "user_id"):
        with pytest.raises(ValueError, match=message):
            build_graph_store(file, tmp_path / "other", nodes=write("n.csv", f"{column}\n3\n2\n"))


def test_a_store_asks_and_obeys_as_memory_does(write, tmp_path):
    file = write("e.csv", "foo,bar\n1,2\n2,3\n")
    for read in (read_edges, lambda *args, **named: build_graph_store(*args, tmp_path / "store", **named)):
        with pytest.raises(ValueError, match="columns 'foo' and 'bar' share 1 id, such as '2', and their"):
            read(file)
    assert build_graph_store(file, tmp_path / "one", two_sided=False).node_ids.tolist() == ["1", "2", "3"]
    store = build_graph_store(file, tmp_path / "two", two_sided=True)
    assert store.node_ids.tolist() == ["1", "3", "bar:2", "foo:2"]
    assert read_edges(file, two_sided=True).ids.tolist() == store.node_ids.tolist()


def test_new_tables_name_the_nodes_of_two_kinds_as_a_known_problem_does(write):
    """The columns tell kinds also where only the known problem said that they do; a new id may be shared."""
    old = assemble(read_edges(write("e.csv", "foo,bar\n1,1\n1,2\n3,4\n"), two_sided=True))
    before = dict(old.kinds.kinds)
    edges = read_edges(write("new.csv", "foo,bar\n1,9\n2,4\n5,2\n"), two_sided=True)
    features = read_features(write("f.csv", "bar,x\n9,0.5\n3,2\n"))
    new = assemble(edges, features, known=old)
    assert sorted(new.node_ids) == ["2", "4", "5", "9", "bar:3", "foo:1", "foo:2"]
    assert new.features.ravel()[new.node_ids.tolist().index("bar:3")] == 2
    edges = read_edges(write("new.csv", "bar,foo\n9,1\n4,2\n"))
    assert sorted(assemble(edges, known=old).node_ids) == ["4", "9", "foo:1", "foo:2"]
    edges = read_edges(write("new.csv", "source,target\n9,1\n4,2\n"))
    with pytest.raises(ValueError, match=r"new\.csv: id '1' may be 'foo:1' or 'bar:1' of the edges"):
        assemble(edges, known=old)
    assert old.kinds.kinds == before


def test_an_id_with_the_prefix_of_another_kind_keeps_its_kind(write):
    problem = assemble(read_edges(write("e.csv", RATINGS)))
    problem.kinds.resolve(read_labels(write("l.csv", "user_id,label\nitem_id:3,a\n7,b\n")))
    again = problem.kinds.resolve(read_labels(write("l.csv", "item_id,label\n3,a\n7,b\n")))
    assert again.ids.tolist() == ["3", "item_id:7"]
