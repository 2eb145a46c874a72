"""``python -m benchmarks``: run them all, print a line for each, write table, JSON and chart."""

# ruff: noqa: T201 - a command prints
import os

from benchmarks import THREADS

# libraries read these when they load, and child processes inherit them
os.environ.update(
    {f"{name}_NUM_THREADS": str(THREADS) for name in ("OMP", "OPENBLAS", "MKL", "NUMBA", "GSSL")}
)

import argparse
import time
import warnings
from pathlib import Path

from benchmarks import chart, table
from benchmarks.entry import Row
from benchmarks.measure import run
from benchmarks.rows import entries


def main() -> None:
    """Read the options and run."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="cora and small drawn graphs, in minutes")
    parser.add_argument(
        "--only", metavar="NAME", action="append", help="names that begin so; may be repeated"
    )
    parser.add_argument("--out", metavar="DIR", type=Path, default=Path("bench-results"))
    parser.add_argument("--list", action="store_true", help="show the names and stop")
    options = parser.parse_args()

    chosen = [
        entry
        for entry in entries(quick=options.quick)
        if options.only is None or entry.name.startswith(tuple(options.only))
    ]
    if not chosen:
        parser.error(f"no benchmark begins with {' or '.join(options.only)}: see --list")
    if options.list:
        print("\n".join(f"{entry.name:24} {entry.what}" for entry in chosen))
        return
    _set_up()
    start = time.perf_counter()
    rows: list[Row] = []
    spent: dict[str, float] = {}
    for entry in chosen:
        begun = time.perf_counter()
        for row in run(entry, quick=options.quick):
            rows.append(row)
            print(
                f"{row.name:24} {row.rival:44} {table.figure(row):28} {row.goal:12} {row.status}", flush=True
            )
            if row.skipped or row.failed:
                print(f"{'':24} {row.note}", flush=True)
        # written after each benchmark, so that an interrupted run keeps its results
        elapsed = time.perf_counter() - start
        spent[entry.name] = time.perf_counter() - begun
        _write(rows, options.out, quick=options.quick, elapsed=elapsed, spent=spent)
    _draw(rows, options.out)
    longest = sorted(spent, key=lambda name: -spent[name])[:5]
    print("longest:", ", ".join(f"{name} {spent[name]:.0f} s" for name in longest))
    print(f"results in {options.out}, after {elapsed / 60:.1f} minutes")


def _set_up() -> None:
    """Set the number of threads, and keep warnings about the graphs out of the table."""
    from gssl import GraphWarning, operators

    warnings.simplefilter("ignore", GraphWarning)
    operators.set_threads(THREADS)


def _write(rows: list[Row], folder: Path, *, quick: bool, elapsed: float, spent: dict[str, float]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "table.md").write_text(table.markdown(rows, quick=quick, elapsed=elapsed), encoding="utf-8")
    text = table.as_json(rows, quick=quick, elapsed=elapsed, spent=spent)
    (folder / "results.json").write_text(text, encoding="utf-8")


def _draw(rows: list[Row], folder: Path) -> None:
    try:
        chart.draw(rows, folder)
    except ImportError as missing:
        print(f"no chart: {missing.name} is not installed")


if __name__ == "__main__":
    main()
