"""Tables, views and queries of SQLite and DuckDB files are read, and nothing else is done."""

import sqlite3
import tracemalloc

import duckdb
import numpy as np
import pytest

from gssl.io import build_graph_store, open_table, read_edges, read_features, read_labels, read_nodes
from gssl.io.databases import copy_database
from gssl.io.table_writing import refuse_overwrite

SCHEMA = [
    "CREATE TABLE links (source TEXT, target TEXT, weight REAL)",
    "INSERT INTO links VALUES ('007', 'b', 0.5), ('b', 'c d', 2.0)",
    "CREATE TABLE people (id TEXT, age INTEGER, height REAL, label TEXT)",
    "INSERT INTO people VALUES ('007', 40, 1.5, 'spy'), ('b', NULL, 2.0, ''), ('c d', 9, NULL, 'cook')",
    "CREATE VIEW known AS SELECT id, label FROM people WHERE label <> ''",
]


@pytest.fixture(params=["sqlite", "duckdb"])
def make(request, tmp_path):
    """Return a function that makes a database by SQL and returns its path."""

    def make(*statements, name="d.db"):
        connect = sqlite3.connect if request.param == "sqlite" else duckdb.connect
        connection = connect(str(tmp_path / name))
        for statement in statements:
            connection.execute(statement)
        connection.commit()
        connection.close()
        return tmp_path / name

    return make


def given(labels):
    return dict(zip(labels.ids, labels.labels, strict=True))


def test_edges_features_labels_and_nodes_are_read_from_tables_views_and_queries(make, pairs, tmp_path):
    file = make(*SCHEMA)
    edges = read_edges(f"{file}::links")
    assert pairs(edges) == [("007", "b"), ("b", "c d")]
    assert sorted(edges.weights) == [0.5, 2]
    assert given(read_labels(f"{file}::people")) == {"007": "spy", "b": None, "c d": "cook"}
    assert given(read_labels(f"{file}::known")) == {"007": "spy", "c d": "cook"}
    joined = read_labels(f"{file}::SELECT target AS id, label FROM links JOIN people ON id = source;")
    assert given(joined) == {"b": "spy", "c d": None}
    features = read_features(f"{file}::people", columns=["age", "height"])
    assert features.ids.tolist() == ["007", "b", "c d"]
    np.testing.assert_array_equal(features.matrix, [[40, 1.5], [np.nan, 2], [9, np.nan]])
    assert read_nodes(f"{file}::people").ids.tolist() == ["007", "b", "c d"]
    assert build_graph_store(f"{file}::links", tmp_path / "store").n_nodes == 3


def test_the_only_table_needs_no_name_and_others_are_listed(make):
    file = make(*SCHEMA[:2])
    assert list(open_table(file).columns) == ["source", "target", "weight"]
    with pytest.raises(ValueError, match=r"d\.db has no table 'Links'; it has 'links'\.$"):
        open_table(f"{file}::Links")
    several = make(*SCHEMA, name="e.db")
    with pytest.raises(ValueError, match=r"has 3 tables \('known', 'links', 'people'\): name one, as in"):
        open_table(several)


def test_whole_numbers_stay_exact_and_types_are_kept(make):
    file = make(
        "CREATE TABLE t (id BIGINT, big BIGINT, x DOUBLE)",
        f"INSERT INTO t VALUES (7, {2**62 + 1}, 1e-9), (NULL, NULL, NULL)",
    )
    table = open_table(file)
    assert [column.type for column in table.columns.values()] == ["BIGINT", "BIGINT", "DOUBLE"]
    cells = ", ".join(column.sql for column in table.columns.values())
    assert table.fetch_rows(f"SELECT {cells} FROM {table.relation}") == [
        (7, 2**62 + 1, 1e-9),
        (None, None, None),
    ]


