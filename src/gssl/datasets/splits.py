"""Random splits: the same number of training nodes in every class, or nodes of whatever class."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray


def draw_split(
    labels: ArrayLike,
    per_class: int = 20,
    n_val: int = 0,
    n_test: int | None = None,
    random_state: Any = 0,
) -> dict[str, NDArray[np.int64]]:
    """Draw training nodes class by class, then validation and test nodes from the rest.

    Parameters
    ----------
    labels : array of shape (n,)
        Class numbers; nodes with −1 are in no part.
    per_class : int
        Training nodes of each class.
    n_val : int
        Validation nodes, whatever their class.
    n_test : int or None
        Test nodes; None takes all that are left.
    random_state : int or numpy Generator
        Same seed, same split.

    Returns
    -------
    dict
        Sorted node numbers under ``"train"``, ``"val"`` and ``"test"``.

    Examples
    --------
    >>> split = draw_split([0, 1, 0, 1, -1], per_class=1)
    >>> {part: nodes.size for part, nodes in split.items()}
    {'train': 2, 'val': 0, 'test': 2}
    """
    if per_class < 0 or n_val < 0 or (n_test is not None and n_test < 0):
        raise ValueError(f"A split cannot hold fewer than 0 nodes; got {per_class=}, {n_val=}, {n_test=}.")
    y = np.asarray(labels)
    shuffled = np.random.default_rng(random_state).permutation(np.flatnonzero(y >= 0))
    drawn = [np.empty(0, dtype=np.int64)]
    for label in np.unique(y[shuffled]):
        members = shuffled[y[shuffled] == label]
        if members.size < per_class:
            raise ValueError(
                f"Class {label} has {members.size} labelled nodes but per_class={per_class}; ask for fewer."
            )
        drawn.append(members[:per_class])
    train = np.concatenate(drawn)
    rest = shuffled[~np.isin(shuffled, train)]
    if n_val + (n_test or 0) > rest.size:
        raise ValueError(
            f"{n_val} validation and {n_test or 0} test nodes were asked for but {rest.size} labelled nodes "
            "are left after the training nodes; ask for fewer."
        )
    test = rest[n_val:] if n_test is None else rest[n_val : n_val + n_test]
    parts = {"train": train, "val": rest[:n_val], "test": test}
    return {part: np.sort(nodes).astype(np.int64) for part, nodes in parts.items()}


def draw_random(labels: ArrayLike, n_train: int, random_state: Any = 0) -> dict[str, NDArray[np.int64]]:
    """Draw training nodes whatever their class; all other labelled nodes are for testing.

    Parameters
    ----------
    labels : array of shape (n,)
        Class numbers; nodes with −1 are in no part.
    n_train : int
    random_state : int or numpy Generator
        Same seed, same split.

    Returns
    -------
    dict
        Sorted node numbers under ``"train"`` and ``"test"``.

    Examples
    --------
    >>> {part: nodes.size for part, nodes in draw_random([0, 1, 0, 1, -1], n_train=3).items()}
    {'train': 3, 'test': 1}
    """
    shuffled = np.random.default_rng(random_state).permutation(np.flatnonzero(np.asarray(labels) >= 0))
    if not 0 <= n_train <= shuffled.size:
        raise ValueError(f"{n_train} training nodes were asked for but {shuffled.size} nodes have a label.")
    return {"train": np.sort(shuffled[:n_train]), "test": np.sort(shuffled[n_train:])}
