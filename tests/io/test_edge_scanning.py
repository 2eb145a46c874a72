"""The scanner of plain text reads the same edges as DuckDB, and leaves all other text to it."""

import numpy as np
import pytest

import gssl.io.edge_scanning as edge_scanning
import gssl.io.edge_tables as edge_tables
from gssl.io import read_edges
from gssl.io.edge_columns import choose_columns
from gssl.io.edge_scanning import EdgeScan, NotScannable, scan_edges
from gssl.io.table_reading import open_table


def listed(edges):
    """List the rows, sorted, because DuckDB does not keep their order."""
    weights = np.ones(len(edges.source)) if edges.weights is None else edges.weights
    ends = edges.ids[edges.source], edges.ids[edges.target]
    return sorted(zip(*(values.tolist() for values in (*ends, weights)), strict=True))


def scanned(path, monkeypatch, block=1 << 12, slots=1 << 4):
    monkeypatch.setattr(edge_scanning, "_LEAST", 0)
    monkeypatch.setattr(edge_scanning, "_BLOCK", block)
    monkeypatch.setattr(edge_scanning, "_SLOTS", slots)
    table = open_table(path)
    return scan_edges(table, *choose_columns(table, None))


PLAIN = [
    ("e.csv", "source,target\n007,naïve\n18446744073709551615,007\n007,7\n"),
    ("e.csv", "source,target\r\na,b\r\n\r\nb,c"),
    ("e.csv", "\ufeffsource,target\na,b\n\n\nb,c\n"),
    ("e.tsv", "target\tsource\tyear\nnaïve\t007\t1\n007\tÄ\t2\n日本\tnaïve\t3\n"),
    ("e.txt", "# a comment\n1 2\n2 3\n"),
    ("e.txt", "1  2\n2 3\n"),
    ("e.csv", "1,2\n2,1\n2,3\n1,2\n"),
    ("e.csv", ",source,target\n0,a,b\n1,b,c\n"),
    ("e.csv", "source,target,weight\na,b,0.1\na,b,12.25\nb,c,.5\nb,d,7.\nd,c,123456789.012345\n"),
    # ids of 8, 9, 16 and 17 bytes, and long ones that differ only in their length or their last byte
    ("e.csv", "source,target\nabcdefgh,abcdefghi\n1234567890123456,12345678901234567\n"),
    ("e.csv", f"source,target\n{'x' * 40},{'x' * 41}\n{'x' * 40}y,{'x' * 40}z\n{'x' * 41},{'x' * 40}\n"),
]


@pytest.mark.parametrize(("name", "text"), PLAIN)
def test_plain_text_is_scanned_to_the_same_edges(write, monkeypatch, name, text):
    path = write(name, text)
    expected = read_edges(path)
    ids, columns = scanned(path, monkeypatch)
    assert ids.tolist() == expected.ids.tolist()
    edges = edge_tables.Edges(ids, columns["a"], columns["b"], columns.get("weight"))
    assert listed(edges) == listed(expected)
    assert listed(read_edges(path)) == listed(expected)


@pytest.mark.parametrize("block", [1 << 10, 1 << 14])
def test_rows_without_an_id_are_counted_once_while_tables_grow(write, monkeypatch, block):
    rows = [f"a{i},{'' if i % 7 == 5 else f'b{i}'}" for i in range(3000)]
    path = write("e.csv", "source,target\n" + "\n".join(rows))
    expected = read_edges(path)
    monkeypatch.setattr(edge_scanning, "_LEAST", 0)
    monkeypatch.setattr(edge_scanning, "_BLOCK", block)
    monkeypatch.setattr(edge_scanning, "_SLOTS", 1 << 4)
    scan = EdgeScan(open_table(path), ("source", "target"), None)
    assert sum(len(ends) for ends, _ in scan.blocks()) == len(expected.source)
    assert (scan.n_skipped, scan.first_skipped) == (428, 5)
    assert read_edges(path).notes == expected.notes
    with pytest.raises(NotScannable):
        list(EdgeScan(open_table(path), ("source", "target"), None, strict=True).blocks())


@pytest.mark.parametrize("block", [1 << 10, 1 << 14])
def test_blocks_and_tables_of_any_size(write, monkeypatch, block):
    rng = np.random.default_rng(0)
    names = np.array([f"{'long-' * (i % 5)}{i}" for i in range(3000)])
    rows = [
        f"{a},{b},{w}"
        for a, b, w in zip(*rng.choice(names, (2, 9000)), rng.integers(9, size=9000), strict=True)
    ]
    path = write("e.csv", "source,target,weight\n" + "\n".join(rows))
    expected = read_edges(path)
    ids, columns = scanned(path, monkeypatch, block)
    assert ids.tolist() == expected.ids.tolist()
    assert listed(edge_tables.Edges(ids, columns["a"], columns["b"], columns["weight"])) == listed(expected)
    # rows keep their order
    assert (ids[columns["a"][:3]] == [row.split(",")[0] for row in rows[:3]]).all()


@pytest.mark.parametrize(
    "text",
    [
        'source,target\n"a",b\n',
        'source,"target"\na,b\n',
        "source,target\na,\n",
        "source,target\na,b\nc\n",
        "source,target\na,b,c\n",
        "source,target\na,b\rc,d\n",
        "source,target\n",
        "source,target\na, b\n",
        "source,target\na\0,b\n",
        "source,target,weight\na,b,-1\n",
        "source,target,weight\na,b,1e3\n",
        "source,target,weight\na,b,0.12345678901234567\n",
        "source,target,weight\na,b,\n",
        f"source,target\n{'x' * 5000},b\n",
    ],
)
def test_other_text_is_left_to_duckdb(write, monkeypatch, text):
    path = write("e.csv", text)
    monkeypatch.setattr(edge_scanning, "_LEAST", 0)
    monkeypatch.setattr(edge_scanning, "_BLOCK", 1 << 12)
    table = open_table(path)
    with pytest.raises(NotScannable):
        scan_edges(table, ("source", "target"), "weight" if "weight" in table.columns else None)


def test_text_that_is_not_utf8_is_left_to_duckdb(tmp_path, monkeypatch):
    path = tmp_path / "e.csv"
    path.write_bytes(b"source,target\n" + b"a,b\n" * 40000 + b"\xff,b\n")
    monkeypatch.setattr(edge_scanning, "_LEAST", 0)
    with pytest.raises(ValueError, match="UTF-8"):
        read_edges(path)


def test_more_ids_than_may_be_held_are_left_to_duckdb(write, monkeypatch):
    path = write("e.csv", "source,target\n" + "\n".join(f"a{i},b{i}" for i in range(2000)))
    monkeypatch.setattr(edge_scanning, "_LEAST", 0)
    monkeypatch.setattr(edge_scanning, "_SLOTS", 1 << 4)
    monkeypatch.setattr(edge_scanning, "_BLOCK", 1 << 12)
    table = open_table(path)
    with pytest.raises(NotScannable):
        list(EdgeScan(table, ("source", "target"), None, most_bytes=10**5).blocks())
    scan = EdgeScan(table, ("source", "target"), None, most_bytes=10**6)
    assert sum(len(ends) for ends, _ in scan.blocks()) == 2000
    assert scan.n_ids == 4000
