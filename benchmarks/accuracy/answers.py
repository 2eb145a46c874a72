"""Numbers and label sets: AutoRegressor and AutoClassifier beside simple rivals, on random draws."""

from time import process_time
from typing import Any

import numpy as np
from sklearn.metrics import average_precision_score, f1_score, r2_score

from benchmarks.accuracy.tables import Grid
from benchmarks.leaderboard.methods import AUTO, METHODS
from benchmarks.leaderboard.problems import SETS, Problem, Task, load_problem, number_names

_RIVALS = {"ridge, no graph": "no graph", "label propagation": "LabelSpreading", "trees": "trees"}


def number_grid(share: float, draws: range) -> Grid:
    """Return R² on unknown numbers, coverage and width of 90 % intervals, and CPU seconds, by target."""
    headings = ("target", "known", "AutoRegressor", *_RIVALS, "within 90 %", "width / deviation", "seconds")
    rows, sums = [], []
    for name in number_names():
        measured = [_numbers(load_problem(Task(name, f"{share:.0%}", draw))) for draw in draws]
        means, spread = np.mean(measured, axis=0), np.std(measured, axis=0)[0]
        sums.append(means)
        scores = (f"{mean:.3f}" for mean in means[1:-3])
        auto = f"{means[0]:.3f} ± {spread:.3f}"
        rows.append((name.split("/")[1], f"{share:.0%}", auto, *scores, *_rest(means[-3:])))
    mean = np.mean(sums, axis=0)
    rows.append(("mean", f"{share:.0%}", *(f"{value:.3f}" for value in mean[:-3]), *_rest(mean[-3:])))
    return Grid(f"Numbers, {len(draws)} draws", headings, tuple(rows))


def _numbers(problem: Problem) -> list[float]:
    """Return R² of AutoRegressor and its rivals, coverage, width and seconds."""
    truth, start = problem.truth[problem.test], process_time()
    values, intervals = METHODS[AUTO](problem, 0)
    seconds = process_time() - start
    low, high = np.asarray(intervals)[problem.test].T
    rivals = (METHODS[name](problem, 0)[0] for name in _RIVALS.values())
    scores = [float(r2_score(truth, answers[problem.test])) for answers in (values, *rivals)]
    return [
        *scores,
        float(((low <= truth) & (truth <= high)).mean()),
        float((high - low).mean() / truth.std()),
        seconds,
    ]


def _rest(values: Any) -> tuple[str, str, str]:
    within, width, seconds = values
    return f"{100 * within:.1f}", f"{width:.2f}", f"{seconds:.1f}"


def set_grid(draws: range) -> Grid:
    """Return macro average precision and F1 of label sets, by graph and split."""
    headings = ("graph", "split", "macro AP", "micro F1", "macro F1", "micro F1, k given", "seconds")
    rows = []
    for name, budgets in SETS_AND_SPLITS.items():
        for budget in budgets:
            seeds = draws if budget.endswith("%") else range(1)
            measured = [_sets(load_problem(Task(name, budget, draw))) for draw in seeds]
            means = np.mean(measured, axis=0)
            scores = (f"{value:.3f}" for value in means[:-1])
            rows.append((name.split("/")[1], budget, *scores, f"{means[-1]:.1f}"))
    return Grid("Several labels per node", headings, tuple(rows))


# the last two on the union of their links
SETS_AND_SPLITS = {
    **{f"labelsets/{name}": (budget,) for name, budget in SETS.items()},
    "relations/humloc": ("its own",),
    "relations/imdb": ("its own",),
}


def _sets(problem: Problem) -> tuple[float, ...]:
    start = process_time()
    answers, P = METHODS["gssl, links as one"](problem, 0)
    seconds = process_time() - start
    truth = problem.truth[problem.test]
    return (*_set_scores(truth, np.asarray(P)[problem.test], answers[problem.test]), seconds)


def _set_scores(truth: np.ndarray, P: np.ndarray, said: np.ndarray) -> tuple[float, float, float, float]:
    """Return AP, micro and macro F1, and micro F1 if the number of labels of each node were known."""
    some = truth.any(axis=0)
    precision = average_precision_score(truth[:, some], P[:, some], average="macro")
    ranks = np.argsort(np.argsort(-P, axis=1), axis=1)
    top = (ranks < truth.sum(axis=1, keepdims=True)).astype(int)
    options: dict[str, Any] = {"zero_division": 0}
    micro, macro = (float(f1_score(truth, said, average=kind, **options)) for kind in ("micro", "macro"))
    return float(precision), micro, macro, float(f1_score(truth, top, average="micro", **options))
