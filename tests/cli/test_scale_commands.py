"""``gssl graph build`` and ``--graph``, and ``gssl plan``."""

import pytest

from gssl.cli.app import app
from gssl.cli.scale_commands import PLANNED
from gssl.scale.estimate import METHODS


@pytest.mark.parametrize("method", ["labelpropagation", "sgc"])
def test_a_graph_on_disk_gives_the_predictions_of_its_tables(graph, run, classify, method):
    features = "f.csv" if method == "sgc" else None
    more = ["--method", method]
    wanted = classify(features=features, more=more)
    result = run("graph", "build", "--edges", "e.csv", "--out", "web.graph", "--memory", "500MB")
    assert "30 nodes and 60 edges: web.graph" in result.output
    more += ["--graph", "web.graph"]
    assert classify(edges=None, features=features, out="q.csv", more=more) == wanted


def test_nodes_in_the_order_of_a_table(graph, run):
    run("graph", "build", "--edges", "e.csv", "--nodes", "f.csv", "--out", "web.graph")
    from gssl.io import open_graph_store

    assert open_graph_store("web.graph").node_ids.tolist() == graph.ids


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--graph", "nowhere"], "nowhere is no graph store: make one with gssl graph build."),
        (["--graph", "web.graph", "--edges", "e.csv"], "--graph is a graph already: leave out --edges."),
        (["--graph", "web.graph", "--labels", "x.csv"], "x.csv has labels for 1 id that web.graph does not"),
        (["--graph", "web.graph", "--features", "g.csv"], "g.csv has no features for 28 ids of web.graph"),
        (["--graph", "web.graph", "--features", "h.csv"], "h.csv names 1 id that web.graph does not have"),
    ],
)
def test_bad_use_of_a_store_is_one_sentence(graph, run, arguments, message):
    run("graph", "build", "--edges", "e.csv", "--out", "web.graph")
    graph.write("x.csv", ["id", "label"], [("stranger", "c0"), ("007", "c1")])
    graph.write("g.csv", ["id", "a"], [("007", 1), ("naïve", 2)])
    graph.write("h.csv", ["id", "a"], [("stranger", 1)])
    result = run("classify", "--labels", "l.csv", "--out", "p.csv", *arguments, ok=False)
    assert result.exit_code == 2
    assert message in result.stderr
    again = run("graph", "build", "--edges", "e.csv", "--out", "web.graph", ok=False)
    assert "web.graph is there already" in again.stderr


PAPERS = ["plan", "--nodes", "111e6", "--edges", "1.6e9", "--features", "128", "--workers", "8"]


def test_a_plan_is_told_in_plain_numbers(run):
    told = run(*PAPERS, "--memory", "64GB", "--bandwidth", "10GB").stdout
    assert "memory per worker   43.3 GB" in told
    assert "1 slab of 16 per worker" in told
    assert "16 over the graph by each worker" in told
    assert "at 10.0 GB/s per worker (given)" in told
    assert "links in files" in run(*PAPERS, "--memory", "1GB", "--bandwidth", "10GB", ok=False).stderr
    assert "measured here just now" in run("plan", "--nodes", 9, "--edges", 9, "--features", 2).stdout


@pytest.mark.parametrize("number", ["0", "1.5", "many", "-3", "inf"])
def test_a_count_is_a_whole_number(run, number):
    result = run("plan", "--nodes", number, "--edges", "9", "--features", "2", ok=False)
    assert result.exit_code == 2
    assert "is no whole number from 1 on" in result.stderr


def test_every_method_that_can_be_planned_is_offered():
    assert set(PLANNED) == set(METHODS)
    assert {"graph", "plan"} <= set(app.commands)
