"""Reading tables from all sources, and errors for bad ones."""

import pandas as pd
import pytest

from gssl.io import read_edges


def test_many_files_are_one_table_with_equal_columns(write, tmp_path, pairs):
    source = str(tmp_path / "part-*.csv")
    write("part-1.csv", "source,target\n1,2\n")
    write("part-2.csv", "source,target\n3,4\n,5\n")
    with pytest.raises(ValueError, match=r"part-2\.csv, row 2: column 'source' has no id"):
        read_edges(source, strict=True)
    edges = read_edges(source)
    assert pairs(edges) == [("1", "2"), ("3", "4")]
    assert edges.notes[0].endswith(f"skipped 1 edge without an id, in {tmp_path}/part-2.csv, row 2.")
    write("part-3.csv", "source,goal\n3,4\n")
    with pytest.raises(
        ValueError, match=r"part-3\.csv has the columns 'source', 'goal' but .*part-1\.csv has"
    ):
        read_edges(source)


def test_the_rows_of_a_query_are_read(write, pairs):
    file = write("e.csv", "a,b,w\n007,008,0.5\n008,009,2\n")
    edges = read_edges(f"SELECT a, b, w AS weight FROM '{file}' WHERE w > 1;")
    assert pairs(edges) == [("008", "009")]
    assert edges.weights.tolist() == [2.0]
    assert pairs(read_edges("WITH e AS (SELECT 'x' AS u, 'y' AS v) SELECT * FROM e -- end")) == [("x", "y")]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELECT 1; DROP TABLE x", "one SELECT and nothing else"),
        ("SELECT 1; COPY (SELECT 1) TO 'x.csv'", "one SELECT and nothing else"),
        ("WITH a AS (SELECT 1) SELEC", "the query cannot be read"),
        ("SELECT * FROM 'nowhere.csv'", "the query cannot be read"),
        ("SELECT nope FROM (SELECT 1 AS a)", "nope.* not found"),
        ("SELECT 'a' AS x", "has only 1 column .* needs 2"),
        ("SELECT 'a' AS x, 'b' AS y WHERE false", "the query has no edges"),
        ("SELECT [1] AS x, 'b' AS y", "'x' holds lists"),
    ],
)
def test_a_query_that_is_no_table_of_edges_is_refused(tmp_path, monkeypatch, query, message):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=message):
        read_edges(query)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("e.csv", "", "is empty"),
        ("e.csv", "\n\n", "is empty"),
        ("e.csv", "source,target\n", "has no edges"),
        ("e.csv", b"source,target\na,b\nc,\xff\xfe\n", r"line 3 is not UTF-8"),
        ("e.csv", b"source,target\n" + b"a,b\n" * 30000 + b"c,\xff\n", r"line 30002 is not UTF-8"),
        ("e.csv", "source,target\na,b\n".encode("utf-16"), "UTF-16 text: save it as UTF-8"),
        ("e.csv", "source,target\na,b\nc\n", "line 3 has 1 cell where there should be 2"),
        ("e.csv", "source,target\na,b\nc,d,e\n", "line 3 has 3 cells where there should be 2"),
        ("e.csv", 'source,target\na,"b\n', "never closed"),
        ("e.csv", '"', "never closed"),
        ("e.csv", "source,target\nc,\n,c\n", "row 1: column 'target' has no id"),
        ("e.csv", "source,source\na,b\n", "two columns named 'source'"),
        ("e.csv", "source\na\n", "has only 1 column"),
        ("e.parquet", b"PAR1 nonsense", r"e\.parquet cannot be read"),
        ("e.parquet", b"", r"e\.parquet cannot be read"),
        ("e.jsonl", b"", "is empty"),
        ("e.jsonl", '{"a": 1}\n{"a":\n', r"e\.jsonl cannot be read"),
        ("e.csv.gz", b"no gzip", "not a whole gzip file"),
    ],
)
def test_a_bad_file_is_one_sentence(write, name, content, message):
    file = write("e", content)
    file = file.rename(file.with_name(name))
    with pytest.raises(ValueError, match=message) as caught:
        read_edges(file)
    assert name in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("source", "error", "message"),
    [
        ("https://example.org/e.csv", ValueError, "is not on this machine: download it"),
        ("s3://bucket/e.csv", ValueError, "s3://bucket/e.csv is not on this machine: download it"),
        ("", ValueError, "a table has no name: give a file, a glob or a query"),
        ("  ", ValueError, "a table has no name: give a file, a glob or a query"),
        ("/dev/null", ValueError, "is not a regular file"),
        ("{folder}", ValueError, "is a folder: name a file, or files by"),
        ("{folder}/*.csv", FileNotFoundError, r"no file matches .*\*\.csv: check its name and folder"),
        ("{folder}/e.csv", FileNotFoundError, r"e\.csv does not exist: check its name"),
        (f"{'x' * 300}.csv", FileNotFoundError, r"^x+\.csv does not exist: check its name and folder\.$"),
        (7, TypeError, "not int"),
    ],
)
def test_a_source_that_is_no_table_is_refused(tmp_path, source, error, message):
    with pytest.raises(error, match=message):
        read_edges(source.format(folder=tmp_path) if isinstance(source, str) else source)


def test_columns_that_are_not_there_are_refused(write):
    file = write("e.csv", "a,b\n1,2\n")
    with pytest.raises(ValueError, match=r"no column 'c'; it has 'a', 'b'"):
        read_edges(file, columns=["a", "c"])
    with pytest.raises(ValueError, match="two column names"):
        read_edges(file, columns=["a"])


def test_an_uncertain_first_line_is_told(write, pairs):
    edges = read_edges(write("e.csv", "alice,bob\nbob,carol\n"))
    assert pairs(edges) == [("alice", "bob"), ("bob", "carol")]
    assert "the first line is taken as data" in edges.notes[0]
    edges = read_edges(write("e.csv", "alice,bob\ncarol,dave\n"))
    assert pairs(edges) == [("carol", "dave")]
    assert "the first line names the columns" in edges.notes[0]
    edges = read_edges(write("e.csv", "alice,bob\ncarol,dave\n"), header=False)
    assert pairs(edges) == [("alice", "bob"), ("carol", "dave")]
    assert edges.notes == []


def test_a_first_line_that_recurs_far_below_is_data(write, pairs):
    rows = "".join(f"{chr(97 + i % 26)}{chr(97 + i // 26 % 26)}q,zz{chr(97 + i % 26)}\n" for i in range(676))
    edges = read_edges(write("e.csv", "alice,bob\n" + rows + "zzz,alice\n"))
    assert ("alice", "bob") in pairs(edges)
    assert len(edges.source) == 678


def test_a_file_may_be_named_like_a_query_or_an_option(write, pairs, tmp_path, monkeypatch):
    write("with labels.csv", "src,dst\na,b\n")
    write("header=true.csv", "alice,bob\nbob,carol\n")
    monkeypatch.chdir(tmp_path)
    assert pairs(read_edges("with labels.csv")) == [("a", "b")]
    assert pairs(read_edges("header=true.csv")) == [("alice", "bob"), ("bob", "carol")]


def test_brackets_in_names_are_no_glob(tmp_path, pairs):
    for name, end in (("a1", "x"), ("a[1]", "y")):
        (tmp_path / name).mkdir()
        pd.DataFrame({"src": ["s"], "dst": [end]}).to_parquet(tmp_path / name / "e.parquet")
    (tmp_path / "a1" / "e.parquet").write_bytes(b"not a table")
    assert pairs(read_edges(tmp_path / "a[1]" / "e.parquet")) == [("s", "y")]
