"""``gssl plan``: estimate what a run needs, and measure its time on the graph."""

from typing import Any

from rich.table import Table
from scipy.sparse import csr_array

import gssl
from gssl.cli.console import Terminal
from gssl.io import open_graph_store, open_table
from gssl.io.edge_columns import choose_columns, tell_kinds
from gssl.io.edge_sides import shared_sql, split_sql
from gssl.io.feature_arrays import ArrayFile
from gssl.io.feature_reading import open_features
from gssl.io.table_columns import text_sql
from gssl.operators import Mixture, Program, Step
from gssl.scale.estimate import Estimate, Job, estimate, measure_passes
from gssl.scale.memory import read_size
from gssl.wording import write_size

# iterations to measure, of which the first is not timed
_MEASURED = 3


def run_plan(options: dict[str, Any], workers: int, memory: str) -> None:
    """Check the options, estimate, measure if there is a graph, and show."""
    terminal = Terminal()
    store = options.pop("graph")
    if (store is None) == (options["edges"] is None):
        raise ValueError("give either --edges, a number or a table, or --graph, a graph store.")
    if store is not None:
        store = open_graph_store(store)
        options |= {"nodes": store.n_nodes, "edges": store.n_edges, "weighted": store.weighted}
    plan = estimate(Job(**_counted(options, terminal)), workers, _size(memory))
    seconds = None
    if store is not None:
        with terminal.stage("measuring"), terminal.step("a slab of the graph"):
            seconds = measure_method(plan, store.adjacency)
    _show(terminal, [*_plan_facts(plan), _time_fact(plan, seconds), _run_fact(plan)])


def measure_method(plan: Estimate, A: csr_array) -> float:
    """Measure a few iterations on a slab of the graph; return the seconds of all passes of a worker."""
    if plan.job.method == "ogc":  # without its pulls, which are small
        program = Program([Step(Mixture.lazy(gssl.OGC().beta))] * _MEASURED)
    else:
        program = getattr(gssl, plan.job.method.upper())(depth=_MEASURED).program()
    return measure_passes(plan, A, program)


def _counted(options: dict[str, Any], terminal: Terminal) -> dict[str, Any]:
    """Return the options with tables replaced by numbers of nodes, edges and features."""
    edges, features = (options[name] for name in ("edges", "features"))
    tables = [source for source in (edges, features) if isinstance(source, str)]
    if not tables and options["nodes"] is not None:
        return options
    counts = dict(options)
    with terminal.stage("counting") as stage:
        ids, opened = list[str](), list[Any]()
        if isinstance(edges, str):
            table = open_table(edges)
            ends, weight = choose_columns(table, None)
            a, b = (text_sql(table, end) for end in ends)
            rows = f"(SELECT {a} AS a, {b} AS b FROM {table.relation})"
            if tell_kinds(table, ends):
                table.execute(f"CREATE TEMP TABLE shared AS {shared_sql(rows)}")
                rows = split_sql(ends, rows, "shared")
            pairs = f"SELECT DISTINCT least(a, b), greatest(a, b) FROM {rows} WHERE a <> b"
            counts["edges"] = table.fetch_row(f"SELECT count(*) FROM ({pairs})")[0]
            counts["weighted"] = options["weighted"] or weight is not None
            ids.append(f"SELECT unnest([a, b]) AS id FROM {rows}")
            opened.append(table)
        if isinstance(features, str):
            reader = open_features(features)
            if not isinstance(reader, ArrayFile):
                # before features are counted, which may copy them into a connection of their own
                ids.append(reader.ids_sql)
                opened.append(reader.table)
            counts["features"] = reader.count_features()
        if options["nodes"] is None and not ids:
            raise ValueError("the number of nodes is unknown: give --nodes, or a table as --edges.")
        if options["nodes"] is None:
            nodes = opened[0].fetch_row(f"SELECT count(DISTINCT id) FROM ({' UNION ALL '.join(ids)})")
            counts["nodes"] = nodes[0]
        stage.detail = ", ".join(tables)
    return counts


def _size(memory: str) -> int:
    try:
        return read_size(memory)
    except ValueError as error:
        raise ValueError(f"--memory is {memory!r}: give an amount of memory, such as 64GB.") from error


def _show(terminal: Terminal, facts: list[tuple[str, str]]) -> None:
    """Print facts as a table on a terminal, and one per line in a pipe."""
    if not terminal.out.is_terminal:
        for name, fact in facts:
            terminal.say(f"{name:<18} {fact}")
        return
    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, fact in facts:
        table.add_row(name, fact)
    terminal.out.print(table)


def _plan_facts(plan: Estimate) -> list[tuple[str, str]]:
    """Return the name and text of each fact of a plan."""
    job, several = plan.job, plan.workers > 1
    each = " for each worker" if several else ""
    slabs = "1 slab" if plan.n_slabs == 1 else f"{plan.n_slabs} slabs"
    links = write_size(job.link_bytes)
    stay = f"{links} of links stay in it" if plan.cached else f"{links} of links are read in every pass"
    facts = [
        (
            job.method,
            f"{job.nodes:,} nodes, {job.edges:,} edges, {job.features:,} features, {job.depth:,} iterations"
            + (f", {plan.workers:,} workers" if several else ""),
        ),
        ("memory", f"{write_size(plan.memory)}{each}; {stay}"),
        ("columns", f"{slabs} of {plan.width:,}{each}"),
        ("passes", f"{plan.passes:,} over the graph{' by each worker' if several else ''}"),
        ("through files", f"{write_size(plan.through_files)}{' by each worker' if several else ''}"),
    ]
    if several:
        facts.append(("over the network", f"{write_size(plan.network)}; less where workers see the files"))
        facts.append(("memory of client", f"{write_size(plan.client)} at most, for what workers send back"))
    return [*facts, ("disk", f"{write_size(plan.disk)} for graph, features and result")]


def _time_fact(plan: Estimate, seconds: float | None) -> tuple[str, str]:
    if seconds is None:
        return "time", "needs the graph, on the machine that will run: gssl graph build, then --graph"
    each = " by each worker" if plan.workers > 1 else ""
    rest = "files, network, checks and predictions come on top"
    return "time", f"{_write_time(seconds)} for the passes{each}, measured on one slab; {rest}"


def _run_fact(plan: Estimate) -> tuple[str, str]:
    return "run with", f"--memory {plan.budget // 10**6}MB"


def _write_time(seconds: float) -> str:
    """Format a time in a suitable unit, such as ``10.0 min``."""
    units = ((172_800, 86_400, "days"), (3600, 3600, "h"), (60, 60, "min"))
    unit, name = next(((u, s) for least, u, s in units if seconds >= least), (1, "s"))
    return f"{seconds / unit:,.1f} {name}"
