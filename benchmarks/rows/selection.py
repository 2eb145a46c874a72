"""Model selection by AutoClassifier against fitting one model."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from statistics import median
from time import perf_counter

import numpy as np
from scipy.sparse import coo_array, csr_array, random_array

import gssl
from benchmarks.entry import Figure, Reading
from benchmarks.measure import interleaved, seconds
from gssl.datasets import Dataset, draw_split, load

# the number of repeats; only one if a fit takes more than this many seconds
_REPEATS, _LONG = 3, 20.0
_LIMIT = "trials, folds and rounds of self-training are many calls of milliseconds"


@dataclass(frozen=True)
class Task:
    """A graph and its given labels."""

    data: Dataset
    y: np.ndarray

    def accuracy(self, predicted: np.ndarray) -> float:
        """Return the percentage of nodes without a given label that are predicted correctly."""
        asked = (self.data.labels >= 0) & (self.y < 0)
        return float(100 * (predicted == self.data.labels)[asked].mean())


def entries(*, quick: bool) -> list[Figure]:
    """Return the cost of model selection on small and large graphs, with few and many labels."""
    tasks: dict[str, tuple[Callable[[], Task], float]] = {
        "cora-140": (partial(_public, "cora", ("train",)), 4.0),
        "cora-640": (partial(_public, "cora", ("train", "val")), 4.0),
        "pubmed-60": (partial(_public, "pubmed", ("train",)), 4.0),
        "pubmed-560": (partial(_public, "pubmed", ("train", "val")), 4.0),
        "coauthor_cs-300": (partial(_drawn, "coauthor_cs", 20), 4.0),
        "coauthor_cs-5000": (partial(_drawn, "coauthor_cs", 333), 6.0),
        "wordnet_nouns-520": (partial(_drawn, "wordnet_nouns", 20), 4.0),
        "synthetic-118k-900": (draw_wide, 4.0),
    }
    return [
        Figure(
            f"selection-{name}",
            f"AutoClassifier(), {name} labels: its fit in fits of GGCM(depth=16) + logistic",
            partial(_measure, make),
            unit="×",
            at_most=goal,
            limit=_LIMIT,
        )
        for name, (make, goal) in tasks.items()
        if not quick or name.startswith("cora")
    ]


def _public(name: str, parts: tuple[str, ...]) -> Task:
    data = load(f"planetoid/{name}").normalized()
    return Task(data, data.mask_labels("public", parts))


def _drawn(name: str, per_class: int) -> Task:
    data = load(f"graphs/{name}").normalized()
    # at most half of the nodes of the smallest class; the rest is drawn at random
    smallest = int(np.bincount(data.labels[data.labels >= 0]).min()) // 2
    train = draw_split(data.labels, min(per_class, smallest), random_state=0)["train"]
    if per_class > smallest:
        rng, total = np.random.default_rng(0), per_class * data.n_classes
        rest = np.setdiff1d(np.flatnonzero(data.labels >= 0), train)
        train = np.concatenate([train, rng.permutation(rest)[: total - len(train)]])
    return Task(data, _labels_of(data, train))


def draw_wide() -> Task:
    """Return 118,000 nodes, 190,000 links, 15,000 sparse features and 45 classes with 20 labels each."""
    rng = np.random.default_rng(0)
    n, m, d, c = 118_000, 190_000, 15_000, 45
    labels = rng.integers(c, size=n)
    order = np.argsort(labels, kind="stable")
    starts = np.searchsorted(labels[order], np.arange(c + 1))
    u = rng.integers(n, size=m)
    own = labels[u]
    v = order[starts[own] + (rng.random(m) * (starts[own + 1] - starts[own])).astype(np.int64)]
    v = np.where(rng.random(m) < 0.7, v, rng.integers(n, size=m))
    words = random_array((n, d), density=10 / d, random_state=rng, format="coo", dtype=np.float32)
    block = d // c
    theme = labels[words.row] * block + words.col % block
    columns = np.where(rng.random(words.nnz) < 0.3, theme, words.col)
    edges = np.unique(np.sort(np.stack([u, v], axis=1)[u != v], axis=1), axis=0)
    A = _adjacency(edges, n)
    X = csr_array(coo_array((np.ones(words.nnz, np.float32), (words.row, columns)), shape=(n, d)))
    names = np.arange(n).astype(str), tuple(str(k) for k in range(c))
    data = Dataset("synthetic", A, X, labels, *names, splits={})
    return Task(data, _labels_of(data, draw_split(labels, 20, random_state=0)["train"]))


def _adjacency(edges: np.ndarray, n: int) -> csr_array:
    u, v = edges.T
    both = np.concatenate([u, v]), np.concatenate([v, u])
    return csr_array(coo_array((np.ones(2 * len(u), np.float32), both), shape=(n, n)))


def _labels_of(data: Dataset, train: np.ndarray) -> np.ndarray:
    y = np.full(data.n_nodes, -1)
    y[train] = data.labels[train]
    return y


def _measure(make: Callable[[], Task]) -> Reading:
    task = make()
    data, y = task.data, task.y

    def auto() -> gssl.AutoClassifier:
        return gssl.AutoClassifier().fit(data.features, y, adjacency=data.adjacency)

    def single() -> gssl.EmbeddingClassifier:
        model = gssl.EmbeddingClassifier(gssl.GGCM(), head="logistic")
        return model.fit(data.features, y, adjacency=data.adjacency)

    chosen = auto()
    start = perf_counter()
    alone = single()  # after auto(), so everything is compiled
    repeats = 1 if perf_counter() - start > _LONG else _REPEATS
    times = interleaved({"auto": auto, "single": single}, repeats)
    ratios = [ours / theirs for ours, theirs in zip(times["auto"], times["single"], strict=True)]
    accuracies = [task.accuracy(model.transduction_) for model in (chosen, alone)]
    note = (
        f"{len(chosen.leaderboard_)} models; median of {repeats} ratios {median(ratios):.1f}; "
        f"{accuracies[0]:.1f} % against {accuracies[1]:.1f} % right"
    )
    return Reading(ratios, seconds(times["auto"]), f"GGCM: {seconds(times['single'])}", note)
