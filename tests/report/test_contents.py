"""A report from Python is that of the command line."""

import re
from dataclasses import replace

import pytest

import gssl
from gssl.io import from_scipy
from gssl.report import read_truth


@pytest.fixture(scope="module")
def problem():
    data = gssl.datasets.load("karate")
    y = data.labels.astype(object)
    y[12:30] = None
    club = from_scipy(data.adjacency, y, node_ids=[f"member {k}" for k in range(34)])
    return replace(club, name="the club")


def test_a_model_and_its_problem_are_enough_and_title_and_notes_may_be_given(problem, tmp_path):
    pytest.importorskip("vl_convert")
    model = gssl.LabelSpreading().fit(problem)
    held_out = gssl.write_report(model, problem, tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<title>34 nodes of the club</title>" in page
    assert "We labelled 18 nodes from 16 labels." in page
    assert "member 20" in page
    assert f"{100 * held_out.accuracy:.1f} %" in page
    # neither a command nor a duration is known in Python
    assert "<pre><code></code></pre>" not in page
    assert "It took" not in page
    assert "Made with gssl " in " ".join(page.split())
    told = {"title": "A <club>", "notes": ["two members left"], "command": "mine"}
    gssl.write_report(model, problem, tmp_path / "page.html", **told)
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<title>A &lt;club&gt;</title>" in page
    assert "two members left" in page
    assert re.search(r"\bmine\b", page)


def test_true_labels_are_read_for_nodes_that_have_none(tmp_path):
    problem = gssl.read("SELECT 'a' AS src, 'b' AS dst", labels="SELECT 'a' AS id, 'spy' AS label")
    truth = read_truth("SELECT 'b' AS id, 'cook' AS label", problem)
    assert (truth.ids.tolist(), truth.labels.tolist()) == (["b"], ["cook"])
    with pytest.raises(ValueError, match="has no true label of a node without a given label"):
        read_truth("SELECT 'a' AS id, 'spy' AS label", problem)
    with pytest.raises(ValueError, match="has no true label of a node without a given label"):
        read_truth("SELECT 'b' AS id, 'cook' AS label", problem, na=["cook"])
