"""The commands and their options; each imports what it needs when it runs, so that ``--help`` is quick."""

from pathlib import Path
from typing import Any

import click

import gssl
from gssl.cli.errors import Commands
from gssl.cli.options import TALK as _TALK
from gssl.cli.options import Place as _Place
from gssl.cli.options import options as _options
from gssl.cli.options import set_threads as _set_threads
from gssl.cli.scale_commands import graph, plan

_EMBEDDERS = ("g2cn", "ggc", "ggcm", "ndls", "nograph", "ppr", "sgc", "ssgc")
_METHODS = (
    "auto",
    "ogc",
    *_EMBEDDERS,
    "labelpropagation",
    "labelspreading",
    "manifoldregularization",
    "correctandsmooth",
)


_EDGES = click.option(
    "--edges", metavar="TABLE", help="Two columns of ids, and a weight if there is a third."
)
_GRAPH = click.option("--graph", metavar="STORE", help="In place of --edges: made by gssl graph build.")
_LABELS = click.option("--labels", metavar="TABLE", help="An id and a label; no label: unknown.")
_FEATURES = click.option(
    "--features", metavar="TABLE", help="An id and numbers or categories; long, list, .npy and .npz too."
)
_TEXT = click.option("--text", metavar="COLUMN", help="A column of text among the features (TF-IDF).")
_KNN = click.option("--knn", type=click.IntRange(min=1), metavar="K", help="Link each node to its K nearest.")
_NAMES = _options(
    click.option(
        "--edge-columns", metavar="A,B[,W]", help="Names of the columns; guessed if not given.", default=""
    ),
    click.option("--id-column", metavar="NAME", help="The id among the features; guessed if not given."),
    click.option(
        "--normalize",
        type=click.Choice(["auto", "l1", "none"]),
        default="auto",
        show_default=True,
        help="Scale feature rows to sum to one; auto: if none is negative.",
    ),
)
_ABSTAIN = click.option(
    "--abstain",
    type=click.FloatRange(0.0, 1.0),
    metavar="P",
    help="No label where the confidence is below P.",
)
_SEED = click.option(
    "--seed",
    type=click.IntRange(0, 2**32 - 1),
    metavar="S",
    default=0,
    show_default=True,
    help="Makes a run repeatable.",
)


def _start(options: dict[str, Any]) -> tuple[Any, Any]:
    """Take the shared options out: give the inputs and the voice of a run."""
    from gssl.cli.console import Talk
    from gssl.cli.inputs import Inputs

    talk = Talk(options.pop("quiet"), options.pop("verbose"))
    _set_threads(options.pop("threads"))
    names = ("edges", "graph", "features", "labels", "text", "id_column", "knn", "normalize")
    columns = tuple(part.strip() for part in options.pop("edge_columns").split(",") if part.strip())
    return Inputs(**{name: options.pop(name, None) for name in names}, edge_columns=columns), talk


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(gssl.__version__, prog_name="gssl")
def app() -> None:
    """Graph-based semi-supervised learning: a label with a confidence for every node.

    A TABLE is a CSV, TSV, Parquet or JSON-lines file (also .gz, also a glob) or an SQL SELECT.

    \b
    Examples:
      gssl demo
      gssl check    --edges e.csv --labels l.csv --features f.parquet
      gssl classify --edges e.csv --labels l.csv --features f.parquet --out p.csv
    """


@app.command()
@_options(_EDGES, _GRAPH, _LABELS, _FEATURES, _TEXT, _KNN)
@click.option("--method", type=click.Choice(_METHODS), default="auto", show_default=True)
@click.option("--out", type=_Place(), required=True, help=".csv, .tsv, .parquet or .jsonl")
@click.option("--report", type=_Place(), help="An HTML page of the run (extra: report).")
@click.option("--save", type=_Place(), help="The fitted model, for gssl predict.")
@click.option("--truth", metavar="TABLE", help="True labels, for a confusion matrix in the report.")
@click.option(
    "--calibrate/--no-calibrate",
    default=None,
    help="Correct the confidence on hidden labels; by default where that is cheap, or with --abstain.",
)
@_ABSTAIN
@click.option("--memory", metavar="SIZE", help="Keep to so much memory, such as 4GB; the rest goes to disk.")
@click.option(
    "--dask", metavar="ADDRESS", help="Run on the workers of a Dask scheduler, such as tcp://host:8786."
)
@click.option("--workers", type=click.IntRange(min=1), metavar="N", help="Run in N processes here.")
@click.option("--resume", type=_Place(), metavar="FOLDER", help="Keep finished work, and go on from it.")
@_options(_NAMES, _SEED, _TALK)
def classify(
    method: str,
    out: Path,
    report: Path | None,
    save: Path | None,
    truth: str | None,
    calibrate: bool | None,
    abstain: float | None,
    seed: int,
    memory: str | None,
    dask: str | None,
    workers: int | None,
    resume: Path | None,
    **options: Any,
) -> None:
    """Give every node of a graph a label.

    \b
    Examples:
      gssl classify --edges e.csv --labels l.csv --features f.parquet --out p.parquet
      gssl classify --edges e.csv --labels l.csv --out p.csv
      gssl classify --features docs.csv --text abstract --knn 10 --labels l.csv --out p.csv
      gssl classify --edges "SELECT a, b FROM 'links.parquet' WHERE year > 2020"
                    --labels l.csv --out p.csv --report r.html --save m.gssl
      gssl classify --edges e.parquet --features x.npy --labels l.csv --out p.parquet
                    --method ogc --memory 8GB --resume run/
    """
    from gssl.cli.classify import Choice, Outputs, run_classify
    from gssl.cli.machines import Machines

    if options["labels"] is None:
        raise ValueError("there are no labels: give --labels, a table of an id and a label.")
    inputs, talk = _start(options)
    machines = Machines(memory, dask, workers, resume)
    choice = Choice(method, seed, calibrate, abstain)
    run_classify(inputs, Outputs(out, report, save, truth), choice, talk, machines)


