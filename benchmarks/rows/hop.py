"""One hop ÂU on a graph of Reddit's size, beside other kernels and beside reading rows at random."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numba
import numpy as np

from benchmarks import THREADS, graphs
from benchmarks.row import Measured, Row, ratio
from gssl.operators import Filters, Mixture, mix, normalized_adjacency

_REPEATS = 2


def rows(*, quick: bool) -> list[Row]:
    """Return a row for each rival."""
    n, edges = graphs.SMALL_SHAPE if quick else graphs.REDDIT_SHAPE
    what = f"one hop ÂU, {n:,} nodes, {2 * edges:,} nonzeros, d = {graphs.REDDIT_FEATURES}, float32"
    limit = "rows of U are gathered at the speed of memory"
    return [
        Row(
            "hop-scipy",
            what,
            partial(_measure, quick, _scipy),
            rival="scipy csr @ U, one thread",
            package="scipy",
            at_least=3.0,
            limit=limit,
        ),
        Row(
            "hop-torch",
            what,
            partial(_measure, quick, _torch),
            rival="torch CSR @ U",
            package="torch",
            at_least=1.0,
            limit=limit,
        ),
        Row(
            "hop-bound",
            what,
            lambda: ratio(_hop(quick)[0], _gather(quick), None, 3, note="above 1 where hubs stay in a cache"),
            rival="as many random rows of U, read by numba",
            package="numba",
            at_least=0.7,
            limit=limit,
        ),
    ]


def _hop(quick: bool) -> tuple[Callable[[], Any], Any]:
    """Return our call, which writes to an existing buffer as in the iterations of a method, and Â."""
    A, U = graphs.reddit(quick)
    A_hat = normalized_adjacency(A, np.float32)
    filters, out = Filters(A_hat), np.empty_like(U)
    return lambda: mix(filters, U, Mixture(smooth=1.0), out=out), A_hat


def _measure(quick: bool, rival: Callable[[Any, np.ndarray], Callable[[], Any]]) -> Measured:
    ours, A_hat = _hop(quick)
    return ratio(ours, rival(A_hat.tocsr(), graphs.reddit(quick)[1]), _same, _REPEATS)


def _scipy(A_hat: Any, U: np.ndarray) -> Callable[[], Any]:
    return lambda: A_hat @ U


def _torch(A_hat: Any, U: np.ndarray) -> Callable[[], Any]:
    import torch

    from benchmarks.rivals.torch_matrices import csr_tensor

    tensor, dense = csr_tensor(A_hat), torch.from_numpy(U)
    return lambda: tensor @ dense


def _same(ours: Any, theirs: Any) -> str:
    # compare a few rows only, since comparing all would double the memory
    if not np.allclose(ours[:1000], np.asarray(theirs[:1000]), rtol=1e-3, atol=1e-4):
        raise ValueError("the products differ, so nothing was timed")
    return ""


def _gather(quick: bool) -> Callable[[], Any]:
    """Return a call in which all threads read as many random rows of U as there are nonzeros."""
    A, U = graphs.reddit(quick)
    chosen = np.random.default_rng(0).integers(len(U), size=A.nnz, dtype=np.int32)

    def gather() -> list[float]:
        with ThreadPoolExecutor(THREADS) as pool:
            return list(pool.map(partial(_read_rows, U), np.array_split(chosen, THREADS)))

    return gather


@numba.njit(nogil=True, fastmath=True, cache=True)
def _read_rows(U: np.ndarray, chosen: np.ndarray) -> float:
    """Sum the entries of some rows, so that the compiler cannot optimize the reads away."""
    total = np.float32(0)
    for row in chosen:
        for column in range(U.shape[1]):
            total += U[row, column]
    return total
