"""SciPy and NumPy matrices as a problem; what every neighbouring library comes down to."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from gssl.graph import check_finite, clean_adjacency
from gssl.io.labels import is_missing
from gssl.io.problem import Problem


def from_scipy(
    adjacency: Any,
    y: Any = None,
    features: Any = None,
    node_ids: Any = None,
    feature_names: Sequence[str] = (),
) -> Problem:
    """Take a graph from a matrix.

    Parameters
    ----------
    adjacency : sparse matrix of any format, or array-like, shape (n, n)
        Directions are ignored.
    y : array-like of shape (n,), optional
        Labels; None, NaN and −1 where there is none. They become text.
    features : sparse matrix or array-like of shape (n, d), optional
    node_ids : array-like of shape (n,), optional
        ``"0", "1", …`` if None. They become text.
    feature_names : sequence of d str, optional

    Returns
    -------
    Problem

    Examples
    --------
    >>> problem = from_scipy([[0, 1], [1, 0]], y=[3, -1])
    >>> problem.node_ids.tolist(), problem.y.tolist()
    (['0', '1'], ['3', None])
    """
    return make_problem(adjacency, y, features, node_ids, tuple(feature_names))


def make_problem(
    adjacency: Any, y: Any, features: Any, node_ids: Any, names: tuple[str, ...] = ()
) -> Problem:
    """Check matrices from elsewhere against one another, and name what was odd.

    Examples
    --------
    >>> make_problem([[1, 1], [0, 0]], None, None, None).notes
    ['removed 1 self-loop']
    """
    cleaned, report = clean_adjacency(adjacency)
    n = cleaned.shape[0]
    two_way = cleaned.nnz // 2 - report.asymmetric
    notes = [
        message
        for message in report.messages()
        # a matrix or a graph that holds each edge once is undirected in its own way
        if two_way or "not symmetric" not in message
    ]
    isolated = int(np.count_nonzero(np.diff(cleaned.indptr) == 0))
    if isolated:
        notes.append(f"{isolated:,} node{'' if isolated == 1 else 's'} without any edge")
    matrix = None
    if features is not None:
        check_finite(features, "features")
        matrix = csr_array(features) if issparse(features) else np.asarray(features)
        _check_length(matrix.shape[0], n, "rows of features")
        matrix = matrix.astype(np.result_type(matrix.dtype, np.float32), copy=False)
    labels = np.full(n, None, dtype=object)
    if y is not None:
        values = list(y.tolist() if isinstance(y, np.ndarray) else y)
        _check_length(len(values), n, "labels")
        labels[:] = [label_text(value) for value in values]
    return Problem(_texts(node_ids, n), cleaned, matrix, labels, notes, names)


def label_text(value: Any) -> str | None:
    """Write a label as text; None, NaN and −1 are no label.

    Examples
    --------
    >>> [label_text(value) for value in (3, 3.0, -1, float("nan"), "spy", None)]
    ['3', '3', None, None, 'spy', None]
    """
    if is_missing(value):
        return None
    if isinstance(value, str):
        return value or None
    if isinstance(value, float | np.floating) and float(value).is_integer():
        value = int(value)
    if isinstance(value, int | np.integer) and not isinstance(value, bool) and value == -1:
        return None
    return str(value)


def _texts(node_ids: Any, n: int) -> np.ndarray:
    texts = np.empty(n, dtype=object)
    if node_ids is None:
        texts[:] = [str(i) for i in range(n)]
        return texts
    _check_length(len(node_ids), n, "node ids")
    texts[:] = [str(node) for node in node_ids]
    if len(set(texts)) < n:
        seen: set[str] = set()
        twice = next(text for text in texts if text in seen or seen.add(text))  # type: ignore[func-returns-value]
        raise ValueError(f"two nodes have the id {twice!r}: as text, ids must differ.")
    return texts


def _check_length(found: int, n: int, what: str) -> None:
    if found != n:
        raise ValueError(f"there are {found} {what} but {n} nodes in the graph: give one for each node.")
