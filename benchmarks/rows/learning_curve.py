"""How often the 90 % intervals of ``gssl.selection.learning_curve`` contain the accuracy of more labels.

From a random draw of labels, the curve predicts the accuracy of ``AutoClassifier`` with two and four times as
many; then it is fitted to that many and scored on all other nodes.
"""

from functools import partial

import numpy as np

import gssl
from benchmarks.row import Measured, Row
from gssl.selection import learning_curve

_GRAPHS = ("cora", "planetoid/citeseer", "graphs/cora_ml", "graphs/amazon_photo", "digits")
_PER_CLASS, _TIMES = 20, (1, 2, 4)


def rows(*, quick: bool) -> list[Row]:
    """Return a row for each graph."""
    draws = 1 if quick else 10
    return [
        Row(
            f"curve-{name.rpartition('/')[2]}",
            f"learning curve, {name}, {_PER_CLASS} labels per class, twice and four times it, {draws} draws",
            partial(_measure, name, draws),
            rival="the 90 % that the intervals promise",
            unit="of the intervals hold",
            at_least=0.9,
            limit="curves through resampled labels do not see labels that are yet to come",
            long=True,
        )
        for name in (_GRAPHS[:1] if quick else _GRAPHS)
    ]


def _measure(name: str, draws: int) -> Measured:
    # draws × numbers of labels × (accuracy, what the curve says, low, high)
    runs = np.array([_run(name, seed) for seed in range(draws)])
    truth, middle, low, high = np.moveaxis(runs, 2, 0)
    holds = (low <= truth) & (truth <= high)
    notes = [
        f"{times} times the labels: accuracy {100 * truth[:, k].mean():.1f}, curve says "
        f"{100 * middle[:, k].mean():.1f} ± {50 * (high - low)[:, k].mean():.1f}, holds in "
        f"{holds[:, k].sum()} of {draws}"
        for k, times in enumerate(_TIMES)
    ]
    return Measured((float(holds[:, 1:].mean()),), note="; ".join(notes))


def _run(name: str, seed: int) -> list[tuple[float, float, float, float]]:
    data = gssl.datasets.load(name)
    labels = np.asarray(data.labels)
    order = np.random.default_rng(seed).permutation(np.flatnonzero(labels >= 0))
    start, curve, points = _PER_CLASS * (int(labels.max()) + 1), None, []
    for n in (times * start for times in _TIMES):
        y = np.full(len(labels), -1)
        y[order[:n]] = labels[order[:n]]
        model = gssl.AutoClassifier().fit(data.features, y, adjacency=data.adjacency)
        curve = curve or learning_curve(model)
        rest = order[n:]
        points.append((float((model.transduction_[rest] == labels[rest]).mean()), *curve.at(n)))
    return points
