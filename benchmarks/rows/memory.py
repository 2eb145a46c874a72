"""Peak memory of fits, in memory and within a budget, each in a process of its own."""

from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks import graphs
from benchmarks.child import fit_apart, write_problem
from benchmarks.row import Measured, Row

_PLAIN = {"OGC": 2.2, "GGCM": 3.2}
# what may be taken in units of the budget, which is enforced
_EXCESS = 1.15
# nodes, edges, features
Shape = tuple[int, int, int]


def rows(*, quick: bool) -> list[Row]:
    """Return rows for plain fits, and for fits within a budget of features in a file."""
    nodes, edges = graphs.SMALL_SHAPE if quick else graphs.REDDIT_SHAPE
    dense: Shape = nodes, edges, graphs.REDDIT_FEATURES
    sparse: Shape = (140_000, 1_000_000, 714) if quick else (300_000, 2_100_000, 500)
    plain = [
        Row(
            f"memory-{method.lower()}",
            f"peak memory of {method} beyond features and graph, {_text(dense)}",
            partial(_plain, method, dense),
            rival="the features: n·d·4 bytes",
            unit="n·d·4",
            at_most=goal,
            limit="two iterates, and the running total of GGCM",
        )
        for method, goal in _PLAIN.items()
    ]
    bounded = [
        Row(
            f"budget-{method.lower()}",
            f"peak memory of {method}, features in a file of 4 × the budget, {_text(sparse)}",
            partial(_bounded, method, sparse),
            rival="the budget",
            unit="budget",
            at_most=_EXCESS,
            limit="as many columns at a time as the budget allows",
        )
        for method in _PLAIN
    ]
    return [*plain, *bounded]


def _text(shape: Shape) -> str:
    return f"{shape[0]:,} nodes × {shape[2]}, {shape[1]:,} edges, 2 iterations"


def _plain(method: str, shape: Shape) -> Measured:
    return _measure(4 * shape[0] * shape[2], _written(shape).name, method, "none")


def _bounded(method: str, shape: Shape) -> Measured:
    budget = shape[0] * shape[2]
    return _measure(budget, _written(shape).name, method, str(budget), str(_EXCESS))


def _measure(unit: int, *arguments: str) -> Measured:
    peak, base, duration = fit_apart(*arguments)
    note = f"on top of {base / 1e9:.2f} GB of the process; the fit takes {duration:.0f} s"
    return Measured(((peak - base) / unit,), f"{(peak - base) / 1e9:.2f} GB", f"{unit / 1e9:.2f} GB", note)


@cache
def _written(shape: Shape) -> "TemporaryDirectory[str]":
    """Write a problem for all rows; it is removed when the process ends."""
    folder = TemporaryDirectory(prefix="gssl-bench-", dir=Path.home())
    write_problem(Path(folder.name), *shape)
    return folder
