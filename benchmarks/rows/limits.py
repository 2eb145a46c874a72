"""Time at sizes and shapes that few people have, each fit in a process of its own.

A fit that is refused has failed, and its sentence is the note.
"""

import resource
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy.sparse import csr_array, diags_array, random_array

import gssl
from benchmarks.child import in_child
from benchmarks.row import Measured, Row

# seconds of CPU time; a fit is stopped after so many by the clock
_MOST = 900
Problem = tuple[Any, np.ndarray, csr_array]
METHODS: dict[str, Callable[[], Any]] = {
    "AutoClassifier": gssl.AutoClassifier,
    "GGCM + ridge": lambda: gssl.EmbeddingClassifier(gssl.GGCM(), head="ridge"),
    "LabelPropagation": gssl.LabelPropagation,
    "OGC": lambda: gssl.OGC(random_state=0),
}


def rows(*, quick: bool) -> list[Row]:
    """Return a row for each case and method."""
    return [
        Row(
            f"limits-{case}-{method.split()[0].lower()}",
            f"{method}: {what}",
            partial(_measure, case, method),
            rival="a quarter of an hour",
            unit="s",
            at_most=_MOST,
            limit="compilation is included",
            long=True,
        )
        for case, (what, _) in CASES.items()
        for method in METHODS
    ]


def _measure(case: str, method: str) -> Measured:
    seconds, before, peak = map(float, in_child("case", case, method, timeout=_MOST).split())
    memory = f"{peak / 1e9:.1f} GB, {before / 1e9:.1f} GB before the fit"
    return Measured((seconds,), f"{seconds:.1f} s", note=memory)


def ring(n: int, degree: int) -> csr_array:
    """Return a graph in which all nodes have neighbours at the same random distances."""
    rng = np.random.default_rng(0)
    steps = rng.choice(np.arange(1, n // 2), degree // 2, replace=False)
    around = np.concatenate([steps, -steps])
    indices = np.sort((np.arange(n)[:, None] + around) % n, axis=1).astype(np.int32).ravel()
    indptr = np.arange(0, n * degree + 1, degree, dtype=np.int64)
    return csr_array((np.ones(n * degree, np.float32), indices, indptr), shape=(n, n))


def classes(n: int, n_classes: int, n_labels: int, d: int, degree: int = 10) -> Problem:
    """Return a ring with dense features around the mean of each class, and labels of the first nodes."""
    rng = np.random.default_rng(1)
    truth = np.arange(n) % n_classes
    X = rng.standard_normal((n, d), dtype=np.float32)
    X += rng.standard_normal((n_classes, d), dtype=np.float32)[truth]
    return X, np.where(np.arange(n) < n_labels, truth, -1), ring(n, degree)


def columns(n: int, d: int) -> Problem:
    """Return sparse features with 50 numbers in each row."""
    X = random_array((n, d), density=50 / d, random_state=np.random.default_rng(2), dtype=np.float32)
    return csr_array(X), np.where(np.arange(n) < 200, np.arange(n) % 5, -1), ring(n, 10)


def shaped(A: csr_array) -> Problem:
    """Return a graph without features in which every hundredth node is labelled; the last one too."""
    n = A.shape[0]
    y = np.where(np.arange(n) % max(n // 100, 1) == 0, np.arange(n) // max(n // 100, 1) % 2, -1)
    y[-1] = 1
    return None, y, A


def path(n: int) -> csr_array:
    """Return nodes in a row."""
    return csr_array(diags_array([np.ones(n - 1), np.ones(n - 1)], offsets=[-1, 1]))


def star(n: int) -> csr_array:
    """Return one node that is linked to all others."""
    ends = np.arange(1, n), np.zeros(n - 1, dtype=int)
    A = csr_array((np.ones(n - 1), ends), shape=(n, n))
    return csr_array(A + A.T)


CASES: dict[str, tuple[str, Callable[[], Problem]]] = {
    "links": ("10⁸ links, 5 million nodes, 8 columns", lambda: classes(5_000_000, 5, 500, 8, 40)),
    "classes": ("10⁴ classes, 20,000 nodes, 2 labels each", lambda: classes(40_000, 10_000, 20_000, 32)),
    "columns": ("10⁵ sparse columns, 20,000 nodes", lambda: columns(20_000, 100_000)),
    "labels": ("10⁵ labels, 120,000 nodes, 10 classes", lambda: classes(120_000, 10, 100_000, 50)),
    "path": ("a path of 100,000 nodes", lambda: shaped(path(100_000))),
    "star": ("a star of 100,000 nodes", lambda: shaped(star(100_000))),
    "complete": ("a complete graph of 5,000 nodes", lambda: shaped(csr_array(1.0 - np.eye(5_000)))),
}


def fit(case: str, method: str) -> None:
    """Print CPU seconds of one fit, and resident memory before it and at its peak, in bytes."""
    X, y, A = CASES[case][1]()
    # in kB on Linux
    before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    METHODS[method]().fit(X, y, adjacency=A)
    seconds = time.process_time() - start
    print(seconds, 1024 * before, 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)  # noqa: T201
