"""Handwritten digits, joined to the ones that look most alike."""

from __future__ import annotations

import numpy as np

from gssl.datasets.dataset import Dataset, default_names
from gssl.datasets.splits import draw_split


def load_digits_graph() -> Dataset:
    """Read scikit-learn's 1,797 digits of 8 × 8 pixels in [0, 1], each joined to its 10 nearest.

    The split ``"default"`` trains on 10 digits of each class and tests on all others.

    Examples
    --------
    >>> digits = load_digits_graph()
    >>> digits.n_nodes, digits.n_features, digits.splits["default"]["train"].size
    (1797, 64, 100)
    """
    from sklearn.datasets import load_digits  # a second of import that no other dataset needs

    from gssl.graph import knn_graph

    pixels, digits = load_digits(return_X_y=True)
    features = pixels / 16.0
    labels = digits.astype(np.int64)
    return Dataset(
        name="digits",
        adjacency=knn_graph(features, n_neighbors=10),
        features=features,
        labels=labels,
        node_ids=default_names(len(labels)),
        class_names=tuple(default_names(10).tolist()),
        splits={"default": draw_split(labels, per_class=10)},
    )
