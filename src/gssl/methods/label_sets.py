"""Several labels per node: how they are read, and how probabilities become labels."""

from typing import Any

import numpy as np
from scipy.sparse import issparse

from gssl.graph.validate import refuse_mask, warn_user
from gssl.wording import counted, is_missing, is_missing_text, listed, quoted

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
    """Return whether labels are several per node: a matrix of more than one column, or sets."""
    if y is None or isinstance(y, str):
        return False
    shape = getattr(y, "shape", None)
    if shape is not None and len(shape) == 2:
        return bool(shape[1] > 1)
    return has_sets(y) or (isinstance(y, list | tuple) and len(_lengths(y)) == 1 and max(_lengths(y)) > 1)


def _lengths(y: Any) -> set[int]:
    """Return the lengths of the rows of a nested list; that of other entries is 0."""
    return {len(row) if isinstance(row, list | tuple | np.ndarray) else 0 for row in y}


def has_sets(y: Any) -> bool:
    """Return whether a sequence holds sets: of Python, or tuples and lists that are no rows of a matrix."""
    if not isinstance(y, list | tuple | np.ndarray) or (isinstance(y, np.ndarray) and y.ndim != 1):
        return False
    nested = [one for one in y if isinstance(one, set | frozenset | tuple | list)]
    if any(isinstance(one, set | frozenset) for one in nested):
        return True
    if all(isinstance(one, list) and len(one) == 1 for one in nested):
        return False  # a column
    texts = any(isinstance(value, str) for one in nested for value in one)
    # in an array of objects, every tuple is a set; rows of a matrix have one length
    return bool(nested) and (texts or isinstance(y, np.ndarray) or len({len(one) for one in nested}) > 1)


def read_label_sets(
    y: Any, n_nodes: int | None = None, *, learns: bool = True
) -> tuple[np.ndarray, np.ndarray]:
    """Return the names of the labels, and a matrix of 0, 1 and −1 where it is not known.

    ``y`` is a matrix of 0 and 1, with NaN in unknown rows or cells, a data frame with a column per label, or
    a list with a set of labels, or None, for every node. ``learns`` says that there must be enough to learn.
    """
    refuse_mask(y, "y")
    names, cells = _from_matrix(y) if _is_matrix(y) else _from_sets(y)
    if n_nodes is not None and len(cells) != n_nodes:
        raise ValueError(f"y has {len(cells)} rows but X has {n_nodes}: give one row of labels per node.")
    known = cells != UNKNOWN
    if not learns:
        return names, cells
    if len(names) < 2:
        raise ValueError(f"y has {counted(len(names), 'label')}: give at least two different ones.")
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
    return len(getattr(y, "shape", ())) == 2 or not has_sets(y)


def _from_matrix(y: Any) -> tuple[np.ndarray, np.ndarray]:
    named = getattr(y, "column_names", getattr(y, "columns", None))
    names = np.arange(np.shape(y)[1]) if named is None else np.array([str(name) for name in named])
    twice = next((name for name in names if (names == name).sum() > 1), None)
    if twice is not None:
        raise ValueError(f"two columns of y are called {quoted(str(twice))}: rename one.")
    if hasattr(y, "to_pandas"):
        y = y.to_pandas()
    values = y.toarray() if issparse(y) else np.asarray(y.to_numpy() if hasattr(y, "to_numpy") else y)
    try:
        if values.dtype.kind not in "iufb":
            values = np.array([[np.nan if is_missing(v) else v for v in row] for row in values])
        values = values.astype(np.float64)
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


def _from_sets(y: Any) -> tuple[np.ndarray, np.ndarray]:
    text = next((one for one in y if isinstance(one, str) and not is_missing_text(one)), None)
    if text is not None:
        raise ValueError(f"y holds the text {quoted(text)} among sets: put it into a set.")
    sets = [None if isinstance(one, str) or is_missing(one) else set(one) for one in y]
    found = {label for one in sets if one is not None for label in one}
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
