"""``gssl bench-accuracy``: what confidences, label sets and suggestions are worth, measured."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gssl.cli.console import Talk
from gssl.datasets import Dataset, draw_random, draw_split, load
from gssl.evaluation import (
    CurvePoint,
    judge_calibration,
    judge_coverage,
    label_curve,
    labels_needed,
)
from gssl.io import whole_file
from gssl.methods import GGCM, OGC, EmbeddingClassifier, LabelSpreading
from gssl.report import Grid, calibration_grid, coverage_grid, curve_grid
from gssl.selection import CalibratedClassifier, suggest

PER_CLASS = 20
# labels per class after each batch
_BATCHES = (2, 4, 6, 8, 10, 12, 13, 14, 16, 18, 20)


@dataclass(frozen=True)
class Bench:
    """On which graphs, how often, from which seed, and where the page goes."""

    graphs: tuple[str, ...]
    draws: int
    seed: int
    out: Path | None

    def data(self) -> Iterator[tuple[str, Dataset]]:
        """Load one graph after the other, with rows that sum to one."""
        for graph in self.graphs:
            yield graph, load(graph).normalized()

    def seeds(self) -> range:
        """Give the seed of each draw."""
        return range(self.seed, self.seed + self.draws)

    def finish(self, name: str, grids: Iterable[Grid], notes: Iterable[str], talk: Talk) -> None:
        """Show tables, and write them where a place was given."""
        grids, notes = list(grids), list(notes)
        for grid in grids:
            talk.out.print(grid.terminal())
        for note in notes:
            talk.say(note)
        if self.out is not None:
            self.out.mkdir(parents=True, exist_ok=True)
            path = self.out / f"{name}.md"
            with whole_file(path) as part:
                text = "\n".join([*(grid.markdown() for grid in grids), *notes, ""])
                Path(part).write_text(text, encoding="utf-8")
            talk.say(f"written: {path}")


def run_calibration(bench: Bench, talk: Talk) -> None:
    """Compare confidence with accuracy before and after calibration, at 20 labels per class."""
    plain = {
        "GGCM": EmbeddingClassifier(GGCM()),
        "OGC": OGC(random_state=bench.seed),
        "LabelSpreading": LabelSpreading(),
    }
    models = {name: CalibratedClassifier(model) for name, model in plain.items()}
    found = []
    for graph, data in bench.data():
        splits = (draw_split(data.labels, PER_CLASS, random_state=seed) for seed in bench.seeds())
        for record in _watched(
            judge_calibration(models, data, splits), graph, bench.draws * len(models), talk
        ):
            found.append((graph, record))
    title = (
        f"Expected calibration error in points, 10 bins, {PER_CLASS} labels per class, {_seeds(bench)}; "
        "all other labelled nodes judge."
    )
    bench.finish("calibration", [calibration_grid(found, title)], [], talk)


def run_conformal(bench: Bench, talk: Talk) -> None:
    """Count how often sets at 90 % hold the true label: labels drawn at random, and class by class."""
    model = CalibratedClassifier(EmbeddingClassifier(GGCM()))
    grids = []
    for how in ("at random", "class by class"):
        found = []
        for graph, data in bench.data():
            splits = [_draw(data, how, seed) for seed in bench.seeds()]
            for record in _watched(judge_coverage(model, data, splits), graph, 2 * bench.draws, talk):
                found.append((graph, record))
        title = f"GGCM, sets at 90 %, {PER_CLASS} labels times the classes, drawn {how}, {_seeds(bench)}."
        grids.append(coverage_grid(found, title))
    bench.finish("conformal", grids, [], talk)


def run_suggest(bench: Bench, talk: Talk) -> None:
    """Draw accuracy against labels for suggested and for random picks."""
    model = EmbeddingClassifier(GGCM())
    grids, notes = [], []
    for graph, data in bench.data():
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
        title = f"GGCM on {graph}: accuracy % on all unlabelled nodes by number of labels, {_seeds(bench)}."
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


def _draw(data: Dataset, how: str, seed: int) -> Any:
    if how == "at random":
        return draw_random(data.labels, PER_CLASS * data.n_classes, random_state=seed)
    return draw_split(data.labels, PER_CLASS, random_state=seed)


def _watched(records: Iterable[Any], graph: str, total: int, talk: Talk) -> Iterator[Any]:
    with talk.step(graph, notes=False) as move:
        for done, record in enumerate(records, start=1):
            move(done, total)
            yield record


def _seeds(bench: Bench) -> str:
    last = bench.seed + bench.draws - 1
    return f"seed {bench.seed}" if bench.draws == 1 else f"seeds {bench.seed}–{last}"
