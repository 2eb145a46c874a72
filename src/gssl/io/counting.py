"""Count the nodes, edges and features of tables without reading them into memory."""

from typing import Any

from gssl.io.edge_columns import choose_columns
from gssl.io.edge_sides import EndKinds
from gssl.io.feature_arrays import ArrayFile
from gssl.io.feature_reading import open_features
from gssl.io.table_columns import text_sql
from gssl.io.table_reading import Table, open_table


def count_tables(edges: Any = None, features: Any = None) -> dict[str, Any]:
    """Count tables as :func:`gssl.read` would read them: what a plan of a run needs.

    Parameters
    ----------
    edges, features : path, glob, SQL or data frame, optional

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
        table = open_table(edges)
        ends, weight = choose_columns(table, None)
        a, b = (text_sql(table, end) for end in ends)
        rows = f"(SELECT {a} AS a, {b} AS b FROM {table.relation})"
        kinds = EndKinds.of([table], [ends], None)
        if kinds.told:
            table.execute(f"CREATE TEMP TABLE shared AS {kinds.shared_sql(rows)}")
            rows = kinds.split_sql(rows, "shared")
        pairs = f"SELECT DISTINCT least(a, b), greatest(a, b) FROM {rows} WHERE a <> b"
        counts["edges"] = table.fetch_row(f"SELECT count(*) FROM ({pairs})")[0]
        counts["weighted"] = weight is not None
        named.append((table, f"SELECT unnest([a, b]) AS id FROM {rows}"))
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
