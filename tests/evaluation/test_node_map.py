import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.neighbors import KNeighborsClassifier

from gssl.evaluation import node_map
from gssl.evaluation.node_map import place_all


def clusters(n=240, d=60):
    rng = np.random.default_rng(1)
    labels = np.arange(n) % 3
    return np.eye(3, d)[labels] * 4 + rng.normal(scale=0.5, size=(n, d)), labels


@pytest.mark.parametrize("form", [np.asarray, csr_array, lambda X: X.astype(np.float32)])
def test_classes_lie_apart_and_the_seed_decides(form):
    X, labels = clusters()
    indices, xy = node_map(form(X))
    assert indices.tolist() == list(range(240))
    assert np.abs(xy).max() == pytest.approx(1.0)
    near = KNeighborsClassifier(5).fit(xy[::2], labels[::2])
    assert near.score(xy[1::2], labels[1::2]) > 0.97
    np.testing.assert_array_equal(node_map(form(X))[1], xy)


def test_a_large_graph_is_sampled():
    X, _ = clusters()
    indices, xy = node_map(X, max_nodes=50)
    assert indices.tolist() == sorted(set(indices.tolist()))
    assert xy.shape == (50, 2)
    assert not np.array_equal(indices, node_map(X, max_nodes=50, random_state=1)[0])


def test_nodes_that_must_be_drawn_are_drawn():
    X, _ = clusters(n=3000)
    wanted = np.arange(0, 3000, 40)
    indices, _ = node_map(X, max_nodes=100, always=wanted)
    assert len(indices) == 100
    assert set(wanted) <= set(indices)
    mask = np.zeros(3000, dtype=bool)
    mask[:300] = True
    assert node_map(X, max_nodes=100, always=mask)[0].tolist() == list(range(300))


def test_nodes_beyond_those_of_the_layout_lie_beside_nodes_of_their_class():
    X, labels = clusters(n=3000)
    indices, xy = node_map(X)
    assert len(indices) == 3000
    near = KNeighborsClassifier(5).fit(xy[::2], labels[::2])
    assert near.score(xy[1::2], labels[1::2]) > 0.97


@pytest.mark.parametrize("shape", [(1, 4), (2, 1), (3, 0), (5, 1), (6, 2), (40, 3), (500, 0)])
def test_small_and_flat_embeddings_have_a_map_too(shape):
    rng = np.random.default_rng(0)
    for X in (rng.normal(size=shape), np.ones(shape)):
        indices, xy = node_map(X)
        assert indices.tolist() == list(range(shape[0]))
        assert np.isfinite(xy).all()
        assert xy.shape == (shape[0], 2)


def test_every_node_has_a_place_beside_those_it_is_like():
    X, labels = clusters(n=900)
    xy = place_all(X.astype(np.float32), n_mapped=60)
    assert xy.shape == (900, 2)
    assert np.abs(xy).max() == pytest.approx(1.0)
    near = KNeighborsClassifier(5).fit(xy[::2], labels[::2])
    assert near.score(xy[1::2], labels[1::2]) > 0.97
    np.testing.assert_array_equal(place_all(X.astype(np.float32), n_mapped=60), xy)
    assert place_all(np.zeros((5, 0))).tolist() == [[0.0, 0.0]] * 5


def test_no_room_for_a_node_is_refused():
    with pytest.raises(ValueError, match="at least 1 node"):
        node_map(np.eye(3), max_nodes=0)
