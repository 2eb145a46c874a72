"""Run the benches over graphs and draws, store finished runs, and print tables."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.accuracy.answers import number_grid, set_grid
from benchmarks.accuracy.cells import (
    CALIBRATED,
    CONFIDENCE_GRAPHS,
    COVERED,
    GRAPHS,
    PER_CLASS,
    PUBLIC,
    calibration_cell,
    calibration_record,
    coverage_cell,
    coverage_records,
    drawn_cell,
    draws_of,
    find_methods,
    homophily_of,
    how_drawn,
    public_cell,
)
from benchmarks.accuracy.relations import relation_grid
from benchmarks.accuracy.standing import (
    Score,
    public_grid,
    quality_grid,
    rank_methods,
    standing_grid,
    verdict_texts,
)
from benchmarks.accuracy.tables import Grid, calibration_grid, coverage_grid, curve_grid
from benchmarks.accuracy.worth import (
    CalibrationRecord,
    CoverageRecord,
    CurvePoint,
    label_curve,
    labels_needed,
)
from gssl.cli.console import Terminal
from gssl.datasets import Dataset
from gssl.io import whole_file
from gssl.methods import GGCM, EmbeddingClassifier
from gssl.selection import suggest
from reproduction.runner import Job, failure_texts, run_watched
from reproduction.spec import BUDGETS, Cell, dataset_of
from reproduction.store import Store
from reproduction.tables import print_wide

# labels per class after each batch of suggestions
_BATCHES = (2, 4, 6, 8, 10, 12, 13, 14, 16, 18, 20)


def run_bench(what: str, graphs: tuple[str, ...], **options: Any) -> None:
    """Run one bench, on its default graphs if none are named."""
    runs = {
        "selection": (run_selection, (*PUBLIC, *GRAPHS)),
        "calibration": (run_calibration, CONFIDENCE_GRAPHS),
        "conformal": (run_conformal, CONFIDENCE_GRAPHS),
        "suggest": (run_suggest, ("cora",)),
        "numbers": (run_answers, ("numbers",)),
        "sets": (run_answers, ("sets",)),
        "relations": (run_answers, ("relations",)),
    }
    run, default = runs[what]
    drawn = [name for name in ("per_class", "share") if options.get(name)]
    if drawn and what != "selection" and (what, drawn) != ("numbers", ["share"]):
        raise ValueError(f"{what} draws its own labels: leave --{drawn[0].replace('_', '-')} out.")
    if len(drawn) > 1:
        raise ValueError("--per-class and --share draw labels in different ways: give one of them.")
    if what in ("suggest", "numbers", "sets", "relations"):
        for name in ("methods", "records"):
            if options.get(name):
                raise ValueError(
                    f"{what} has its own methods and keeps no runs, so --{name} does not apply: leave it out."
                )
    run(Bench(graphs or default, **options), Terminal())


def run_answers(bench: "Bench", terminal: Terminal) -> None:
    """Run the bench of numbers, of label sets or of typed links."""
    (what,), draws = bench.graphs, bench.seeds()
    grids = {
        "numbers": lambda: number_grid(bench.share or 0.3, draws),
        "sets": lambda: set_grid(draws),
        "relations": lambda: relation_grid(draws),
    }
    bench.finish(what, [grids[what]()], (), terminal)


@dataclass(frozen=True)
class Bench:
    """Options of a bench: graphs, number of draws, first seed, and files for the page and finished runs."""

    graphs: tuple[str, ...]
    draws: int
    seed: int = 0
    out: Path | None = None
    records: Path | None = None
    methods: tuple[str, ...] = ()
    # None: use the splits of each graph
    per_class: int | None = None
    share: float | None = None

    @property
    def how(self) -> str:
        """How labels are drawn on every graph; empty if by the splits of each graph."""
        return how_drawn(self.per_class, self.share)

    def data(self, terminal: Terminal) -> Iterator[tuple[str, Dataset]]:
        """Load the graphs one by one, with feature rows that sum to one; report missing ones."""
        for graph in self.graphs:
            try:
                yield graph, dataset_of(graph)
            except FileNotFoundError as error:
                terminal.say(f"skipped: {error}")

    def seeds(self) -> range:
        """Return the seed of each draw."""
        return range(self.seed, self.seed + self.draws)

    def seeds_text(self) -> str:
        """Return the seeds as text for a title."""
        last = self.seed + self.draws - 1
        return f"seed {self.seed}" if self.draws == 1 else f"seeds {self.seed}–{last}"

    @contextmanager
    def store(self) -> Iterator[Store]:
        """Open the store of finished runs; it is temporary if no file was given."""
        if self.records is not None:
            yield Store(self.records)
            return
        with TemporaryDirectory() as folder:
            yield Store(Path(folder) / "records.jsonl")

    def finish(self, name: str, grids: Iterable[Grid], notes: Iterable[str], terminal: Terminal) -> None:
        """Print tables and notes, and write them if an output folder was given."""
        grids, notes = list(grids), list(notes)
        print_wide(terminal, *(grid.terminal() for grid in grids))
        for note in notes:
            terminal.say(note)
        if self.out is not None:
            self.out.mkdir(parents=True, exist_ok=True)
            path = self.out / f"{name}.md"
            with whole_file(path) as part:
                text = "\n".join([*(grid.markdown() for grid in grids), *notes, ""])
                Path(part).write_text(text, encoding="utf-8")
            terminal.say(f"written: {path}")


def run_missing(jobs: Iterable[Job], store: Store, terminal: Terminal) -> None:
    """Run the jobs that the present code has not run yet, with a progress bar, and report failures."""
    missing = [job for job in jobs if not store.is_current(job.cell, job.seed)]
    for text in failure_texts(run_watched(missing, store, terminal)):
        terminal.note(text)


def run_selection(bench: Bench, terminal: Terminal) -> None:
    """Score methods on the public splits of citation graphs and on draws of labels of other graphs."""
    names = list(find_methods(bench.methods))
    public: dict[tuple[str, str], list[tuple[str, Cell, list[int]]]] = {}
    drawn: list[tuple[str, str, Cell, list[int]]] = []
    with bench.store() as store:
        here = []
        for graph, data in bench.data(terminal):
            here.append(graph)
            if graph in PUBLIC and not bench.how:
                for budget in BUDGETS:
                    cells = [(name, public_cell(graph, name, budget)) for name in names]
                    # deterministic methods need one run
                    public[graph, budget] = [
                        (m, c, list(bench.seeds()) if c.random else [0]) for m, c in cells
                    ]
            else:
                seeds = list(bench.seeds()) if bench.how else draws_of(data, bench.seeds())
                if not seeds:
                    terminal.say(f"skipped: {graph} has no fixed splits of {bench.seeds_text()}")
                    continue
                drawn += [(graph, name, drawn_cell(graph, name, bench.how), seeds) for name in names]
        rows = [(cell, seeds) for cells in public.values() for _, cell, seeds in cells]
        rows += [(cell, seeds) for *_, cell, seeds in drawn]
        run_missing([Job(cell, seed) for cell, seeds in rows for seed in seeds], store, terminal)
        by_budget = [
            (budget, score)
            for (graph, budget), cells in public.items()
            for score in _scores(((graph, m, c, seeds) for m, c, seeds in cells), store)
        ]
        scores = _scores(drawn, store)
    grids = [public_grid(by_budget, bench.seeds_text())] if by_budget else []
    notes: list[str] = []
    splits = {graph: cell.split for graph, _, cell, _ in drawn}
    if scores:
        graphs = [graph for graph in here if bench.how or graph not in PUBLIC]
        standing = rank_methods(scores, [(graph, homophily_of(graph)) for graph in graphs])
        grids.append(standing_grid(standing, splits, bench.seeds_text()))
        notes = verdict_texts(standing)
    rated = [*by_budget, *((splits[score.graph], score) for score in scores)]
    if rated:
        grids.append(quality_grid(rated, bench.seeds_text()))
    bench.finish("selection", grids, notes, terminal)


def _scores(rows: Iterable[tuple[str, str, Cell, list[int]]], store: Store) -> list[Score]:
    """Read the stored runs of each cell; a cell whose runs all failed has no score."""
    scores = []
    for graph, method, cell, seeds in rows:
        found = {s: values for s in seeds if (values := store.values(cell, s)) is not None}
        if found:
            accuracies = tuple(values["accuracy"] for values in found.values())
            scores.append(
                Score(graph, method, accuracies, tuple(found), len(seeds), values=tuple(found.values()))
            )
    return scores


def run_calibration(bench: Bench, terminal: Terminal) -> None:
    """Compare confidence with accuracy before and after calibration, at 20 labels per class."""
    names = list(find_methods(bench.methods or CALIBRATED))
    records: list[tuple[str, CalibrationRecord]] = []
    with bench.store() as store:
        graphs = [graph for graph, _ in bench.data(terminal)]
        cells = [(graph, name, calibration_cell(graph, name)) for graph in graphs for name in names]
        for graph, name, draw, values in _measured(cells, bench, store, terminal):
            records.append((graph, calibration_record(values, name, draw)))
    title = (
        f"Expected calibration error in points, 10 bins, {PER_CLASS} labels per class, {bench.seeds_text()}; "
        "all other labelled nodes judge."
    )
    bench.finish("calibration", [calibration_grid(records, title)], [], terminal)


def run_conformal(bench: Bench, terminal: Terminal) -> None:
    """Measure the coverage of label sets at 90 %, with labels drawn at random and per class."""
    names = list(find_methods(bench.methods or COVERED))
    grids = []
    with bench.store() as store:
        graphs = [graph for graph, _ in bench.data(terminal)]
        for how, how_drawn in (("at random", "at random"), (f"{PER_CLASS} per class", "class by class")):
            cells = [(graph, name, coverage_cell(graph, name, how)) for graph in graphs for name in names]
            by_method: dict[str, list[tuple[str, CoverageRecord]]] = {name: [] for name in names}
            for graph, name, draw, values in _measured(cells, bench, store, terminal):
                by_method[name] += [(graph, record) for record in coverage_records(values, draw)]
            seeds = bench.seeds_text()
            sets = f"sets at 90 %, {PER_CLASS} labels times the classes, drawn {how_drawn}, {seeds}."
            grids += [coverage_grid(records, f"{name}, {sets}") for name, records in by_method.items()]
    bench.finish("conformal", grids, [], terminal)


def _measured(
    cells: list[tuple[str, str, Cell]], bench: Bench, store: Store, terminal: Terminal
) -> Iterator[tuple[str, str, int, dict[str, float]]]:
    """Run the missing seeds of some cells; yield graph, method, draw and values of all."""
    run_missing([Job(cell, seed) for *_, cell in cells for seed in bench.seeds()], store, terminal)
    for graph, name, cell in cells:
        for seed in bench.seeds():
            values = store.values(cell, seed)
            if values is not None:
                yield graph, name, seed, values


def run_suggest(bench: Bench, terminal: Terminal) -> None:
    """Compare accuracy by number of labels for suggested and for random nodes."""
    model = EmbeddingClassifier(GGCM())
    grids, notes = [], []
    for graph, data in bench.data(terminal):
        n_known = np.count_nonzero(data.labels >= 0)
        # some nodes must remain for the evaluation
        budgets = [n for n in (k * data.n_classes for k in _BATCHES) if n < n_known]
        points: list[tuple[str, CurvePoint]] = []
        for choose in (None, suggest):
            curves = (
                point for seed in bench.seeds() for point in label_curve(model, data, budgets, choose, seed)
            )
            for point in _watched(curves, graph, bench.draws * len(budgets), terminal):
                points.append((graph, point))
        title = (
            f"GGCM on {graph}: accuracy % on all unlabelled nodes by number of labels, {bench.seeds_text()}."
        )
        grids.append(curve_grid(points, title))
        notes.append(_verdict(graph, [point for _, point in points]))
    bench.finish("suggest", grids, notes, terminal)


def _verdict(graph: str, points: list[CurvePoint]) -> str:
    random, suggested = (_curve([p for p in points if p.how == how]) for how in ("random", "suggested"))
    most = max(random)
    needed = labels_needed(suggested, random[most])
    text = f"{graph}: random picks reach {random[most]:.1%} with {most} labels; suggested ones "
    if needed == float("inf"):
        return f"{text}do not with {max(suggested)}."
    return f"{text}with {needed:.0f}, {needed / most:.0%} of them."


def _curve(points: list[CurvePoint]) -> dict[int, float]:
    """Average accuracy for each number of labels reached, because suggestions may run out early."""
    by_number: dict[int, list[float]] = {}
    for point in points:
        by_number.setdefault(point.n_labels, []).append(point.accuracy)
    return {n: float(np.mean(values)) for n, values in by_number.items()}


def _watched(records: Iterable[Any], graph: str, total: int, terminal: Terminal) -> Iterator[Any]:
    with terminal.step(graph, notes=False) as move:
        for done, record in enumerate(records, start=1):
            move(done, total)
            yield record
