"""Which nodes a caller means, and which labelled ones guide OGC's embedding."""

from typing import Any

import numpy as np

from gssl.methods._labels import UNLABELLED


def select_nodes(selection: Any, n_nodes: int, name: str) -> np.ndarray:
    """Give the indices of the nodes that a mask or a list of indices names, in the order of the list.

    Parameters
    ----------
    selection : bool mask of shape (n,) or array of indices
    n_nodes : int
    name : str
        What the caller calls the selection, for errors.

    Returns
    -------
    int ndarray

    Examples
    --------
    >>> select_nodes([True, False, True], 3, "nodes"), select_nodes([2, 0], 3, "nodes")
    (array([0, 2]), array([2, 0]))
    """
    chosen = np.asarray(selection)
    if chosen.size == 0:
        chosen = chosen.astype(np.int64)
    if chosen.dtype == bool:
        if chosen.shape != (n_nodes,):
            raise ValueError(
                f"{name} is a mask of shape {chosen.shape}, but there are {n_nodes} nodes: give one entry "
                "per node."
            )
        chosen = np.flatnonzero(chosen)
    if chosen.ndim != 1 or chosen.dtype.kind not in "iu":
        raise ValueError(f"{name} must be a boolean mask over the nodes or an array of node indices.")
    wild = chosen[(chosen < 0) | (chosen >= n_nodes)]
    if len(wild):
        raise ValueError(f"{name} names node {wild[0]}, but the nodes are numbered 0 to {n_nodes - 1}.")
    return chosen


def select_labelled(selection: Any, codes: np.ndarray, name: str) -> np.ndarray:
    """Give the sorted indices of labelled nodes that a mask or a list of indices names.

    Parameters
    ----------
    selection : bool mask of shape (n,) or array of indices
    codes : int ndarray of shape (n,)
        Class codes, −1 where unlabelled.
    name : str
        What the caller calls the selection, for errors.

    Returns
    -------
    int ndarray, sorted

    Examples
    --------
    >>> select_labelled([True, False, True, False], np.array([0, 1, 1, -1]), "anchors")
    array([0, 2])
    """
    chosen = select_nodes(selection, len(codes), name)
    unlabelled = chosen[codes[chosen] == UNLABELLED]
    if len(unlabelled):
        raise ValueError(f"{name} names node {unlabelled[0]}, which has no label in y.")
    return np.unique(chosen)


def choose_anchors(anchors: Any, codes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Give the indices of the labelled nodes that SEB may touch ("less is more", Sect. 5.1).

    Parameters
    ----------
    anchors : None, float, bool mask of shape (n,) or array of indices
        All labelled nodes; a random fraction of each class (at least one node); or the ones named.
    codes : int ndarray of shape (n,)
        Class codes, −1 where unlabelled.
    rng : Generator
        Draws the fraction.

    Returns
    -------
    int ndarray, sorted

    Examples
    --------
    >>> codes = np.array([0, 0, 1, -1, 1])
    >>> choose_anchors(None, codes, np.random.default_rng(0))
    array([0, 1, 2, 4])
    """
    if anchors is None:
        return np.flatnonzero(codes != UNLABELLED)
    if not isinstance(anchors, float | np.floating):
        return select_labelled(anchors, codes, "anchors")
    if not 0.0 < anchors <= 1.0:
        raise ValueError(f"anchors as a fraction must lie in (0, 1], not {anchors}.")
    parts = []
    for code in range(codes.max() + 1):
        members = np.flatnonzero(codes == code)
        parts.append(rng.choice(members, size=max(1, round(anchors * len(members))), replace=False))
    return np.sort(np.concatenate(parts))
