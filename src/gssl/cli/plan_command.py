"""``gssl plan``: estimate what a run would need from the size of the problem."""

from functools import cache, partial
from typing import Any

from rich.table import Table

from gssl.cli.console import Terminal
from gssl.io import open_table
from gssl.io.edge_columns import choose_columns, tell_kinds
from gssl.io.edge_sides import shared_sql, split_sql
from gssl.io.feature_arrays import ArrayFile
from gssl.io.feature_reading import open_features
from gssl.io.table_columns import text_sql
from gssl.scale.estimate import Estimate, Job, estimate, layouts, measure_bandwidth
from gssl.scale.memory import read_size
from gssl.wording import write_size


def run_plan(
    options: dict[str, Any], workers: int, memory: str, bandwidth: str | None, disk_speed: str
) -> None:
    """Check the options, measure the bandwidth unless it is given, estimate, and show."""
    terminal = Terminal()
    job = Job(**_counted(options, terminal))
    room, disk = _size("--memory", memory), _size("--disk-speed", disk_speed)
    if bandwidth is not None:
        source, found = "given", estimate(job, workers, room, _size("--bandwidth", bandwidth), disk)
    else:
        # raises if the job does not fit, before anything is measured
        layouts(job, workers, room)
        with terminal.stage("measuring"), terminal.step("this machine"):
            found = estimate(job, workers, room, cache(partial(measure_bandwidth, job)), disk)
        source = "measured here just now"
    _show(terminal, [*_plan_facts(found), *_time_facts(found, source)])


def _counted(options: dict[str, Any], terminal: Terminal) -> dict[str, Any]:
    """Return the options with tables replaced by numbers of nodes, edges and features."""
    edges, features = (options[name] for name in ("edges", "features"))
    tables = [source for source in (edges, features) if isinstance(source, str)]
    if not tables and options["nodes"] is not None:
        return options
    found = dict(options)
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
            found["edges"] = table.fetch_row(f"SELECT count(*) FROM ({pairs})")[0]
            found["weighted"] = options["weighted"] or weight is not None
            ids.append(f"SELECT unnest([a, b]) AS id FROM {rows}")
            opened.append(table)
        if isinstance(features, str):
            reader = open_features(features)
            if not isinstance(reader, ArrayFile):
                # before features are counted, which may copy them into a connection of their own
                ids.append(reader.ids_sql)
                opened.append(reader.table)
            found["features"] = reader.count_features()
        if options["nodes"] is None and not ids:
            raise ValueError("there is no number of nodes: give --nodes, or a table as --edges.")
        if options["nodes"] is None:
            nodes = opened[0].fetch_row(f"SELECT count(DISTINCT id) FROM ({' UNION ALL '.join(ids)})")
            found["nodes"] = nodes[0]
        stage.detail = ", ".join(tables)
    return found


def _size(option: str, text: str) -> int:
    try:
        return read_size(text)
    except ValueError as error:
        wanted = "an amount of memory, such as 64GB"
        if option != "--memory":
            wanted = "bytes per second, such as 500MB or 10GB"
        raise ValueError(f"{option} is {text!r}: give {wanted}.") from error


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


def _plan_facts(found: Estimate) -> list[tuple[str, str]]:
    """Return the name and text of each fact of a plan."""
    job, several = found.job, found.workers > 1
    each = " for each worker" if several else ""
    slabs = "1 slab" if found.n_slabs == 1 else f"{found.n_slabs} slabs"
    links = write_size(job.link_bytes)
    stay = f"{links} of links stay in it" if found.cached else f"{links} of links are read in every pass"
    facts = [
        (
            job.method,
            f"{job.nodes:,} nodes, {job.edges:,} edges, {job.features:,} features, {job.depth:,} iterations"
            + (f", {found.workers:,} workers" if several else ""),
        ),
        ("memory", f"{write_size(found.memory)}{each}; {stay}"),
        ("columns", f"{slabs} of {found.width:,}{each}"),
        ("passes", f"{found.passes:,} over the graph{' by each worker' if several else ''}"),
        ("moved in memory", f"{write_size(found.moved)}{' by each worker' if several else ''}"),
        ("through files", f"{write_size(found.through_files)}{' by each worker' if several else ''}"),
    ]
    if several:
        facts.append(("over the network", f"{write_size(found.network)}; less where workers see the files"))
        facts.append(("memory of client", f"{write_size(found.client)} at most, for what workers send back"))
    return [*facts, ("disk", f"{write_size(found.disk)} for graph, features and result")]


def _time_facts(found: Estimate, source: str) -> list[tuple[str, str]]:
    """Return the estimated times, what they leave out, and the option to run with."""
    speed, disk = write_size(round(found.speed)), write_size(round(found.disk_speed))
    return [
        ("time of passes", f"{_write_time(found.seconds)}, at {speed}/s ({source})"),
        ("time of files", f"up to {_write_time(found.file_seconds)}, at {disk}/s (assumed: --disk-speed)"),
        ("not in the time", "building the graph store, the network, checks and predictions"),
        ("run with", f"--memory {found.budget // 10**6}MB"),
    ]


def _write_time(seconds: float) -> str:
    """Format a time in a suitable unit, such as ``10.0 min``."""
    units = ((172_800, 86_400, "days"), (3600, 3600, "h"), (60, 60, "min"))
    unit, name = next(((u, s) for least, u, s in units if seconds >= least), (1, "s"))
    return f"{seconds / unit:,.1f} {name}"