def test_tables_of_many_rows_keep_their_order(make):
    numbers = (
        "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 299999) SELECT i FROM n"
    )
    file = make(f"CREATE TABLE t AS SELECT i AS id, 'x' AS label FROM ({numbers})")
    assert read_nodes(file).ids.tolist() == [str(i) for i in range(300_000)]
    with pytest.raises(ValueError, match="has no rows"):
        read_labels(make("CREATE TABLE t (id TEXT, label TEXT)", name="empty.db"))


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1; DROP TABLE links",
        "WITH x AS (SELECT 1) INSERT INTO links SELECT 'a', 'b', 1",
        "SELECT * FROM nothing",
        "SELECT * FROM (",
        "SELECT source, source FROM links",
        "SELECT * FROM '/etc/passwd'",
        "SELECT * FROM read_text('/etc/passwd')",
        "SELECT readfile('/etc/passwd')",
        "SELECT load_extension('/tmp/x.so')",
        "ATTACH 'other.db' AS o",
        "PRAGMA writable_schema = 1",
    ],
)
def test_other_sql_than_a_select_over_its_tables_is_refused_in_one_sentence(make, monkeypatch, sql):
    file = make(*SCHEMA)
    before = file.read_bytes()
    monkeypatch.chdir(file.parent)
    message = r"has no table" if sql.startswith(("ATTACH", "PRAGMA")) else r"d\.db(:| ).*\.$"
    with pytest.raises(ValueError, match=message) as caught:
        open_table(f"{file}::{sql}")
    assert "\n" not in str(caught.value)
    assert file.read_bytes() == before
    assert [other.name for other in file.parent.iterdir()] == ["d.db"]


def test_a_view_of_another_file_in_a_duckdb_file_is_refused(tmp_path):
    (tmp_path / "secret.csv").write_text("id,label\na,b\n")
    with duckdb.connect(str(tmp_path / "d.db")) as connection:
        connection.execute(f"CREATE VIEW v AS SELECT * FROM read_csv('{tmp_path}/secret.csv')")
    with pytest.raises(ValueError, match=r"d\.db is only read: give one SELECT over its own tables\.$"):
        open_table(tmp_path / "d.db")


@pytest.mark.parametrize("cut", [0.3, 0.9])
def test_a_damaged_database_is_one_sentence(make, cut):
    file = make(*SCHEMA, *[f"INSERT INTO people VALUES ('{i:0500}', 1, 1, 'x')" for i in range(50)])
    content = file.read_bytes()
    start, end = int(0.2 * len(content)), int(cut * len(content))
    file.write_bytes(content[:start] + b"\xff" * (end - start))
    with pytest.raises(ValueError, match=r"d\.db .*\.$") as caught:
        read_labels(f"{file}::people")
    assert "\n" not in str(caught.value)


def test_a_locked_database_is_one_sentence(make):
    file = make(*SCHEMA)
    sqlite = file.read_bytes().startswith(b"SQLite")
    other = sqlite3.connect(file, isolation_level=None) if sqlite else duckdb.connect(str(file))
    if sqlite:
        other.execute("BEGIN EXCLUSIVE")
    with pytest.raises(
        ValueError, match=r"d\.db is open in another program that writes to it: close it there"
    ):
        open_table(f"{file}::links")
    other.close()


def test_an_sqlite_file_with_a_log_is_read_without_a_trace(tmp_path):
    connection = sqlite3.connect(tmp_path / "d.db")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("CREATE TABLE t AS SELECT 'a' AS id, 'x' AS label")
    assert read_labels(tmp_path / "d.db").labels.tolist() == ["x"]
    connection.close()
    assert read_labels(tmp_path / "d.db").labels.tolist() == ["x"]
    assert [file.name for file in tmp_path.iterdir()] == ["d.db"]


def test_a_text_with_the_letters_of_a_database_is_a_text(write, pairs):
    for head in ("source,tDUCK,weight", "bird,the,DUCK", "src,dst,DUCK"):
        assert pairs(read_edges(write("e.csv", f"{head}\na,b,1\n"))) == [("a", "b")]
    with pytest.raises(ValueError, match="is not an SQLite or DuckDB database"):
        open_table(write("d.db", b"\0" * 4096))


