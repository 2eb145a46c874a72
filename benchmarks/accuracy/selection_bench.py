"""``gssl bench-accuracy selection``: what the automatic choice is worth beside each fixed method."""

from collections.abc import Iterable

from reproduction.spec import BUDGETS

from benchmarks.accuracy.bench import Bench, run_missing
from benchmarks.accuracy.rivals import (
    GRAPHS,
    PUBLIC,
    drawn_cell,
    draws_of,
    find_methods,
    homophily_of,
    public_cell,
)
from benchmarks.accuracy.selection_tables import public_grid, standing_grid, verdict_texts
from benchmarks.accuracy.standing import Score, rank_methods
from gssl.cli.console import Talk
from reproduction import Cell, Job, Store

SELECTION_GRAPHS = (*PUBLIC, *GRAPHS)


def run_selection(bench: Bench, talk: Talk) -> None:
    """Score methods on the public splits of the citation graphs and on draws of all others."""
    names = list(find_methods(bench.methods))
    public: dict[tuple[str, str], list[tuple[str, Cell, list[int]]]] = {}
    drawn: list[tuple[str, str, Cell, list[int]]] = []
    with bench.store() as store:
        here = []
        for graph, data in bench.data(talk):
            here.append(graph)
            if graph in PUBLIC:
                for budget in BUDGETS:
                    cells = [(name, public_cell(graph, name, budget)) for name in names]
                    # one run is enough of what is not random
                    public[graph, budget] = [
                        (m, c, list(bench.seeds()) if c.random else [0]) for m, c in cells
                    ]
            else:
                seeds = draws_of(data, bench.seeds())
                if not seeds:
                    talk.say(f"skipped: {graph} has no fixed splits of {bench.said_seeds()}")
                    continue
                drawn += [(graph, name, drawn_cell(graph, name), seeds) for name in names]
        rows = [(cell, seeds) for cells in public.values() for _, cell, seeds in cells]
        rows += [(cell, seeds) for *_, cell, seeds in drawn]
        run_missing([Job(cell, seed) for cell, seeds in rows for seed in seeds], store, talk)
        by_budget = [
            (budget, score)
            for (graph, budget), cells in public.items()
            for score in _scores(((graph, m, c, seeds) for m, c, seeds in cells), store)
        ]
        scores = _scores(drawn, store)
    grids = [public_grid(by_budget, bench.said_seeds())] if by_budget else []
    notes: list[str] = []
    if scores:
        graphs = [graph for graph in here if graph not in PUBLIC]
        standing = rank_methods(scores, [(graph, homophily_of(graph)) for graph in graphs])
        splits = {graph: cell.split for graph, _, cell, _ in drawn}
        grids.append(standing_grid(standing, splits, bench.said_seeds()))
        notes = verdict_texts(standing)
    bench.finish("selection", grids, notes, talk)


def _scores(rows: Iterable[tuple[str, str, Cell, list[int]]], store: Store) -> list[Score]:
    """Read what has been run of each cell; a cell whose runs all failed has no score."""
    scores = []
    for graph, method, cell, seeds in rows:
        found = {s: values["accuracy"] for s in seeds if (values := store.values(cell, s)) is not None}
        if found:
            scores.append(Score(graph, method, tuple(found.values()), tuple(found), len(seeds)))
    return scores
