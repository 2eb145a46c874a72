"""Read the same small graph from objects of other libraries."""

from types import SimpleNamespace

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.sparse import coo_array, csr_array

import gssl
from gssl.io import from_dgl, from_frames, from_matrices, from_networkx, from_pyg, from_scipy, to_networkx

A = [[0, 2, 0, 0], [2, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 0]]


class Tensor:
    """A stand-in for a torch tensor."""

    def __init__(self, values):
        self.values = np.asarray(values)

    def detach(self):
        return self

    def cpu(self):
        return self

    def numpy(self):
        return self.values


FRAMES = {"pandas": pd.DataFrame, "polars": lambda d: pl.DataFrame(d, strict=False), "pyarrow": pa.table}


@pytest.mark.parametrize("library", FRAMES)
def test_frames_of_every_library_are_read(library):
    frame = FRAMES[library]
    problem = from_frames(
        frame({"src": ["007", "naïve"], "dst": ["naïve", "8"], "weight": [2.0, 1.0]}),
        frame({"id": ["007", "8"], "label": ["spy", None]}),
        frame(
            {
                "id": ["007", "naïve", "8", "9"],
                "x": [1, 2, 3, 4],
                "ok": [True, False, True, False],
                "job": list("abab"),
            }
        ),
    )
    assert problem.node_ids.tolist() == ["007", "naïve", "8", "9"]
    np.testing.assert_array_equal(problem.adjacency.toarray(), A)
    assert problem.y.tolist() == ["spy", None, None, None]
    assert problem.feature_names == ("x", "ok", "job=a", "job=b")
    np.testing.assert_array_equal(problem.features, [[1, 1, 1, 0], [2, 0, 0, 1], [3, 1, 1, 0], [4, 0, 0, 1]])


@pytest.mark.parametrize("library", FRAMES)
def test_integers_with_gaps_keep_every_digit(library):
    big = 2**63 - 1
    column = pd.array([big, None, 3], dtype="Int64") if library == "pandas" else [big, None, 3]
    problem = from_frames(
        FRAMES[library]({"a": [big, 3], "b": [3, 4]}), FRAMES[library]({"id": [big, 3, 4], "label": column})
    )
    assert dict(zip(problem.node_ids, problem.y, strict=True)) == {str(big): str(big), "3": None, "4": "3"}


def test_floats_and_lists_of_frames_are_read():
    edges = pd.DataFrame({"a": [1.0, 2.0], "b": [2, 3]})
    lists = pl.DataFrame({"id": [1, 2, 3], "v": [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]})
    problem = from_frames(edges, features=lists)
    np.testing.assert_array_equal(problem.features, [[1, 2], [3, 4], [5, 6]])
    mixed = pd.DataFrame({"a": [1, "x", 2.0], "b": ["x", 2, 1]}, dtype=object)
    assert from_frames(mixed).node_ids.tolist() == ["1", "2", "x"]


def test_frames_that_are_no_edges_are_refused():
    with pytest.raises(TypeError, match="not list"):
        from_frames([1, 2])
    with pytest.raises(ValueError, match="the table is empty"):
        from_frames(pd.DataFrame())
    with pytest.raises(ValueError, match="the table, row 1: column 'b' has no id"):
        from_frames(pd.DataFrame({"a": ["x", "y"], "b": [None, None]}))
    notes = from_frames(pd.DataFrame({"a": ["x", "y"], "b": ["y", None]})).notes
    assert notes == ["the table: skipped 1 edge without an id, in row 2."]


