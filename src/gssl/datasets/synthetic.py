"""Random graphs with communities, hubs and informative features."""

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from gssl.datasets.dataset import Dataset, adjacency_from_edges, default_names, draw_split

_DEGREE_EXPONENT = 2.5  # degrees fall as d^-2.5, as in many citation and social graphs
_CENTRE_DISTANCE = 2.0  # between two class centres, in units of the noise around them
_WORDS_PER_NODE = 20
_TOPIC_SHARE = 0.3  # fraction of a node's words that come from its own class


def make_block_graph(
    n_nodes: int = 1000,
    n_edges: int = 5000,
    n_features: int = 64,
    n_classes: int = 5,
    *,
    homophily: float = 0.8,
    features: Literal["sparse", "dense"] = "sparse",
    random_state: Any = 0,
) -> Dataset:
    """Draw a degree-corrected block model: power-law degrees, equal classes, exactly ``n_edges`` edges.

    Parameters
    ----------
    n_nodes, n_edges, n_features, n_classes : int
        Sizes; edges are undirected and unique, without self-loops.
    homophily : float
        Fraction of the edges that join nodes of one class.
    features : {"sparse", "dense"}
        Binary words, some specific to a class, or Gaussian clouds around a centre per class (float32).
    random_state : int or numpy Generator
        Same seed, same graph.

    Examples
    --------
    >>> make_block_graph(random_state=0)
    Dataset('synthetic-1000', nodes=1000, edges=5000, features=64, classes=5, splits=default)
    """
    if not 0 <= homophily <= 1 or features not in ("sparse", "dense"):
        raise ValueError(
            f"homophily is {homophily} and features is {features!r}; give a fraction and 'sparse' or 'dense'."
        )
    if min(n_features, n_classes) < 1 or n_nodes < n_classes or n_edges < 0:
        raise ValueError(
            f"A graph cannot have {n_nodes} nodes, {n_edges} edges, {n_features} features and {n_classes} "
            "classes; give each class a node, and at least one feature."
        )
    rng = np.random.default_rng(random_state)
    labels = rng.permutation(np.arange(n_nodes) % n_classes)
    blocks = _Blocks(labels, n_classes, rng)
    n_inside = round(homophily * n_edges)
    # drawing the two kinds separately keeps the homophily exact when duplicates are replaced
    edges = np.concatenate(
        [blocks.edges(n_inside, inside=True), blocks.edges(n_edges - n_inside, inside=False)]
    )
    draw = _draw_words if features == "sparse" else _draw_clouds
    per_class = max(1, min(20, n_nodes // (4 * n_classes)))
    n_val = min(500, (n_nodes - per_class * n_classes) // 2)
    return Dataset(
        name=f"synthetic-{n_nodes}",
        adjacency=adjacency_from_edges(edges, n_nodes),
        features=draw(labels, n_features, n_classes, rng),
        labels=labels,
        node_ids=default_names(n_nodes),
        class_names=tuple(default_names(n_classes).tolist()),
        splits={"default": draw_split(labels, per_class, n_val, random_state=rng)},
    )


class _Blocks:
    """Nodes as intervals of a line, sorted by class, each as wide as its expected degree.

    A uniform point on the line samples a node by degree; a point in a class's interval, a node of that class.
    """

    def __init__(self, labels: NDArray[np.int64], n_classes: int, rng: np.random.Generator) -> None:
        self.n_nodes = labels.size
        self.order = np.argsort(labels, kind="stable")
        self.sizes = np.bincount(labels, minlength=n_classes)
        self.classes = labels[self.order]
        self.rng = rng
        widths = rng.pareto(_DEGREE_EXPONENT - 1, labels.size) + 1
        # without a limit, the expected degree of a node could exceed the number of nodes
        self.widths = np.minimum(widths, np.sqrt(labels.size))

    def edges(self, count: int, *, inside: bool) -> NDArray[np.int64]:
        """Draw ``count`` distinct edges within the classes, or between them."""
        pairs = int((self.sizes * (self.sizes - 1)).sum()) // 2
        if not inside:
            pairs = self.n_nodes * (self.n_nodes - 1) // 2 - pairs
        if 2 * count > pairs:
            kind = "inside the classes" if inside else "between classes"
            raise ValueError(
                f"{count} edges {kind} were asked for but there are {pairs} pairs of nodes to join; "
                "ask for at most half as many, or change the homophily."
            )
        keys = np.empty(0, dtype=np.int64)
        widths = self.widths
        while keys.size < count:
            missing = count - keys.size
            # later rounds use flatter degrees, because hubs run out of new neighbours first
            keys = np.concatenate([keys, self._draw(missing + missing // 8 + 64, widths, inside)])
            keys.sort()  # several times faster than np.unique, which hashes
            keys = keys[np.diff(keys, prepend=-1) > 0]
            widths = np.sqrt(widths)
        keys = self.rng.choice(keys, count, replace=False, shuffle=False)
        return np.column_stack(np.divmod(keys, self.n_nodes))

    def _draw(self, count: int, widths: NDArray[np.float64], inside: bool) -> NDArray[np.int64]:
        ends = np.cumsum(widths)
        class_ends = ends[np.cumsum(self.sizes) - 1]
        class_starts = np.concatenate([[0.0], class_ends[:-1]])
        first = self._nodes_at(self.rng.random(count) * ends[-1], ends)
        start, end = class_starts[self.classes[first]], class_ends[self.classes[first]]
        if inside:
            points = start + self.rng.random(count) * (end - start)
        else:
            points = self.rng.random(count) * (ends[-1] - (end - start))
            points += np.where(points >= start, end - start, 0)
        second = self._nodes_at(points, ends)
        # rounding can move a point across the border of an interval
        kept = (first != second) & ((self.classes[first] == self.classes[second]) == inside)
        u, v = self.order[first[kept]], self.order[second[kept]]
        keys: NDArray[np.int64] = np.minimum(u, v) * self.n_nodes + np.maximum(u, v)
        return keys

    def _nodes_at(self, points: NDArray[np.float64], ends: NDArray[np.float64]) -> NDArray[np.int64]:
        return np.minimum(np.searchsorted(ends, points, side="right"), self.n_nodes - 1)


def _draw_words(
    labels: NDArray[np.int64], n_features: int, n_classes: int, rng: np.random.Generator
) -> csr_array:
    shape = (labels.size, min(_WORDS_PER_NODE, n_features))
    topic_size = max(1, n_features // n_classes)
    topic_words = (labels[:, None] * topic_size + rng.integers(topic_size, size=shape)) % n_features
    words = np.where(rng.random(shape) < _TOPIC_SHARE, topic_words, rng.integers(n_features, size=shape))
    rows = np.repeat(np.arange(labels.size), shape[1])
    ones = np.ones(words.size, dtype=np.float32)
    matrix = csr_array((ones, (rows, words.ravel())), shape=(labels.size, n_features))
    matrix.data[:] = 1.0
    return matrix


def _draw_clouds(
    labels: NDArray[np.int64], n_features: int, n_classes: int, rng: np.random.Generator
) -> NDArray[np.float32]:
    centres = rng.standard_normal((n_classes, n_features), dtype=np.float32)
    centres *= np.float32(_CENTRE_DISTANCE / np.sqrt(2 * n_features))
    features = rng.standard_normal((labels.size, n_features), dtype=np.float32)
    for label, centre in enumerate(centres):
        features[labels == label] += centre
    return features
