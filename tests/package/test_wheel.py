"""The package as users install it: built, installed into an empty environment, and audited."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


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


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("environment")
    assert run([sys.executable, "-m", "venv", folder]).returncode == 0
    return folder / "bin" / "python"


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
    assert done.stdout.split()[-1] == wheel.name.split("-")[1], done.stderr


@pytest.mark.slow
def test_the_wheel_works_in_a_clean_environment(wheel: Path, environment: Path, tmp_path: Path):
    pip = [environment, "-m", "pip", "install", "-q", "--disable-pip-version-check"]
    done = run([*pip, "-c", ROOT / "constraints.txt", wheel])
    if done.returncode and "No matching distribution" in done.stderr + done.stdout:
        pytest.skip("no package index can be reached from here")
    assert done.returncode == 0, done.stderr
    code = (
        "import gssl; data = gssl.datasets.load('karate'); y = data.mask_labels('default')\n"
        "model = gssl.OGC(random_state=0).fit(data.features, y, adjacency=data.adjacency)\n"
        "print(gssl.__file__); print(model.transduction_[[0, 33]].tolist())"
    )
    done = run([environment, "-c", code], cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    place, classes = done.stdout.splitlines()
    assert place.startswith(str(environment.parents[1]))
    assert classes == "[0, 1]"
    done = run([environment.with_name("gssl"), "check", "karate"], cwd=tmp_path)
    assert done.returncode in (0, 2), done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_no_known_vulnerability_in_the_versions_that_are_tested(environment: Path, tmp_path: Path):
    done = run([environment, "-m", "pip", "install", "-q", "--disable-pip-version-check", "pip-audit"])
    if done.returncode:
        pytest.skip("pip-audit cannot be installed here: no package index can be reached")
    pinned = ["--requirement", ROOT / "constraints.txt", "--no-deps", "--disable-pip", "--format", "json"]
    done = run([environment, "-m", "pip_audit", *pinned, "--progress-spinner", "off", "--timeout", "30"])
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