def test_binary_columns_are_left_out_with_a_note(tmp_path):
    with sqlite3.connect(tmp_path / "d.db") as connection:
        connection.execute("CREATE TABLE t AS SELECT 'a' AS id, x'00ff' AS picture, 'x' AS label")
    connection.close()
    labels = read_labels(tmp_path / "d.db")
    assert labels.labels.tolist() == ["x"]
    assert labels.notes[0].endswith("left out what holds binary data: 'picture'.")


def test_a_database_is_an_input_that_no_output_replaces(make, write):
    file = make(*SCHEMA)
    with pytest.raises(ValueError, match="is an input"):
        refuse_overwrite(file, [f"{file}::links"])
    odd = write("a::b.csv", "id,label\nx,y\n")
    assert read_labels(str(odd)).ids.tolist() == ["x"]
    with pytest.raises(ValueError, match=r"l\.csv is neither a database nor a graph: leave out ::t"):
        read_labels(f"{write('l.csv', 'id,label')}::t")


def test_a_query_may_be_longer_than_the_name_of_a_file(make):
    longer = " OR ".join(f"id = '{i:03}'" for i in range(100))
    labels = read_labels(f"{make(*SCHEMA)}::SELECT id, label FROM known WHERE {longer}")
    assert given(labels) == {"007": "spy"}


def test_long_cells_that_are_stored_are_read(tmp_path):
    text, picture = "long " * 400_000, bytes(5_000_000)
    connection = sqlite3.connect(tmp_path / "d.db")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA wal_autocheckpoint = 0")
    connection.execute("CREATE TABLE t (id TEXT, label TEXT, picture BLOB)")
    connection.execute("INSERT INTO t VALUES ('a', ?, ?)", (text, picture))
    connection.commit()
    for place in ("the log", "the file"):
        assert ((tmp_path / "d.db").stat().st_size < 10_000) == (place == "the log")
        assert read_labels(tmp_path / "d.db").labels.tolist() == [text.strip()]
        connection.close()


@pytest.mark.parametrize("name", ["blocked", "interrupted", "readonly", "not_utf8", "prohibited"])
def test_names_in_sql_are_not_taken_for_messages_of_the_database(make, name):
    with pytest.raises(ValueError, match=rf"d\.db cannot answer: .*{name}.*; repair the SQL\.$"):
        open_table(f"{make(*SCHEMA)}::SELECT {name} FROM links")
    with pytest.raises(ValueError, match=rf"^the query cannot be read: .*{name}.*; repair it\.$"):
        open_table(f"SELECT {name} FROM (SELECT 1 AS a)")


@pytest.mark.parametrize(
    ("connect", "cell"),
    [
        (duckdb.connect, "'long label'"),
        (sqlite3.connect, "'long label'"),
        (sqlite3.connect, "NULL"),
        (sqlite3.connect, "x'00'"),
        (sqlite3.connect, "1"),
        (sqlite3.connect, "hex(zeroblob(10000))"),
    ],
)
def test_an_endless_view_is_refused_before_it_fills_the_memory(tmp_path, connect, cell):
    connection = connect(str(tmp_path / "d.db"))
    counts = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)"
    connection.execute(f"CREATE VIEW v AS {counts} SELECT {cell} AS id FROM n")
    connection.commit()
    connection.close()
    tracemalloc.start()
    with pytest.raises(ValueError, match="more than 65,536, as an endless view does: select fewer rows"):
        copy_database(tmp_path / "d.db", None, tmp_path, most=1 << 16)
    assert tracemalloc.get_traced_memory()[1] < 20e6
    tracemalloc.stop()


def test_a_cell_that_is_longer_than_its_file_is_refused(tmp_path):
    with sqlite3.connect(tmp_path / "d.db") as connection:
        connection.execute("CREATE VIEW v AS SELECT hex(zeroblob(1000000)) AS id")
    connection.close()
    with pytest.raises(ValueError, match=r"d\.db gives a cell that is longer than the file: select other"):
        open_table(tmp_path / "d.db")
