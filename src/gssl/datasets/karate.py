"""Zachary's karate club: who met whom outside the club, and whom they followed when it split."""

from __future__ import annotations

import numpy as np

from gssl.datasets.dataset import Dataset, default_names
from gssl.datasets.matrices import adjacency_from_edges, identity_features

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


def load_karate() -> Dataset:
    """Zachary's 34 members and 78 friendships, labelled with the two factions (X = I).

    The split ``"default"`` trains on the two leaders, members 0 and 33, and tests on all others.

    Examples
    --------
    >>> karate = load_karate()
    >>> karate.n_edges, karate.class_names
    (78, ('Mr. Hi', 'Officer'))
    """
    edges = np.array([(member, friend) for member, later in _LATER_FRIENDS.items() for friend in later])
    labels = np.ones(_N_MEMBERS, dtype=np.int64)
    labels[list(_WITH_MR_HI)] = 0
    split = {"train": np.array([0, 33]), "val": np.array([], dtype=np.int64), "test": np.arange(1, 33)}
    return Dataset(
        name="karate",
        adjacency=adjacency_from_edges(edges, _N_MEMBERS),
        features=identity_features(_N_MEMBERS),
        labels=labels,
        node_ids=default_names(_N_MEMBERS),
        class_names=("Mr. Hi", "Officer"),
        splits={"default": split},
    )
