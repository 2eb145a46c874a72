import numpy as np
import pytest
from scipy.sparse import csr_array

import gssl
from gssl.evaluation import graph_health, relation_health
from gssl.graph import GraphWarning, check_adjacency

# a triangle, an edge, and an isolated node
EDGES = [(0, 1), (1, 2), (0, 2), (3, 4)]


def graph(edges=EDGES, n=6):
    A = np.zeros((n, n))
    for a, b in edges:
        A[a, b] = A[b, a] = 1.0
    return A


def test_sizes_components_and_degrees():
    health = graph_health(graph(), ["x", "x", "y", None, None, None], n_features=7)
    assert (health.n_nodes, health.n_edges, health.n_features) == (6, 4, 7)
    assert (health.n_components, health.largest_component, health.n_isolated) == (3, 3, 1)
    assert health.degrees == pytest.approx({"min": 0, "median": 1.5, "mean": 8 / 6, "p90": 2, "max": 2})
    assert (health.n_labelled, health.label_counts, health.n_unreached) == (3, {"x": 2, "y": 1}, 3)
    assert health.n_labelled_edges == 3
    assert health.homophily == pytest.approx(1 / 3)


@pytest.mark.parametrize("nothing", [-1, None, float("nan"), np.nan, ""])
def test_no_labels_at_all_is_a_fact_not_an_error(nothing):
    health = graph_health(graph(), [nothing] * 6)
    assert (health.n_labelled, health.label_counts, health.n_unreached) == (0, {}, 6)
    assert (health.homophily, health.n_labelled_edges) == (None, 0)


def test_one_class_is_a_fact_not_an_error():
    health = graph_health(graph(), ["only", "only", None, None, None, None])
    assert health.label_counts == {"only": 2}
    assert (health.homophily, health.n_labelled_edges) == (1.0, 1)


def test_a_marker_among_texts_is_no_label():
    with pytest.warns(GraphWarning, match="y: 2 texts taken as no label: '\\?'"):
        health = graph_health(graph(), ["only", "?", "", "?", "only", None])
    assert health.label_counts == {"only": 2}


def test_weights_directions_loops_and_duplicates_do_not_count():
    row, column = [0, 1, 1, 0, 3, 2, 2], [1, 2, 2, 2, 4, 2, 0]
    A = csr_array((np.full(7, 5.0), (row, column)), shape=(6, 6))
    health = graph_health(A, [0, 0, 1, -1, -1, -1])
    assert health == graph_health(graph(), [0, 0, 1, -1, -1, -1])


def test_cora_has_its_known_shape():
    data = gssl.datasets.load("cora")
    health = graph_health(data.adjacency, data.labels)
    assert (health.n_components, health.largest_component, health.n_isolated) == (78, 2485, 0)
    assert health.homophily == pytest.approx(0.81, abs=0.005)
    assert health.n_labelled_edges == health.n_edges == 5278


def test_a_missing_label_is_told():
    with pytest.raises(ValueError, match="5 entries but the graph has 6 nodes"):
        graph_health(graph(), [0, 1, 0, 1, 0])


def test_each_relation_has_its_own_homophily_and_reach():
    cites = np.zeros((6, 6))
    cites[0, 1] = cites[1, 2] = cites[2, 1] = cites[2, 3] = 1.0
    A = check_adjacency({"cites": cites, "likes": graph()}, directed=True)
    first, second = relation_health(A, ["x", "x", "y", None, None, None])
    assert (first.name, first.directed, first.n_links, first.n_nodes) == ("cites", True, 4, 4)
    assert (first.homophily, first.n_labelled_links) == (pytest.approx(1 / 3), 3)
    assert first.reach == pytest.approx(1 / 3)
    assert (second.name, second.directed, second.n_links, second.n_nodes) == ("likes", False, 4, 5)
    assert (second.homophily, second.n_labelled_links, second.reach) == (pytest.approx(1 / 3), 3, 0.0)
    unlabelled, _ = relation_health(A, [None] * 6)
    assert (unlabelled.homophily, unlabelled.reach) == (None, 0.0)
    assert relation_health(A, ["x"] * 6)[0].reach is None
    assert relation_health(csr_array(graph()), ["x"] * 6) == []
