"""Several labels per node: how they are read, and how probabilities become labels."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy.sparse import issparse

from gssl.graph.validate import refuse_mask, warn_user
from gssl.wording import counted, is_missing, listed, quoted

# a cell of which nothing is known
UNKNOWN = -1


def refuse_label_sets(model: Any, what: str) -> None:
    """Raise if a model predicts several labels per node, which ``what`` does not support."""
    if hasattr(model, "label_sets_"):
        raise ValueError(
            f"{what} supports one class per node, and this {type(model).__name__} predicts several labels: "
            "fit a model to each label, or use predict_proba."
        )


def is_label_sets(y: Any) -> bool:
    """Return whether labels are several per node: a matrix of more than one column, or a list of sets."""
    if y is None or isinstance(y, str):
        return False
    if issparse(y) or hasattr(y, "columns"):
        return bool(y.shape[1] > 1) if len(getattr(y, "shape", ())) == 2 else False
    shape = getattr(y, "shape", None)
    if shape is not None and len(shape) != 1:
        return len(shape) == 2 and shape[1] > 1
    known = (one for one in y if not is_missing(one)) if isinstance(y, Iterable) else iter(())
    first = next(known, None)
    if not isinstance(first, tuple | list):
        return isinstance(first, set | frozenset)
    # lists and tuples of texts are sets, too; of numbers, they are rows of a matrix, or of one column
    return _is_row(first) or any(isinstance(one, tuple | list) and _is_row(one) for one in known)


def _is_row(one: tuple[Any, ...] | list[Any]) -> bool:
    """Return whether a row has several labels, or is a tuple with the only label of a node."""
    return len(one) != 1 or (isinstance(one, tuple) and isinstance(one[0], str))


def read_label_sets(y: Any, n_nodes: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return the names of the labels, and a matrix of 0, 1 and −1 where it is not known.

    ``y`` is a matrix of 0 and 1, with NaN in unknown rows or cells, a data frame with a column per label, or
    a list with a set of labels, or None, for every node.
    """
    refuse_mask(y, "y")
    names, cells = _from_matrix(y) if _is_matrix(y) else _from_sets(y)
    if n_nodes is not None and len(cells) != n_nodes:
        raise ValueError(f"y has {len(cells)} rows but X has {n_nodes}: give one row of labels per node.")
    known = cells != UNKNOWN
    if known.any(axis=1).sum() < 2:
        raise ValueError("y has labels of fewer than two nodes: give the labels of more nodes.")
    same = []
    for k, name in enumerate(names):
        values = cells[known[:, k], k]
        if not len(values):
            raise ValueError(f"nothing is known about the label {quoted(str(name))}: leave it out.")
        if values.min() == values.max():
            same.append(name)
    if len(same) == len(names):
        raise ValueError("all known nodes have the same labels: give nodes that differ.")
    if same:
        warn_user(
            f"all known nodes agree about {counted(len(same), 'label')}, which cannot be learnt: "
            f"{listed(same)}."
        )
    return names, cells


def _is_matrix(y: Any) -> bool:
    return issparse(y) or hasattr(y, "columns") or (len(np.shape(y)) == 2 and not _has_sets(y))


def _has_sets(y: Any) -> bool:
    return isinstance(y, list | tuple) and any(
        isinstance(one, set | frozenset)
        or (isinstance(one, tuple | list) and any(isinstance(v, str) for v in one))
        for one in y
    )


def _from_matrix(y: Any) -> tuple[np.ndarray, np.ndarray]:
    names: np.ndarray
    names = np.array([str(name) for name in y.columns]) if hasattr(y, "columns") else np.arange(y_width(y))
    values = y.toarray() if issparse(y) else np.asarray(y.to_numpy() if hasattr(y, "to_numpy") else y)
    try:
        values = np.array([[np.nan if is_missing(v) else v for v in row] for row in values], dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError("y has a cell that is neither 0 nor 1: give a matrix of 0, 1 and NaN.") from error
    odd = ~(np.isnan(values) | (values == 0) | (values == 1))
    if odd.any():
        row, column = np.argwhere(odd)[0]
        raise ValueError(
            f"y holds {values[row, column]:g} at row {row}, column {column}: several labels per node are "
            "given as 0, 1, or NaN where unknown."
        )
    return names, np.where(np.isnan(values), UNKNOWN, values).astype(np.int64)


def y_width(y: Any) -> int:
    """Return the number of columns of a matrix."""
    return int(np.shape(y)[1])


def _from_sets(y: Any) -> tuple[np.ndarray, np.ndarray]:
    sets = [None if is_missing(one) else set(one) for one in y]
    found = {label for one in sets if one is not None for label in one}
    if len(found) < 2:
        raise ValueError(f"y has {counted(len(found), 'label')}: give at least two different ones.")
    try:
        ordered = sorted(found)
    except TypeError as error:
        raise ValueError(
            "y mixes text with other labels: make all of them text, or all of them numbers."
        ) from error
    position = {label: k for k, label in enumerate(ordered)}
    cells = np.full((len(sets), len(ordered)), UNKNOWN, dtype=np.int64)
    for row, one in enumerate(sets):
        if one is not None:
            cells[row] = 0
            cells[row, [position[label] for label in one]] = 1
    return np.array(ordered), cells
