"""Ratios against rivals and against the machine, all measured in one run: ``python -m benchmarks``.

Everybody gets the same two threads. The variables are read when a library loads, so they are set here,
before anything else of this package is imported; child processes inherit them.
"""

import os

THREADS = 2

for _name in ("OMP", "OPENBLAS", "MKL", "NUMBA", "GSSL"):
    os.environ[f"{_name}_NUM_THREADS"] = str(THREADS)
