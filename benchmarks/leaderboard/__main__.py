"""``python -m benchmarks.leaderboard``: run what is missing, and write the page and its chart."""

import os

# libraries read these when they load, and child processes inherit them
os.environ.update({f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "NUMBA", "GSSL")})

from pathlib import Path

import click

from benchmarks.leaderboard.methods import METHODS
from benchmarks.leaderboard.page import draw, page
from benchmarks.leaderboard.problems import list_tasks
from benchmarks.leaderboard.runs import Records, Run, list_runs, run_missing, warm_up
from benchmarks.leaderboard.standing import contests, left_out
from gssl.io import whole_file

KEPT = Path(__file__).parents[1] / "records" / "leaderboard.jsonl"


@click.command()
@click.option("--records", default=KEPT, type=click.Path(path_type=Path))
@click.option("--only", metavar="TEXT", default="", help="Problems whose name begins so.")
@click.option("--draws", default=3, show_default=True, help="Draws of each graph of up to 10,000 nodes.")
@click.option("--processes", default=2, show_default=True, help="One thread each.")
@click.option("--out", type=click.Path(path_type=Path), help="A folder for leaderboard.md and its chart.")
@click.option("--limit", default=180, show_default=True, help="CPU seconds after which a run is given up.")
def main(records: Path, only: str, draws: int, processes: int, limit: int, out: Path | None) -> None:
    """Compare gssl with what a person could use instead; an interrupted run continues."""
    kept = Records(records)
    tasks = [task for task in list_tasks(draws) if task.name.startswith(only)]
    runs = list_runs(tasks, METHODS)
    missing = sum(kept.find(run) is None for run in runs)
    click.echo(f"{len(runs)} runs of {len(METHODS)} methods, {missing} of them missing")

    def on_run(run: Run) -> None:
        click.echo(f"{run.key}: {kept.find(run)}")

    if missing:
        warm_up(METHODS)
        run_missing(runs, kept, processes, limit, on_run)
    if out is not None:
        given = contests(runs, kept)
        (out / "figures").mkdir(parents=True, exist_ok=True)
        draw(given, out / "figures" / "leaderboard.svg")
        with whole_file(out / "leaderboard.md") as part:
            Path(part).write_text(page(given, kept.seconds, left_out(tasks, given)), encoding="utf-8")
        click.echo(f"written: {out / 'leaderboard.md'}")


if __name__ == "__main__":
    main(prog_name="python -m benchmarks.leaderboard")
