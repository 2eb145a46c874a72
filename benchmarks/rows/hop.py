"""One hop ÂU on a graph of Reddit's size, against other kernels and against memory bandwidth."""

from typing import Any

import numpy as np

from benchmarks import graphs
from benchmarks.bandwidth import gather_bandwidth
from benchmarks.entry import Contest, Figure, Race, Reading, Rival
from benchmarks.measure import clock, seconds
from gssl.operators import Filters, Mixture, mix, normalized_adjacency


def entries(*, quick: bool) -> list[Race | Figure]:
    """Return the race and the bound; goals apply to the full size."""
    shape = graphs.SMALL_SHAPE if quick else graphs.REDDIT_SHAPE
    what = f"one hop ÂU, {shape[0]:,} nodes, {2 * shape[1]:,} nonzeros, d = {graphs.REDDIT_FEATURES}, float32"
    return [
        Race("hop", what, lambda: _contest(quick), repeats=2),
        Figure(
            "hop-bound",
            "the same: share of the bound nonzeros · d · 4 bytes ÷ bandwidth of gathering random rows",
            lambda: _share(quick),
            unit="of it",
            at_least=None if quick else 0.7,
        ),
    ]


def _hop(quick: bool) -> tuple[Any, Any]:
    """Return our call, which writes to an existing buffer as in the iterations of a method, and Â."""
    A, U, _ = graphs.reddit(quick)
    A_hat = normalized_adjacency(A, np.float32)
    filters, out = Filters(A_hat), np.empty_like(U)
    return lambda: mix(filters, U, Mixture(smooth=1.0), out=out), A_hat


def _contest(quick: bool) -> Contest:
    import torch

    from benchmarks.rivals.torch_matrices import csr_tensor

    ours, A_hat = _hop(quick)
    U = graphs.reddit(quick)[1]
    stored = A_hat.tocsr()
    tensor, dense = csr_tensor(stored), torch.from_numpy(U)
    rivals = (
        Rival("scipy csr @ U", lambda: stored @ U, None if quick else 3.0, _same, "scipy uses one thread"),
        Rival("torch CSR @ U", lambda: tensor @ dense, None, _same),
    )
    return Contest(ours, rivals)


def _same(ours: Any, theirs: Any) -> str:
    # compare a few rows only, since comparing all would double the memory
    if not np.allclose(ours[:1000], np.asarray(theirs[:1000]), rtol=1e-3, atol=1e-4):
        raise ValueError("the products differ, so nothing was timed")
    return ""


def _share(quick: bool, repeats: int = 5) -> Reading:
    ours, _ = _hop(quick)
    A, U, _ = graphs.reddit(quick)
    ours()
    needed = A.nnz * U.shape[1] * U.itemsize
    shares, times, bandwidths = [], [], []
    for _ in range(repeats):
        bandwidths.append(gather_bandwidth(U))
        times.append(clock(ours))
        shares.append(needed / bandwidths[-1] / times[-1])
    rate = float(np.median(bandwidths))
    note = f"gathering random rows: {rate / 1e9:.1f} GB/s; above 1 where hubs stay in a cache"
    return Reading(shares, seconds(times), f"bound: {needed / rate:.2f} s", note)