@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph, nx.MultiGraph])
def test_a_networkx_graph_is_read(kind):
    graph = kind()
    graph.add_nodes_from(["007", 1, 2, 3])
    graph.add_weighted_edges_from([("007", 1, 2.0), (1, 2, 1.0)])
    graph.nodes["007"]["label"], graph.nodes[2]["label"] = "spy", 5
    for i, node in enumerate(graph):
        graph.nodes[node].update(v=[i, 2 * i], x=i, y=-i)
    problem = from_networkx(graph, features="v")
    assert problem.node_ids.tolist() == ["007", "1", "2", "3"]
    np.testing.assert_array_equal(problem.adjacency.toarray(), A)
    assert problem.y.tolist() == ["spy", None, "5", None]
    np.testing.assert_array_equal(problem.features, [[0, 0], [1, 2], [2, 4], [3, 6]])
    assert not any("symmetric" in note for note in problem.notes)
    named = from_networkx(graph, features=["x", "y"], weight=None)
    assert named.feature_names == ("x", "y")
    np.testing.assert_array_equal(named.features[:, 1], [0, -1, -2, -3])
    assert named.adjacency.max() == 1


def test_a_networkx_graph_without_nodes_or_attributes_is_refused():
    with pytest.raises(ValueError, match="no nodes"):
        from_networkx(nx.Graph())
    with pytest.raises(ValueError, match="node 1 has no attribute 'x'"):
        from_networkx(nx.Graph([(1, 2)]), features=["x"])
    with pytest.raises(ValueError, match="two nodes have the id '1'"):
        from_networkx(nx.Graph([(1, "1")]))


def test_a_problem_becomes_a_networkx_graph():
    problem = from_scipy(np.array(A)[:3, :3], ["x", None, "y"], node_ids=["007", "b", "c"])
    model = gssl.LabelPropagation(class_mass=False).fit(None, problem.y, adjacency=problem.adjacency)
    graph = to_networkx(problem, model)
    assert graph["007"]["b"]["weight"] == 2
    assert graph.number_of_edges() == 2
    assert graph.nodes["007"]["label"] == "x"
    assert "label" not in graph.nodes["b"]
    node = graph.nodes["b"]
    assert (node["predicted"], node["runner_up"], node["reached"]) == ("x", "y", True)
    assert node["confidence"] == pytest.approx(2 / 3)
    np.testing.assert_array_equal(from_networkx(graph).adjacency.toarray(), problem.adjacency.toarray())
    assert "predicted" not in to_networkx(problem).nodes["b"]
    with pytest.raises(ValueError, match="3 nodes but the graph has 4"):
        to_networkx(from_scipy(A), model)


@pytest.mark.parametrize("wrap", [np.asarray, Tensor])
def test_a_pyg_graph_is_read(wrap):
    data = SimpleNamespace(
        edge_index=wrap([[0, 1, 1, 2], [1, 0, 2, 1]]),
        edge_weight=wrap([2.0, 2.0, 1.0, 1.0]),
        x=wrap(np.eye(4, dtype=np.float32)),
        y=wrap([[3], [4], [5], [6]]),
        train_mask=wrap([True, False, True, False]),
    )
    problem = from_pyg(data)
    np.testing.assert_array_equal(problem.adjacency.toarray(), A)
    assert problem.y.tolist() == [3, None, 5, None]
    np.testing.assert_array_equal(problem.features, np.eye(4))
    assert problem.features.dtype == np.float32
    assert problem.notes == ["1 node without any edge"]
    assert from_pyg(data, mask=None).y.tolist() == [3, 4, 5, 6]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([2.0, -1.0, 7.0, None], [2, None, 7, None]),
        ([np.int8(2), 3, float("nan"), -1], [2, 3, None, None]),
        ([1.5, 2, None, 3.0], ["1.5", "2", None, "3"]),
        ([True, False, None, -1], ["True", "False", None, None]),
    ],
)
def test_whole_numbers_stay_whole_numbers_and_all_others_become_text(given, expected):
    assert from_scipy(A, given).y.tolist() == expected


def test_a_dgl_graph_is_read():
    graph = SimpleNamespace(
        edges=lambda: (Tensor([0, 1]), Tensor([1, 2])),
        num_nodes=lambda: 4,
        ndata={
            "feat": Tensor(np.eye(4)),
            "label": Tensor([3, 4, 5, 6]),
            "train_mask": Tensor([True] + 3 * [False]),
        },
        edata={"w": Tensor([2.0, 1.0])},
    )
    problem = from_dgl(graph, weight="w")
    np.testing.assert_array_equal(problem.adjacency.toarray(), A)
    assert problem.y.tolist() == [3, None, None, None]
    with pytest.raises(ValueError, match="no edge data 'v'; it has w"):
        from_dgl(graph, weight="v")
    with pytest.raises(TypeError, match="DGL graph"):
        from_dgl(7)


