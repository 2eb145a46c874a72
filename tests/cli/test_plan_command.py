import re

import numpy as np
import pytest

from gssl.cli.app import _PLANNED, app
from gssl.scale.estimate import METHODS

PAPERS = ["plan", "--nodes", "111e6", "--edges", "1.6e9", "--features", "128", "--workers", "8"]


def test_a_plan_is_told_in_plain_numbers(run):
    lines = run(*PAPERS, "--memory", "64GB").stdout.splitlines()
    assert [line.split("  ")[0] for line in lines] == [
        "ggcm",
        "memory",
        "columns",
        "passes",
        "through files",
        "over the network",
        "memory of client",
        "disk",
        "time",
        "run with",
    ]
    assert lines[1] == "memory             50.4 GB for each worker; 12.8 GB of links stay in it"
    assert lines[2] == "columns            1 slab of 16 for each worker"
    assert lines[3] == "passes             16 over the graph by each worker"
    assert lines[8].startswith(
        "time               needs the graph, on the machine that will run: gssl graph build"
    )
    assert lines[9] == "run with           --memory 50947MB"


@pytest.mark.parametrize("method", METHODS)
def test_the_time_of_a_graph_is_measured_on_one_slab(graph, run, method):
    run("graph", "build", "--edges", "e.csv", "--out", "web.graph")
    result = run("plan", "--graph", "web.graph", "--features", "f.csv", "--method", method)
    assert "30 nodes, 60 edges, 3 features, 16 iterations" in result.stdout
    assert re.search(r"time +\d+\.\d s for the passes, measured on one slab; files, network", result.stdout)
    assert re.search(r"measuring +\d+\.\d s", result.stderr)


@pytest.mark.parametrize("width", [60, 80])
def test_a_plan_fits_a_narrow_terminal(run, width):
    env = {"COLUMNS": str(width), "FORCE_COLOR": "1", "TTY_COMPATIBLE": "1"}
    output = run(*PAPERS, "--memory", "64GB", env=env).stdout
    lines = [re.sub("\x1b[^m]*m", "", line).rstrip() for line in output.splitlines()]
    assert max(map(len, lines)) <= width
    assert "ggcm" in lines[0]
    assert " ".join(" ".join(lines).split()).endswith("run with --memory 50947MB")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--depth", "1e300"], "'1e300' is too large; write at most 9223372036854775807"),
        (["--nodes", "1e999"], "'1e999' is too large"),
        (["--nodes", "3e9"], "3,000,000,000 nodes are too many: a graph holds fewer than 2³¹"),
        (["--nodes", "50000"], "cannot have 1,600,000,000 edges: count each edge once"),
        (["--features", "0"], "'0' is not a whole number of at least 1"),
        (["--workers", "0"], "'0' is not a whole number of at least 1"),
        (["--workers", "129"], "129 workers cannot share 128 features"),
        (["--memory", "lots"], "--memory is 'lots': give an amount of memory, such as 64GB."),
        (["--memory", "0"], "--memory is '0': give an amount of memory, such as 64GB."),
        (["--memory", "1GB"], "1.0 GB per worker is not enough for 111,000,000 nodes"),
        (["--method", "gcn"], "'gcn' is not one of"),
    ],
)
def test_a_plan_that_cannot_be_is_one_sentence_before_anything_is_measured(
    run, monkeypatch, arguments, message
):
    monkeypatch.setattr("gssl.cli.plan_command.measure_passes", lambda *_: pytest.fail("measured"))
    result = run(*PAPERS, *arguments, ok=False)
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stderr.startswith("gssl: ")
    assert len(result.stderr.splitlines()) == 1
    assert not result.stdout


def test_every_method_that_can_be_planned_is_offered():
    assert set(_PLANNED) == set(METHODS)
    assert {"graph", "plan"} <= set(app.commands)


@pytest.mark.parametrize("features", ["f.csv", "long.csv", "f.npz", "2"])
def test_a_plan_of_tables_counts_them(graph, run, features):
    graph.write("long.csv", ["id", "feature", "value"], [(node, w, 1) for node in graph.ids for w in "xyz"])
    np.savez("f.npz", ids=np.array(graph.ids), features=graph.x)
    # add a reversed edge and a self-loop
    graph.write("e.csv", ["source", "target"], [*graph.edges, graph.edges[0][::-1], ("007", "007")])
    result = run("plan", "--edges", "e.csv", "--features", features)
    d = 2 if features == "2" else 3
    assert f"30 nodes, 60 edges, {d} features, 16 iterations" in result.stdout
    assert re.match(r"counting +\d+\.\d s  e\.csv", result.stderr)


def test_a_plan_needs_edges_or_a_graph(refused):
    for given in ((), ("--edges", "9", "--graph", "web.graph")):
        sentence = refused("plan", "--features", "2", *given)
        assert sentence == "gssl: give either --edges, a number or a table, or --graph, a graph store."
    assert "nowhere.graph" in refused("plan", "--features", "2", "--graph", "nowhere.graph")


def test_a_plan_needs_nodes_or_a_table(refused):
    sentence = refused("plan", "--edges", "9", "--features", "2")
    assert sentence == "gssl: the number of nodes is unknown: give --nodes, or a table as --edges."
    assert "not-there.csv does not exist" in refused("plan", "--edges", "not-there.csv", "--features", "2")


def test_categories_are_counted_as_features(graph, run):
    graph.write("f.csv", ["id", "age", "city"], [(n, i, "abc"[i % 3]) for i, n in enumerate(graph.ids)])
    output = run("plan", "--edges", "e.csv", "--features", "f.csv").stdout
    assert "30 nodes, 60 edges, 4 features" in output


def test_users_and_items_with_the_same_ids_are_counted_apart(graph, run):
    graph.write("e.csv", ["user_id", "item_id"], [(1, 1), (1, 2), (2, 1), (3, 9)])
    output = run("plan", "--edges", "e.csv", "--features", "2").stdout
    assert "6 nodes, 4 edges" in output


def test_tables_with_thousands_of_columns_are_counted(graph, run):
    graph.write("f.csv", ["id", *range(1100)], [(node, *range(1100)) for node in graph.ids])
    output = run("plan", "--edges", "e.csv", "--features", "f.csv").stdout
    assert "30 nodes, 60 edges, 1,100 features" in output
