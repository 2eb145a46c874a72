"""Choosing among many models against fitting one of them."""

from functools import partial
from statistics import median

import gssl
from benchmarks import graphs
from benchmarks.entry import Figure, Reading
from benchmarks.measure import interleaved, seconds

# the parts whose labels are given: 60 labels of Pubmed, or 560
_BUDGETS = {"train": ("train",), "train+validation": ("train", "val")}


def entries(*, quick: bool) -> list[Figure]:
    """Give the cost of a whole selection at two label budgets; the goal is for Pubmed."""
    name, repeats = ("cora", 3) if quick else ("pubmed", 5)
    return [
        Figure(
            f"selection-{name}-{budget}",
            f"AutoClassifier(), {name}, {budget} labels: its fit in fits of GGCM(depth=16) + logistic",
            partial(_measure, name, parts, repeats),
            unit="×",
            at_most=None if quick else 3.0,
        )
        for budget, parts in _BUDGETS.items()
    ]


def _measure(name: str, parts: tuple[str, ...], repeats: int) -> Reading:
    task = graphs.citation(name)
    data, y = task.data, task.data.mask_labels("public", parts)

    def auto() -> gssl.AutoClassifier:
        return gssl.AutoClassifier().fit(data.features, y, adjacency=data.adjacency)

    def single() -> gssl.EmbeddingClassifier:
        model = gssl.EmbeddingClassifier(gssl.GGCM(), head="logistic")
        return model.fit(data.features, y, adjacency=data.adjacency)

    chosen, alone = auto(), single()  # everything is compiled now
    times = interleaved({"auto": auto, "single": single}, repeats)
    ratios = [ours / theirs for ours, theirs in zip(times["auto"], times["single"], strict=True)]
    accuracies = [task.accuracy(model.transduction_) for model in (chosen, alone)]
    note = (
        f"{len(chosen.leaderboard_)} filters and heads; median of {repeats} ratios {median(ratios):.1f}; "
        f"{accuracies[0]:.1f} % against {accuracies[1]:.1f} % right"
    )
    return Reading(ratios, seconds(times["auto"]), f"GGCM: {seconds(times['single'])}", note)
