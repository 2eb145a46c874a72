"""Loops are compiled once, and without a cache if there is no folder for it."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np

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
