import re

import pytest

from gssl.cli.arguments import PLANNED
from gssl.scale.estimate import METHODS

PAPERS = ["plan", "--nodes", "111e6", "--edges", "1.6e9", "--features", "128", "--workers", "8"]


def test_a_plan_is_told_in_plain_numbers(run):
    lines = run(*PAPERS, "--memory", "64GB").stdout.splitlines()
    told = dict(re.split(r"  +", line, maxsplit=1) for line in lines)
    assert " ".join(told) == (
        "ggcm memory columns passes through files over the network memory of client disk time run with"
    )
    assert told["memory"] == "50.4 GB for each worker; 12.8 GB of links stay in it"
    assert told["columns"] == "1 slab of 16 for each worker"
    assert told["passes"] == "16 over the graph by each worker"
    assert told["time"].startswith("needs the graph, on the machine that will run: gssl graph build")
    assert told["run with"] == "--memory 50947MB"
    assert len({line.index(rest) for line, rest in zip(lines, told.values(), strict=True)}) == 1


@pytest.mark.parametrize("method", METHODS)
def test_tables_are_counted_and_time_is_measured_on_one_slab(graph, run, method):
    result = run("plan", "--edges", "e.csv", "--features", "f.csv", "--method", method)
    assert "30 nodes, 60 edges, 3 features, 16 iterations" in result.stdout
    assert re.match(r"counting +\d+\.\d s  e\.csv, f\.csv", result.stderr)
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
        (["--nodes", "3e9"], "3,000,000,000 nodes are too many: a graph holds fewer than 2³¹"),
        (["--features", "0"], "'0' is not a whole number of at least 1"),
        (["--workers", "0"], "'0' is not a whole number of at least 1"),
        (["--workers", "129"], "129 workers cannot share 128 features"),
        (["--memory", "lots"], "--memory is 'lots': give an amount of memory, such as 64GB."),
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


def test_a_plan_needs_edges_or_a_graph_and_their_nodes(refused):
    assert set(PLANNED) == set(METHODS)
    plan = ["plan", "--features", "2"]
    for given in ((), ("--edges", "9", "--graph", "web.graph")):
        sentence = refused(*plan, *given)
        assert sentence == "gssl: give either --edges, a number or a table, or --graph, a graph store."
    assert "nowhere.graph" in refused(*plan, "--graph", "nowhere.graph")
    sentence = refused(*plan, "--edges", "9")
    assert sentence == "gssl: the number of nodes is unknown: give --nodes, or a table as --edges."
    assert "not-there.csv does not exist" in refused(*plan, "--edges", "not-there.csv")


def test_tables_of_several_relations_are_counted(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").write_text("src,dst\n1,2\n2,3\n")
    (tmp_path / "b.csv").write_text("src,dst\n1,2\n1,3\n")
    output = run("plan", "--edges", "x=a.csv", "--edges", "y=b.csv", "--features", "8").output
    assert "counting" in output
    assert "a.csv, b.csv" in output
    refused = run("plan", "--edges", "9", "--edges", "y=b.csv", "--features", "8", ok=False)
    assert "give one number, or tables with names" in refused.output
