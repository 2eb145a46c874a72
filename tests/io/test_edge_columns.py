"""Names and values of columns say which is a weight, and whether both ends are the same kind of node."""

import pytest

from gssl.io import build_graph_store, read_edges


def third(write, name, values, **options):
    rows = "".join(f"p{i},q{i},{value}\n" for i, value in enumerate(values))
    return read_edges(write("e.csv", f"source,target,{name}\n{rows}" if name else rows), **options)


TIMES = ["ts", "created_at", "unixReviewTime", "year", "Time"]


@pytest.mark.parametrize("name", ["distance", "dist_km", "length", "cost", "edge_id", *TIMES])
def test_distances_times_and_ids_are_not_used_as_weights(write, tmp_path, name):
    edges = third(write, name, [3, 1.5])
    assert edges.weights is None
    assert edges.notes == [
        f"{edges.name}: column '{name}' is not used as a weight, because by its name it is a distance, a "
        f"time or an id (--edge-columns 'source,target,{name}' uses it)."
    ]
    store = build_graph_store(edges.name, tmp_path / "store")
    assert (store.weighted, store.notes) == (False, edges.notes)
    assert third(write, name, [3, 1.5], columns=["source", "target", name]).weights.tolist() == [3.0, 1.5]


@pytest.mark.parametrize("name", ["", "value", "x"])
@pytest.mark.parametrize("times", [[1082040961, 1098777142], [1082040961000, 1098777142000]])
def test_unix_times_in_a_vaguely_named_column_are_no_weights(write, name, times):
    edges = third(write, name, times)
    assert edges.weights is None
    assert "is not used as a weight, because its values look like Unix times" in edges.notes[-1]


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("value", [1082040961, 3]),
        ("value", [1082040961.5, 1098777142]),
        ("count", [1082040961, 1098777142]),
        ("weight", [1082040961, 1098777142]),
        ("rating", [3, 4.5]),
        ("time_weight", [0.5, 1]),
    ],
)
def test_other_numbers_and_names_of_strengths_stay_weights(write, name, values):
    assert third(write, name, values).weights.tolist() == [float(value) for value in values]


ROLES = [
    *("source,target", "from,to", "src,dst", "citing,cited", "follower,followee", "u,v", "node1,node2"),
    *("id_a,id_b", "FromNodeId,ToNodeId", "fromnodeid,tonodeid", "user,friend", "paper_id,cited_paper_id"),
    *("user1,user2", "id,parent_id", "src_ip,dst_ip"),
]
THINGS = ["user,item", "user_id,item_id", "userId,movieId", "userid,movieid", "paper,author", "users,tags"]
UNKNOWN = ["foo,bar", "manager,employee", "user,customer", "id,name", "from,item"]


@pytest.mark.parametrize("names", ROLES)
def test_names_of_roles_mean_one_kind_of_node(write, pairs, names):
    edges = read_edges(write("e.csv", f"{names}\n1,2\n2,3\n"))
    assert (pairs(edges), edges.notes) == ([("1", "2"), ("2", "3")], [])


@pytest.mark.parametrize("names", THINGS)
def test_names_of_two_things_mean_two_kinds_where_they_share_ids(write, pairs, names):
    edges = read_edges(write("e.csv", f"{names}\n1,2\n2,3\n"))
    a, b = edges.columns
    assert edges.two_sided
    assert f"{a},{b}" == names
    assert pairs(edges) == [("1", f"{b}:2"), (f"{a}:2", "3")]
    assert edges.notes == [
        f"{edges.name}: columns '{a}' and '{b}' share 1 id; each is two nodes, such as '{a}:2' and '{b}:2' "
        "(--same-nodes makes them one)."
    ]
    edges = read_edges(write("e.csv", f"{names}\n1,2\n3,4\n"))
    assert (pairs(edges), edges.notes) == ([("1", "2"), ("3", "4")], [])


@pytest.mark.parametrize("names", UNKNOWN)
def test_other_names_ask_where_they_share_ids(write, pairs, names):
    file = write("e.csv", f"{names}\n1,2\n2,3\n")
    a, b = names.split(",")
    with pytest.raises(ValueError, match=r"such as '2', .* do not tell .* --same-nodes or --two-sided"):
        read_edges(file)
    assert pairs(read_edges(file, two_sided=False)) == [("1", "2"), ("2", "3")]
    assert pairs(read_edges(file, two_sided=True)) == [("1", f"{b}:2"), (f"{a}:2", "3")]
    assert pairs(read_edges(write("e.csv", f"{names}\n1,2\n3,4\n"))) == [("1", "2"), ("3", "4")]


def test_a_file_without_a_header_has_one_kind_of_node(write, pairs):
    assert pairs(read_edges(write("e.csv", "alice,bob\ncarol,dave\ndave,erin\n")))[1] == ("dave", "erin")
    assert pairs(read_edges(write("e.csv", "1,2\n2,3\n"))) == [("1", "2"), ("2", "3")]
    assert pairs(read_edges(write("e.csv", "user,item\nuser,2\n"), header=False))[0] == ("user", "2")
