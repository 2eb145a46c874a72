"""How time grows with edges at a fixed number of features."""

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np

import gssl
from benchmarks import graphs
from benchmarks.row import Measured, Row, interleaved

_QUICK = (100_000, 300_000, 1_000_000)
_FULL = (100_000, 300_000, 1_000_000, 5_000_000)
# agreement=1 is never exceeded, so every size has the same number of iterations
_METHODS: dict[str, Callable[[], Any]] = {
    "SGC": lambda: gssl.SGC(depth=2),
    "GGCM": lambda: gssl.GGCM(depth=4),
    "OGC": lambda: gssl.OGC(max_iter=4, agreement=1.0, random_state=0),
}


def rows(*, quick: bool) -> list[Row]:
    """Return a slope for each method."""
    sizes = _QUICK if quick else _FULL
    return [
        Row(
            f"growth-{method.lower()}",
            f"{method}: log–log slope of time against edges, {sizes[0]:.0e} to {sizes[-1]:.0e}, d = 64",
            partial(_slope, method, sizes),
            rival="growth in proportion to the edges: 1",
            unit="slope",
            at_most=1.1,
            limit="rows of neighbours come from memory once U is larger than the last cache",
        )
        for method in _METHODS
    ]


def _slope(method: str, sizes: tuple[int, ...]) -> Measured:
    times = np.array([_times(n_edges)[method] for n_edges in sizes])
    # a slope for each repeat, so that the table shows the range of slopes
    slopes = tuple(float(np.polyfit(np.log(sizes), np.log(column), 1)[0]) for column in times.T)
    medians = np.median(times, axis=1)
    listed = ", ".join(f"{n_edges:.0e}: {value:.3g} s" for n_edges, value in zip(sizes, medians, strict=True))
    return Measured(slopes, f"{medians[-1]:.2f} s", note=f"ten edges per node; {listed}")


@cache
def _times(n_edges: int) -> dict[str, list[float]]:
    """Time every method on one graph; only times are cached, because the largest graph takes gigabytes."""
    data = graphs.grown(n_edges)
    y = data.mask_labels("default")
    calls = {
        name: lambda make=make: make().fit(data.features, y, adjacency=data.adjacency)
        for name, make in _METHODS.items()
    }
    interleaved(calls, 1)
    return interleaved(calls, 3)