@app.command()
@_options(_EDGES, _GRAPH, _LABELS, _FEATURES, _TEXT, _KNN)
@click.option("--method", type=click.Choice(_METHODS), default="auto", show_default=True)
@click.option("--n", type=click.IntRange(min=1), default=20, show_default=True, help="How many nodes.")
@click.option("--out", type=_Place(), required=True, help=".csv, .tsv, .parquet or .jsonl")
@_options(_NAMES, _SEED, _TALK)
def suggest(method: str, n: int, out: Path, seed: int, **options: Any) -> None:
    """Say which nodes to label next: undecided ones that speak for many others, no two for the same.

    \b
    Example:
      gssl suggest --edges e.csv --labels l.csv --features f.parquet --n 20 --out picks.csv
    """
    from gssl.cli.classify import Choice
    from gssl.cli.suggest import run_suggest

    if options["labels"] is None:
        raise ValueError("there are no labels: give --labels, a table of an id and a label.")
    inputs, talk = _start(options)
    run_suggest(inputs, out, Choice(method, seed), n, talk)


@app.command()
@click.option("--model", type=_Place(), required=True, help="From gssl classify --save.")
@_options(_EDGES, _GRAPH, _FEATURES, _TEXT, _KNN)
@click.option("--out", type=_Place(), required=True, help=".csv, .tsv, .parquet or .jsonl")
@_options(_ABSTAIN, _NAMES, _TALK)
def predict(model: Path, out: Path, abstain: float | None, **options: Any) -> None:
    """Label a new graph with a saved model.

    \b
    Examples:
      gssl predict --model m.gssl --edges new-e.csv --features new-f.parquet --out p.csv
      gssl predict --model m.gssl --edges new-e.csv --features new-f.parquet --out p.csv --abstain 0.8
    """
    from gssl.cli.predict import run_predict

    inputs, talk = _start(options)
    run_predict(inputs, model, out, abstain, talk)


@app.command()
@_options(_EDGES, _GRAPH, _FEATURES, _TEXT, _KNN)
@click.option("--method", type=click.Choice(_EMBEDDERS), default="ggcm", show_default=True)
@click.option("--depth", type=click.IntRange(min=0), help="Iterations; the method's own if not given.")
@click.option("--out", type=_Place(), required=True, help=".parquet, .csv, .npy or .npz")
@_options(_NAMES, _SEED, _TALK)
def embed(method: str, depth: int | None, out: Path, seed: int, **options: Any) -> None:
    """Give every node an embedding, without labels.

    \b
    Example:
      gssl embed --edges e.csv --features f.parquet --out u.parquet
    """
    from gssl.cli.embed import run_embed

    inputs, talk = _start(options)
    run_embed(inputs, out, method, depth, seed, talk)


@app.command()
@_options(_EDGES, _GRAPH, _LABELS, _FEATURES, _TEXT, _KNN, _NAMES, _TALK)
def check(**options: Any) -> None:
    """Tell whether a graph is in order, and whether it helps, before anything is run.

    \b
    Example:
      gssl check --edges e.csv --labels l.csv --features f.parquet
    """
    from gssl.cli.check import run_check

    inputs, talk = _start(options)
    run_check(inputs, talk)


@app.command()
@click.option("--out", type=_Place(), default=Path("gssl-demo"), show_default=True)
@click.option("--draws", type=click.IntRange(min=1), default=5, show_default=True, help="Draws of labels.")
@_SEED
def demo(out: Path, draws: int, seed: int) -> None:
    """Classify the papers of the Cora citation graph from 20 labels per class.

    \b
    Example:
      gssl demo --draws 10 --out results
    """
    from gssl.cli.demo import run_demo

    run_demo(out, draws, seed)


@app.group()
def datasets() -> None:
    """List the graphs that gssl can load, or fetch one."""


@datasets.command("list")
def list_() -> None:
    """List the graphs that are here."""
    for name in gssl.datasets.list_datasets():
        click.echo(name)


@datasets.command()
@click.argument("name")
def fetch(name: str) -> None:
    """Download a graph, check its hash and keep it in the cache.

    \b
    Example:
      gssl datasets fetch planetoid/pubmed
    """
    click.echo(repr(gssl.datasets.load(name, download=True)))


app.add_command(graph)
app.add_command(plan)
