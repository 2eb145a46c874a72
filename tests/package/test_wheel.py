"""The package as users install it: built, installed into an empty environment, and audited."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.package.scripts import ROOT, load_script


def run(
    command: Sequence[str | Path], paths: str = "", **settings: object
) -> subprocess.CompletedProcess[str]:
    env = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "VIRTUAL_ENV")}
    env |= {"PYTHONPATH": paths} if paths else {}
    return subprocess.run(
        [str(part) for part in command],
        capture_output=True,
        text=True,
        check=False,
        timeout=1800,  # wheels can have a hundred megabytes, and the machine may be busy
        env=env,
        **settings,  # type: ignore[call-overload]
    )


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    done = run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder], cwd=ROOT)
    assert done.returncode == 0, done.stderr
    (file,) = folder.glob("gssl-*.whl")
    return file


def test_the_wheel_holds_what_is_needed_and_nothing_else(wheel: Path):
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        metadata = archive.read(next(name for name in names if name.endswith("/METADATA"))).decode()
    needed = ["py.typed", "datasets/data/cora.npz", "report/templates/page.html"]
    needed += [f"{name}/__init__.pyi" for name in ("datasets", "io", "methods", "report")]
    assert [name for name in needed if f"gssl/{name}" not in names] == []
    assert [name for name in names if not name.startswith(("gssl/", "gssl-"))] == []
    assert [name for name in names if name.endswith((".pyc", ".nbi", ".nbc"))] == []
    left_out = {"tests", "records", "benchmarks", "reproduction", "docs", "examples", "scripts", "tutorials"}
    assert [name for name in names if left_out & set(name.split("/"))] == []
    data = (".npz", ".npy", ".csv", ".parquet", ".json", ".jsonl", ".gz", ".pkl", ".gssl")
    assert [name for name in names if name.endswith(data)] == ["gssl/datasets/data/cora.npz"]
    assert wheel.stat().st_size <= 1_000_000
    minors = [f"Programming Language :: Python :: 3.{minor}" for minor in (11, 12, 13, 14)]
    assert [minor for minor in minors if minor not in metadata] == []


def test_the_wheel_alone_has_all_of_the_package(wheel: Path, tmp_path: Path):
    place = tmp_path / "installed"
    pip = [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-index"]
    done = run([*pip, "--no-deps", "--target", place, wheel])
    assert done.returncode == 0, done.stderr
    # dependencies come from this environment, but the package itself only from the wheel
    code = "import gssl; print(gssl.__file__, gssl.datasets.load('cora').n_nodes)"
    done = run([sys.executable, "-c", code], cwd=tmp_path, paths=str(place))
    assert done.stdout.split() == [str(place / "gssl" / "__init__.py"), "2708"], done.stderr
    done = run([sys.executable, place / "bin" / "gssl", "--version"], cwd=tmp_path, paths=str(place))
    assert done.stdout.split()[:2] == ["gssl", wheel.name.split("-")[1]], done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("versions", ["oldest", "pinned", "newest"])
def test_the_wheel_works_in_an_empty_environment(versions: str, wheel: Path, tmp_path: Path):
    oldest = load_script("oldest")
    if versions == "oldest" and sys.version_info >= (3, 14):
        pytest.skip("the oldest versions have no wheels for Python 3.14")
    bounds = {"oldest": oldest.oldest_versions(()), "pinned": ["-c", ROOT / "constraints.txt"], "newest": []}
    python = oldest.make_environment(tmp_path / "environment")
    done = run(oldest.pip_install(python, *bounds[versions], f"{wheel}[report]"))
    if done.returncode and "No matching distribution" in done.stderr + done.stdout:
        pytest.skip("no package index can be reached from here")
    assert done.returncode == 0, done.stderr
    done = run([python, "-c", "import gssl; print(gssl.__file__)"], cwd=tmp_path)
    assert done.stdout.startswith(str(tmp_path)), done.stderr
    listed = run([python.with_name("gssl"), "--version"], cwd=tmp_path)
    assert listed.stdout == run([python, "-m", "gssl", "--version"], cwd=tmp_path).stdout
    sys.stdout.write(listed.stdout)
    if versions == "oldest":
        shown = dict(re.findall(r"([a-z-]+) +(\d[\w.]*)", listed.stdout))
        pins = dict(pin.split("==") for pin in bounds["oldest"])
        assert {"numpy", "duckdb"} <= shown.keys() & pins.keys()
        assert [name for name in shown.keys() & pins.keys() if not shown[name].startswith(pins[name])] == []
    done = run([python.with_name("gssl"), "demo", "--draws", "1"], cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert len((tmp_path / "gssl-demo" / "predictions.csv").read_text().splitlines()) == 2709
    assert "of 140 hidden labels are right" in done.stdout
    assert "A page about this run" in done.stdout


@pytest.mark.slow
def test_no_known_vulnerability_in_the_versions_that_are_tested(tmp_path: Path):
    oldest = load_script("oldest")
    python = oldest.make_environment(tmp_path / "environment")
    done = run(oldest.pip_install(python, "pip-audit"))
    if done.returncode:
        pytest.skip("pip-audit cannot be installed here: no package index can be reached")
    pinned = ["--requirement", ROOT / "constraints.txt", "--no-deps", "--disable-pip", "--format", "json"]
    done = run([python, "-m", "pip_audit", *pinned, "--progress-spinner", "off", "--timeout", "30"])
    try:
        packages = json.loads(done.stdout)["dependencies"]
    except ValueError:
        pytest.skip(f"the list of vulnerabilities cannot be reached: {done.stderr.strip()[-200:]}")
    # if the list cannot be reached, pip-audit may skip every package and still succeed
    unknown = [package["name"] for package in packages if "skip_reason" in package]
    if len(unknown) == len(packages):
        pytest.skip("the list of vulnerabilities cannot be reached: it knows none of the versions")
    assert {package["name"]: package["vulns"] for package in packages if package.get("vulns")} == {}
    assert unknown == []
    assert len(packages) > 50
