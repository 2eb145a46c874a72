"""Which labelled nodes guide the embedding: the "less is more" trick of OGC (Sect. 5.1)."""

from typing import Any

import numpy as np

from gssl.methods._labels import UNLABELLED


def choose_anchors(anchors: Any, codes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Give the indices of the labelled nodes that SEB may touch.

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
    >>> choose_anchors([True, False, True, False, False], codes, np.random.default_rng(0))
    array([0, 2])
    """
    labelled = np.flatnonzero(codes != UNLABELLED)
    if anchors is None:
        return labelled
    if isinstance(anchors, float | np.floating):
        return _stratified_fraction(float(anchors), codes, rng)
    chosen = np.asarray(anchors)
    if chosen.dtype == bool:
        if chosen.shape != codes.shape:
            raise ValueError(
                f"anchors is a mask of shape {chosen.shape}, but there are {len(codes)} nodes: "
                "give one entry per node."
            )
        chosen = np.flatnonzero(chosen)
    elif chosen.ndim != 1 or chosen.dtype.kind not in "iu":
        raise ValueError("anchors must be None, a fraction, a boolean mask or an array of node indices.")
    elif len(chosen) and not (chosen.min() >= 0 and chosen.max() < len(codes)):
        raise ValueError(f"anchors has an index outside 0 … {len(codes) - 1}.")
    unlabelled = chosen[codes[chosen] == UNLABELLED]
    if len(unlabelled):
        raise ValueError(
            f"anchors names node {unlabelled[0]}, which has no label: only labelled nodes can be anchors."
        )
    return np.unique(chosen)


def _stratified_fraction(fraction: float, codes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    if not 0.0 < fraction <= 1.0:
        raise ValueError(f"anchors as a fraction must lie in (0, 1], not {fraction}.")
    parts = []
    for code in range(codes.max() + 1):
        members = np.flatnonzero(codes == code)
        parts.append(rng.choice(members, size=max(1, round(fraction * len(members))), replace=False))
    return np.sort(np.concatenate(parts))
