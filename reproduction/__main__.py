"""``python -m reproduction``: the tables and figures of the paper, next to the published numbers."""

from pathlib import Path
from typing import Any

import click

from gssl.cli.console import Terminal
from gssl.cli.options import RUN_OPTIONS, Commands, UserPath, options, set_threads

HOME = Path(__file__).parent
_RECORDS = click.option(
    "--records",
    type=UserPath(),
    default=HOME / "records",
    help="The folder of finished runs.",
)
_RUN = options(
    click.option("--quick", is_flag=True, help="Two seeds and no slow methods; takes a few minutes."),
    click.option("--seeds", type=click.IntRange(min=1), metavar="N", help="Seeds 0 to N−1; 10 if not given."),
    click.option("--rows", multiple=True, metavar="NAME", help="Only this row; may be given repeatedly."),
    click.option(
        "--columns", multiple=True, metavar="NAME", help="Only this column or graph; may be given repeatedly."
    ),
    click.option(
        "--limit", type=click.FloatRange(min=1), metavar="SECONDS", help="Stop longer runs (CPU time)."
    ),
    click.option("--renew", is_flag=True, help="Repeat runs by earlier code; by default they are kept."),
    click.option(
        "--out", type=UserPath(), default=HOME / "results", help="The folder of tables and figures."
    ),
    _RECORDS,
    RUN_OPTIONS,
)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """Compute the tables and figures of the paper and compare them with the published numbers."""


@main.command("list")
def list_() -> None:
    """List the tables and figures."""
    from reproduction.catalogue import list_artefacts

    list_artefacts(Terminal())


@main.command("run")
@click.argument("names", nargs=-1, required=True, metavar="NAME…")
@_RUN
def run_(names: tuple[str, ...], **options: Any) -> None:
    """Compute some tables and figures. Finished runs are kept, so a stopped command can be resumed.

    \b
    Example:
      python -m reproduction run table1 depth --seeds 3
      python -m reproduction run depth --rows GCN --rows JKNet --columns Cora --limit 600
    """
    _run(names, page=False, **options)


@main.command("all")
@_RUN
def run_all(**options: Any) -> None:
    """Compute all tables and figures, and write a page about them.

    \b
    Example:
      python -m reproduction all --quick --out results
    """
    from reproduction.catalogue import ARTEFACTS

    _run(tuple(ARTEFACTS), page=True, **options)


def _run(
    names: tuple[str, ...],
    page: bool,
    *,
    records: Path,
    out: Path,
    threads: int | None,
    quiet: bool,
    verbose: bool,
    **chosen: Any,
) -> None:
    from reproduction.catalogue import Selection, run_artefacts, write_all
    from reproduction.runner import failure_texts

    set_threads(threads)
    terminal = Terminal(quiet, verbose)
    failures = run_artefacts(names, records, out, Selection(**chosen), terminal)
    try:
        if page:
            write_all(records, out, terminal)
    finally:
        # failures come last so that they are not overlooked
        for text in failure_texts(failures):
            click.echo(f"gssl: {text}", err=True)
        if failures:
            raise click.exceptions.Exit(1)


@main.command()
@_RECORDS
@click.option("--out", type=UserPath(), default=HOME.parent / "docs")
def page(records: Path, out: Path) -> None:
    """Write reproduction.md from the finished runs.

    \b
    Example:
      python -m reproduction page --out docs
    """
    from reproduction.catalogue import write_all

    write_all(records, out, Terminal())


@main.command()
@_RECORDS
@click.option("--sample", type=click.IntRange(min=1), default=10, show_default=True, help="Runs to repeat.")
@click.option(
    "--longest",
    type=click.FloatRange(min=0),
    default=30.0,
    show_default=True,
    metavar="SECONDS",
    help="Repeat only runs that took at most so long.",
)
@RUN_OPTIONS
def check(
    records: Path, sample: int, longest: float, threads: int | None, quiet: bool, verbose: bool
) -> None:
    """Compute some finished runs again, drawn at random, and compare them; fails if one differs.

    \b
    Example:
      python -m reproduction check --sample 10
    """
    from reproduction.catalogue import check_records

    set_threads(threads)
    repeats = check_records(records, sample, longest, Terminal(quiet, verbose))
    if any(one.difference for one in repeats):
        raise click.exceptions.Exit(1)


if __name__ == "__main__":
    main(prog_name="python -m reproduction")
