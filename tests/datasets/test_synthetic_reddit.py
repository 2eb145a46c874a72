import numpy as np
import pytest

from gssl.datasets import make_synthetic_reddit


def test_the_stand_in_has_reddits_proportions_and_says_that_it_is_drawn():
    data = make_synthetic_reddit(10_000, n_features=16, random_state=1)
    assert data.name == "synthetic/reddit-10000"
    assert data.n_classes == 41
    assert {part: nodes.size for part, nodes in data.splits["public"].items()} == {
        "train": 6600,
        "val": 1000,
        "test": 2400,
    }
    assert data.n_edges == 500_000
    rows = np.repeat(np.arange(data.n_nodes), np.diff(data.adjacency.indptr))
    assert np.mean(data.labels[rows] == data.labels[data.adjacency.indices]) == pytest.approx(0.75, abs=1e-3)
    again = make_synthetic_reddit(10_000, n_features=16, random_state=1)
    assert np.array_equal(again.features, data.features)
    assert np.array_equal(again.splits["public"]["test"], data.splits["public"]["test"])
