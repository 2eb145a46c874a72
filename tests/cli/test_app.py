import subprocess
import sys
from pathlib import Path

from click.testing import CliRunner

import gssl
from gssl.cli.app import app
from gssl.cli.arguments import EMBEDDERS, METHODS


def test_the_list_of_commands_cuts_no_sentence_short():
    shown = CliRunner().invoke(app, ["--help"], terminal_width=80).output
    commands = shown.split("Commands:\n")[1].splitlines()
    assert len(commands) == len(app.commands)
    assert all(line.endswith(".") and not line.endswith("...") for line in commands)


def test_the_help_lists_every_method_and_dataset(run):
    text = run("classify", "--help").stdout
    assert f"--method[{'|'.join(METHODS)}]" in "".join(text.split())
    assert "Examples:" in text
    assert "auto needs none" in " ".join(text.split())
    assert f"--method[{'|'.join(EMBEDDERS)}]" in "".join(run("embed", "--help").stdout.split())
    assert "karate" in run("datasets", "list").stdout.splitlines()


def test_options_that_do_not_exist_are_refused(spoiled, refused):
    assert "Missing option '--out'" in spoiled({"--out": None})
    assert "--method ogc learns from features" in spoiled({"--features": None, "--method": "ogc"})
    assert "'magic' is not one of" in spoiled({"--method": "magic"})
    assert "-1 is not in the range" in spoiled({"--seed": "-1"})
    assert "No such option" in spoiled({"--colour": "red"})
    assert "No such command 'clasify'" in refused("clasify")
    assert "No such option" in refused("--colour")
    assert "no dataset 'nope'" in refused("datasets", "fetch", "nope")
    assert "give --features" in refused("embed", "--edges", "e.csv", "--out", "u.npy")
    deep = ["embed", "--edges", "e.csv", "--features", "f.csv", "--out", "u.npy", "--depth", 2, "--method"]
    assert "nograph has no iterations for --depth" in refused(*deep, "nograph")


def test_a_time_budget_is_for_auto_which_takes_no_seed(graph, run, spoiled):
    where = ["--edges", "e.csv", "--labels", "l.csv", "--features", "f.csv"]
    for seed, out in ((1, "1.csv"), (2, "2.csv")):
        given = ["--out", out, "--time-budget", 0, "--save", "m.gssl", "--seed", seed]
        run("classify", *where, *given)
    assert Path("1.csv").read_bytes() == Path("2.csv").read_bytes()
    assert gssl.load("m.gssl").classifier_.time_budget == 0.0
    for command in (["check"], ["suggest", "--n", 2, "--out", "s.csv"]):
        run(*command, *where, "--time-budget", 0)
    assert "--time-budget works with --method auto only: leave it out for ogc" in spoiled(
        {"--time-budget": "1", "--method": "ogc"}
    )


def test_memory_is_limited_by_every_command_that_fits(graph, run, refused):
    where = ["--edges", "e.csv", "--features", "f.csv"]
    commands = [
        ["classify", "--labels", "l.csv", "--out", "p.csv"],
        ["check", "--labels", "l.csv"],
        ["suggest", "--labels", "l.csv", "--out", "s.csv"],
        ["embed", "--out", "u.npy"],
    ]
    for command in commands:
        run(*command, *where, "--memory", "1GB")
        assert "memory" in refused(*command, *where, "--memory", "lots")


def test_help_is_light():
    code = (
        "import sys\nfrom gssl.cli import main\nsys.argv = ['gssl', '--help']\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "heavy = {'sklearn', 'numba', 'duckdb', 'scipy', 'numpy', 'rich', 'altair'} & set(sys.modules)\n"
        "sys.exit(f'imported {heavy}' if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "gssl classify --edges" in done.stdout