def test_a_matrix_is_read():
    problem = from_scipy(coo_array(A), [0, -1, np.nan, 2.0], features=coo_array(np.eye(4)), node_ids=range(4))
    assert problem.y.tolist() == [0, None, None, 2]
    np.testing.assert_array_equal(problem.features.toarray(), np.eye(4))
    half_way = from_scipy([[0, 1, 1], [0, 0, 0], [1, 0, 0]])
    assert "not symmetric in 1 pair" in half_way.notes[0]
    for arguments, message in (
        ({"y": [1]}, "1 labels but 4 nodes"),
        ({"features": np.eye(3)}, "3 rows of features but 4 nodes"),
        ({"node_ids": ["a"]}, "1 node ids but 4 nodes"),
        ({"features": np.full((4, 1), np.nan)}, "features contains NaN at row 0"),
    ):
        with pytest.raises(ValueError, match=message):
            from_scipy(A, **arguments)


def test_a_mapping_of_matrices_becomes_relations():
    A, B = np.array([[0, 1, 0], [0, 0, 0], [0, 1, 0]]), np.array([[2, 0, 3], [0, 0, 0], [3, 0, 0]])
    problem = from_scipy({"likes": B, "cites": A}, y=["a", None, "b"], directed=True)
    assert {name: R.toarray().tolist() for name, R in problem.adjacency.relations.items()} == {
        "cites": A.tolist(),
        "likes": [[0, 0, 3], [0, 0, 0], [3, 0, 0]],
    }
    assert problem.adjacency.toarray().tolist() == [[0, 1, 3], [1, 0, 1], [3, 1, 0]]
    assert problem.notes == ["relation 'likes': removed 1 self-loop"]
    ignored = from_scipy({"likes": B, "cites": A}, relation_weight={"cites": 0.5})
    assert ignored.adjacency.relations["cites"].toarray().tolist() == (A + A.T).tolist()
    assert ignored.adjacency.toarray().tolist() == [[0, 0.5, 3], [0.5, 0, 0.5], [3, 0.5, 0]]
    with pytest.raises(ValueError, match=r"relation 'cites': the adjacency must be square"):
        from_scipy({"likes": B, "cites": A[:2]})


def test_directions_of_a_networkx_graph_are_kept_on_demand():
    graph = nx.DiGraph([("a", "b"), ("b", "c")])
    assert type(from_networkx(graph).adjacency) is csr_array
    typed = from_networkx(graph, directed=True).adjacency
    assert typed.relations["links"].toarray().tolist() == [[0, 1, 0], [0, 0, 1], [0, 0, 0]]
    assert type(from_networkx(nx.Graph(graph), directed=True).adjacency) is csr_array


def test_an_attribute_of_networkx_edges_tells_relations():
    graph = nx.MultiDiGraph()
    graph.add_edges_from(
        [("a", "b", {"kind": "x"}), ("b", "a", {"kind": "y", "weight": 2.0}), ("b", "c", {})]
    )
    problem = gssl.read(graph, edge_type="kind", directed=True, relation_weight={"x": 3.0})
    assert {name: R.toarray().tolist() for name, R in problem.adjacency.relations.items()} == {
        "other": [[0, 0, 0], [0, 0, 1], [0, 0, 0]],
        "x": [[0, 1, 0], [0, 0, 0], [0, 0, 0]],
        "y": [[0, 0, 0], [2, 0, 0], [0, 0, 0]],
    }
    assert problem.adjacency.toarray().tolist() == [[0, 3, 0], [3, 0, 1], [0, 1, 0]]
    with pytest.raises(ValueError, match="no edge of the graph has the attribute 'nope'"):
        gssl.read(graph, edge_type="nope")


