"""Edges from every form of table, their ids and their weights."""

import numpy as np
import pandas as pd
import pytest

from gssl.io import read_edges

PAIRS = [("007", "naïve"), ("18446744073709551615", "007"), ("naïve", "a,b")]


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
def test_ids_survive_every_text_form(write, name, text, pairs):
    edges = read_edges(write(name, text))
    assert pairs(edges) == sorted(PAIRS)
    assert edges.weights is None
    assert edges.source.dtype == np.int32


def test_ids_of_parquet_are_text_and_whole_numbers_have_no_point(tmp_path, pairs):
    file = tmp_path / "e.parquet"
    for columns in (["source", "target"], ["target", "source"]):
        pd.DataFrame(PAIRS, columns=["source", "target"])[columns].to_parquet(file)
        assert pairs(read_edges(file)) == sorted(PAIRS)
    big = 2**64 - 1
    pd.DataFrame({"src": np.array([7, big], dtype=np.uint64), "dst": [7.0, 12.0]}).to_parquet(file)
    assert pairs(read_edges(file)) == [(str(big), "12"), ("7", "7")]
    pd.DataFrame({"src": [float(2**60)], "dst": ["a"]}).to_parquet(file)
    with pytest.raises(ValueError, match=r"'src' holds whole numbers as floats .* lost digits"):
        read_edges(file)


def test_json_floats_lose_their_point_but_text_keeps_it(write, pairs):
    file = write("e.jsonl", '{"a": 7.0, "b": "7.0"}\n{"a": null, "b": "x"}\n')
    with pytest.raises(ValueError, match="row 2: column 'a' has no id"):
        read_edges(file, strict=True)
    assert pairs(read_edges(file)) == [("7", "7.0")]


def test_a_column_of_numbers_is_the_weight_or_the_one_that_is_named(write, pairs):
    edges = read_edges(write("e.csv", "a,b,strength\nx,y,0.5\ny,z,2e1\n"))
    weights = dict(zip(edges.ids[edges.source], edges.weights, strict=True))
    assert weights == {"x": 0.5, "y": 20.0}
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


def test_an_edge_without_an_id_is_skipped_with_a_note_and_strict_refuses_it(write, pairs):
    file = write("e.csv", "source,target,weight\na,b,1\nb,,-5\nc,a,2\n")
    edges = read_edges(file)
    assert (pairs(edges), sorted(edges.weights)) == ([("a", "b"), ("c", "a")], [1.0, 2.0])
    assert edges.notes == [f"{file}: skipped 1 edge without an id, in row 2."]
    with pytest.raises(ValueError, match=r"e\.csv, row 2: column 'target' has no id; remove the row or fill"):
        read_edges(file, strict=True)
    with pytest.raises(ValueError, match=r"e\.csv, row 2: column 'weight' is '-5'"):
        read_edges(write("e.csv", "source,target,weight\nc,,1\na,b,-5\n"))
