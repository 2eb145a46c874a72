"""``gssl --version``, also as ``python -m gssl``."""

import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, version

from tests.package.scripts import ROOT

import gssl
from gssl.cli import versions


def test_it_names_gssl_python_and_every_requirement_in_aligned_columns(run):
    first, python, *rows = run("--version").stdout.splitlines()
    assert first == f"gssl {gssl.__version__}"
    assert python.startswith(f"Python {sys.version_info.major}.{sys.version_info.minor}.")
    shown = dict(re.findall(r"(\S+) +(\S+)", " ".join(rows)))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert shown == {
        name: version(name) for name in (each.split(">=")[0] for each in project["dependencies"])
    }
    assert len(rows) <= 6
    assert max(map(len, rows)) <= 80
    # the second and the third name of each full row begin below each other
    starts = {tuple(match.start() for match in re.finditer(r"\S+ +\S+", row)) for row in rows[:-1]}
    assert len(starts) == 1


def test_a_requirement_that_is_not_installed_is_missing(monkeypatch, run):
    monkeypatch.setattr(
        versions, "requires", lambda name: ["numpy>=2.2", "nothing>=1", "torch; extra == 'torch'"]
    )
    assert run("--version").stdout.split()[-4:] == ["nothing", "missing", "numpy", version("numpy")]


def test_sources_that_are_not_installed_have_a_version_too(monkeypatch, run):
    def requires(name):
        raise PackageNotFoundError(name)

    monkeypatch.setattr(versions, "requires", requires)
    assert len(run("--version").stdout.splitlines()) == 2


def test_python_m_gssl_is_the_command_and_can_be_piped(run):
    command = f"'{sys.executable}' -m gssl --version | head -1"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=True, env=os.environ)
    assert (done.stdout, done.stderr) == (f"gssl {gssl.__version__}\n", "")
    done = subprocess.run([sys.executable, "-m", "gssl", "nope"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr[:26]) == (2, "gssl: No such command 'nop")
