"""Define the commands; each imports what it needs when run, to keep ``--help`` fast."""

from pathlib import Path
from time import perf_counter
from typing import Any

import click

import gssl
from gssl.cli.arguments import (
    ABSTAIN,
    DASK,
    EDGE_COLUMNS,
    EDGES,
    EMBEDDERS,
    FEATURES,
    GRAPH,
    LABELS,
    MEMORY,
    METHOD,
    MODEL,
    NO_HEADER,
    NUMBERS,
    OUT,
    PLANNED,
    PROBABILITIES,
    READING,
    SEED,
    SEVERAL,
    TIME_BUDGET,
    TWO_SIDED,
    count,
    split_names,
    start_run,
)
from gssl.cli.options import (
    QUIET,
    RUN_OPTIONS,
    THREADS,
    Commands,
    Count,
    CountOrNamed,
    CountOrTable,
    Table,
    UserPath,
    named_tables,
    options,
)


def _print_versions(ctx: click.Context, _: click.Parameter, asked: bool) -> None:
    if asked and not ctx.resilient_parsing:
        from gssl.cli.versions import list_versions

        click.echo(list_versions())
        ctx.exit()


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_versions,
    help="Show the versions of gssl, Python and what gssl needs, and exit.",
)
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
@options(GRAPH, LABELS, FEATURES, METHOD, OUT)
@click.option("--report", type=UserPath(), help="Write an HTML report (needs gssl[report]).")
@click.option("--report-data", type=UserPath(), help="Write all data of the report as JSON.")
@click.option("--save", type=UserPath(), help="Save the model and its data, for --model of other commands.")
@click.option(
    "--truth", type=Table(), metavar="TABLE", help="True labels for a confusion matrix in the report."
)
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
@options(ABSTAIN, PROBABILITIES, TIME_BUDGET, MEMORY, DASK, READING, SEED, RUN_OPTIONS)
def classify(
    out: Path,
    report: Path | None,
    report_data: Path | None,
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
            "report-data": report_data,
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

        run_classify_sets(start_run(given | {"answers": "sets"}, needs_labels=True), out, save)
        return
    run = start_run(given, needs_labels=True)
    from gssl.cli.classify import run_classify

    run_classify(run, out, report, report_data, save, truth, probabilities)


@app.command()
@options(GRAPH, LABELS, FEATURES, OUT)
@click.option("--report", type=UserPath(), help="Write an HTML report (needs gssl[report]).")
@click.option("--report-data", type=UserPath(), help="Write all data of the report as JSON.")
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
@options(TIME_BUDGET, MEMORY, DASK, READING, RUN_OPTIONS)
def regress(
    out: Path, report: Path | None, report_data: Path | None, save: Path | None, **given: Any
) -> None:
    """Predict a number for every node of a graph.

    The output has the columns id, value, low, high, model_says, given and reached.

    \b
    Examples:
      gssl regress --edges e.csv --labels prices.csv --features f.parquet --out p.csv
      gssl regress --edges e.csv --labels sales.csv --label-columns shop,sales --out p.csv --interval 0.8
      gssl regress --features houses.csv --knn 10 --labels prices.csv --out p.csv --save m.gssl
    """
    run = start_run(given | {"answers": "numbers"}, needs_labels=True)
    from gssl.cli.regress import run_regress

    run_regress(run, out, report, report_data, save)


@app.command()
@options(GRAPH, LABELS, NUMBERS, SEVERAL, FEATURES, METHOD, MODEL)
@click.option("--n", type=click.IntRange(min=1), default=20, show_default=True, help="Number of nodes.")
@click.option(
    "--target",
    type=click.FloatRange(1.0, 100.0),
    metavar="PERCENT",
    help="Estimate how many more labels this accuracy needs, such as 85; of numbers, R² in per cent.",
)
@OUT
@options(TIME_BUDGET, MEMORY, READING, SEED, RUN_OPTIONS)
def suggest(model: Path | None, n: int, target: float | None, out: Path, **given: Any) -> None:
    """Suggest nodes to label next.

    They are uncertain, and resemble many others, but not each other.

    \b
    Examples:
      gssl suggest --edges e.csv --labels l.csv --features f.parquet --n 20 --out picks.csv
      gssl suggest --edges e.csv --labels l.csv --features f.parquet --target 85 --out picks.csv
      gssl suggest --model m.gssl --out picks.csv
    """
    run = start_run(given, needs_labels=model is None)
    from gssl.cli.advice import run_suggest

    run_suggest(run, out, n, target, model)


@app.command()
@click.argument("ids", metavar="ID...", nargs=-1, required=True)
@options(GRAPH, LABELS, NUMBERS, FEATURES, METHOD, MODEL, READING, SEED, RUN_OPTIONS)
def why(ids: tuple[str, ...], model: Path | None, **given: Any) -> None:
    """Explain the predictions of some nodes.

    Prints which labels and features support each prediction, and how strongly.

    \b
    Examples:
      gssl why 007 n3 --edges e.csv --labels l.csv --features f.parquet
      gssl why 007 n3 --model m.gssl
    """
    run = start_run(given | {"calibrate": False}, needs_labels=model is None)
    from gssl.cli.advice import run_why

    run_why(run, ids, model)


@app.command()
@options(GRAPH, LABELS, NUMBERS, SEVERAL, FEATURES, METHOD, MODEL, OUT, READING, SEED, RUN_OPTIONS)
def audit(out: Path, model: Path | None, **given: Any) -> None:
    """Find given labels that look wrong.

    Ranks labels by how strongly a prediction made without each label contradicts it.

    \b
    Examples:
      gssl audit --edges e.csv --labels l.csv --features f.parquet --out doubts.csv
      gssl audit --model m.gssl --out doubts.csv
    """
    run = start_run(given, needs_labels=model is None)
    from gssl.cli.advice import run_audit

    run_audit(run, out, model)


@app.command()
@options(GRAPH, LABELS, NUMBERS, FEATURES)
@click.option("--out", type=UserPath(), required=True, help="Labels: .csv, .tsv, .parquet or .jsonl.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, help="Port of the page; any free port by default."
)
@click.option("--browser/--no-browser", default=True, help="Open the page in the browser.")
@options(READING, RUN_OPTIONS)
def label(out: Path, port: int, browser: bool, **given: Any) -> None:
    """Label nodes in the browser, with classes or numbers.

    The page suggests the most useful nodes.

    \b
    Examples:
      gssl label --edges e.csv --features f.parquet --out labels.csv
      gssl label --features docs.csv --text abstract --knn 10 --labels l.csv --out labels.csv
      gssl label --edges e.csv --features f.parquet --numbers --out prices.csv
    """
    run = start_run(given)
    from gssl.cli.label_command import run_label

    run_label(run, out, port, browser)


@app.command()
@click.option("--model", type=UserPath(exists=True), required=True, help="Model from gssl classify --save.")
@options(GRAPH, FEATURES, OUT, ABSTAIN, PROBABILITIES, READING, RUN_OPTIONS)
def predict(model: Path, out: Path, probabilities: bool, **given: Any) -> None:
    """Label a new graph with a saved model.

    \b
    Examples:
      gssl predict --model m.gssl --edges new-e.csv --features new-f.parquet --out p.csv
      gssl predict --model m.gssl --edges new-e.csv --features new-f.parquet --out p.csv --abstain 0.8
    """
    run = start_run(given)
    from gssl.cli.predict import run_predict

    run_predict(run, model, out, probabilities)


@app.command()
@options(GRAPH, FEATURES)
@click.option(
    "--method",
    type=click.Choice(EMBEDDERS),
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
@options(MEMORY, READING, SEED, RUN_OPTIONS)
def embed(depth: int | None, dimensions: str, out: Path, **given: Any) -> None:
    """Compute an embedding of every node, without labels.

    \b
    Example:
      gssl embed --edges e.csv --features f.parquet --out u.parquet
    """
    run = start_run(given)
    from gssl.cli.predict import run_embed

    run_embed(run, out, depth, dimensions)


@app.command()
@options(GRAPH, LABELS, NUMBERS, SEVERAL, FEATURES, TIME_BUDGET, MEMORY, READING, RUN_OPTIONS)
def check(**given: Any) -> None:
    """Check a graph, and say whether it helps.

    Estimates the accuracy of gssl classify with the graph and without it.

    \b
    Example:
      gssl check --edges e.csv --labels l.csv --features f.parquet
    """
    run = start_run(given)
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
@SEED
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
@EDGES
@click.option(
    "--nodes",
    type=Table(),
    metavar="TABLE",
    help="Ids of all nodes, in order; the table of features will do.",
)
@click.option("--out", type=UserPath(), required=True, help="Folder to create.")
@click.option(
    "--memory", metavar="SIZE", default="2GB", show_default=True, help="Memory limit for the build."
)
@click.option("--strict", is_flag=True, help="Fail on an edge without an id, instead of skipping it.")
@options(NO_HEADER, EDGE_COLUMNS, TWO_SIDED, THREADS, QUIET)
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
            columns=split_names(edge_columns) or None,
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
@click.option(
    "--graph",
    type=Table(),
    metavar="STORE",
    help="Graph store, instead of --edges, on which time is measured.",
)
@click.option(
    "--features",
    type=CountOrTable(),
    required=True,
    metavar="D|TABLE",
    help="Number of features, in single precision, or a table of them.",
)
@count("--depth", 16, "K", "Number of iterations.")
@count("--classes", 40, "C", "Number of classes, for ogc.")
@count("--workers", 1, "P", "Number of workers, at most D.")
@click.option("--memory", default="16GB", show_default=True, metavar="SIZE", help="Memory of each worker.")
@click.option("--method", type=click.Choice(PLANNED), default="ggcm", show_default=True)
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
