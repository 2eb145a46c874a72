"""``gssl bench-accuracy``: what confidences, label sets and suggestions are worth, measured."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from benchmarks.accuracy.bench import Bench, run_missing
from benchmarks.accuracy.confidence import (
    CALIBRATED,
    CONFIDENCE_GRAPHS,
    COVERED,
    calibration_cell,
    calibration_record,
    coverage_cell,
    coverage_records,
)
from benchmarks.accuracy.rivals import PER_CLASS, find_methods
from benchmarks.accuracy.selection_bench import SELECTION_GRAPHS, run_selection
from benchmarks.accuracy.tables import calibration_grid, coverage_grid, curve_grid
from benchmarks.accuracy.worth import (
    CalibrationRecord,
    CoverageRecord,
    CurvePoint,
    label_curve,
    labels_needed,
)
from gssl.cli.console import Talk
from gssl.methods import GGCM, EmbeddingClassifier
from gssl.selection import suggest
from reproduction import Cell, Job, Store

# labels per class after each batch
_BATCHES = (2, 4, 6, 8, 10, 12, 13, 14, 16, 18, 20)


def run_bench(what: str, graphs: tuple[str, ...], **options: Any) -> None:
    """Run one bench, on its own graphs where none is named."""
    runs = {
        "selection": (run_selection, SELECTION_GRAPHS),
        "calibration": (run_calibration, CONFIDENCE_GRAPHS),
        "conformal": (run_conformal, CONFIDENCE_GRAPHS),
        "suggest": (run_suggest, ("cora",)),
    }
    run, default = runs[what]
    if what == "suggest":
        for name in ("methods", "records"):
            if options.get(name):
                raise ValueError(
                    f"suggest runs one method and keeps no runs, so it has no use for --{name}: leave it out."
                )
    run(Bench(graphs or default, **options), Talk())


def run_calibration(bench: Bench, talk: Talk) -> None:
    """Compare confidence with accuracy before and after calibration, at 20 labels per class."""
    names = list(find_methods(bench.methods or CALIBRATED))
    found: list[tuple[str, CalibrationRecord]] = []
    with bench.store() as store:
        graphs = [graph for graph, _ in bench.data(talk)]
        cells = [(graph, name, calibration_cell(graph, name)) for graph in graphs for name in names]
        for graph, name, draw, values in _measured(cells, bench, store, talk):
            found.append((graph, calibration_record(values, name, draw)))
    title = (
        f"Expected calibration error in points, 10 bins, {PER_CLASS} labels per class, {bench.said_seeds()}; "
        "all other labelled nodes judge."
    )
    bench.finish("calibration", [calibration_grid(found, title)], [], talk)


def run_conformal(bench: Bench, talk: Talk) -> None:
    """Count how often sets at 90 % hold the true label: labels drawn at random, and class by class."""
    names = list(find_methods(bench.methods or COVERED))
    grids = []
    with bench.store() as store:
        graphs = [graph for graph, _ in bench.data(talk)]
        for how, said in (("at random", "at random"), (f"{PER_CLASS} per class", "class by class")):
            cells = [(graph, name, coverage_cell(graph, name, how)) for graph in graphs for name in names]
            found: dict[str, list[tuple[str, CoverageRecord]]] = {name: [] for name in names}
            for graph, name, draw, values in _measured(cells, bench, store, talk):
                found[name] += [(graph, record) for record in coverage_records(values, draw)]
            sets = f"sets at 90 %, {PER_CLASS} labels times the classes, drawn {said}, {bench.said_seeds()}."
            grids += [coverage_grid(records, f"{name}, {sets}") for name, records in found.items()]
    bench.finish("conformal", grids, [], talk)


def _measured(
    cells: list[tuple[str, str, Cell]], bench: Bench, store: Store, talk: Talk
) -> Iterator[tuple[str, str, int, dict[str, float]]]:
    """Run what is missing of some cells; give graph, method, draw and values of all."""
    run_missing([Job(cell, seed) for *_, cell in cells for seed in bench.seeds()], store, talk)
    for graph, name, cell in cells:
        for seed in bench.seeds():
            values = store.values(cell, seed)
            if values is not None:
                yield graph, name, seed, values


def run_suggest(bench: Bench, talk: Talk) -> None:
    """Draw accuracy against labels for suggested and for random picks."""
    model = EmbeddingClassifier(GGCM())
    grids, notes = [], []
    for graph, data in bench.data(talk):
        n_known = np.count_nonzero(data.labels >= 0)
        # some nodes must be left to judge by
        budgets = [n for n in (k * data.n_classes for k in _BATCHES) if n < n_known]
        points: list[tuple[str, CurvePoint]] = []
        for choose in (None, suggest):
            curves = (
                point for seed in bench.seeds() for point in label_curve(model, data, budgets, choose, seed)
            )
            for point in _watched(curves, graph, bench.draws * len(budgets), talk):
                points.append((graph, point))
        title = (
            f"GGCM on {graph}: accuracy % on all unlabelled nodes by number of labels, {bench.said_seeds()}."
        )
        grids.append(curve_grid(points, title))
        notes.append(_verdict(graph, [point for _, point in points]))
    bench.finish("suggest", grids, notes, talk)


def _verdict(graph: str, points: list[CurvePoint]) -> str:
    random, suggested = (_curve([p for p in points if p.how == how]) for how in ("random", "suggested"))
    most = max(random)
    needed = labels_needed(suggested, random[most])
    said = f"{graph}: random picks reach {random[most]:.1%} with {most} labels; suggested ones "
    if needed == float("inf"):
        return f"{said}do not with {max(suggested)}."
    return f"{said}with {needed:.0f}, {needed / most:.0%} of them."


def _curve(points: list[CurvePoint]) -> dict[int, float]:
    """Average accuracy for every number of labels that was reached: suggestions may run out before."""
    by_number: dict[int, list[float]] = {}
    for point in points:
        by_number.setdefault(point.n_labels, []).append(point.accuracy)
    return {n: float(np.mean(found)) for n, found in by_number.items()}


def _watched(records: Iterable[Any], graph: str, total: int, talk: Talk) -> Iterator[Any]:
    with talk.step(graph, notes=False) as move:
        for done, record in enumerate(records, start=1):
            move(done, total)
            yield record
