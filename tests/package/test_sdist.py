"""The source archive is small, and a wheel can be built from it without a network."""

import sys
import tarfile
import zipfile

import pytest
from tests.package.test_wheel import ROOT, run


@pytest.fixture(scope="module")
def sdist(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sdist")
    done = run([sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", folder], cwd=ROOT)
    assert done.returncode == 0, done.stderr
    (file,) = folder.glob("gssl-*.tar.gz")
    return file


def test_it_is_small_and_has_what_a_build_and_the_tests_need(sdist):
    assert sdist.stat().st_size <= 3_000_000
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    needed = [
        "LICENSE",
        "README.md",
        "pyproject.toml",
        "requirements.lock",
        "src/gssl/__init__.py",
        "conftest.py",
    ]
    assert [name for name in needed if name not in names] == []
    assert [name for name in names if name.endswith((".pyc", ".nbi", ".nbc", ".whl"))] == []


def test_a_wheel_is_built_from_it_without_a_network(sdist, tmp_path):
    pip = [sys.executable, "-m", "pip", "wheel", "-q", "--disable-pip-version-check", "--no-index"]
    done = run([*pip, "--no-build-isolation", "--no-deps", "-w", tmp_path, sdist])
    assert done.returncode == 0, done.stderr
    (wheel,) = tmp_path.glob("gssl-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        assert "gssl/datasets/data/cora.npz" in archive.namelist()
