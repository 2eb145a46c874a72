"""Loops are compiled once, and without a cache if there is no folder for it."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from gssl.operators import compiling
from gssl.operators._kernels import rows


def test_without_a_folder_for_its_cache_a_loop_is_compiled_all_the_same(monkeypatch):
    asked = []
    njit = compiling.numba.njit

    def without_cache(*arguments, **options):
        asked.append(options.pop("cache", False))
        if asked[-1]:
            raise RuntimeError("cannot cache function: no locator available")
        return njit(*arguments, **options)

    monkeypatch.setattr(compiling.numba, "njit", without_cache)
    rows.sum_rows.cache_clear()
    sums = np.zeros(2)
    rows.sum_rows("d")(0, 2, np.array([1.0, 10.0]), np.array([[1.0, 2.0], [3.0, 4.0]]), sums)
    rows.sum_rows.cache_clear()
    # only the first two: numba compiles its own functions on first use
    assert asked[:2] == [True, False]
    assert sums.tolist() == [31.0, 42.0]


def test_compiling_is_said_once_and_only_the_first_time(tmp_path):
    code = """
import logging, sys
logging.basicConfig(level=logging.INFO, stream=sys.stdout)
from gssl.operators._kernels.rows import sum_rows
sum_rows("d")
sum_rows("d")
"""
    said = []
    for _ in range(2):
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
        done = subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
        )
        said.append(done.stdout.count("compiled add_scaled_rows"))
    assert said == [1, 0]


LOOP = """
from numba import types
from gssl.operators.compiling import compiled

def double(x):
    x[0] *= 2
"""
USE = """
import sys
sys.path.insert(0, "package")
import loops, numpy as np
x = np.ones(1)
loops.compiled(loops.double, loops.types.float64[::1])(x)
print(x[0])
"""
FULL_DISK = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))"


@pytest.fixture
def place(tmp_path):
    """A folder with a package of one loop, and the home of a user."""
    (tmp_path / "package").mkdir()
    (tmp_path / "home").mkdir()
    (tmp_path / "package" / "loops.py").write_text(LOOP)
    return tmp_path


def run_loop(place, before="", **variables):
    """Compile and run the loop in a process of its own; return which folders have compiled files."""
    left_out = ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME", "LOCALAPPDATA")
    environment = {name: value for name, value in os.environ.items() if name not in left_out}
    environment |= {"HOME": str(place / "home"), **variables}
    command = [sys.executable, "-c", before + USE]
    done = subprocess.run(
        command, cwd=place, env=environment, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.stdout == "2.0\n", done.stderr
    return {path.relative_to(place).parts[0] for path in place.rglob("*.nb[ic]") if path.stat().st_size}


def test_compiled_files_are_kept_beside_the_source(place):
    assert run_loop(place) == {"package"}


def test_compiled_files_are_kept_where_numba_cache_dir_says_and_nowhere_else(place):
    assert run_loop(place, NUMBA_CACHE_DIR=str(place / "mine")) == {"mine"}


@pytest.mark.skipif(os.name == "nt", reason="the home of a user is set otherwise")
def test_compiled_files_of_a_read_only_package_are_kept_in_the_home_of_the_user(place):
    # a file in the place of the folder stops root, too
    (place / "package" / "__pycache__").touch()
    assert run_loop(place) == {"home"}


@pytest.mark.skipif(os.name == "nt", reason="the home of a user is set otherwise")
def test_without_any_writable_folder_nothing_is_kept_and_the_loop_runs(place):
    (place / "package" / "__pycache__").touch()
    (place / "file").touch()
    assert run_loop(place, HOME=str(place / "file"), XDG_CACHE_HOME=str(place / "file")) == set()


@pytest.mark.skipif(os.name == "nt", reason="file sizes are not limited on Windows")
def test_on_a_full_disk_the_loop_runs(place):
    assert run_loop(place, FULL_DISK) == set()


# tests that compare with dense algebra and are quick in plain Python: every operator and kind of pass
DENSE = [
    *(f"operators/test_{name}.py" for name in ("mixture", "convolution", "inverse", "losses", "supervision")),
    *(f"methods/test_{name}.py" for name in ("ggc", "linear_filters", "recurrences")),
    *(f"methods/test_propagation.py::test_label_{name}" for name in ("spreading", "propagation")),
    "methods/test_g2cn.py::test_g2cn",
    "methods/test_ogc.py::test_ogc",
]


def test_without_compilation_the_loops_give_the_results_of_dense_algebra_in_plain_python():
    tests = [str(Path(__file__).parents[1] / name) for name in DENSE]
    options = ["-q", "-x", "-p", "no:cacheprovider", "-k", "not number_of_threads"]
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    command = [sys.executable, "-m", "pytest", *options, *tests]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
