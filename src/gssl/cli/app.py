"""The commands and their options."""

import sys
from pathlib import Path
from typing import Any

import click

import gssl


class _Group(click.Group):
    """Says what a user did wrong in one sentence, without a traceback, and exits with 2."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except (ValueError, OSError) as error:
            click.echo(f"gssl: {error}", err=True)
            sys.exit(2)


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(gssl.__version__, prog_name="gssl")
def app() -> None:
    r"""Graph-based semi-supervised learning: a label with a confidence for every node.

    \b
    Example:
      gssl demo        classify 2,708 papers from 140 labels
    """


@app.command()
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("gssl-demo"),
    show_default=True,
    help="Folder for the predictions.",
)
@click.option(
    "--draws",
    type=click.IntRange(min=1),
    default=5,
    show_default=True,
    help="How many random draws of labels to average over.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the first draw.")
def demo(out: Path, draws: int, seed: int) -> None:
    r"""Classify the papers of the Cora citation graph from 20 labels per class.

    \b
    Example:
      gssl demo --draws 10 --out results
    """
    from gssl.cli.demo import run_demo

    run_demo(out, draws, seed)
