"""Planted label errors, ranked by ``gssl.audit`` and by cleanlab from the same held-out distributions."""

import warnings
from functools import partial
from typing import Any

import numpy as np
from sklearn.metrics import average_precision_score

import gssl
from benchmarks.row import Measured, Row
from gssl.evaluation import held_out_distributions

_GRAPHS = ("cora", "graphs/cora_ml", "graphs/amazon_photo", "digits")
_SCORES = ("self_confidence", "normalized_margin", "confidence_weighted_entropy")


def rows(*, quick: bool) -> list[Row]:
    """Return a row for each graph, number of labels per class and part of them that is wrong."""
    cells = [(graph, size, rate) for graph in _GRAPHS for size in (20, 50, 100) for rate in (0.05, 0.1)]
    return [
        Row(
            f"audit-{graph.removeprefix('graphs/')}-{size}-{round(100 * rate)}",
            f"gssl.audit: average precision, {graph}, {size} labels per class, {rate:.0%} of them wrong",
            partial(_measure, graph, size, rate, 1 if quick else 3),
            rival=f"cleanlab, {_SCORES[0]}, the same held-out distributions",
            package="cleanlab",
            at_least=1.0,
            limit="what the model says about labels that it does not see",
            long=True,
        )
        for graph, size, rate in (cells[:1] if quick else cells)
    ]


def planted(labels: np.ndarray, per_class: int, rate: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw labels, at most half of a class, and make some of them wrong; return y and the wrong nodes."""
    rng = np.random.default_rng([seed, per_class, round(100 * rate)])
    y, c = np.full(len(labels), -1), int(labels.max()) + 1
    for code in range(c):
        members = rng.permutation(np.flatnonzero(labels == code))
        y[members[: min(per_class, len(members) // 2)]] = code
    labelled = np.flatnonzero(y != -1)
    wrong = rng.choice(labelled, round(rate * len(labelled)), replace=False)
    y[wrong] = (y[wrong] + rng.integers(1, c, len(wrong))) % c
    return y, np.sort(wrong)


def quality(doubt: np.ndarray, wrong: np.ndarray) -> tuple[float, float]:
    """Return average precision, and recall at k, where k is the number of wrong labels."""
    first = np.argsort(-doubt, kind="stable")[: wrong.sum()]
    return float(average_precision_score(wrong, doubt)), float(wrong[first].mean())


def _measure(name: str, per_class: int, rate: float, seeds: int) -> Measured:
    runs = [_run(name, per_class, rate, seed) for seed in range(seeds)]
    mean = {key: np.mean([run[key] for run in runs], axis=0) for key in runs[0]}
    ours, theirs, *others = (f"AP {100 * mean[key][0]:.1f}, recall {100 * mean[key][1]:.1f}"
                             for key in ("gssl", *_SCORES))  # fmt: skip
    inside = sum(low <= run["planted"] <= high for run in runs for low, high in [run["interval"]])
    note = (
        f"planted {mean['planted']:.0f}, gssl expects {mean['expected']:.0f} (interval holds in {inside} of "
        f"{seeds}), cleanlab counts {mean['issues']:.0f}; "
    ) + "; ".join(f"{score}: {text}" for score, text in zip(_SCORES[1:], others, strict=True))
    return Measured(tuple(run["gssl"][0] / run[_SCORES[0]][0] for run in runs), ours, theirs, note)


def _run(name: str, per_class: int, rate: float, seed: int) -> dict[str, Any]:
    """Plant label errors, fit, and rank the labels by gssl and by cleanlab."""
    from cleanlab.filter import find_label_issues
    from cleanlab.rank import get_label_quality_scores

    data = gssl.datasets.load(name)
    y, nodes = planted(data.labels, per_class, rate, seed)
    model = gssl.AutoClassifier().fit(data.features, y, adjacency=data.adjacency)
    held = held_out_distributions(model, data.features, data.adjacency)
    report = gssl.audit(model, changes=0)
    order = np.empty(len(report))
    order[np.searchsorted(held.nodes, report.nodes)] = -np.arange(len(report))
    wrong = np.isin(held.nodes, nodes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        issues = int(find_label_issues(held.codes, held.distributions).sum())
        scores = {each: get_label_quality_scores(held.codes, held.distributions, method=each)
                  for each in _SCORES}  # fmt: skip
    counts = {"planted": int(wrong.sum()), "expected": report.expected_wrong, "issues": issues}
    rivals = {each: quality(-score, wrong) for each, score in scores.items()}
    return counts | {"interval": report.interval, "gssl": quality(order, wrong), **rivals}
