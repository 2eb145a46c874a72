"""Node features from a table or an array file."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array, hstack, issparse

from gssl.io.columns import code_texts, listed, number_of, text_of
from gssl.io.feature_choice import long_columns, wide_columns
from gssl.io.feature_columns import FeatureColumns, store_columns
from gssl.io.source import Table, open_table

# a matrix with fewer nonzeros than this share is stored sparse
_SPARSE_BELOW = 0.1


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
    if isinstance(source, str | Path) and Path(source).suffix.lower() in (".npy", ".npz"):
        from gssl.io.feature_arrays import read_arrays

        return Features(*read_arrays(Path(source), ids))
    table = open_table(source)
    long = long_columns(table) if id is None and columns is None and text is None else None
    if long is not None:
        return _read_long(table, *long)
    name, chosen = wide_columns(table, id, columns, text)
    return _read_wide(table, name, chosen, text)


def _read_long(table: Table, name: str, feature: str, value: str) -> Features:
    table.run(
        f"CREATE TEMP TABLE long AS SELECT {text_of(table, name)} AS id, "
        f"{text_of(table, feature)} AS feature, {number_of(table.columns[value])} AS number "
        f"FROM {table.relation}"
    )
    _check_ids(table, "long", name)
    bad = table.run(
        "SELECT min(rowid) FROM long WHERE feature IS NOT NULL AND (number IS NULL OR NOT isfinite(number))"
    ).fetchone()[0]
    if bad is not None:
        node, what = table.run(f"SELECT id, feature FROM long WHERE rowid = {bad}").fetchone()
        raise ValueError(f"{table.row(bad)}: feature {what!r} of id {node!r} is not a number; give one.")
    twice = table.run(
        "SELECT id, feature FROM long WHERE feature IS NOT NULL GROUP BY ALL HAVING count(*) > 1 "
        "ORDER BY min(rowid) LIMIT 1"
    ).fetchone()
    if twice:
        raise ValueError(f"{table.name}: id {twice[0]!r} has the feature {twice[1]!r} twice; keep one row.")
    nodes = table.fetch("SELECT id FROM long GROUP BY id ORDER BY min(rowid)")["id"].astype(object)
    places = {node: i for i, node in enumerate(nodes)}
    table.run("CREATE TEMP TABLE entries AS SELECT id, feature, number FROM long WHERE feature IS NOT NULL")
    ids, found = code_texts(table, "entries", ["id"], ["feature", "number"])
    names, columns = np.unique(found["feature"].astype(str), return_inverse=True)
    if not len(names):
        raise ValueError(f"{table.name} has no features: give at least one row with a feature and a value.")
    rows = np.array([places[node] for node in ids], dtype=np.int64)[found["id"]]
    matrix = csr_array(
        (found["number"].astype(np.float32), (rows, columns)),
        shape=(len(nodes), len(names)),
        dtype=np.float32,
    )
    return Features(nodes, matrix, tuple(names.tolist()), table.name, table.notes)


def _read_wide(table: Table, name: str, chosen: list[str], text: str | None) -> Features:
    store_columns(table, text_of(table, name), chosen)
    _check_ids(table, "features", name)
    ids = table.fetch("SELECT id FROM features ORDER BY rowid")["id"].astype(object)
    twice = table.run(
        "SELECT id FROM features GROUP BY id HAVING count(*) > 1 ORDER BY min(rowid)"
    ).fetchall()
    if twice:
        raise ValueError(
            f"{table.name} has more than one row for {listed(row[0] for row in twice)}; keep one."
        )
    blocks, names = FeatureColumns(table, ids, chosen, text).blocks()
    return Features(ids, _joined(blocks), names, table.name, table.notes)


def _check_ids(table: Table, stored: str, name: str) -> None:
    count, row = table.run(f"SELECT count(*), min(rowid) FILTER (id IS NULL) FROM {stored}").fetchone()
    if not count:
        raise ValueError(f"{table.name} has no rows: give one for each node.")
    if row is not None:
        raise ValueError(f"{table.row(row)}: column {name!r} has no id; remove the row or fill it in.")


def _joined(blocks: list[Any]) -> csr_array | np.ndarray:
    nonzeros = sum(block.nnz if issparse(block) else np.count_nonzero(block) for block in blocks)
    n, d = blocks[0].shape[0], sum(block.shape[1] for block in blocks)
    if nonzeros < _SPARSE_BELOW * n * d:
        return csr_array(hstack([csr_array(block) for block in blocks], format="csr"))
    dense = [block.toarray() if issparse(block) else block for block in blocks]
    return dense[0] if len(dense) == 1 else np.hstack(dense)
