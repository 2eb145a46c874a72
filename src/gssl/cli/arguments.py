"""The options that commands share, and the run that they describe."""

from collections.abc import Callable
from dataclasses import fields
from time import perf_counter
from typing import Any

import click

import gssl
from gssl.cli.options import (
    Count,
    Named,
    RelationWeight,
    Table,
    UserPath,
    announce,
    named_tables,
    options,
    set_threads,
)

# from a list of names, because importing the methods would make --help slow
METHODS = (
    "auto",
    *(
        name.lower()
        for name in vars(gssl.methods)["__all__"]
        if name != "EmbeddingClassifier" and not name.endswith("Head")
    ),
)
# tests compare these lists with the classes, which would take long to import
CLASSIFIERS = (
    "auto",
    "correctandsmooth",
    "labelpropagation",
    "labelspreading",
    "manifoldregularization",
    "ogc",
)
EMBEDDERS = tuple(sorted(name for name in METHODS if name not in CLASSIFIERS))
# the methods of gssl.scale.estimate
PLANNED = ("ggc", "ggcm", "ogc", "ppr", "sgc", "ssgc")

EDGES = options(
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
GRAPH = options(
    EDGES,
    click.option(
        "--graph",
        type=Table(),
        metavar="STORE",
        help="Graph store from gssl graph build, instead of --edges.",
    ),
)
LABELS = options(
    click.option(
        "--labels", type=Table(), metavar="TABLE", help="Ids and labels; an empty label means unknown."
    ),
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
FEATURES = options(
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
EDGE_COLUMNS = click.option(
    "--edge-columns", metavar="A,B[,W]", help="Column names in --edges; guessed by default.", default=""
)
TWO_SIDED = click.option(
    "--two-sided/--same-nodes",
    default=None,
    help="Whether an id in both columns of --edges is two nodes, as of users and items, or one; by "
    "default, the names of the columns decide.",
)
NO_HEADER = click.option("--no-header", is_flag=True, help="Text files have no header line.")
READING = options(
    click.option(
        "--nodes",
        type=Table(),
        metavar="TABLE",
        help="Ids of all nodes, in order; taken from the other tables by default.",
    ),
    click.option(
        "--strict",
        is_flag=True,
        help="Fail on ids that a table lacks, repeated rows, cells that are not numbers and edges without an "
        "id, instead of filling in or skipping.",
    ),
    NO_HEADER,
    EDGE_COLUMNS,
    TWO_SIDED,
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
MODEL = click.option(
    "--model",
    type=UserPath(exists=True),
    help="Use a model of gssl classify --save, which holds its tables, instead of fitting one.",
)
NUMBERS = click.option(
    "--numbers",
    "answers",
    flag_value="numbers",
    default="classes",
    help="The labels are numbers, as for gssl regress.",
)
SEVERAL = click.option(
    "--several",
    "answers",
    flag_value="sets",
    help="Nodes may have several labels, each in a row of --labels, as for gssl classify --several.",
)
METHOD = click.option("--method", type=click.Choice(METHODS), default="auto", show_default=True)
OUT = click.option("--out", type=UserPath(), required=True, help="Output: .csv, .tsv, .parquet or .jsonl.")
ABSTAIN = click.option(
    "--abstain",
    type=click.FloatRange(0.0, 1.0),
    metavar="P",
    help="Leave the label empty where the confidence is below P.",
)
PROBABILITIES = click.option(
    "--probabilities", is_flag=True, help="Add a column p_<class> for the probability of each class."
)
TIME_BUDGET = click.option(
    "--time-budget",
    type=click.FloatRange(min=0.0),
    metavar="SECONDS",
    help="For auto: try no more methods after this time, and predict with those tried.",
)
MEMORY = click.option(
    "--memory", metavar="SIZE", help="Memory limit for the fit, such as 4GB; the rest goes to disk."
)
DASK = options(
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
SEED = click.option(
    "--seed",
    type=click.IntRange(0, 2**32 - 1),
    metavar="S",
    default=0,
    show_default=True,
    help="Random seed of methods that use one, such as ogc; auto needs none.",
)


def count(name: str, default: int, metavar: str, text: str) -> Callable[[Any], Any]:
    return click.option(name, type=Count(), default=default, show_default=True, metavar=metavar, help=text)


def start_run(given: dict[str, Any], *, needs_labels: bool = False) -> Any:
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
        given[name] = split_names(given.pop(name, ""))
    given["header"] = False if given.pop("no_header") else None

    def take(kind: Any) -> Any:
        return kind(**{field.name: given.pop(field.name) for field in fields(kind) if field.name in given})

    choice, where = take(Choice), take(ExecutionOptions)
    return Run(Inputs(**given), choice, where, terminal)


def split_names(listed: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in listed.split(",") if part.strip())
