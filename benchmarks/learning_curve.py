"""``python -m benchmarks.learning_curve``: whether intervals of the learning curve contain the truth.

From a random draw of labels, ``gssl.selection.learning_curve`` predicts the accuracy of ``AutoClassifier``
with two and four times as many; then it is fitted to that many labels and scored on all other nodes.
"""

from typing import Any

import click
import numpy as np

import gssl
from gssl.selection import learning_curve

GRAPHS = "cora,planetoid/citeseer,graphs/cora_ml,graphs/amazon_photo,digits"


def measure(name: str, per_class: int, seed: int) -> list[dict[str, Any]]:
    """Return a row for each number of labels."""
    data = gssl.datasets.load(name)
    labels = np.asarray(data.labels)
    known = np.flatnonzero(labels >= 0)
    order = np.random.default_rng(seed).permutation(known)
    start = per_class * (int(labels.max()) + 1)
    curve = None
    rows = []
    for n in (start, 2 * start, 4 * start):
        y = np.full(len(labels), -1)
        y[order[:n]] = labels[order[:n]]
        model = gssl.AutoClassifier().fit(data.features, y, adjacency=data.adjacency)
        if curve is None:
            try:
                curve = learning_curve(model)
            except ValueError as error:
                click.echo(f"{name}, draw {seed}: {error}", err=True)
                return []
        rest = order[n:]
        truth = float((model.transduction_[rest] == labels[rest]).mean())
        middle, low, high = curve.at(n)
        rows.append(
            {
                "graph": name,
                "labels": n,
                "times": n // start,
                "truth": truth,
                "predicted": (middle, low, high),
            }
        )
    return rows


@click.command()
@click.option("--graphs", default=GRAPHS, show_default=True)
@click.option("--per-class", default=20, show_default=True, help="Labels at the start, on average.")
@click.option("--draws", default=4, show_default=True)
def main(graphs: str, per_class: int, draws: int) -> None:
    """Compare what the curve says with what more labels bring."""
    rows = [
        row for name in graphs.split(",") for seed in range(draws) for row in measure(name, per_class, seed)
    ]
    click.echo("| graph | labels | times the labels | accuracy | curve says | half width | holds |")
    click.echo("|---|---|---|---|---|---|---|")
    for graph, times in dict.fromkeys((row["graph"], row["times"]) for row in rows):
        part = [row for row in rows if (row["graph"], row["times"]) == (graph, times)]
        predicted = np.array([row["predicted"] for row in part])
        truth = np.array([row["truth"] for row in part])
        holds = int(((predicted[:, 1] <= truth) & (truth <= predicted[:, 2])).sum())
        width = 50 * (predicted[:, 2] - predicted[:, 1]).mean()
        click.echo(
            f"| {graph} | {part[0]['labels']:,} | {times} | {100 * truth.mean():.1f} | "
            f"{100 * predicted[:, 0].mean():.1f} | ± {width:.1f} | {holds} of {len(part)} |"
        )
    for times in (2, 4):
        part = [row for row in rows if row["times"] == times]
        inside = [row["predicted"][1] <= row["truth"] <= row["predicted"][2] for row in part]
        click.echo(f"with {times} times the labels the interval holds in {np.mean(inside):.0%} of the draws")


if __name__ == "__main__":
    main(prog_name="python -m benchmarks.learning_curve")
