from importlib import resources

import numpy as np
import pytest

from gssl.datasets import load


def test_cora_has_the_published_counts_in_a_small_file():
    cora = load("cora")
    assert (cora.n_nodes, cora.n_edges, cora.n_features) == (2708, 5278, 1433)
    assert dict(zip(cora.class_names, np.bincount(cora.labels).tolist(), strict=True)) == {
        "Case_Based": 298,
        "Genetic_Algorithms": 418,
        "Neural_Networks": 818,
        "Probabilistic_Methods": 426,
        "Reinforcement_Learning": 217,
        "Rule_Learning": 180,
        "Theory": 351,
    }
    assert cora.features.nnz == 49216
    assert (cora.features.data == 1).all()
    assert [cora.splits["default"][part].size for part in ("train", "val", "test")] == [140, 500, 1000]
    assert np.bincount(cora.labels[cora.splits["default"]["train"]]).tolist() == [20] * 7
    assert len(resources.files("gssl.datasets").joinpath("data", "cora.npz").read_bytes()) < 200_000


def test_cora_keeps_papers_words_and_citations():
    """Check the first lines of cora.content and cora.cites: paper 35 is cited by paper 1033."""
    cora = load("cora")
    assert cora.node_ids[0] == "31336"
    assert cora.class_names[cora.labels[0]] == "Neural_Networks"
    assert cora.features[[0]].indices.tolist()[:3] == [118, 125, 176]
    row = {paper: number for number, paper in enumerate(cora.node_ids.tolist())}
    assert cora.adjacency[row["35"], row["1033"]] == 1
    assert cora.class_names[cora.labels[row["35"]]] == "Genetic_Algorithms"


def test_karate_is_networkx_s():
    networkx = pytest.importorskip("networkx")
    club, data = networkx.karate_club_graph(), load("karate")
    expected = networkx.to_numpy_array(club, nodelist=range(34), weight=None)
    np.testing.assert_array_equal(data.adjacency.toarray(), expected)
    assert [data.class_names[label] for label in data.labels] == [
        club.nodes[node]["club"] for node in range(34)
    ]
    assert data.mask_labels("default")[[0, 33]].tolist() == [0, 1]
    assert data.splits["default"]["test"].tolist() == list(range(1, 33))


def test_digits_join_neighbours_of_one_class():
    digits = load("digits")
    assert (digits.n_nodes, digits.n_features, digits.class_names[3]) == (1797, 64, "3")
    assert (digits.features.min(), digits.features.max()) == (0, 1)
    assert np.bincount(digits.labels[digits.splits["default"]["train"]]).tolist() == [10] * 10
    degrees = np.diff(digits.adjacency.indptr)
    assert degrees.min() >= 10
    rows, columns = digits.adjacency.nonzero()
    assert np.mean(digits.labels[rows] == digits.labels[columns]) > 0.95
