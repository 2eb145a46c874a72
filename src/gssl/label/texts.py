"""Read the texts that the page shows beside a node."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gssl.io import Problem, open_table
from gssl.io.feature_reading import is_array_file, text_columns
from gssl.io.label_tables import Nodes
from gssl.io.table_columns import IDS, pick_column, text_sql


def read_texts(
    features: Any,
    problem: Problem,
    columns: str | Sequence[str] | None = None,
    *,
    id_column: str | None = None,
    header: bool | None = None,
    kind: str | None = None,
) -> np.ndarray | None:
    """Read text columns of the features for every node; by default those that the problem was read with.

    If the table is of one kind of nodes, ``kind`` names it, or else its column of ids may.
    """
    if columns is None:
        columns = () if problem.preparation is None else tuple(problem.preparation.encoding.words)
    names = text_columns(columns)
    if not names or features is None:
        return None
    if isinstance(features, Mapping):
        return _read_by_kind(features, problem, names, id_column=id_column, header=header)
    table = open_table(features, header=header, graph_part="nodes")
    column = pick_column(table, id_column, IDS, 0)
    # missing texts are skipped, and NULL if all are
    texts = ", ".join(text_sql(table, name) for name in names)
    text = f"nullif(concat_ws(chr(10) || chr(10), {texts}), '')"
    rows = table.fetch_columns(
        f"SELECT {text_sql(table, column)} AS id, {text} AS text FROM {table.relation}"
    )
    by_id = dict(zip(rows["id"], rows["text"], strict=True))
    if problem.kinds is not None:
        nodes = problem.kinds.resolve(Nodes(np.array(list(by_id), dtype=object), id_column=kind or column))
        by_id = dict(zip(nodes.ids, by_id.values(), strict=True))
    return np.array([by_id.get(node) for node in problem.node_ids], dtype=object)


def _read_by_kind(
    tables: Mapping[str, Any], problem: Problem, columns: Sequence[str], **options: Any
) -> np.ndarray:
    """Read the texts of several kinds of nodes; each table has some of the columns."""
    texts = np.full(len(problem.node_ids), None, dtype=object)
    for kind, table in tables.items():
        if is_array_file(table):
            continue  # it has no texts
        there = [name for name in columns if name in open_table(table, graph_part="nodes").columns]
        read = read_texts(table, problem, there, kind=kind, **options)
        if read is not None:
            texts = np.array([a if b is None else b for a, b in zip(texts, read, strict=True)], dtype=object)
    return texts
