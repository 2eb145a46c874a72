"""``gssl plan``: estimate what a run needs, and measure its time on the graph."""

from typing import Any

from rich.table import Table
from scipy.sparse import csr_array

import gssl
from gssl.cli.console import Terminal
from gssl.io import count_tables, open_graph_store
from gssl.operators import Mixture, Program, Step
from gssl.scale.estimate import Estimate, Job, estimate, measure_passes
from gssl.scale.memory import read_size

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
    _show(terminal, plan.facts(seconds))


def measure_method(plan: Estimate, A: csr_array) -> float:
    """Measure a few iterations on a slab of the graph; return the seconds of all passes of a worker."""
    if plan.job.method == "ogc":  # without its pulls, which are small
        program = Program([Step(Mixture.lazy(gssl.OGC().beta))] * _MEASURED)
    else:
        program = getattr(gssl, plan.job.method.upper())(depth=_MEASURED).program()
    return measure_passes(plan, A, program)


def _counted(options: dict[str, Any], terminal: Terminal) -> dict[str, Any]:
    """Return the options with tables replaced by numbers of nodes, edges and features."""
    tables = {name: options[name] for name in ("edges", "features") if isinstance(options[name], str | dict)}
    counts = {}
    if tables:
        with terminal.stage("counting") as stage:
            counts = count_tables(**tables)
            named = [table.values() if isinstance(table, dict) else [table] for table in tables.values()]
            stage.detail = ", ".join(table for several in named for table in several)
    counts["nodes"] = options["nodes"] or counts.get("nodes")
    if counts["nodes"] is None:
        raise ValueError("the number of nodes is unknown: give --nodes, or a table as --edges.")
    return options | counts | {"weighted": options["weighted"] or counts.get("weighted", False)}


def _size(memory: str) -> int:
    try:
        return read_size(memory)
    except ValueError as error:
        raise ValueError(f"--memory is {memory!r}: give an amount of memory, such as 64GB.") from error


def _show(terminal: Terminal, facts: dict[str, str]) -> None:
    """Print facts as a table on a terminal, and one per line in a pipe."""
    if not terminal.out.is_terminal:
        for name, fact in facts.items():
            terminal.say(f"{name:<18} {fact}")
        return
    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, fact in facts.items():
        table.add_row(name, fact)
    terminal.out.print(table)
