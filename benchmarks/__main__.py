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
from benchmarks.row import Row, run
from benchmarks.rows import rows


def main() -> None:
    """Read the options and run."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="cora and small drawn graphs, without goals")
    parser.add_argument(
        "--only", metavar="NAME", action="append", help="names that begin so; may be repeated"
    )
    parser.add_argument("--out", metavar="DIR", type=Path, default=Path("bench-results"))
    parser.add_argument("--list", action="store_true", help="show the names and stop; + marks those to name")
    options = parser.parse_args()
    begins = tuple(options.only or [""])
    chosen = [row for row in rows(quick=options.quick) if row.name.startswith(begins)]
    if not (options.only or options.list):
        chosen = [row for row in chosen if not row.long]
    if not chosen:
        parser.error(f"no row begins with {' or '.join(begins)}: see --list")
    if options.list:
        print(
            "\n".join(
                f"{'+' if row.long else ' '}{row.name:26} {row.goal:12} {row.what}, beside {row.rival}"
                for row in chosen
            )
        )
    else:
        measure(chosen, options.out, quick=options.quick)


def measure(chosen: list[Row], folder: Path, *, quick: bool) -> None:
    """Measure rows one after the other, and write the table after each."""
    _set_up()
    folder.mkdir(parents=True, exist_ok=True)
    start = time.perf_counter()
    lines: list[table.Line] = []
    spent: dict[str, float] = {}
    for row in chosen:
        begun = time.perf_counter()
        measured = run(row)
        lines.append((row, measured))
        spent[row.name] = time.perf_counter() - begun
        status = row.status(measured, quick=quick)
        shown = f"{row.name:24} {row.rival:36} {table.figure(row, measured):28} {row.goal:12} {status}"
        print(shown if measured.values else f"{shown}: {measured.note}", flush=True)
        # after each row, so that an interrupted run keeps its results
        elapsed = time.perf_counter() - start
        text = table.markdown(lines, quick=quick, elapsed=elapsed)
        (folder / "table.md").write_text(text, encoding="utf-8")
        text = table.as_json(lines, quick=quick, elapsed=elapsed, spent=spent)
        (folder / "results.json").write_text(text, encoding="utf-8")
    try:
        chart.draw(lines, folder, quick=quick)
    except ImportError as missing:
        print(f"no chart: {missing.name} is not installed")
    longest = sorted(spent, key=lambda name: -spent[name])[:5]
    print("longest:", ", ".join(f"{name} {spent[name]:.0f} s" for name in longest))
    print(f"results in {folder}, after {elapsed / 60:.1f} minutes")


def _set_up() -> None:
    """Set the number of threads, and keep warnings about the graphs out of the table."""
    from gssl import GraphWarning, operators

    warnings.simplefilter("ignore", GraphWarning)
    operators.set_threads(THREADS)


if __name__ == "__main__":
    main()
