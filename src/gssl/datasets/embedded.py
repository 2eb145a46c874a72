"""Graphs that come with the package: Cora, handwritten digits and the karate club."""

from importlib import resources

import numpy as np
from scipy.sparse import csr_array, eye_array

from gssl.datasets.dataset import Dataset, adjacency_from_edges, default_names, draw_split

# each friendship once, listed at its lower-numbered member
_LATER_FRIENDS = {
    0: (1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13, 17, 19, 21, 31),
    1: (2, 3, 7, 13, 17, 19, 21, 30),
    2: (3, 7, 8, 9, 13, 27, 28, 32),
    3: (7, 12, 13),
    4: (6, 10),
    5: (6, 10, 16),
    6: (16,),
    8: (30, 32, 33),
    9: (33,),
    13: (33,),
    14: (32, 33),
    15: (32, 33),
    18: (32, 33),
    19: (33,),
    20: (32, 33),
    22: (32, 33),
    23: (25, 27, 29, 32, 33),
    24: (25, 27, 31),
    25: (31,),
    26: (29, 33),
    27: (33,),
    28: (31, 33),
    29: (32, 33),
    30: (32, 33),
    31: (32, 33),
    32: (33,),
}
_WITH_MR_HI = (0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13, 16, 17, 19, 21)
_N_MEMBERS = 34


def load_cora() -> Dataset:
    """Read the LINQS Cora graph: 2,708 papers, 1,433 binary words, 5,278 citations, 7 named classes.

    The nodes are those of Planetoid's Cora in another order, with their paper ids. There is no public
    split; ``"default"`` draws 20 training nodes of each class, 500 for validation and 1,000 for testing.
    """
    source = resources.files("gssl.datasets").joinpath("data", "cora.npz")
    with resources.as_file(source) as path, np.load(path, allow_pickle=False) as file:
        arrays = dict(file)
    labels = arrays["labels"].astype(np.int64)
    words = np.unpackbits(arrays["word_bits"], axis=0, count=labels.size).astype(np.float32)
    return Dataset(
        name="cora",
        adjacency=adjacency_from_edges(arrays["edges"].astype(np.int64), labels.size),
        features=csr_array(words),
        labels=labels,
        node_ids=arrays["paper_ids"].astype(np.str_),
        class_names=tuple(arrays["class_names"].tolist()),
        splits={"default": draw_split(labels, per_class=20, n_val=500, n_test=1000)},
    )


def load_digits_graph() -> Dataset:
    """Read scikit-learn's 1,797 digits of 8 × 8 pixels in [0, 1], each linked to its 10 nearest neighbours.

    The split ``"default"`` trains on 10 digits of each class and tests on all others.
    """
    from sklearn.datasets import load_digits  # takes a second to import, and no other dataset needs it

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


def load_karate() -> Dataset:
    """Build Zachary's karate club: 34 members, 78 friendships, labels by the two factions (X = I).

    The split ``"default"`` trains on the two leaders, members 0 and 33, and tests on all others.
    """
    edges = np.array([(member, friend) for member, later in _LATER_FRIENDS.items() for friend in later])
    labels = np.ones(_N_MEMBERS, dtype=np.int64)
    labels[list(_WITH_MR_HI)] = 0
    split = {"train": np.array([0, 33]), "val": np.array([], dtype=np.int64), "test": np.arange(1, 33)}
    return Dataset(
        name="karate",
        adjacency=adjacency_from_edges(edges, _N_MEMBERS),
        features=eye_array(_N_MEMBERS, format="csr"),
        labels=labels,
        node_ids=default_names(_N_MEMBERS),
        class_names=("Mr. Hi", "Officer"),
        splits={"default": split},
    )
