"""Typed and directed links: models that tell them apart beside the same models on all links as one."""

from dataclasses import replace
from time import process_time

import numpy as np

from benchmarks.accuracy.tables import Grid
from benchmarks.leaderboard.methods import AUTO, METHODS
from benchmarks.leaderboard.problems import Problem, Task, list_tasks, load_problem, score
from gssl.graph import check_adjacency
from gssl.graph.adjacency import relations_of

# with so few relations, each is also tried alone
_TRIED_ALONE = 2


def relation_grid(draws: range) -> Grid:
    """Return scores on test nodes with links told apart, as one, and by the best relation alone."""
    headings = ("graph", "split", "score", "told apart", "all as one", "best alone", "seconds, × as one")
    records: dict[tuple[str, str, str], list[tuple[float, ...]]] = {}
    tasks = [task for task in list_tasks(draws.stop) if task.name.startswith("relations/")]
    tasks += [Task("relations/ud_ewt", "50 %", draw) for draw in draws if draw]
    for task in tasks:
        if task.draw and task.draw not in draws:
            continue
        problem = load_problem(task)
        apart, seconds = _run(problem)
        union, plain = _run(replace(problem, adjacency=problem.union))
        relations = relations_of(problem.adjacency)
        alone = [
            _run(replace(problem, adjacency=check_adjacency(relation)))[0]
            for relation in (relations.values() if 1 < len(relations) <= _TRIED_ALONE else ())
        ]
        for measure in ("micro F1", "macro F1") if task.name == "relations/imdb" else (problem.measure,):
            best = max((scores[measure] for scores in alone), default=np.nan)
            row = apart[measure], union[measure], best, seconds, seconds / plain
            records.setdefault((task.name.split("/")[1], task.budget, measure), []).append(row)
    rows = []
    for key, values in records.items():
        *scores, seconds, ratio = np.mean(values, axis=0)
        texts = (f"{value:.1f}" if np.isfinite(value) else "–" for value in scores)
        rows.append((*key, *texts, f"{seconds:.1f}, {ratio:.1f}"))
    return Grid("Typed and directed links", headings, tuple(rows))


def _run(problem: Problem) -> tuple[dict[str, float], float]:
    start = process_time()
    answers, beliefs = METHODS[AUTO](problem, 0)
    seconds = process_time() - start
    return score(problem, answers, beliefs), seconds
