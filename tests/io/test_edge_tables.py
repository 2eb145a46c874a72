"""Edges from every form of table, and every bad table."""

import numpy as np
import pandas as pd
import pytest

from gssl.io import read_edges

PAIRS = [("007", "naïve"), ("18446744073709551615", "007"), ("naïve", "a,b")]


def pairs(edges):
    return sorted(zip(edges.ids[edges.source], edges.ids[edges.target], strict=True))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("e.csv", 'source,target\n007,naïve\n18446744073709551615,007\nnaïve,"a,b"\n'),
        ("e.csv", '\ufeffsrc,dst\r\n007,naïve\r\n18446744073709551615,007\r\nnaïve,"a,b"\r\n'),
        ("e.csv", "from;to\n007;naïve\n18446744073709551615;007\nnaïve;a,b\n"),
        ("e.csv", '007,naïve\n18446744073709551615,007\n\nnaïve,"a,b"'),
        ("e.tsv", "target\tsource\nnaïve\t007\n007\t18446744073709551615\na,b\tnaïve\n"),
        ("e.csv.gz", 'source,target\n007,naïve\n18446744073709551615,007\nnaïve,"a,b"\n'),
        ("e.tsv.gz", "source\ttarget\n007\tnaïve\n18446744073709551615\t007\nnaïve\ta,b\n"),
        ("e.txt", "# a comment\n# FromNodeId\tToNodeId\n007\tnaïve\n18446744073709551615\t007\nnaïve\ta,b\n"),
        ("e [1]*.csv", 'source,target\n007,naïve\n18446744073709551615,007\nnaïve,"a,b"\n'),
        (
            "e.jsonl",
            '{"source":"007","target":"naïve"}\n{"source":18446744073709551615,"target":"007"}\n'
            '{"source":"naïve","target":"a,b"}\n',
        ),
    ],
)
def test_ids_survive_every_text_form(write, name, text):
    edges = read_edges(write(name, text))
    assert pairs(edges) == sorted(PAIRS)
    assert edges.weights is None
    assert edges.source.dtype == np.int32


@pytest.mark.parametrize("reverse", [False, True])
def test_parquet(tmp_path, reverse):
    frame = pd.DataFrame(PAIRS, columns=["source", "target"])
    frame[["target", "source"] if reverse else ["source", "target"]].to_parquet(tmp_path / "e.parquet")
    assert pairs(read_edges(tmp_path / "e.parquet")) == sorted(PAIRS)


def test_whole_numbers_that_parquet_holds_as_integers_or_floats_are_the_same_ids(tmp_path):
    big = 2**64 - 1
    pd.DataFrame({"src": np.array([7, big], dtype=np.uint64), "dst": [7.0, 12.0]}).to_parquet(
        tmp_path / "e.parquet"
    )
    assert pairs(read_edges(tmp_path / "e.parquet")) == [(str(big), "12"), ("7", "7")]


def test_floats_that_lost_digits_are_refused(tmp_path):
    pd.DataFrame({"src": [float(2**60)], "dst": ["a"]}).to_parquet(tmp_path / "e.parquet")
    with pytest.raises(ValueError, match=r"'src' holds whole numbers as floats .* lost digits"):
        read_edges(tmp_path / "e.parquet")


def test_json_floats_lose_their_point_but_text_keeps_it(write):
    file = write("e.jsonl", '{"a": 7.0, "b": "7.0"}\n{"a": null, "b": "x"}\n')
    with pytest.raises(ValueError, match="row 2: column 'a' has no id"):
        read_edges(file)
    file = write("e.jsonl", '{"a": 7.0, "b": "7.0"}\n')
    assert pairs(read_edges(file)) == [("7", "7.0")]


def test_many_files(write, tmp_path):
    write("part-1.csv", "source,target\n1,2\n")
    write("part-2.csv", "source,target\n3,4\n,5\n")
    with pytest.raises(ValueError, match=r"part-2\.csv, row 2: column 'source' has no id"):
        read_edges(str(tmp_path / "part-*.csv"))
    write("part-2.csv", "source,target\n3,4\n")
    assert pairs(read_edges(str(tmp_path / "part-*.csv"))) == [("1", "2"), ("3", "4")]
    write("part-3.csv", "source,goal\n3,4\n")
    with pytest.raises(ValueError, match=r"part-3\.csv has the columns source, goal but .*part-1\.csv has"):
        read_edges(str(tmp_path / "part-*.csv"))


def test_a_query(write):
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


def test_weights(write):
    edges = read_edges(write("e.csv", "a,b,strength\nx,y,0.5\ny,z,2e1\n"))
    found = dict(zip(edges.ids[edges.source], edges.weights, strict=True))
    assert found == {"x": 0.5, "y": 20.0}
    assert edges.notes == [f"{edges.name}: column 'strength' is taken as the weight of the edges."]
    assert read_edges(write("e.csv", "a,b,year\nx,y,1999\n")).weights is None
    assert read_edges(write("e.csv", "a,b,kind\nx,y,friend\n")).weights is None
    chosen = read_edges(write("e.csv", "w1,a,b,w2\n3,x,y,5\n"), columns=["b", "a", "w2"])
    assert (pairs(chosen), chosen.weights.tolist()) == ([("y", "x")], [5.0])
    assert read_edges(write("e.csv", "1,2,0.25\n")).weights.tolist() == [0.25]
    unnamed = read_edges(write("e.csv", ",source,target\n3,x,y\n"), columns=["source", "target", ""])
    assert unnamed.weights.tolist() == [3.0]


@pytest.mark.parametrize("value", ["-1", "nan", "inf", "", "much"])
def test_a_bad_weight_names_its_row(write, value):
    with pytest.raises(ValueError, match=r"e\.csv, row 2: column 'weight' is .*finite number"):
        read_edges(write("e.csv", f"source,target,weight\na,b,1\nb,c,{value}\n"))


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
        ("e.csv", "source,target\na,b\nc,\n", "row 2: column 'target' has no id"),
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


def test_missing_things(tmp_path, write):
    with pytest.raises(FileNotFoundError, match=r"e\.csv is not there"):
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


def test_an_uncertain_first_line_is_told(write):
    edges = read_edges(write("e.csv", "alice,bob\nbob,carol\n"))
    assert pairs(edges) == [("alice", "bob"), ("bob", "carol")]
    assert "the first line is taken as data" in edges.notes[0]
    edges = read_edges(write("e.csv", "alice,bob\ncarol,dave\n"))
    assert pairs(edges) == [("carol", "dave")]
    assert "the first line names the columns" in edges.notes[0]
    edges = read_edges(write("e.csv", "alice,bob\ncarol,dave\n"), header=False)
    assert pairs(edges) == [("alice", "bob"), ("carol", "dave")]
    assert edges.notes == []


def test_a_first_line_that_recurs_far_below_is_data(write):
    rows = "".join(f"{chr(97 + i % 26)}{chr(97 + i // 26 % 26)}q,zz{chr(97 + i % 26)}\n" for i in range(676))
    edges = read_edges(write("e.csv", "alice,bob\n" + rows + "zzz,alice\n"))
    assert ("alice", "bob") in pairs(edges)
    assert len(edges.source) == 678
