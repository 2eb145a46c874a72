"""Node features from a table or an array file."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from gssl.io.feature_arrays import ArrayFile
from gssl.io.feature_tables import LongTable, WideTable, long_columns
from gssl.io.table_reading import open_table


@dataclass(frozen=True, eq=False)
class Features:
    """A row of numbers for each of some node ids.

    Attributes
    ----------
    ids : object ndarray of shape (n,)
        Distinct, as text, in the order of the table.
    matrix : csr_array or ndarray of shape (n, d), float32
    names : tuple of str
        Of the d columns: a number's own name, ``column=value`` of a category, ``column[i]`` of a list,
        ``column:word`` of a text.
    name : str
        Where they came from.
    notes : list of str
        What was odd.
    """

    ids: np.ndarray
    matrix: csr_array | np.ndarray
    names: tuple[str, ...]
    name: str = "features"
    notes: list[str] = field(default_factory=list)


def read_features(
    source: Any,
    *,
    id: str | None = None,
    columns: Sequence[str] | None = None,
    text: str | None = None,
    ids: Any = None,
) -> Features:
    """Read features: a wide or a long table, lists, text, or an array file.

    Parameters
    ----------
    source : path, glob, SQL or data frame
        A table as :func:`gssl.io.open_table` takes it: numbers, categories (one column for each value),
        booleans and lists beside an id; or long, ``id, feature, value``, where what is not listed is zero and
        a row without a feature only names a node. Or ``.npy`` (n × d, ids in ``<name>.ids.npy`` beside it)
        or ``.npz`` with ``ids`` and ``features``, or ``ids`` and the parts ``data, indices, indptr, shape``
        of a sparse matrix.
    id : str, optional
        The id's column; ``id`` or ``node`` or the first if None.
    columns : sequence of str, optional
        The columns to use; all if None, except one that is named like a label.
    text : str, optional
        A column of text, to be weighed word by word (TF-IDF).
    ids : array-like of str, optional
        The ids of an array file that has none.

    Returns
    -------
    Features

    Examples
    --------
    >>> features = read_features("SELECT '007' AS id, 1.5 AS age, 'spy' AS job")
    >>> features.names, features.matrix.tolist()
    (('age', 'job=spy'), [[1.5, 1.0]])
    """
    reader = open_features(source, id=id, columns=columns, text=text, ids=ids)
    return Features(*reader.read(), reader.name, reader.notes)


def open_features(
    source: Any,
    *,
    id: str | None = None,
    columns: Sequence[str] | None = None,
    text: str | None = None,
    ids: Any = None,
) -> ArrayFile | LongTable | WideTable:
    """Open features for :func:`read_features`, or to be read some columns at a time."""
    if isinstance(source, str | Path) and Path(source).suffix.lower() in (".npy", ".npz"):
        return ArrayFile(Path(source), ids)
    table = open_table(source)
    long = long_columns(table) if id is None and columns is None and text is None else None
    return WideTable(table, id, columns, text) if long is None else LongTable(table, *long)
