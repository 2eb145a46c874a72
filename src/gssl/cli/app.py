"""The commands and their options; each imports what it needs when it runs, so that ``--help`` is quick."""

from pathlib import Path
from time import perf_counter
from typing import Any

import click

import gssl
from gssl.cli.options import (
    QUIET,
    RUN_OPTIONS,
    THREADS,
    Commands,
    Count,
    CountOrTable,
    UserPath,
    announce,
    options,
    set_threads,
)

# from the list of names, because importing the methods would make --help slow
_METHODS = (
    "auto",
    *(
        name.lower()
        for name in vars(gssl.methods)["__all__"]
        if name != "EmbeddingClassifier" and not name.endswith("Head")
    ),
)
# the embedders among them, and the methods of gssl.scale.estimate; tests compare these lists with the classes
_EMBEDDERS = ("g2cn", "ggc", "ggcm", "ndls", "nograph", "ppr", "sgc", "ssgc")
_PLANNED = ("ggc", "ggcm", "ogc", "ppr", "sgc", "ssgc")

_EDGES = click.option(
    "--edges", metavar="TABLE", help="Two columns of ids and, optionally, a third of weights."
)
_GRAPH = click.option("--graph", metavar="STORE", help="A graph from gssl graph build, instead of --edges.")
_LABELS = options(
    click.option("--labels", metavar="TABLE", help="Ids and labels; an empty label means unknown."),
    click.option(
        "--na",
        metavar="TEXT",
        multiple=True,
        help="A label that means unknown, instead of NA, nan, None, null, ? and -1; may be repeated.",
    ),
    click.option(
        "--label-columns",
        metavar="ID,LABEL",
        help="Column names in --labels; guessed by default.",
        default="",
    ),
)
_FEATURES = click.option(
    "--features",
    metavar="TABLE",
    help="Ids and numbers or categories; wide, long or list tables, .npy or .npz.",
)
_TEXT = click.option("--text", metavar="COLUMN", help="Use this column of the features as text (TF-IDF).")
_KNN = click.option(
    "--knn",
    type=click.IntRange(min=1),
    metavar="K",
    help="Link each node to its K nearest neighbours in the features.",
)
_EDGE_COLUMNS = click.option(
    "--edge-columns", metavar="A,B[,W]", help="Column names in --edges; guessed by default.", default=""
)
_NO_HEADER = click.option("--no-header", is_flag=True, help="Text files begin with data, not with names.")
_READING = options(
    click.option(
        "--nodes", metavar="TABLE", help="Ids of all nodes, in order; found in the others by default."
    ),
    click.option("--strict", is_flag=True, help="Refuse ids that a table lacks, instead of filling in."),
    _NO_HEADER,
    _EDGE_COLUMNS,
    click.option("--id-column", metavar="NAME", help="Id column in --features; guessed by default."),
    click.option(
        "--normalize",
        # "l1" is the former name of "rows"
        type=click.Choice(["auto", "rows", "columns", "none", "l1"]),
        metavar="auto|rows|columns|none",
        default="auto",
        show_default=True,
        help="Make rows of features sum to one, or standardise columns; auto: word counts by rows, other "
        "numbers by columns.",
    ),
)
_ABSTAIN = click.option(
    "--abstain",
    type=click.FloatRange(0.0, 1.0),
    metavar="P",
    help="Leave the label empty where the confidence is below P.",
)
_SEED = click.option(
    "--seed",
    type=click.IntRange(0, 2**32 - 1),
    metavar="S",
    default=0,
    show_default=True,
    help="Random seed of a method that has one, such as ogc; auto needs none.",
)
_MEMORY = click.option(
    "--memory", metavar="SIZE", help="Memory limit for the fit, such as 4GB; the rest goes to disk."
)
_PROBABILITIES = click.option(
    "--probabilities", is_flag=True, help="Write the probability of every class: p_<class>."
)
_TIME_BUDGET = click.option(
    "--time-budget",
    type=click.FloatRange(min=0.0),
    metavar="SECONDS",
    help="For auto: try nothing new after so many seconds; what was tried by then predicts.",
)


def _start(given: dict[str, Any]) -> tuple[Any, Any]:
    """Turn the options that commands share into the inputs and the terminal of a run."""
    start = perf_counter()
    quiet = given.pop("quiet")
    tables = [given.get(name) for name in ("edges", "graph", "labels", "features")]
    if not quiet and any(tables):
        # first, because importing the libraries takes seconds
        announce(tables)
    from gssl.cli.console import Terminal
    from gssl.cli.reading import Inputs

    terminal = Terminal(quiet, given.pop("verbose"), start)
    set_threads(given.pop("threads"))
    for name in ("edge_columns", "label_columns"):
        given[name] = _split_names(given.pop(name, ""))
    return Inputs(**given), terminal


