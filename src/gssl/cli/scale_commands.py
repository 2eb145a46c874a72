"""``gssl graph`` and ``gssl plan``; each command imports what it needs when it runs."""

from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import click

from gssl.cli.options import Place

# the methods that a plan knows; a test keeps them equal to those of gssl.scale.estimate
PLANNED = ("ggc", "ggcm", "ogc", "ppr", "sgc", "ssgc")


# what any count may be; the larger ones are mistakes of the keyboard
_MOST = 2**63 - 1


class Count(click.ParamType[int]):
    """A whole number that may be written like ``1.6e9``."""

    name = "count"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Give the number, exactly."""
        try:
            number = Decimal(str(value).strip())
        except InvalidOperation:
            number = Decimal("nan")
        if number.is_nan() or number < 1 or (number <= _MOST and number != int(number)):
            self.fail(f"{value!r} is no whole number from 1 on; write 1000000 or 1e6.", param, ctx)
        if number > _MOST:
            self.fail(f"{value!r} is too large; write at most {_MOST}.", param, ctx)
        return int(number)


@click.group()
def graph() -> None:
    """Keep a graph on disk, where it may be larger than memory."""


@graph.command()
@click.option("--edges", metavar="TABLE", required=True, help="Two columns of ids, and perhaps a weight.")
@click.option("--nodes", metavar="TABLE", help="Ids of all nodes in their order, such as the features.")
@click.option("--out", type=Place(), required=True, help="A folder that is not there yet.")
@click.option("--memory", metavar="SIZE", default="2GB", show_default=True, help="What the build may take.")
@click.option("--edge-columns", metavar="A,B[,W]", default="", help="Names of the columns; else guessed.")
@click.option("--threads", type=click.IntRange(min=1), metavar="T", help="All CPUs if not given.")
@click.option("-q", "--quiet", is_flag=True, help="Nothing but errors.")
def build(
    edges: str, nodes: str | None, out: Path, memory: str, edge_columns: str, threads: int | None, quiet: bool
) -> None:
    """Build a graph store from tables of edges, for --graph of other commands.

    \b
    Example:
      gssl graph build --edges "links-*.parquet" --out web.graph --memory 4GB
      gssl classify --graph web.graph --labels l.csv --method labelpropagation --out p.parquet
    """
    from gssl.cli.console import Talk
    from gssl.io import build_graph_store

    talk = Talk(quiet)
    columns = [part.strip() for part in edge_columns.split(",") if part.strip()]
    with talk.step("building the graph"):
        store = build_graph_store(
            edges, out, nodes=nodes, columns=columns or None, memory_budget=memory, threads=threads
        )
    for note in store.notes:
        talk.note(note)
    talk.say(f"{store.n_nodes:,} nodes and {store.n_edges:,} edges: {out}")


@click.command()
@click.option("--nodes", type=Count(), required=True, metavar="N", help="Such as 111e6; fewer than 2³¹.")
@click.option("--edges", type=Count(), required=True, metavar="M", help="Each counted once.")
@click.option("--features", type=Count(), required=True, metavar="D", help="Columns of single precision.")
@click.option("--depth", type=Count(), default=16, show_default=True, metavar="K", help="Iterations.")
@click.option("--classes", type=Count(), default=40, show_default=True, metavar="C", help="Scored by ogc.")
@click.option("--workers", type=Count(), default=1, show_default=True, metavar="P", help="At most D.")
@click.option("--memory", default="16GB", show_default=True, metavar="SIZE", help="Of each worker.")
@click.option("--method", type=click.Choice(PLANNED), default="ggcm", show_default=True)
@click.option("--weighted", is_flag=True, help="Edges have weights.")
@click.option("--bandwidth", metavar="SIZE", help="Bytes that a pass moves per second; else measured here.")
@click.option(
    "--disk-speed", metavar="SIZE", default="500MB", show_default=True, help="Bytes of files per second."
)
def plan(workers: int, memory: str, bandwidth: str | None, disk_speed: str, **job: Any) -> None:
    """Tell what a run would take, without running it: memory, passes, bytes moved, disk and time.

    The graph is taken to be a store (gssl graph build), and the features a file.

    \b
    Example:
      gssl plan --nodes 111e6 --edges 1.6e9 --features 128 --depth 16 --workers 8 --memory 64GB
    """
    from gssl.cli.plan import run_plan

    run_plan(job, workers, memory, bandwidth, disk_speed)
