"""Define the commands and their options; each imports what it needs when run, to keep ``--help`` fast."""

from collections.abc import Callable
from dataclasses import fields
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
    CountOrNamed,
    CountOrTable,
    Named,
    RelationWeight,
    UserPath,
    announce,
    named_tables,
    options,
    set_threads,
)

# from a list of names, because importing the methods would make --help slow
_METHODS = (
    "auto",
    *(
        name.lower()
        for name in vars(gssl.methods)["__all__"]
        if name != "EmbeddingClassifier" and not name.endswith("Head")
    ),
)
# tests compare these lists with the classes, which would take long to import
_CLASSIFIERS = (
    "auto",
    "correctandsmooth",
    "labelpropagation",
    "labelspreading",
    "manifoldregularization",
    "ogc",
)
_EMBEDDERS = tuple(sorted(name for name in _METHODS if name not in _CLASSIFIERS))
# the methods of gssl.scale.estimate
_PLANNED = ("ggc", "ggcm", "ogc", "ppr", "sgc", "ssgc")

_EDGES = options(
    click.option(
        "--edges",
        type=Named(),
        metavar="[NAME=]TABLE",
        multiple=True,
        help="Two id columns and, optionally, a weight column. Repeated with names, each table is a relation "
        "(kind of link).",
    ),
    click.option("--edge-type", metavar="COLUMN", help="Column of --edges that tells the relation."),
    click.option("--directed", is_flag=True, help="Links lead from the first end to the second."),
    click.option(
        "--relation-weight",
        type=RelationWeight(),
        metavar="NAME=W",
        multiple=True,
        help="Weight of a relation where all are joined to one graph; may be repeated.",
    ),
)
_GRAPH = options(
    _EDGES,
    click.option("--graph", metavar="STORE", help="Graph store from gssl graph build, instead of --edges."),
)
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
_FEATURES = options(
    click.option(
        "--features",
        type=Named(),
        metavar="[KIND=]TABLE",
        multiple=True,
        help="Ids with numbers, categories or lists, in a wide or long table; or .npy, .npz. Repeated with "
        "names, each table is of one kind of nodes.",
    ),
    click.option(
        "--text",
        metavar="COLUMN",
        multiple=True,
        help="Column of the features to encode as text (TF-IDF); may be repeated. Long texts are recognised.",
    ),
    click.option(
        "--knn",
        type=click.IntRange(min=1),
        metavar="K",
        help="Link each node to its K nearest neighbours by features.",
    ),
)
_EDGE_COLUMNS = click.option(
    "--edge-columns", metavar="A,B[,W]", help="Column names in --edges; guessed by default.", default=""
)
_TWO_SIDED = click.option(
    "--two-sided/--same-nodes",
    default=None,
    help="Whether an id in both columns of --edges is two nodes, as of users and items, or one; by "
    "default, the names of the columns decide.",
)
_NO_HEADER = click.option("--no-header", is_flag=True, help="Text files have no header line.")
_READING = options(
    click.option(
        "--nodes", metavar="TABLE", help="Ids of all nodes, in order; taken from the other tables by default."
    ),
    click.option(
        "--strict",
        is_flag=True,
        help="Fail on ids that a table lacks, repeated rows, cells that are not numbers and edges without an "
        "id, instead of filling in or skipping.",
    ),
    _NO_HEADER,
    _EDGE_COLUMNS,
    _TWO_SIDED,
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
_MODEL = click.option(
    "--model",
    type=UserPath(exists=True),
    help="Use a model of gssl classify --save, which holds its tables, instead of fitting one.",
)
_NUMBERS = click.option(
    "--numbers",
    "answers",
    flag_value="numbers",
    default="classes",
    help="The labels are numbers, as for gssl regress.",
)
_SEVERAL = click.option(
    "--several",
    "answers",
    flag_value="sets",
    help="Nodes may have several labels, each in a row of --labels, as for gssl classify --several.",
)
_METHOD = click.option("--method", type=click.Choice(_METHODS), default="auto", show_default=True)
_OUT = click.option("--out", type=UserPath(), required=True, help="Output: .csv, .tsv, .parquet or .jsonl.")
_ABSTAIN = click.option(
    "--abstain",
    type=click.FloatRange(0.0, 1.0),
    metavar="P",
    help="Leave the label empty where the confidence is below P.",
)
_PROBABILITIES = click.option(
    "--probabilities", is_flag=True, help="Add a column p_<class> for the probability of each class."
)
_TIME_BUDGET = click.option(
    "--time-budget",
    type=click.FloatRange(min=0.0),
    metavar="SECONDS",
    help="For auto: try no more methods after this time, and predict with those tried.",
)
_MEMORY = click.option(
    "--memory", metavar="SIZE", help="Memory limit for the fit, such as 4GB; the rest goes to disk."
)
_DASK = options(
    click.option(
        "--dask",
        metavar="ADDRESS",
        help="Run on the Dask scheduler at this address, such as tcp://host:8786.",
    ),
    click.option("--workers", type=click.IntRange(min=1), metavar="N", help="Run in N local processes."),
    click.option(
        "--resume",
        type=UserPath(),
        metavar="FOLDER",
        help="Keep finished work in this folder and continue from it.",
    ),
)
_SEED = click.option(
    "--seed",
    type=click.IntRange(0, 2**32 - 1),
    metavar="S",
    default=0,
    show_default=True,
    help="Random seed of methods that use one, such as ogc; auto needs none.",
)


def _count(name: str, default: int, metavar: str, text: str) -> Callable[[Any], Any]:
    return click.option(name, type=Count(), default=default, show_default=True, metavar=metavar, help=text)


def _start(given: dict[str, Any], *, needs_labels: bool = False) -> Any:
    """Build a Run from the options that commands share; each is a field of one of its parts."""
    start = perf_counter()
    if needs_labels and given["labels"] is None:
        raise ValueError("there are no labels: give --labels, a table with ids and labels.")
    quiet = given.pop("quiet")
    named = {name: given.get(name, ()) for name in ("edges", "features")}
    tables = [*(table for _, table in named["edges"]), given.get("graph"), given.get("labels")]
    tables += [table for _, table in named["features"]]
    if not quiet and any(tables):
        # first, because importing the libraries takes seconds
        announce(tables)
    given |= {name: named_tables(several, f"--{name}") for name, several in named.items()}
    given["relation_weight"] = dict(given.pop("relation_weight", ())) or None
    from gssl.cli.console import Terminal
    from gssl.cli.run import Choice, ExecutionOptions, Inputs, Run

    terminal = Terminal(quiet, given.pop("verbose"), start)
    set_threads(given.pop("threads"))
    for name in ("edge_columns", "label_columns"):
        given[name] = _split_names(given.pop(name, ""))
    given["header"] = False if given.pop("no_header") else None

    def take(kind: Any) -> Any:
        return kind(**{field.name: given.pop(field.name) for field in fields(kind) if field.name in given})

    choice, where = take(Choice), take(ExecutionOptions)
    return Run(Inputs(**given), choice, where, terminal)


def _split_names(listed: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in listed.split(",") if part.strip())


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(gssl.__version__, prog_name="gssl")
def app() -> None:
    """Graph-based semi-supervised learning: a label with a confidence for every node.

    A TABLE is a CSV, TSV, Parquet or JSON-lines file (also .gz, also a glob), an SQL SELECT, file.db::table
    or "file.db::SELECT …" of an SQLite or DuckDB file, or a graph file (GraphML, GEXF, GML, node-link JSON).

    \b
    Examples:
      gssl demo
      gssl check    --edges e.csv --labels l.csv --features f.parquet
      gssl classify --edges e.csv --labels l.csv --features f.parquet --out p.csv
    """


@app.command()
@options(_GRAPH, _LABELS, _FEATURES, _METHOD, _OUT)
@click.option("--report", type=UserPath(), help="Write an HTML report (needs gssl[report]).")
@click.option("--save", type=UserPath(), help="Save the model and its data, for --model of other commands.")
@click.option("--truth", metavar="TABLE", help="True labels for a confusion matrix in the report.")
@click.option(
    "--calibrate/--no-calibrate",
    default=None,
    help="Calibrate the confidence on held-out labels; by default if that is cheap, or with --abstain.",
)
@click.option(
    "--several",
    is_flag=True,
    help="Nodes may have several labels, each in a row of --labels; the output has p_<label> for each.",
)
@options(_ABSTAIN, _PROBABILITIES, _TIME_BUDGET, _MEMORY, _DASK, _READING, _SEED, RUN_OPTIONS)
def classify(
    out: Path,
    report: Path | None,
    save: Path | None,
    truth: str | None,
    probabilities: bool,
    several: bool,
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
      gssl classify --edges e.csv --edge-type kind --directed --labels l.csv --out p.csv
      gssl classify --edges cites=c.csv --edges wrote=w.csv --features paper=p.csv
                    --features author=a.csv --labels l.csv --out p.csv
    """
    if several:
        named = {
            "report": report,
            "truth": truth,
            "abstain": given["abstain"],
            "calibrate": given["calibrate"],
        }
        named |= {"probabilities": probabilities or None}
        named |= {"method": None if given["method"] == "auto" else given["method"]}
        other = next((name for name, value in named.items() if value is not None), None)
        if other is not None:
            raise ValueError(f"--several cannot be combined with --{other}: leave one out.")
        from gssl.cli.regress import run_classify_sets

        run_classify_sets(_start(given | {"answers": "sets"}, needs_labels=True), out, save)
        return
    run = _start(given, needs_labels=True)
    from gssl.cli.classify import run_classify

    run_classify(run, out, report, save, truth, probabilities)


@app.command()
@options(_GRAPH, _LABELS, _FEATURES, _OUT)
@click.option("--report", type=UserPath(), help="Write an HTML report (needs gssl[report]).")
@click.option("--save", type=UserPath(), help="Save the model and its data, for --model of other commands.")
@click.option(
    "--interval",
    type=click.FloatRange(0.0, 1.0, min_open=True, max_open=True),
    default=0.9,
    show_default=True,
    metavar="P",
    help="Share of numbers that should lie between low and high.",
)
@click.option(
    "--scale",
    type=click.Choice(["auto", "linear", "log"]),
    default="auto",
    show_default=True,
    help="Predict numbers or their logarithms; auto: whichever suits hidden numbers better.",
)
@options(_TIME_BUDGET, _MEMORY, _DASK, _READING, RUN_OPTIONS)
def regress(out: Path, report: Path | None, save: Path | None, **given: Any) -> None:
    """Predict a number for every node of a graph.

    The output has the columns id, value, low, high, model_says, given and reached.

    \b
    Examples:
      gssl regress --edges e.csv --labels prices.csv --features f.parquet --out p.csv
      gssl regress --edges e.csv --labels sales.csv --label-columns shop,sales --out p.csv --interval 0.8
      gssl regress --features houses.csv --knn 10 --labels prices.csv --out p.csv --save m.gssl
    """
    run = _start(given | {"answers": "numbers"}, needs_labels=True)
    from gssl.cli.regress import run_regress

    run_regress(run, out, report, save)


@app.command()
@options(_GRAPH, _LABELS, _NUMBERS, _SEVERAL, _FEATURES, _METHOD, _MODEL)
@click.option("--n", type=click.IntRange(min=1), default=20, show_default=True, help="Number of nodes.")
@click.option(
    "--target",
    type=click.FloatRange(1.0, 100.0),
    metavar="PERCENT",
    help="Estimate how many more labels this accuracy needs, such as 85; of numbers, R² in per cent.",
)
@_OUT
@options(_TIME_BUDGET, _MEMORY, _READING, _SEED, RUN_OPTIONS)
def suggest(model: Path | None, n: int, target: float | None, out: Path, **given: Any) -> None:
    """Suggest nodes to label next.

    They are uncertain, and resemble many others, but not each other.

    \b
    Examples:
      gssl suggest --edges e.csv --labels l.csv --features f.parquet --n 20 --out picks.csv
      gssl suggest --edges e.csv --labels l.csv --features f.parquet --target 85 --out picks.csv
      gssl suggest --model m.gssl --out picks.csv
    """
    run = _start(given, needs_labels=model is None)
    from gssl.cli.advice import run_suggest

    run_suggest(run, out, n, target, model)


@app.command()
@click.argument("ids", metavar="ID...", nargs=-1, required=True)
@options(_GRAPH, _LABELS, _NUMBERS, _FEATURES, _METHOD, _MODEL, _READING, _SEED, RUN_OPTIONS)
def why(ids: tuple[str, ...], model: Path | None, **given: Any) -> None:
    """Explain the predictions of some nodes.

    Prints which labels and features support each prediction, and how strongly.

    \b
    Examples:
      gssl why 007 n3 --edges e.csv --labels l.csv --features f.parquet
      gssl why 007 n3 --model m.gssl
    """
    run = _start(given | {"calibrate": False}, needs_labels=model is None)
    from gssl.cli.advice import run_why

    run_why(run, ids, model)


@app.command()
@options(_GRAPH, _LABELS, _NUMBERS, _SEVERAL, _FEATURES, _METHOD, _MODEL, _OUT, _READING, _SEED, RUN_OPTIONS)
def audit(out: Path, model: Path | None, **given: Any) -> None:
    """Find given labels that look wrong.

    Ranks labels by how strongly a prediction made without each label contradicts it.

    \b
    Examples:
      gssl audit --edges e.csv --labels l.csv --features f.parquet --out doubts.csv
      gssl audit --model m.gssl --out doubts.csv
    """
    run = _start(given, needs_labels=model is None)
    from gssl.cli.advice import run_audit

    run_audit(run, out, model)


@app.command()
@options(_GRAPH, _LABELS, _NUMBERS, _FEATURES)
@click.option("--out", type=UserPath(), required=True, help="Labels: .csv, .tsv, .parquet or .jsonl.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, help="Port of the page; any free port by default."
)
@click.option("--browser/--no-browser", default=True, help="Open the page in the browser.")
@options(_READING, RUN_OPTIONS)
def label(out: Path, port: int, browser: bool, **given: Any) -> None:
    """Label nodes in the browser, with classes or numbers.

    The page suggests the most useful nodes.

    \b
    Examples:
      gssl label --edges e.csv --features f.parquet --out labels.csv
      gssl label --features docs.csv --text abstract --knn 10 --labels l.csv --out labels.csv
      gssl label --edges e.csv --features f.parquet --numbers --out prices.csv
    """
    run = _start(given)
    from gssl.cli.label_command import run_label

    run_label(run, out, port, browser)


@app.command()
@click.option("--model", type=UserPath(exists=True), required=True, help="Model from gssl classify --save.")
@options(_GRAPH, _FEATURES, _OUT, _ABSTAIN, _PROBABILITIES, _READING, RUN_OPTIONS)
def predict(model: Path, out: Path, probabilities: bool, **given: Any) -> None:
    """Label a new graph with a saved model.

    \b
    Examples:
      gssl predict --model m.gssl --edges new-e.csv --features new-f.parquet --out p.csv
      gssl predict --model m.gssl --edges new-e.csv --features new-f.parquet --out p.csv --abstain 0.8
    """
    run = _start(given)
    from gssl.cli.predict import run_predict

    run_predict(run, model, out, probabilities)


@app.command()
@options(_GRAPH, _FEATURES)
@click.option(
    "--method",
    type=click.Choice(_EMBEDDERS),
    default="ggcm",
    show_default=True,
    help="Embedding method.",
)
@click.option(
    "--depth", type=click.IntRange(min=0), help="Number of iterations; depends on the method by default."
)
@click.option(
    "--dimensions",
    metavar="N",
    default="128",
    show_default=True,
    help="Reduce wider features to N columns (SVD); all keeps every column.",
)
@click.option("--out", type=UserPath(), required=True, help="Output: .parquet, .csv, .tsv, .npy or .npz.")
@options(_MEMORY, _READING, _SEED, RUN_OPTIONS)
def embed(depth: int | None, dimensions: str, out: Path, **given: Any) -> None:
    """Compute an embedding of every node, without labels.

    \b
    Example:
      gssl embed --edges e.csv --features f.parquet --out u.parquet
    """
    run = _start(given)
    from gssl.cli.predict import run_embed

    run_embed(run, out, depth, dimensions)


@app.command()
@options(_GRAPH, _LABELS, _NUMBERS, _SEVERAL, _FEATURES, _TIME_BUDGET, _MEMORY, _READING, RUN_OPTIONS)
def check(**given: Any) -> None:
    """Check a graph, and say whether it helps.

    Estimates the accuracy of gssl classify with the graph and without it.

    \b
    Example:
      gssl check --edges e.csv --labels l.csv --features f.parquet
    """
    run = _start(given)
    from gssl.cli.advice import run_check

    run_check(run)


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
    """Classify the papers of Cora, a citation graph.

    Uses 20 labels per class.

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
    """Download a dataset, verify its hash, and store it in the cache.

    \b
    Example:
      gssl datasets fetch planetoid/pubmed
    """
    click.echo(repr(gssl.datasets.load(name, download=True)))


@app.group()
def graph() -> None:
    """Store graphs on disk, even if they are larger than memory."""


@graph.command()
@_EDGES
@click.option("--nodes", metavar="TABLE", help="Ids of all nodes, in order; the table of features will do.")
@click.option("--out", type=UserPath(), required=True, help="Folder to create.")
@click.option(
    "--memory", metavar="SIZE", default="2GB", show_default=True, help="Memory limit for the build."
)
@click.option("--strict", is_flag=True, help="Fail on an edge without an id, instead of skipping it.")
@options(_NO_HEADER, _EDGE_COLUMNS, _TWO_SIDED, THREADS, QUIET)
def build(
    edges: tuple[tuple[str, str], ...],
    relation_weight: tuple[tuple[str, float], ...],
    out: Path,
    memory: str,
    no_header: bool,
    edge_columns: str,
    quiet: bool,
    **given: Any,
) -> None:
    """Build a graph store from edge tables, for the --graph option of other commands.

    \b
    Example:
      gssl graph build --edges "links-*.parquet" --out web.graph --memory 4GB
      gssl graph build --edges links.csv --edge-type kind --directed --out web.graph
      gssl classify --graph web.graph --labels l.csv --method labelpropagation --out p.parquet
    """
    from gssl.cli.console import Terminal
    from gssl.io import build_graph_store

    if not edges:
        raise ValueError("there is no table of edges: give --edges.")
    terminal = Terminal(quiet)
    with terminal.stage("building"), terminal.step("the graph"):
        store = build_graph_store(
            named_tables(edges, "--edges"),
            out,
            relation_weight=dict(relation_weight) or None,
            columns=_split_names(edge_columns) or None,
            header=False if no_header else None,
            memory_budget=memory,
            **given,
        )
    for note in store.notes:
        terminal.note(note)
    kinds = f" of {len(store.relations)} relations" if len(store.relations) > 1 else ""
    terminal.say(f"{store.n_nodes:,} nodes and {store.n_edges:,} edges{kinds}: {out}")
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
    type=CountOrNamed(),
    metavar="M|[NAME=]TABLE",
    multiple=True,
    help="Number of edges, each counted once, or a table of them; repeated with names, of each relation.",
)
@click.option("--graph", metavar="STORE", help="Graph store, instead of --edges, on which time is measured.")
@click.option(
    "--features",
    type=CountOrTable(),
    required=True,
    metavar="D|TABLE",
    help="Number of features, in single precision, or a table of them.",
)
@_count("--depth", 16, "K", "Number of iterations.")
@_count("--classes", 40, "C", "Number of classes, for ogc.")
@_count("--workers", 1, "P", "Number of workers, at most D.")
@click.option("--memory", default="16GB", show_default=True, metavar="SIZE", help="Memory of each worker.")
@click.option("--method", type=click.Choice(_PLANNED), default="ggcm", show_default=True)
@click.option("--weighted", is_flag=True, help="Edges have weights.")
def plan(workers: int, memory: str, **job: Any) -> None:
    """Estimate the memory and disk space of a run.

    With --graph, also measures the time of its passes over the graph, on one slab of columns.

    The estimate assumes a graph from gssl graph build, and features in a file.

    \b
    Examples:
      gssl plan --nodes 111e6 --edges 1.6e9 --features 128 --depth 16 --workers 8 --memory 64GB
      gssl plan --edges e.csv --features f.parquet --memory 4GB
      gssl plan --graph web.graph --features f.parquet --memory 4GB
    """
    from gssl.cli.plan_command import run_plan

    edges = job.pop("edges")
    if len(edges) > 1 and any(isinstance(one, int) for one in edges):
        raise ValueError("--edges is given several times: give one number, or tables with names.")
    count = edges and isinstance(edges[0], int)
    job["edges"] = edges[0] if count else named_tables(edges, "--edges")
    run_plan(job, workers, memory)
