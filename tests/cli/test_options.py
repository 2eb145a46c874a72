from pathlib import Path

import pytest
from click.testing import CliRunner

from gssl.cli.app import app


def test_home_is_home_in_outputs(graph, run, monkeypatch):
    monkeypatch.setenv("HOME", str(graph.folder / "home"))
    run("embed", "--edges", "e.csv", "--features", "f.csv", "--out", "~/u.npy")
    assert Path("home/u.npy").is_file()
    assert Path("home/u.ids.npy").is_file()


@pytest.mark.parametrize("number", ["0", "1.5", "many", "-3", "nan", "-inf", ""])
def test_a_count_is_a_whole_number_read_to_the_last_digit(run, number):
    result = run("plan", "--nodes", number, "--edges", "9", "--features", "2", ok=False)
    assert result.exit_code == 2
    assert "is not a whole number of at least 1" in result.stderr
    counts = ["--nodes", "2147483646", "--edges", "123456789012345678", "--features", " 2e0 "]
    output = run("plan", *counts, "--memory", "100GB", "--method", "sgc").stdout
    assert "2,147,483,646 nodes, 123,456,789,012,345,678 edges, 2 features" in output


def test_a_users_error_is_one_sentence_and_exit_code_2(tmp_path):
    file = tmp_path / "a file"
    file.write_text("")
    result = CliRunner().invoke(app, ["demo", "--draws", "1", "--out", str(file)])
    assert result.exit_code == 2
    assert "a file" in result.stderr
    assert "Traceback" not in result.output
