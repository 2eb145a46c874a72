"""Shells complete commands, options and files, by the scripts that click writes."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from gssl.cli.app import app


def complete(words, last):
    """Return what bash is told about the last word of a command line."""
    settings = {"_GSSL_COMPLETE": "bash_complete", "COMP_WORDS": f"{words} {last}"}
    settings["COMP_CWORD"] = str(len(words.split()))
    return CliRunner(env=settings).invoke(app, prog_name="gssl").stdout.split()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_there_is_a_script_for_each_shell(shell):
    done = CliRunner(env={"_GSSL_COMPLETE": f"{shell}_source"}).invoke(app, prog_name="gssl")
    assert done.exit_code == 0, done.output
    assert f"_GSSL_COMPLETE={shell}_complete" in done.stdout


def test_commands_options_and_choices_are_completed():
    assert complete("gssl", "cla") == ["plain,classify"]
    assert complete("gssl datasets", "f") == ["plain,fetch"]
    assert "plain,--relation-weight" in complete("gssl classify", "--rel")
    assert complete("gssl classify --method", "gg") == ["plain,ggc", "plain,ggcm"]


@pytest.mark.parametrize(
    "option", ["--edges", "--labels", "--features", "--nodes", "--graph", "--truth", "--out"]
)
def test_tables_are_completed_as_files(option):
    assert complete(f"gssl classify {option}", "li") == ["file,li"]


def test_tables_to_count_are_completed_as_files():
    assert complete("gssl plan --edges", "li") == complete("gssl plan --features", "li") == ["file,li"]


@pytest.mark.skipif(not shutil.which("bash"), reason="there is no bash here")
def test_bash_completes_a_command_after_the_line_of_the_manual():
    code = 'eval "$(_GSSL_COMPLETE=bash_source gssl)"; COMP_WORDS=(gssl reg) COMP_CWORD=1\n'
    code += '_gssl_completion gssl; echo "${COMPREPLY[@]}"'
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", code], capture_output=True, text=True, check=True, env=os.environ | {"PATH": path}
    )
    assert done.stdout.strip() == "regress", done.stderr
