"""Join the feature tables of several kinds of nodes by their columns."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial, reduce
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse, vstack

from gssl.io.column_kinds import Encoding
from gssl.io.feature_reading import FeaturePart, Features, is_array_file, read_features, text_columns
from gssl.io.table_reading import open_table
from gssl.wording import quoted


def read_by_kind(
    sources: Mapping[str, Any],
    *,
    id: str | None = None,
    text: str | Sequence[str] = (),
    encoding: Encoding | None = None,
    **options: Any,
) -> Features:
    """Read a table for each kind of nodes, and join them; options are those of :func:`read_features`.

    Each table takes the columns of ids and texts that it has.
    """
    if not sources:
        raise ValueError("there are no tables of features: give at least one kind of nodes.")
    for kind in sources:
        if not isinstance(kind, str) or not kind.strip():
            raise ValueError(f"a table of features is named {kind!r}: name its kind of nodes by a text.")
    named = _named_columns(sources, id, text_columns(text), options.get("header"))
    read = [partial(read_features, sources[kind], **named[kind], **options) for kind in sources]
    tables = [read_one(encoding=encoding) for read_one in read]
    if encoding is None:
        joined = reduce(_join_encodings, [table.encoding for table in tables])
        if any(table.encoding != _part_of(joined, table.encoding) for table in tables):
            # a column of several tables is read in one way
            tables = [read_one(encoding=joined) for read_one in read]
        encoding = joined
    return replace(join_features(list(sources), tables), encoding=encoding)


def _named_columns(
    sources: Mapping[str, Any], id: str | None, texts: Sequence[str], header: bool | None
) -> dict[str, dict[str, Any]]:
    """Return for each table which of some named columns it has; raise if none has one of them."""
    wanted = [*texts, *([] if id is None else [id])]
    has = {kind: set[str]() for kind in sources}
    for kind, source in sources.items() if wanted else ():
        if not is_array_file(source):
            has[kind] = set(open_table(source, header=header, graph_part="nodes").columns)
    absent = next((name for name in wanted if not any(name in columns for columns in has.values())), None)
    if absent is not None:
        raise ValueError(f"no table of features has a column {quoted(absent)}: name another.")
    return {
        kind: {"id": id if id in columns else None, "text": [name for name in texts if name in columns]}
        for kind, columns in has.items()
    }


def join_features(kinds: Sequence[str], tables: Sequence[Features]) -> Features:
    """Put tables below each other; columns of the same name are one, and cells of absent columns are 0."""
    names = tuple(dict.fromkeys(name for table in tables for name in table.names))
    position = {name: k for k, name in enumerate(names)}
    column_kinds = {
        name: kind
        for table in tables
        for name, kind in zip(table.names, table.kinds or ("number",) * len(table.names), strict=True)
    }
    sparse = any(issparse(table.matrix) for table in tables)
    blocks = [_spread(table, position, sparse=sparse) for table in tables]
    return Features(
        np.concatenate([table.ids for table in tables]),
        csr_array(vstack(blocks)) if sparse else np.vstack(blocks),
        names,
        " and ".join(dict.fromkeys(table.name for table in tables)),
        [note for table in tables for note in table.notes],
        tuple(column_kinds[name] for name in names),
        parts=tuple(
            FeaturePart(kind, len(table.ids), frozenset(table.names))
            for kind, table in zip(kinds, tables, strict=True)
        ),
    )


def _spread(table: Features, position: Mapping[str, int], *, sparse: bool) -> Any:
    """Return the rows of a table with all columns."""
    columns = np.array([position[name] for name in table.names], dtype=np.int64)
    shape = len(table.ids), len(position)
    if sparse:
        entries = csr_array(table.matrix).tocoo()
        return csr_array((entries.data, (entries.row, columns[entries.col])), shape=shape)
    rows = np.zeros(shape, dtype=table.matrix.dtype)
    rows[:, columns] = table.matrix
    return rows


def _join_encodings(one: Encoding, other: Encoding) -> Encoding:
    """Return the columns of both; text comes before categories, and these before numbers."""
    words = {name: {**weights} for name, weights in one.words.items()}
    for name, weights in other.words.items():
        first = words.setdefault(name, {})
        words[name] = {**first, **{word: weights[word] for word in weights if word not in first}}
    categories = tuple(c for c in dict.fromkeys((*one.categories, *other.categories)) if c not in words)
    numbers = {
        name: notation
        for name, notation in {**other.numbers, **one.numbers}.items()
        if name not in words and name not in categories
    }
    return Encoding(categories, words, numbers)


def _part_of(encoding: Encoding, own: Encoding) -> Encoding:
    """Return what an encoding says about the columns of another."""
    return Encoding(
        tuple(name for name in own.categories if name in encoding.categories),
        {name: encoding.words[name] for name in own.words if name in encoding.words},
        {name: encoding.numbers[name] for name in own.numbers if name in encoding.numbers},
    )
