import csv
import re

import pytest
from click.testing import CliRunner
from threadpoolctl import threadpool_limits

import gssl
from gssl.cli.app import app


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    out = tmp_path_factory.mktemp("demo")
    # the node map is faster on one thread while other tests run
    with threadpool_limits(1):
        result = CliRunner().invoke(app, ["demo", "--draws", "2", "--out", str(out)])
    assert result.exit_code == 0, result.output
    with (out / "predictions.csv").open(newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    return result.stdout, rows, (out / "report.html").read_text(encoding="utf-8")


def test_every_paper_gets_a_class_and_a_graph_beats_no_graph(demo):
    output, rows, _ = demo
    assert len(rows) == 2708
    assert sum(row["given"] == "true" for row in rows) == 140
    assert {row["label"] for row in rows} == set(gssl.datasets.load("cora").class_names)
    assert all(0 < float(row["confidence"]) <= 1 for row in rows)
    # results are in the table, not printed one per line
    assert "draw 1/1" not in output
    assert "predictions.csv" in output
    assert "\x1b[" not in output
    scores = {
        cells[0].strip(): float(cells[1])
        for line in output.splitlines()
        if len(cells := line.strip("│").split("│")) == 5 and cells[4].strip().replace(".", "").isdigit()
    }
    assert scores["OGC"] > scores["logistic regression, no graph"] + 15
    assert scores["AutoClassifier"] == max(scores.values())
    assert next(iter(scores)) == "AutoClassifier"
    assert scores["GGCM + logistic regression"] > scores["label propagation, no features"] + 5


def test_the_demo_explains_itself_and_its_page_is_about_the_same_model(demo):
    output, rows, page = demo
    assert "The largest subject has" in output
    assert " of 140 hidden labels are right" in output
    assert "The graph adds " in output
    assert "<title>2,708 nodes of the Cora citation graph</title>" in page
    assert "We labelled 2,568 nodes from 140 labels." in page
    assert "2,568 labels of Cora, none of them given to fit." in page
    assert any(row["model_says"] != row["label"] for row in rows if row["given"] == "true")


def test_the_demo_predicts_numbers_and_label_sets_and_says_what_to_try_next(demo, tmp_path_factory):
    output, _, _ = demo
    folder = max(tmp_path_factory.getbasetemp().glob("demo*"))
    numbers, labels = ((folder / name).read_text().splitlines() for name in ("numbers.csv", "labels.csv"))
    assert (len(numbers), len(labels)) == (443, 601)
    assert float(re.search(r"R² is ([\d.]+) on the others", output)[1]) > 0.3
    assert float(re.search(r"F1 is ([\d.]+) on the others", output)[1]) > 0.6
    commands = [line.split()[1] for line in output.splitlines() if line.startswith("  gssl ")]
    assert commands == ["classify", "regress", "label"]
    following = output.partition("Next, with your own tables")[2].splitlines()
    assert max(map(len, following)) <= 80
