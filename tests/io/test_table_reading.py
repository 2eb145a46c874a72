"""Reading tables from all sources, and errors for bad ones."""

import pandas as pd
import pytest

from gssl.io import read_edges


def test_many_files(write, tmp_path, pairs):
    write("part-1.csv", "source,target\n1,2\n")
    write("part-2.csv", "source,target\n3,4\n,5\n")
    with pytest.raises(ValueError, match=r"part-2\.csv, row 2: column 'source' has no id"):
        read_edges(str(tmp_path / "part-*.csv"), strict=True)
    write("part-2.csv", "source,target\n3,4\n")
    assert pairs(read_edges(str(tmp_path / "part-*.csv"))) == [("1", "2"), ("3", "4")]
    write("part-3.csv", "source,goal\n3,4\n")
    with pytest.raises(
        ValueError, match=r"part-3\.csv has the columns 'source', 'goal' but .*part-1\.csv has"
    ):
        read_edges(str(tmp_path / "part-*.csv"))


def test_a_query(write, pairs):
    file = write("e.csv", "a,b,w\n007,008,0.5\n008,009,2\n")
    edges = read_edges(f"SELECT a, b, w AS weight FROM '{file}' WHERE w > 1;")
    assert pairs(edges) == [("008", "009")]
    assert edges.weights.tolist() == [2.0]
    assert pairs(read_edges("WITH e AS (SELECT 'x' AS u, 'y' AS v) SELECT * FROM e -- end")) == [("x", "y")]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELECT 1; DROP TABLE x", "one SELECT and nothing else"),
        ("WITH a AS (SELECT 1) SELEC", "the query cannot be read"),
        ("SELECT * FROM 'nowhere.csv'", "the query cannot be read"),
        ("SELECT 'a' AS x", "has only 1 column .* needs 2"),
        ("SELECT 'a' AS x, 'b' AS y WHERE false", "the query has no edges"),
        ("SELECT [1] AS x, 'b' AS y", "'x' holds lists"),
    ],
)
def test_a_bad_query(query, message):
    with pytest.raises(ValueError, match=message):
        read_edges(query)


def test_a_query_cannot_write(tmp_path):
    with pytest.raises(ValueError, match="one SELECT"):
        read_edges(f"SELECT 1; COPY (SELECT 1) TO '{tmp_path / 'x.csv'}'")
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
    ],
)
def test_a_bad_file_is_one_sentence(write, name, content, message):
    with pytest.raises(ValueError, match=message) as caught:
        read_edges(write(name, content))
    assert name in str(caught.value)
    assert "\n" not in str(caught.value)


def test_bad_gzip(tmp_path):
    (tmp_path / "e.csv.gz").write_bytes(b"no gzip")
    with pytest.raises(ValueError, match="not a whole gzip file"):
        read_edges(tmp_path / "e.csv.gz")


def test_what_is_no_file():
    for source, message in (
        ("https://example.org/e.csv", "download it"),
        ("", "a table has no name"),
        ("/dev/null", "is not a regular file"),
        ("SELECT nope FROM (SELECT 1 AS a)", "nope.* not found"),
    ):
        with pytest.raises(ValueError, match=message):
            read_edges(source)


def test_missing_things(tmp_path, write):
    with pytest.raises(FileNotFoundError, match=r"e\.csv does not exist"):
        read_edges(tmp_path / "e.csv")
    with pytest.raises(FileNotFoundError, match=r"no file matches .*\*\.csv"):
        read_edges(tmp_path / "*.csv")
    with pytest.raises(ValueError, match="is a folder"):
        read_edges(tmp_path)
    with pytest.raises(ValueError, match=r"no column 'c'; it has 'a', 'b'"):
        read_edges(write("e.csv", "a,b\n1,2\n"), columns=["a", "c"])
    with pytest.raises(ValueError, match="two column names"):
        read_edges(write("e.csv", "a,b\n1,2\n"), columns=["a"])
    with pytest.raises(TypeError, match="not int"):
        read_edges(7)


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
