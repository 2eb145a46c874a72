"""Count the nodes, edges and features of tables without reading them into memory."""

from typing import Any

from gssl.io.edge_coding import EdgePart, open_tables
from gssl.io.edge_sides import EndKinds
from gssl.io.feature_arrays import ArrayFile
from gssl.io.feature_reading import open_features
from gssl.io.table_reading import Table


def count_tables(edges: Any = None, features: Any = None) -> dict[str, Any]:
    """Count tables as :func:`gssl.read` would read them: what a plan of a run needs.

    Parameters
    ----------
    edges : path, glob, SQL or data frame, or mapping of str to such, optional
        Links of several relations are counted in their union.
    features : path, glob, SQL or data frame, optional

    Returns
    -------
    dict
        ``edges``, each counted once, and ``weighted``; ``features``, the number of columns; ``nodes``, if a
        table names them. What is not known is left out.

    Examples
    --------
    >>> count_tables("SELECT unnest(['a', 'b']) AS src, unnest(['b', 'a']) AS dst")
    {'edges': 1, 'weighted': False, 'nodes': 2}
    """
    counts: dict[str, Any] = {}
    named: list[tuple[Table, str]] = []  # tables, and queries of the ids in them
    if edges is not None:
        parts = [EdgePart(table, None, None) for table in open_tables(edges).values()]
        tables, several = [part.table for part in parts], len(parts) > 1
        texts = (part.texts_sql(k if several else None, weighted=False) for k, part in enumerate(parts))
        rows = f"({' UNION ALL '.join(texts)})"
        kinds = EndKinds.of(tables, [part.ends for part in parts], None)
        if kinds.several:
            tables[0].execute(f"CREATE TEMP TABLE shared AS {kinds.shared_sql(rows)}")
            rows = kinds.split_sql(rows, "shared")
        pairs = f"SELECT DISTINCT least(a, b), greatest(a, b) FROM {rows} WHERE a <> b"
        counts["edges"] = tables[0].fetch_row(f"SELECT count(*) FROM ({pairs})")[0]
        counts["weighted"] = any(part.weight is not None for part in parts)
        named.append((tables[0], f"SELECT unnest([a, b]) AS id FROM {rows}"))
    if features is not None:
        reader = open_features(features)
        if not isinstance(reader, ArrayFile):
            # before features are counted, which may copy them into a connection of their own
            named.append((reader.table, reader.ids_sql))
        counts["features"] = reader.count_features()
    if named:
        ids = " UNION ALL ".join(query for _, query in named)
        counts["nodes"] = named[0][0].fetch_row(f"SELECT count(DISTINCT id) FROM ({ids})")[0]
    return counts
