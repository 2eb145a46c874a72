import numpy as np

from gssl.label import map_layout
from gssl.label.map_layout import place_nodes


def test_nodes_lie_near_nodes_that_are_like_them(monkeypatch):
    monkeypatch.setattr(map_layout, "LANDMARKS", 60)
    rng = np.random.default_rng(0)
    group = np.arange(300) % 3
    rows = (np.eye(3)[group] @ rng.standard_normal((3, 8)) * 3 + rng.standard_normal((300, 8))).astype(
        np.float32
    )
    xy = place_nodes(rows)
    assert xy.shape == (300, 2)
    assert xy.dtype == np.float32
    assert np.abs(xy).max() == 1.0
    centres = np.array([xy[group == k].mean(axis=0) for k in range(3)])
    nearest = np.linalg.norm(xy[:, None] - centres, axis=2).argmin(axis=1)
    assert (nearest == group).mean() > 0.9
    np.testing.assert_array_equal(xy, place_nodes(rows))


def test_few_or_empty_rows_have_a_place():
    assert place_nodes(np.zeros((5, 0), dtype=np.float32)).shape == (5, 2)
    assert np.isfinite(place_nodes(np.zeros((5, 3), dtype=np.float32))).all()
    assert np.isfinite(place_nodes(np.ones((1, 3), dtype=np.float32))).all()
