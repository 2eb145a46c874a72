"""Features as they are given, or with rows of length one."""

from collections.abc import Mapping
from time import perf_counter
from types import MappingProxyType
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.preprocessing import normalize

from gssl.operators import small_algebra
from gssl.selection.filters import candidate_filters
from gssl.selection.labelled_rows import KnownTables, LabelledRows
from gssl.selection.search import SCREEN, try_filter
from gssl.selection.trial import NEAR, Labels, score_error, stratified_part

# a few hops tell
SCALING_DEPTH = 2


def unit_rows(X: Any) -> Any:
    """Scale rows to length one; a row of zeros stays.

    Parameters
    ----------
    X : ndarray or csr_array of shape (n, d)

    Returns
    -------
    ndarray or csr_array of shape (n, d)

    Examples
    --------
    >>> unit_rows(np.array([[3.0, 4.0], [0.0, 0.0]]))
    array([[0.6, 0.8],
           [0. , 0. ]])
    """
    # by the largest entry first, for squares may leave the range of the type
    return normalize(normalize(X, norm="max"), norm="l2")


def choose_scaling(
    X: Any,
    A: csr_array,
    nodes: np.ndarray,
    labels: Labels,
    depth: int,
    known: Mapping[bool, KnownTables] = MappingProxyType({}),
    deadline: float = np.inf,
) -> tuple[bool, LabelledRows, dict[bool, KnownTables]]:
    """Take rows of length one, unless the rows as given do clearly better on the labels.

    Parameters
    ----------
    X : ndarray or csr_array of shape (n, d)
    A : csr_array of shape (n, n)
    nodes : int ndarray of shape (m,)
        The labelled nodes.
    labels : Labels
    depth : int
    known : mapping from bool to KnownTables, optional
        What earlier labels needed, with rows scaled and not.
    deadline : float, default=inf
        As :func:`time.perf_counter` counts; past it, nothing is compared.

    Returns
    -------
    unit : bool
        Whether rows have length one.
    rows : LabelledRows
    lost : dict of KnownTables
        What the other one needed, and nothing else of it; empty where nothing was compared.

    Examples
    --------
    >>> X = np.repeat(np.eye(2), 4, axis=0)
    >>> unit, rows, lost = choose_scaling(
    ...     X, csr_array((8, 8)), np.arange(8), Labels(X, np.ones(8)), depth=2
    ... )
    >>> unit, list(lost)
    (True, [False])
    """
    scaled = LabelledRows(unit_rows(X), A, nodes, depth, known=known.get(True))
    if perf_counter() > deadline:
        return True, scaled, {}
    given = LabelledRows(X, A, nodes, depth, scaled.operators, known.get(False))
    part = stratified_part(labels.Y, SCREEN)
    filters = candidate_filters(SCALING_DEPTH)[: SCALING_DEPTH + 1]
    with small_algebra():
        scores = [
            max(float(try_filter(rows, f, labels, part).scores.max()) for f in filters)
            for rows in (scaled, given)
        ]
    if scores[1] <= scores[0] + NEAR * score_error(scores[0], labels):
        return True, scaled, {False: given.tables}
    return False, given, {True: scaled.tables}