def _split_names(listed: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in listed.split(",") if part.strip())


def _require_labels(given: dict[str, Any]) -> None:
    if given["labels"] is None:
        raise ValueError("there are no labels: give --labels, a table of an id and a label.")


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
@options(_EDGES, _GRAPH, _LABELS, _FEATURES, _TEXT, _KNN)
@click.option("--method", type=click.Choice(_METHODS), default="auto", show_default=True)
@click.option("--out", type=UserPath(), required=True, help=".csv, .tsv, .parquet or .jsonl")
@click.option("--report", type=UserPath(), help="Write an HTML report (needs gssl[report]).")
@click.option("--save", type=UserPath(), help="Save the fitted model for gssl predict.")
@click.option("--truth", metavar="TABLE", help="True labels for a confusion matrix in the report.")
@click.option(
    "--calibrate/--no-calibrate",
    default=None,
    help="Calibrate the confidence on hidden labels; by default where that is cheap, or with --abstain.",
)
@_ABSTAIN
@options(_PROBABILITIES, _TIME_BUDGET, _MEMORY)
@click.option(
    "--dask", metavar="ADDRESS", help="Run on the Dask scheduler at this address, such as tcp://host:8786."
)
@click.option("--workers", type=click.IntRange(min=1), metavar="N", help="Run in N local processes.")
@click.option(
    "--resume",
    type=UserPath(),
    metavar="FOLDER",
    help="Keep finished work in this folder and continue from it.",
)
@options(_READING, _SEED, RUN_OPTIONS)
def classify(
    method: str,
    out: Path,
    report: Path | None,
    save: Path | None,
    truth: str | None,
    calibrate: bool | None,
    abstain: float | None,
    probabilities: bool,
    time_budget: float | None,
    seed: int,
    memory: str | None,
    dask: str | None,
    workers: int | None,
    resume: Path | None,
    **given: Any,
) -> None:
    """Label every node of a graph.

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
    _require_labels(given)
    inputs, terminal = _start(given)
    from gssl.cli.choice import Choice
    from gssl.cli.classify import ExecutionOptions, Outputs, run_classify

    outputs = Outputs(out, report, save, truth)
    choice = Choice(method, seed, calibrate, abstain, time_budget)
    where = ExecutionOptions(memory, dask, workers, resume)
    run_classify(inputs, outputs, choice, terminal, where, probabilities)


@app.command()
@options(_EDGES, _GRAPH, _LABELS, _FEATURES, _TEXT, _KNN)
@click.option("--method", type=click.Choice(_METHODS), default="auto", show_default=True)
@click.option(
    "--model", "saved", type=UserPath(), help="A model from gssl classify --save of the same tables: no fit."
)
@click.option("--n", type=click.IntRange(min=1), default=20, show_default=True, help="Number of nodes.")
@click.option(
    "--target",
    type=click.FloatRange(1.0, 100.0),
    metavar="PERCENT",
    help="Say how many more labels this accuracy needs, such as 85.",
)
@click.option("--out", type=UserPath(), required=True, help=".csv, .tsv, .parquet or .jsonl")
@options(_TIME_BUDGET, _MEMORY, _READING, _SEED, RUN_OPTIONS)
def suggest(
    method: str,
    saved: Path | None,
    n: int,
    target: float | None,
    out: Path,
    time_budget: float | None,
    memory: str | None,
    seed: int,
    **given: Any,
) -> None:
    """Suggest nodes to label next: uncertain ones that resemble many others, but not each other.

    \b
    Examples:
      gssl suggest --edges e.csv --labels l.csv --features f.parquet --n 20 --out picks.csv
      gssl suggest --edges e.csv --labels l.csv --features f.parquet --target 85 --out picks.csv
    """
    _require_labels(given)
    inputs, terminal = _start(given)
    from gssl.cli.advice import run_suggest
    from gssl.cli.choice import Choice
    from gssl.cli.classify import ExecutionOptions

    choice = Choice(method, seed, time_budget=time_budget)
    run_suggest(inputs, out, choice, n, terminal, ExecutionOptions(memory), target, saved)


@app.command()
@click.argument("ids", metavar="ID...", nargs=-1, required=True)
@options(_EDGES, _GRAPH, _LABELS, _FEATURES, _TEXT, _KNN)
@click.option("--method", type=click.Choice(_METHODS), default="auto", show_default=True)
@options(_READING, _SEED, RUN_OPTIONS)
def why(ids: tuple[str, ...], method: str, seed: int, **given: Any) -> None:
    """Explain the predictions of some nodes: which labels and features speak for them, and by how much.

    \b
    Example:
      gssl why 007 n3 --edges e.csv --labels l.csv --features f.parquet
    """
    _require_labels(given)
    inputs, terminal = _start(given)
    from gssl.cli.choice import Choice
    from gssl.cli.knowledge import run_why

    run_why(inputs, ids, Choice(method, seed, calibrate=False), terminal)


@app.command()
@options(_EDGES, _GRAPH, _LABELS, _FEATURES, _TEXT, _KNN)
@click.option("--method", type=click.Choice(_METHODS), default="auto", show_default=True)
@click.option("--out", type=UserPath(), required=True, help=".csv, .tsv, .parquet or .jsonl")
@options(_READING, _SEED, RUN_OPTIONS)
def audit(method: str, out: Path, seed: int, **given: Any) -> None:
    """Rank the given labels by how surely the model, not having seen each, contradicts it.

    \b
    Example:
      gssl audit --edges e.csv --labels l.csv --features f.parquet --out doubts.csv
    """
    _require_labels(given)
    inputs, terminal = _start(given)
    from gssl.cli.choice import Choice
    from gssl.cli.knowledge import run_audit

    run_audit(inputs, out, Choice(method, seed, calibrate=False), terminal)


@app.command()
@options(_EDGES, _GRAPH, _LABELS, _FEATURES, _TEXT, _KNN)
@click.option("--out", type=UserPath(), required=True, help="Labels: .csv, .tsv, .parquet or .jsonl")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Port of the page; any by default.")
@click.option("--browser/--no-browser", default=True, help="Open the page in the browser.")
@options(_READING, RUN_OPTIONS)
def label(out: Path, port: int, browser: bool, **given: Any) -> None:
    """Label nodes on a page in the browser, which suggests the most useful ones.

    \b
    Examples:
      gssl label --edges e.csv --features f.parquet --out labels.csv
      gssl label --features docs.csv --text abstract --knn 10 --labels l.csv --out labels.csv
    """
    from gssl.cli.label_command import run_label

    inputs, terminal = _start(given)
    run_label(inputs, out, port, browser, terminal)


@app.command()
@click.option("--model", type=UserPath(), required=True, help="A model from gssl classify --save.")
@options(_EDGES, _GRAPH, _FEATURES, _TEXT, _KNN)
@click.option("--out", type=UserPath(), required=True, help=".csv, .tsv, .parquet or .jsonl")
@options(_ABSTAIN, _PROBABILITIES, _READING, RUN_OPTIONS)
def predict(model: Path, out: Path, abstain: float | None, probabilities: bool, **given: Any) -> None:
    """Label a new graph with a saved model.

    \b
    Examples:
      gssl predict --model m.gssl --edges new-e.csv --features new-f.parquet --out p.csv
      gssl predict --model m.gssl --edges new-e.csv --features new-f.parquet --out p.csv --abstain 0.8
    """
    inputs, terminal = _start(given)
    from gssl.cli.predict import run_predict

    run_predict(inputs, model, out, abstain, terminal, probabilities)


@app.command()
@options(_EDGES, _GRAPH, _FEATURES, _TEXT, _KNN)
@click.option(
    "--method",
    type=click.Choice(_EMBEDDERS),
    default="ggcm",
    show_default=True,
    help="The method; others than these give no embeddings.",
)
@click.option(
    "--depth", type=click.IntRange(min=0), help="Number of iterations; the method's default if not given."
)
@click.option(
    "--dimensions",
    metavar="N",
    default="128",
    show_default=True,
    help="Reduce wider features to N columns (SVD); all keeps every column.",
)
@click.option("--out", type=UserPath(), required=True, help=".parquet, .csv, .npy or .npz")
@options(_MEMORY, _READING, _SEED, RUN_OPTIONS)
def embed(
    method: str,
    depth: int | None,
    dimensions: str,
    out: Path,
    memory: str | None,
    seed: int,
    **given: Any,
) -> None:
    """Compute an embedding of every node, without labels.

    \b
    Example:
      gssl embed --edges e.csv --features f.parquet --out u.parquet
    """
    inputs, terminal = _start(given)
    from gssl.cli.classify import ExecutionOptions
    from gssl.cli.predict import run_embed

    with ExecutionOptions(memory).execution():
        run_embed(inputs, out, method, depth, dimensions, seed, terminal)


@app.command()
@options(_EDGES, _GRAPH, _LABELS, _FEATURES, _TEXT, _KNN, _TIME_BUDGET, _MEMORY, _READING, RUN_OPTIONS)
def check(time_budget: float | None, memory: str | None, **given: Any) -> None:
    """Check a graph, and say how many labels gssl classify gets right with it and without it.

    \b
    Example:
      gssl check --edges e.csv --labels l.csv --features f.parquet
    """
    inputs, terminal = _start(given)
    from gssl.cli.advice import run_check
    from gssl.cli.choice import Choice
    from gssl.cli.classify import ExecutionOptions

    run_check(inputs, Choice(time_budget=time_budget), terminal, ExecutionOptions(memory))


@app.command()
@click.option("--out", type=UserPath(), default=Path("gssl-demo"), show_default=True)
@click.option(
    "--draws",
    type=click.IntRange(min=1),
    default=5,
    show_default=True,
    help="Number of random draws of labels.",
)
@_SEED
def demo(out: Path, draws: int, seed: int) -> None:
    """Classify the papers of the Cora citation graph from 20 labels per class.

    \b
    Example:
      gssl demo --draws 10 --out results
    """
    start = perf_counter()
    click.echo("reading the Cora citation graph", err=True)
    from gssl.cli.demo import run_demo

    run_demo(out, draws, seed, start)


@app.group()
def datasets() -> None:
    """List the datasets that gssl can load, or download one."""


@datasets.command("list")
def list_() -> None:
    """List the datasets on this machine."""
    for name in gssl.datasets.list_datasets():
        click.echo(name)


@datasets.command()
@click.argument("name")
def fetch(name: str) -> None:
    """Download a dataset, verify its hash, and keep it in the cache.

    \b
    Example:
      gssl datasets fetch planetoid/pubmed
    """
    click.echo(repr(gssl.datasets.load(name, download=True)))


@app.group()
def graph() -> None:
    """Store graphs on disk, where they may be larger than memory."""


@graph.command()
@click.option(
    "--edges", metavar="TABLE", required=True, help="Two columns of ids and, optionally, a third of weights."
)
@click.option("--nodes", metavar="TABLE", help="Ids of all nodes, in order, such as the features.")
@click.option("--out", type=UserPath(), required=True, help="A new folder.")
@click.option(
    "--memory", metavar="SIZE", default="2GB", show_default=True, help="Memory limit for the build."
)
@options(_NO_HEADER, _EDGE_COLUMNS, THREADS, QUIET)
def build(
    edges: str,
    nodes: str | None,
    out: Path,
    memory: str,
    no_header: bool,
    edge_columns: str,
    threads: int | None,
    quiet: bool,
) -> None:
    """Build a graph store from edge tables, for the --graph option of other commands.

    \b
    Example:
      gssl graph build --edges "links-*.parquet" --out web.graph --memory 4GB
      gssl classify --graph web.graph --labels l.csv --method labelpropagation --out p.parquet
    """
    from gssl.cli.console import Terminal
    from gssl.io import build_graph_store

    terminal = Terminal(quiet)
    with terminal.stage("building"), terminal.step("the graph"):
        store = build_graph_store(
            edges,
            out,
            nodes=nodes,
            columns=_split_names(edge_columns) or None,
            header=False if no_header else None,
            memory_budget=memory,
            threads=threads,
        )
    for note in store.notes:
        terminal.note(note)
    terminal.say(f"{store.n_nodes:,} nodes and {store.n_edges:,} edges: {out}")
    terminal.finish()


@app.command()
@click.option(
    "--nodes",
    type=Count(),
    metavar="N",
    help="Number of nodes, such as 111e6; below 2³¹. Counted if --edges is a table.",
)
@click.option(
    "--edges",
    type=CountOrTable(),
    required=True,
    metavar="M|TABLE",
    help="Number of edges, each counted once, or a table of them.",
)
@click.option(
    "--features",
    type=CountOrTable(),
    required=True,
    metavar="D|TABLE",
    help="Number of features, in single precision, or a table of them.",
)
@click.option(
    "--depth", type=Count(), default=16, show_default=True, metavar="K", help="Number of iterations."
)
@click.option(
    "--classes", type=Count(), default=40, show_default=True, metavar="C", help="Number of classes, for ogc."
)
@click.option(
    "--workers", type=Count(), default=1, show_default=True, metavar="P", help="Number of workers, at most D."
)
@click.option("--memory", default="16GB", show_default=True, metavar="SIZE", help="Memory of each worker.")
@click.option("--method", type=click.Choice(_PLANNED), default="ggcm", show_default=True)
@click.option("--weighted", is_flag=True, help="Edges have weights.")
@click.option("--bandwidth", metavar="SIZE", help="Memory bandwidth per second; measured here by default.")
@click.option(
    "--disk-speed", metavar="SIZE", default="500MB", show_default=True, help="Disk speed per second."
)
def plan(workers: int, memory: str, bandwidth: str | None, disk_speed: str, **job: Any) -> None:
    """Estimate what a run would need, without running it: memory, passes, bytes moved, disk and time.

    The estimate assumes a graph from gssl graph build, and features in a file.

    \b
    Examples:
      gssl plan --nodes 111e6 --edges 1.6e9 --features 128 --depth 16 --workers 8 --memory 64GB
      gssl plan --edges e.csv --features f.parquet --memory 4GB
    """
    from gssl.cli.plan_command import run_plan

    run_plan(job, workers, memory, bandwidth, disk_speed)