WROTE, CITES = np.array([[1, 0], [1, 1], [0, 1]]), np.array([[0, 1], [0, 0]])
HETERO = {("author", "wrote", "paper"): WROTE, ("paper", "cites", "paper"): CITES}


def check_hetero(problem):
    assert problem.node_ids.tolist() == ["author:0", "author:1", "author:2", "paper:0", "paper:1"]
    wrote, cites = (problem.adjacency.relations[name].toarray() for name in ("wrote", "cites"))
    assert wrote[:3, 3:].tolist() == WROTE.tolist()
    assert wrote[3:, :3].tolist() == WROTE.T.tolist()
    assert cites[3:, 3:].tolist() == (CITES + CITES.T).tolist()
    assert cites.sum() == 2
    X = problem.features.toarray()
    assert X[:3, 0].tolist() == [1, 2, 5]
    assert X[3:, 1:].tolist() == [[1, 2], [3, 4]]
    assert not X[3:, 0].any()
    assert not X[:3, 1:].any()


def test_matrices_between_kinds_of_nodes_become_one_graph():
    features = {"paper": np.array([[1.0, 2], [3, 4]]), "author": np.array([[1.0], [2], [5]])}
    problem = from_matrices(HETERO, {"paper": ["x", None]}, features)
    check_hetero(problem)
    assert problem.y.tolist() == [None, None, None, "x", None]
    prepared = gssl.read(HETERO, labels={"paper": ["x", None]}, features=features)
    assert prepared.features.toarray()[3:, 1:].tolist() == [[-1, -1], [1, 1]]
    assert prepared.features.toarray()[3:, 0].tolist() == [0, 0]
    table = pd.DataFrame({"paper": [0, 1], "label": ["a", "b"]})
    assert gssl.read(HETERO, labels=table).y.tolist() == [None, None, None, "a", "b"]
    assert gssl.read(HETERO, directed=True).adjacency.relations["wrote"].nnz == WROTE.sum()


def test_a_heterogeneous_graph_of_pyg_becomes_one_graph():
    parts = {key: SimpleNamespace(edge_index=np.array(B.nonzero())) for key, B in HETERO.items()}
    parts["author"] = SimpleNamespace(x=np.array([[1.0], [2], [5]]))
    mask = np.array([True, False])
    parts["paper"] = SimpleNamespace(x=np.array([[1.0, 2], [3, 4]]), y=np.array([7, 8]), train_mask=mask)

    class Hetero:
        """A stand-in for ``HeteroData``."""

        node_types, edge_types = ("author", "paper"), tuple(HETERO)

        def __getitem__(self, key):
            return parts[key]

    data = Hetero()
    problem = from_pyg(data)
    check_hetero(problem)
    assert problem.y.tolist() == [None, None, None, 7, None]
    assert gssl.read(data).y.tolist() == problem.y.tolist()
    data["author", "wrote", "paper"].edge_index = np.array([[0], [9]])
    with pytest.raises(ValueError, match=r"'wrote', 'paper'\) is outside 0 to 1"):
        from_pyg(data)


@pytest.mark.parametrize(
    ("relations", "features", "labels", "message"),
    [
        (HETERO | {("paper", "in", "venue"): np.ones((3, 1))}, None, None, "are 3 nodes but .* are 2"),
        (HETERO, {"paper": np.ones((3, 1))}, None, "the features of 'paper' are 3 nodes"),
        (HETERO, {"venue": np.ones((3, 1))}, None, "are of no kind of the relations"),
        (HETERO, {"paper": np.ones(2)}, None, "give a row for each node"),
        (HETERO, None, {"paper": ["a"]}, "the labels of 'paper' are 1 node but"),
        (HETERO | {"x": CITES}, None, None, "is named 'x': name all like"),
    ],
)
def test_kinds_of_nodes_that_disagree_are_one_sentence(relations, features, labels, message):
    with pytest.raises(ValueError, match=message):
        gssl.read(relations, features=features, labels=labels)
