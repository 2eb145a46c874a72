"""Which nodes to label next: uncertain nodes that are similar to many other uncertain nodes."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from gssl.frames import Tabular
from gssl.graph import check_adjacency
from gssl.methods import SSGC
from gssl.methods.inputs import check_features, ids_of_fit
from gssl.methods.labels import UNLABELLED
from gssl.methods.regressor import GraphRegressor
from gssl.methods.state import current
from gssl.operators import multiply
from gssl.selection.node_order import node_keys, spread_nodes
from gssl.wording import counted, write_probability, write_range

# columns of the random projection: the error of cosines is about 1/16
_COLUMNS = 256
# sample size: unlabelled nodes considered as picks and counted as covered
_MOST_COMPARED = 6000
_SEED = 0
_BLOCK = 512
# smaller values are rounding errors
_NOTHING = 1e-6
# unsure labels to name
_NAMED = 2


def smoothed_signature(X: Any, A: csr_array) -> np.ndarray:
    r"""Return a short row of unit length per node that approximates the cosines of smoothed features.

    .. math:: U = f(\hat A)\, X R
    """
    rng = np.random.default_rng(_SEED)
    n = A.shape[0]
    if X is None or not X.shape[1]:
        V = np.empty((n, _COLUMNS), dtype=np.float32)
        V[np.argsort(node_keys(np.empty((n, 0)), A), kind="stable")] = rng.standard_normal(
            (n, _COLUMNS), dtype=np.float32
        )
    elif X.shape[1] <= _COLUMNS:
        V = (X.toarray() if hasattr(X, "toarray") else np.array(X)).astype(np.float32)
    else:
        R = rng.standard_normal((X.shape[1], _COLUMNS), dtype=np.float32)
        V = multiply(X.astype(np.float32), R)
    smoother = SSGC(depth=8)
    return unit_rows(smoother._apply(V, smoother._filters(A, np.float32)))


def unit_rows(U: np.ndarray) -> np.ndarray:
    """Scale rows to unit length, except rows of zeros."""
    lengths = np.linalg.norm(U, axis=1, keepdims=True)
    return np.asarray(np.divide(U, lengths, out=np.zeros_like(U), where=lengths > 0))


def cover(U: np.ndarray, u: np.ndarray, labelled: np.ndarray, n: int) -> tuple[list[int], list[int]]:
    """Pick nodes greedily by the equation of :func:`suggest`; return them and how many each covers."""
    open_nodes = np.setdiff1d(np.arange(len(u)), labelled)
    # both the candidates and the nodes they may cover
    projected = U[open_nodes].astype(np.float64) @ np.random.default_rng(_SEED).standard_normal(U.shape[1])
    nodes = open_nodes[spread_nodes(projected, _MOST_COMPARED)]
    share = len(open_nodes) / max(1, len(nodes))
    V, u = U[nodes], u[nodes]
    weights = u.astype(np.float32)
    covered = np.zeros(len(nodes), dtype=np.float32)
    for start in range(0, len(labelled), _BLOCK):
        similarity = likeness(V, U[labelled[start : start + _BLOCK]])
        covered = np.maximum(covered, similarity.max(axis=1, initial=0.0))

    def added(part: np.ndarray) -> np.ndarray:
        """Return how much each candidate would improve the cover of the other nodes."""
        new = np.maximum(likeness(V, V[part]) - covered[:, None], 0.0)
        new[part, np.arange(len(part))] = 0.0
        return np.asarray(new)

    # gains can only shrink as nodes are picked, so old values are upper bounds
    parts = np.split(np.arange(len(nodes)), range(_BLOCK, len(nodes), _BLOCK))
    gains = u * np.concatenate([weights @ added(part) for part in parts])
    picks: list[int] = []
    counts: list[int] = []
    while len(picks) < n and len(gains) and gains.max() > _NOTHING:
        best = int(gains.argmax())
        new = added(np.array([best]))[:, 0]
        gains[best] = u[best] * float(weights @ new)
        # tolerance: rounding may make a bound slightly too low
        if gains[best] < np.delete(gains, best).max(initial=0.0) * (1.0 - 1e-6):
            continue
        if gains[best] > _NOTHING:
            picks.append(int(nodes[best]))
            counts.append(round(share * np.count_nonzero(new > _NOTHING)))
            covered = np.maximum(covered, likeness(V, V[[best]])[:, 0])
        gains[best] = 0.0
    return picks, counts


def likeness(U: np.ndarray, V: np.ndarray) -> np.ndarray:
    """Return the fourth power of the positive cosines of unit rows, so that distant nodes hardly count."""
    K = np.maximum(U @ V.T, 0.0)
    # squaring twice is ten times as fast as a power
    np.square(K, out=K)
    return np.asarray(np.square(K, out=K))


def _similar(count: int) -> str:
    return f"like {counted(count, 'other node')}"


@dataclass(frozen=True)
class Suggestion:
    """A node whose label would help.

    Attributes
    ----------
    node : int
    label, runner_up : the two most probable classes
    confidence : float
        The probability of ``label``.
    margin : float
        How much more probable it is than ``runner_up``.
    speaks_for : int
        How many unlabelled nodes are more similar to this node than to any labelled node or earlier
        suggestion; an estimate for large graphs.
    """

    node: int
    label: Any
    runner_up: Any
    confidence: float
    margin: float
    speaks_for: int

    @property
    def why(self) -> str:
        """The reason in a sentence."""
        return (
            f"{self.label} ({write_probability(self.confidence)}) or {self.runner_up} "
            f"({write_probability(self.confidence - self.margin)}); {_similar(self.speaks_for)}"
        )


@dataclass(frozen=True)
class NumberSuggestion:
    """A node whose number would help.

    Attributes
    ----------
    node : int
    value, low, high : float
        The prediction and its interval.
    speaks_for : int
        As for :class:`Suggestion`.
    """

    node: int
    value: float
    low: float
    high: float
    speaks_for: int

    @property
    def why(self) -> str:
        """The reason in a sentence."""
        return f"{write_range(self.low, self.high)}; {_similar(self.speaks_for)}"


@dataclass(frozen=True)
class SetSuggestion:
    """A node whose labels would help.

    Attributes
    ----------
    node : int
    labels : tuple
        The labels that the model predicts.
    unsure : tuple of (label, float)
        The labels whose probabilities are nearest to one half.
    speaks_for : int
        As for :class:`Suggestion`.
    """

    node: int
    labels: tuple[Any, ...]
    unsure: tuple[tuple[Any, float], ...]
    speaks_for: int

    @property
    def why(self) -> str:
        """The reason in a sentence."""
        unsure = ", ".join(f"{label} ({write_probability(p)})" for label, p in self.unsure)
        return f"{unsure}; {_similar(self.speaks_for)}"


class Suggestions(list[Any], Tabular):
    """Nodes to label next, the most useful first.

    Attributes
    ----------
    node_ids : ndarray of shape (n,), or None
        The ids of all nodes, if the problem is known.
    """

    def __init__(
        self,
        picks: "Iterable[Suggestion | NumberSuggestion | SetSuggestion]" = (),
        node_ids: np.ndarray | None = None,
    ) -> None:
        super().__init__(picks)
        self.node_ids = node_ids

    @property
    def ids(self) -> list[str]:
        """The ids of the suggested nodes; their numbers, as text, if the problem is not known."""
        return [str(one.node if self.node_ids is None else self.node_ids[one.node]) for one in self]

    def to_dict(self) -> dict[str, list[Any]]:
        """Return a dict of columns; ``label``, ``labels`` or ``value`` is empty, for a person to fill in."""
        if any(isinstance(one, SetSuggestion) for one in self):
            return {
                "id": self.ids,
                "labels": [""] * len(self),
                "model_says": ["; ".join(map(str, one.labels)) for one in self],
                "unsure": ["; ".join(str(label) for label, _ in one.unsure) for one in self],
                "speaks_for": [one.speaks_for for one in self],
                "why": [one.why for one in self],
            }
        if any(isinstance(one, NumberSuggestion) for one in self):
            return {
                "id": self.ids,
                "value": [""] * len(self),
                "model_says": [one.value for one in self],
                "low": [one.low for one in self],
                "high": [one.high for one in self],
                "speaks_for": [one.speaks_for for one in self],
                "why": [one.why for one in self],
            }
        return {
            "id": self.ids,
            "label": [""] * len(self),
            "model_says": [str(one.label) for one in self],
            "confidence": [one.confidence for one in self],
            "runner_up": [str(one.runner_up) for one in self],
            "speaks_for": [one.speaks_for for one in self],
            "why": [one.why for one in self],
        }


def suggest(
    model: Any, n: int = 20, *, X: Any = None, adjacency: Any = None, problem: Any = None
) -> np.ndarray:
    r"""Choose a batch of nodes to label next, the most useful first.

    .. math:: j^* = \arg\max_j\; u_j \sum_{i \ne j} u_i\, [K_{ij} - \max_{l \in L} K_{il}]_+, \qquad
              K_{ij} = \max(0, \cos(U_i, U_j))^4

    The uncertainty u is 1 minus the difference of the two largest probabilities; of numbers, the width of the
    interval, and of several labels per node, the mean of 4p(1 − p). The sum is large if j is
    similar to many uncertain nodes (representativeness) that are not yet similar to a labelled node or an
    earlier pick, both in L (diversity). It excludes j itself, so an outlier is not picked. U are smoothed
    features or, without features, smoothed random vectors, so the classifier needs no embedding.

    Parameters
    ----------
    model : fitted classifier
    n : int, default=20
        Maximum number of nodes; fewer if no other node would help.
    X, adjacency : optional
        The features and the graph of fit. Required only for a model that was saved without them; otherwise
        they replace those that the model holds.
    problem : Problem, optional
        That of fit (:func:`gssl.read`), in place of both.

    Returns
    -------
    int ndarray, or object ndarray of str
        Unlabelled nodes: their ids if the problem is given, else their numbers. The result is deterministic.

    Examples
    --------
    >>> import gssl
    >>> data = gssl.datasets.load("karate")
    >>> y = data.mask_labels("default")
    >>> model = gssl.LabelPropagation().fit(None, y, adjacency=data.adjacency)
    >>> picks = gssl.suggest(model, 3)
    >>> len(picks), bool((y[picks] == -1).all())
    (3, True)
    """
    picks = suggestions(model, n, X=X, adjacency=adjacency, problem=problem)
    if problem is not None:
        return np.array(picks.ids, dtype=object)
    return np.array([one.node for one in picks], dtype=np.int64)


def suggestions(
    model: Any,
    n: int = 20,
    *,
    X: Any = None,
    adjacency: Any = None,
    problem: Any = None,
    signature: np.ndarray | None = None,
) -> Suggestions:
    """Choose nodes as :func:`suggest` does, and give reasons.

    Parameters
    ----------
    model : fitted classifier
    n : int, default=20
    X, adjacency : optional
        The features and the graph of fit, for a model loaded from a file.
    problem : Problem, optional
        That of fit, in place of both; its ids name the suggested nodes.
    signature : ndarray of shape (n, k), optional
        The result of ``smoothed_signature`` for both, if already known.

    Returns
    -------
    Suggestions
        A list of :class:`Suggestion` that converts to data frames.

    Examples
    --------
    >>> import gssl
    >>> data = gssl.datasets.load("karate")
    >>> y = data.mask_labels("default")
    >>> model = gssl.LabelPropagation().fit(None, y, adjacency=data.adjacency)
    >>> first = suggestions(model, 1)[0]
    >>> first.why
    '0 (69 %) or 1 (31 %); like 7 other nodes'
    """
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
        raise ValueError(f"n is how many nodes to suggest, a whole number from 1 on, not {n!r}.")
    model = current(model)
    ids = ids_of_fit(model, problem)
    if problem is not None:
        X = problem.features if X is None else X
        adjacency = problem.adjacency if adjacency is None else adjacency
    if isinstance(model, GraphRegressor):
        return _number_suggestions(model, int(n), X, adjacency, ids, signature)
    if hasattr(model, "label_sets_"):
        return _set_suggestions(model, int(n), X, adjacency, ids, signature)
    # in the precision of a saved model, so that it suggests the same nodes
    P = np.asarray(model.label_distributions_, dtype=np.float32).astype(np.float64)
    if signature is None:
        signature = smoothed_signature(*_inputs(model, X, adjacency))
    order = np.argsort(-P, axis=1, kind="stable")[:, :2]
    best, second = np.take_along_axis(P, order, axis=1).T
    labelled = np.flatnonzero(model.fit_codes != UNLABELLED)
    picks, counts = cover(signature, 1.0 - (best - second), labelled, int(n))
    found = [
        Suggestion(
            node=int(j),
            label=model.classes_[order[j, 0]],
            runner_up=model.classes_[order[j, 1]],
            confidence=float(best[j]),
            margin=float(best[j] - second[j]),
            speaks_for=count,
        )
        for j, count in zip(picks, counts, strict=True)
    ]
    return Suggestions(found, ids)


def _number_suggestions(
    model: Any, n: int, X: Any, adjacency: Any, ids: np.ndarray | None, signature: np.ndarray | None
) -> Suggestions:
    """Choose nodes whose intervals are wide, by the same equation."""
    if signature is None:
        signature = smoothed_signature(*_inputs(model, X, adjacency))
    low, high = model.intervals_.astype(np.float32).astype(np.float64).T
    width = high - low
    labelled = np.flatnonzero(model.fit_codes != UNLABELLED)
    picks, counts = cover(signature, width / max(float(width.max()), 1e-300), labelled, n)
    found = [
        NumberSuggestion(int(j), float(model.transduction_[j]), float(low[j]), float(high[j]), count)
        for j, count in zip(picks, counts, strict=True)
    ]
    return Suggestions(found, ids)


def _set_suggestions(
    model: Any, n: int, X: Any, adjacency: Any, ids: np.ndarray | None, signature: np.ndarray | None
) -> Suggestions:
    """Choose nodes with many probabilities near one half, by the same equation."""
    if signature is None:
        signature = smoothed_signature(*_inputs(model, X, adjacency))
    P = np.asarray(model.label_distributions_, dtype=np.float32).astype(np.float64)
    u = (4.0 * P * (1.0 - P)).mean(axis=1)
    labelled = np.flatnonzero(model.fit_codes != UNLABELLED)
    picks, counts = cover(signature, u / max(float(u.max()), 1e-300), labelled, n)
    found = []
    for j, count in zip(picks, counts, strict=True):
        near = np.argsort(np.abs(P[j] - 0.5), kind="stable")[:_NAMED]
        unsure = tuple((model.classes_[k], float(P[j, k])) for k in near)
        found.append(SetSuggestion(int(j), tuple(model.classes_[model.transduction_[j] == 1]), unsure, count))
    return Suggestions(found, ids)


def _inputs(model: Any, X: Any, adjacency: Any) -> tuple[Any, csr_array]:
    """Check the given inputs, and take missing ones from the model."""
    kept: Any = getattr(model, "_fit_inputs", None)
    if adjacency is None and kept is None:
        raise ValueError(
            "this model was saved without its graph: give suggest adjacency=, and X= if there are features."
        )
    n = len(model.fit_codes)
    A = kept.A if adjacency is None else check_adjacency(adjacency, n_nodes=n)
    if X is None:
        return None if kept is None else kept.X, A
    X = check_features(model, X, reset=False)
    if X.shape[0] != n:
        raise ValueError(
            f"X has {X.shape[0]} rows but the model was fitted to {n} nodes: give suggest the "
            "features of fit."
        )
    return X, A
