"""``python -m benchmarks.audit``: detection of planted label errors, compared with cleanlab.

Labels are drawn at random, some of them are changed to another class, and ``AutoClassifier`` is fitted.
``gssl.audit`` and cleanlab rank the labels; cleanlab uses the model's held-out distributions.
"""

import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import numpy as np
from sklearn.metrics import average_precision_score

import gssl
from gssl.evaluation import held_out_distributions

GRAPHS = "cora,graphs/cora_ml,graphs/amazon_photo,digits"
_SCORES = ("self_confidence", "normalized_margin", "confidence_weighted_entropy")


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


def measure(name: str, per_class: int, rate: float, seed: int) -> dict[str, Any]:
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
        rivals = {
            score: quality(-get_label_quality_scores(held.codes, held.distributions, method=score), wrong)
            for score in _SCORES
        }
    row = {"graph": name, "per_class": per_class, "rate": rate, "seed": seed}
    counts = {"planted": int(wrong.sum()), "expected": report.expected_wrong, "cleanlab_issues": issues}
    return row | counts | {"interval": report.interval, "gssl": quality(order, wrong), **rivals}


def table(rows: list[dict[str, Any]]) -> Iterator[str]:
    """Yield the lines of a Markdown table of means over seeds."""
    heads = ("graph", "labels per class", "wrong", "AP gssl", "AP cleanlab", "recall gssl", "recall cleanlab")
    heads += ("planted", "gssl expects", "cleanlab counts")
    yield f"| {' | '.join(heads)} |"
    yield "|" + "---|" * len(heads)
    cells = dict.fromkeys((row["graph"], row["per_class"], row["rate"]) for row in rows)
    for graph, per_class, rate in [*cells, ("mean", "", "")]:
        cell = (graph, per_class, rate)
        part = [
            row for row in rows if graph == "mean" or (row["graph"], row["per_class"], row["rate"]) == cell
        ]
        mean = {key: np.mean([row[key] for row in part], axis=0) for key in ("gssl", _SCORES[0])}
        counts = [np.mean([row[key] for row in part]) for key in ("planted", "expected", "cleanlab_issues")]
        shares = [mean["gssl"][0], mean[_SCORES[0]][0], mean["gssl"][1], mean[_SCORES[0]][1]]
        wrong = f"{rate:.0%}" if rate else ""
        yield (
            f"| {graph} | {per_class} | {wrong} | "
            + " | ".join(f"{100 * s:.1f}" for s in shares)
            + (" | " + " | ".join(f"{count:.0f}" for count in counts) + " |")
        )


@click.command()
@click.option("--graphs", default=GRAPHS, show_default=True)
@click.option("--per-class", default="20,50,100", show_default=True)
@click.option("--rates", default="0.05,0.1", show_default=True, help="Parts of the labels that are wrong.")
@click.option("--seeds", default=3, show_default=True)
@click.option("--records", type=click.Path(path_type=Path), help="A .jsonl file to add rows to.")
def main(graphs: str, per_class: str, rates: str, seeds: int, records: Path | None) -> None:
    """Plant wrong labels and compare how well they are found."""
    rows = []
    for name in graphs.split(","):
        for size in map(int, per_class.split(",")):
            for rate in map(float, rates.split(",")):
                for seed in range(seeds):
                    rows.append(measure(name, size, rate, seed))
                    if records is not None:
                        with records.open("a", encoding="utf-8") as stream:
                            stream.write(json.dumps(rows[-1]) + "\n")
    click.echo("\n".join(table(rows)))
    for score in _SCORES:
        precision, recall = np.mean([row[score] for row in rows], axis=0)
        click.echo(f"cleanlab, {score}: AP {100 * precision:.1f}, recall {100 * recall:.1f}")
    inside = np.mean([row["interval"][0] <= row["planted"] <= row["interval"][1] for row in rows])
    click.echo(f"intervals of gssl that hold the planted number: {inside:.0%}")


if __name__ == "__main__":
    main(prog_name="python -m benchmarks.audit")
