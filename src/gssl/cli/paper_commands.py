"""``gssl paper`` and its options; each command imports what it needs when it runs."""

from pathlib import Path
from typing import Any

import click

from gssl.cli.options import TALK, Place, options, set_threads

_RUN = options(
    click.option("--quick", is_flag=True, help="Two seeds, and nothing slow: a few minutes."),
    click.option("--seeds", type=click.IntRange(min=1), metavar="N", help="Seeds 0 to N−1; 10 if not given."),
    click.option(
        "--out", type=Place(), default=Path("gssl-paper"), show_default=True, help="Results are kept here."
    ),
    TALK,
)


@click.group()
def paper() -> None:
    """Compute the tables and figures of the paper, beside the published numbers."""


def _talk(options: dict[str, Any]) -> Any:
    """Take the options of the voice and the threads out."""
    from gssl.cli.console import Talk

    set_threads(options.pop("threads"))
    return Talk(options.pop("quiet"), options.pop("verbose"))


def _end(failures: list[Any]) -> None:
    """Say what failed after everything else, and exit with 1 if anything did."""
    from gssl.cli.paper import failure_texts

    for text in failure_texts(failures):
        click.echo(f"gssl: {text}", err=True)
    if failures:
        raise click.exceptions.Exit(1)


@paper.command("list")
def list_() -> None:
    """List the tables and figures."""
    from gssl.cli.console import Talk
    from gssl.cli.paper import list_paper

    list_paper(Talk())


@paper.command("run")
@click.argument("names", nargs=-1, required=True, metavar="NAME…")
@_RUN
def run_(names: tuple[str, ...], out: Path, seeds: int | None, quick: bool, **options: Any) -> None:
    """Compute some tables and figures; finished runs are kept, so a stopped one goes on.

    \b
    Example:
      gssl paper run table1 depth --seeds 3 --out results
    """
    from gssl.cli.paper import run_paper

    _end(run_paper(names, out, seeds, quick, _talk(options)))


@paper.command("all")
@_RUN
def run_all(out: Path, seeds: int | None, quick: bool, **options: Any) -> None:
    """Compute all tables and figures, and a page about them.

    \b
    Example:
      gssl paper all --quick --out results
    """
    from gssl.cli.paper import run_paper, write_paper_page
    from gssl.paper import ARTEFACTS

    talk = _talk(options)
    failures = run_paper(tuple(ARTEFACTS), out, seeds, quick, talk)
    try:
        write_paper_page(out, out, talk)
    finally:
        _end(failures)


@paper.command()
@click.option("--records", type=Place(), default=Path("gssl-paper"), show_default=True)
@click.option("--out", type=Place(), default=Path("docs"), show_default=True)
def page(records: Path, out: Path) -> None:
    """Write reproduction.md from what has been run: published, ours, difference, misses.

    \b
    Example:
      gssl paper page --records results --out docs
    """
    from gssl.cli.console import Talk
    from gssl.cli.paper import write_paper_page

    write_paper_page(records, out, Talk())
