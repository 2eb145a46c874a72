from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from gssl.datasets import Dataset, make_block_graph


def homophily(data: Dataset) -> float:
    rows = np.repeat(np.arange(data.n_nodes), np.diff(data.adjacency.indptr))
    return float(np.mean(data.labels[rows] == data.labels[data.adjacency.indices]))


@pytest.mark.parametrize("wanted", [0.0, 0.2, 0.8, 1.0])
def test_edges_and_homophily_are_exact(wanted: float):
    data = make_block_graph(2000, 12_000, 16, 4, homophily=wanted)
    assert data.n_edges == 12_000
    assert homophily(data) == pytest.approx(wanted, abs=1e-4)
    assert (data.adjacency.data == 1).all()
    assert data.name.startswith("synthetic")


def test_classes_are_equal_and_split():
    data = make_block_graph()
    assert np.bincount(data.labels).tolist() == [200] * 5
    assert np.bincount(data.mask_labels("default")[data.splits["default"]["train"]]).tolist() == [20] * 5


def test_degrees_follow_a_power_law():
    degrees = np.diff(make_block_graph(20_000, 100_000, 4).adjacency.indptr)
    assert degrees.max() > 20 * degrees.mean()
    assert np.median(degrees) < degrees.mean()
    # Hill estimator of the tail exponent, over nodes with at least twice the mean degree
    tail = degrees[degrees >= 20]
    assert 1 + 1 / np.mean(np.log(tail / 19.5)) == pytest.approx(2.5, abs=0.25)


@pytest.mark.parametrize("kind", ["sparse", "dense"])
def test_features_tell_classes_apart(kind: Any):
    data = make_block_graph(3000, 6000, 40, 4, features=kind)
    assert data.features.dtype == np.float32
    assert isinstance(data.features, csr_array) == (kind == "sparse")
    X = data.features.toarray() if kind == "sparse" else data.features
    means = np.stack([X[data.labels == label].mean(axis=0) for label in range(4)])
    nearest = np.argmin(((X[:, None] - means) ** 2).sum(axis=2), axis=1)
    assert 0.5 < np.mean(nearest == data.labels) < 0.99


def test_same_seed_same_graph():
    first, again, other = (make_block_graph(200, 600, 8, random_state=seed) for seed in (3, 3, 4))
    assert (first.adjacency != again.adjacency).nnz == 0
    assert (first.features != again.features).nnz == 0
    assert (first.adjacency != other.adjacency).nnz > 0


def test_half_of_all_pairs_can_be_drawn():
    data = make_block_graph(40, 190, 3, 2, homophily=1.0)
    assert data.n_edges == 190


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_nodes": 40, "n_edges": 400, "n_classes": 2, "homophily": 1.0}, "400 edges inside the classes"),
        ({"n_classes": 1}, "1000 edges between classes were asked for but there are 0 pairs"),
        ({"homophily": 1.5}, "homophily is 1.5"),
        ({"features": "text"}, "features is 'text'"),
        ({"n_nodes": 3}, "give each class a node"),
        ({"n_features": 0}, "at least one feature"),
    ],
)
def test_impossible_graphs_are_refused(settings: dict[str, Any], message: str):
    with pytest.raises(ValueError, match=message):
        make_block_graph(**settings)


@pytest.mark.parametrize("n_nodes", [5, 6, 21])
def test_tiny_graphs(n_nodes: int):
    data = make_block_graph(n_nodes, 2, 2, homophily=0.0)
    assert (data.n_edges, data.splits["default"]["train"].size) == (2, 5)


@pytest.mark.slow
def test_reddit_s_shape_within_8_gb():
    resource = pytest.importorskip("resource")
    data = make_block_graph(233_000, 11_600_000, 602, 41, features="dense")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 8e6
    assert data.n_edges == 11_600_000
    assert homophily(data) == pytest.approx(0.8, abs=1e-6)
    assert data.features.shape == (233_000, 602)
