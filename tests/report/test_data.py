"""The data beside a page are valid JSON and tell what the page tells."""

import json
from dataclasses import replace

import numpy as np
import pytest
from sklearn.neighbors import kneighbors_graph

import gssl
from gssl.io import from_scipy
from gssl.report import write_page
from gssl.report.document import plain

pytest.importorskip("vl_convert")


def read(path):
    """Return strict JSON: neither NaN nor Infinity, nor half of a pair of surrogates."""
    text = path.read_bytes().decode("utf-8")
    return json.loads(text, parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))


def test_the_data_of_classes_are_those_of_the_page(karate_page, tmp_path):
    write_page(tmp_path / "p.html", karate_page, tmp_path / "p.json")
    page, data = (tmp_path / "p.html").read_text(encoding="utf-8"), read(tmp_path / "p.json")
    assert (data["format"], data["kind"]) == (1, "classes")
    assert data["headline"] in page
    held = karate_page.held_out
    assert data["accuracy"]["share"] == held.accuracy
    assert f"{100 * held.accuracy:.1f} %" in page
    for row in data["classes"]:
        assert f'title="{row["name"]}"' in page
        assert f'data-head="Given">{row["given"]}</td>' in page
        assert f'data-head="Recall">{100 * row["recall"]:.0f} %</td>' in page
    assert data["confusion"]["counts"] == held.confusion.counts.tolist()
    assert data["labels_to_check"]["n_contradicted"] == len(data["labels_to_check"]["contradicted"])
    assert data["learning_curve"]["needed"] == 5
    assert [row["id"] for row in data["worth_labelling"]] == [node for node, _ in karate_page.next_labels]
    charts = json.loads(page.split('id="charts">')[1].split("</script>")[0])
    assert data["charts"] == {name: chart["datasets"]["rows"] for name, chart in charts.items()}


def test_hostile_names_are_data_too(hostile_page, tmp_path):
    write_page(tmp_path / "p.html", hostile_page, tmp_path / "p.json")
    names = {row["label"] for row in read(tmp_path / "p.json")["charts"]["map"]}
    assert "half \ufffd pair" in names
    assert "<script>alert(1)</script>" in names


def test_the_data_of_numbers_are_numbers(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 3))
    y = (1000 * X[:, 0] + rng.standard_normal(120)).astype(object)
    y[::3] = None
    problem = replace(from_scipy(kneighbors_graph(X, 5), features=X), y=y)
    model = gssl.AutoRegressor(depth=2).fit(problem)
    gssl.write_report(model, problem, tmp_path / "p.html", data=tmp_path / "p.json")
    page, data = (tmp_path / "p.html").read_text(encoding="utf-8"), read(tmp_path / "p.json")
    assert data["kind"] == "numbers"
    assert f"{data['accuracy']['r_squared']:.2f}<small>" in page
    row = data["numbers_to_check"]["farthest"][0]
    assert row["given"] == y[int(row["id"])]
    assert f">{row['deviations']:.1f}<" in page
    assert len(data["models"]) == len(model.leaderboard_)
    assert data["models"][0]["score"] == model.leaderboard_[0].score


def test_both_files_are_written_or_none(karate_page, tmp_path):
    with pytest.raises(ValueError, match="the page and its data"):
        write_page(tmp_path / "p", karate_page, tmp_path / "p")
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="folder"):
        write_page(tmp_path / "p", karate_page, tmp_path / "folder")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_what_is_not_finite_becomes_null():
    assert plain({"a": np.array([1.5, np.nan]), "b": np.inf, "c": np.int64(3)}) == {
        "a": [1.5, None],
        "b": None,
        "c": 3,
    }
