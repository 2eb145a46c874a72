"""Explain predictions: write scores as exact sums of the shares of labels, or of features."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import escape
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.sparse import csr_array, diags_array, eye_array
from scipy.sparse.csgraph import breadth_first_order
from scipy.sparse.linalg import cg
from sklearn.utils.validation import check_is_fitted

from gssl.graph import reached_nodes
from gssl.graph.adjacency import read_adjacency, relations_of
from gssl.methods import (
    OGC,
    EmbeddingClassifier,
    LabelPropagation,
    LabelSpreading,
    ManifoldRegularization,
    RidgeHead,
)
from gssl.methods.embedder import GraphEmbedder
from gssl.methods.heads import LinearHead
from gssl.methods.inputs import find_nodes, ids_of_fit, select_nodes
from gssl.methods.label_sets import refuse_label_sets
from gssl.methods.labels import UNLABELLED, class_weights, one_hot
from gssl.methods.ridge import Ridge, mean_square
from gssl.methods.state import current
from gssl.operators import dense, small_algebra
from gssl.selection.auto import AutoClassifier
from gssl.selection.auto_regressor import AutoRegressor
from gssl.selection.calibrated import CalibratedClassifier
from gssl.selection.number_advice import explain_sums
from gssl.selection.picture import Voice, draw_alone
from gssl.wording import counted, write_probability

# number of labels and of features listed for the prediction, and again against it
_LISTED = 10
# nodes explained at a time: each needs one share per feature and class
_TOGETHER = 8
# paths through more nodes are not listed
_FAR = 3
# shares below this fraction of the largest are rounding errors
_NOTHING = 1e-9


@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    r"""The scores of a node as a sum of shares.

    .. math:: s = b + \sum_j s_j + s_{\mathrm{unlabelled}}, \qquad s = b + \sum_f s_f

    A share supports the prediction if it increases the lead of the predicted class over the runner-up; the
    shares add up to the lead.

    Attributes
    ----------
    node : int
    predicted, runner_up : classes
    probability : float
        Of the predicted class.
    scores : ndarray of shape (c,)
        Before conversion to a distribution; for ``AutoClassifier``, log-probabilities up to a constant.
    intercept : ndarray of shape (c,)
        The part of the scores that comes from neither labels nor features.
    labelled, labels : ndarrays of shape (m,)
        The nodes whose labels have shares, and their classes. Empty if there is no closed form for shares.
    shares : ndarray of shape (m, c)
    unlabelled : ndarray of shape (c,)
        The total share of the unlabelled nodes used in self-training.
    features : ndarray of shape (d, c), or None
        The shares of features.
    links : ndarray of shape (c,)
        The total share of links used as features.
    voices : list of Voice
        The labels that contribute most for and most against the prediction.
    note : str
        What the shares do not account for; may be empty.
    beside : Explanation or None
        The explanation of label spreading, if it is averaged into the prediction.
    node_ids, feature_names : sequences of str, or None
        The names that the text shows; without them, nodes and features are numbered.
    """

    node: int
    predicted: Any
    runner_up: Any
    probability: float
    classes: np.ndarray
    scores: np.ndarray
    intercept: np.ndarray
    labelled: np.ndarray
    labels: np.ndarray
    shares: np.ndarray
    unlabelled: np.ndarray
    features: np.ndarray | None
    links: np.ndarray
    voices: list[Voice]
    note: str = ""
    beside: "Explanation | None" = None
    node_ids: Any = None
    feature_names: Any = None

    def __repr__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        shown = (str(self.predicted), str(self.runner_up))
        return f"{draw_alone(self.node, *shown, self.voices, self._name)}<pre>{escape(self.text())}</pre>"

    def _name(self, node: int) -> str:
        return str(node if self.node_ids is None else self.node_ids[node])

    def lead(self, scores: np.ndarray) -> np.ndarray:
        """Return how much scores or shares favour the predicted class over the runner-up."""
        ours, theirs = (int(np.flatnonzero(self.classes == c)[0]) for c in (self.predicted, self.runner_up))
        return np.asarray(scores[..., ours] - scores[..., theirs])

    def strongest_features(self, n: int = _LISTED) -> list[tuple[int, float]]:
        """Return the columns and shares of the strongest features, at most n for and n against the lead."""
        if self.features is None:
            return []
        return _strongest(self.lead(self.features), n)

    def text(self, node_ids: Any = None, feature_names: Any = None) -> str:
        """Return the explanation as text; names that are not given are those of the problem, if any."""
        node_ids = self.node_ids if node_ids is None else node_ids
        feature_names = self.feature_names if feature_names is None else feature_names

        def name(node: int) -> str:
            return f"node {node}" if node_ids is None else str(node_ids[node])

        prediction = (
            f"{self.predicted} ({write_probability(self.probability)})"
            if self.probability > 0
            else str(self.predicted)
        )
        lines = [f"{name(self.node)}: {prediction} rather than {self.runner_up}"]
        lines += [f"  {self.note}"] if self.note else []
        rows = [(float(self.lead(self.scores)), f"lead of {self.predicted} over {self.runner_up}, of which")]
        if len(self.labelled):
            rows.append((float(self.lead(self.shares).sum()), f"by {counted(len(self.labelled), 'label')}"))
        if self.unlabelled.any():
            rows.append((float(self.lead(self.unlabelled)), "by predictions for unlabelled nodes"))
        if not len(self.labelled) and self.features is not None:
            rows.append((float(self.lead(self.features).sum()), "by features"))
        if self.intercept.any():
            rows.append((float(self.lead(self.intercept)), "the same for all nodes"))
        lines += _aligned(rows)
        for spoken, sign in ((self.predicted, 1), (self.runner_up, -1)):
            voices = [voice for voice in self.voices if sign * voice.share > 0]
            if voices:
                lines.append(f"  Labels for {spoken}")
                lines += _aligned(
                    [(v.share, f"{name(v.node)} ({v.label}), {_way(v, self, name)}") for v in voices]
                )
        columns = self.strongest_features()
        if columns and (feature_names is not None or not len(self.labelled)):
            lines.append("  Features, with those of neighbours")
            names = [f"feature {c}" if feature_names is None else str(feature_names[c]) for c, _ in columns]
            lines += _aligned([(share, text) for (_, share), text in zip(columns, names, strict=True)])
            if self.links.any():
                lines += _aligned([(float(self.lead(self.links)), "links as features")])
        if self.beside is not None:
            lines += ["Label spreading, which has a part of one half:", self.beside.text(node_ids)]
        return "\n".join(lines)


@dataclass(frozen=True, eq=False)
class _Sum:
    """The scores of one node and their parts."""

    scores: np.ndarray
    intercept: np.ndarray
    shares: np.ndarray | None = None
    unlabelled: np.ndarray | None = None
    features: np.ndarray | None = None
    links: np.ndarray | None = None
    note: str = ""
    beside: Explanation | None = None


class Explanations(list[Any]):
    """Explanations of some nodes."""

    def __repr__(self) -> str:
        return "\n".join(map(repr, self))

    def _repr_html_(self) -> str:
        return "".join(one._repr_html_() for one in self)


def why(model: Any, nodes: Any, *, problem: Any = None) -> "Explanations":
    """Explain predictions as exact sums of shares.

    The scores of ``AutoClassifier``, of ``EmbeddingClassifier`` with a ridge, of ``LabelSpreading`` and of
    ``LabelPropagation`` are linear in the labels, so every labelled node has a share in them. Those of
    ``OGC``, ``ManifoldRegularization`` and other linear heads are linear in the features. For a
    ``CalibratedClassifier``, the scores before calibration are explained. The numbers of ``AutoRegressor``
    are sums over features, residuals of known nodes, and trees.

    Parameters
    ----------
    model : fitted classifier
        If it was loaded from a file, one that was saved with its problem.
    nodes : int, bool mask of shape (n,), indices or ids
        Ids, as text, need the problem.
    problem : Problem, optional
        That of fit (:func:`gssl.read`), to name nodes and features.

    Returns
    -------
    Explanations
        A list with an :class:`Explanation`, or a :class:`NumberExplanation`, for each node; a notebook shows
        their pictures.

    Examples
    --------
    >>> import gssl
    >>> data = gssl.datasets.load("karate")
    >>> y = data.mask_labels("default")
    >>> model = gssl.LabelSpreading().fit(None, y, adjacency=data.adjacency)
    >>> (explanation,) = why(model, 1)
    >>> print(explanation.text())
    node 1: 0 (62 %) rather than 1
        +0.0342  lead of 0 over 1, of which
        +0.0342  by 2 labels
      Labels for 0
         +0.087  node 0 (0), a neighbour
      Labels for 1
        -0.0529  node 33 (1), via node 13
    """
    model = unwrapped(current(model))
    ids = ids_of_fit(model, problem)
    if isinstance(model, AutoRegressor):
        chosen = select_nodes(find_nodes(nodes, ids), model._fit_inputs.A.shape[0], "nodes")
        names = () if problem is None else problem.feature_names
        with small_algebra():
            return Explanations(explain_sums(model, chosen, ids, names))
    chosen = select_nodes(find_nodes(nodes, ids), model._fit_inputs.A.shape[0], "nodes")
    with small_algebra():
        sums = _sums(model, chosen)
        explained = [_explain(model, int(node), one) for node, one in zip(chosen, sums, strict=True)]
    if problem is None:
        return Explanations(explained)
    names = problem.feature_names or None
    return Explanations(replace(one, node_ids=ids, feature_names=names) for one in explained)


def unwrapped(model: Any, what: str = "why") -> Any:
    """Return the classifier inside a calibrated one; raise if the model no longer holds its inputs."""
    refuse_label_sets(model, what)
    check_is_fitted(model)
    model = model.classifier_ if isinstance(model, CalibratedClassifier) else model
    kept = hasattr(model, "_fit_inputs")
    if isinstance(model, AutoClassifier) and not hasattr(model, "propagation_"):
        kept = kept and hasattr(model, "_fitted_average")
    if isinstance(model, AutoRegressor) and model._kinds():
        kept = kept and hasattr(model, "_fitted_average")
    if not kept:
        raise ValueError(
            f"this {type(model).__name__} was copied, or saved without its features and graph: fit it again, "
            "and save it with gssl.save(model, path, problem=True)."
        )
    return model


def _sums(model: Any, nodes: np.ndarray) -> list[_Sum]:
    if isinstance(model, AutoClassifier):
        if not hasattr(model, "_fitted_average"):
            note = "Label spreading predicts here, by the graph alone."
            return [replace(one, note=note) for one in _sums(model.propagation_, nodes)]
        parts = np.split(nodes, range(_TOGETHER, len(nodes), _TOGETHER))
        return [one for part in parts for one in _average_sums(model, part)]
    if isinstance(model, LabelPropagation):
        return [_propagation_sum(model, int(node)) for node in nodes]
    if isinstance(model, OGC):
        return _linear_sums(np.asarray(model.embedding_[nodes]), model.coef_, np.zeros(len(model.classes_)))
    if isinstance(model, ManifoldRegularization):
        rows = dense(model._fit_inputs.X[nodes])
        return _linear_sums(rows, model.coef_, np.zeros(len(model.classes_)))
    if isinstance(model, EmbeddingClassifier) and isinstance(model.head_, LinearHead):
        return _head_sums(model, nodes)
    raise ValueError(
        f"{type(model).__name__} is not additive, so shares cannot explain its predictions: use "
        "AutoClassifier, LabelSpreading, LabelPropagation, OGC, ManifoldRegularization, or "
        "EmbeddingClassifier with a linear head."
    )


def _average_sums(model: AutoClassifier, nodes: np.ndarray) -> list[_Sum]:
    average, c = model._fitted_average, len(model.classes_)
    rows, by_kind = average.node_rows(nodes, model._coefficients())
    shares = average.shares(rows)
    m = len(average.labels.Y)
    intercept = average.map_intercept
    if model._priors is not None:
        old, new = np.log(np.maximum(model._priors, np.finfo(np.float64).tiny))
        intercept = intercept + new - old
    beside = why(model.propagation_, nodes) if hasattr(model, "propagation_") else [None] * len(nodes)
    note = ""
    if hasattr(model, "tree_pool_"):
        weight = model.tree_pool_[1] / model.tree_pool_[:2].sum()
        note = f"Boosted trees have a weight of {100 * weight:.0f} % beside these shares."
    sums = []
    for k, other in enumerate(beside):
        features = [part[k] for kind, part in by_kind.items() if kind != "links"]
        links = by_kind["links"][k].sum(axis=0) if "links" in by_kind else np.zeros(c)
        sums.append(
            _Sum(
                scores=intercept + sum(part[k].sum(axis=0) for part in by_kind.values()),
                intercept=intercept,
                shares=shares[k, :m],
                unlabelled=shares[k, m:].sum(axis=0),
                features=np.sum(features, axis=0) if features else None,
                links=links,
                beside=other,
                note=note,
            )
        )
    return sums


def _propagation_sum(model: LabelPropagation, node: int) -> _Sum:
    """Solve for the weight of every label at a node; by symmetry, one linear system is enough."""
    A, codes = model._fit_inputs.A.astype(np.float64), model.fit_codes
    labelled, n = codes != UNLABELLED, A.shape[0]
    weights = np.zeros(n)
    note = ""
    if isinstance(model, LabelSpreading):
        M, b = _scaled(A, model.spread), np.zeros(n)
        b[node] = 1.0 - model.spread
        weights = _solve(M, b)
    elif labelled[node]:
        weights[node] = 1.0
    else:
        free = np.flatnonzero(reached_nodes(A, labelled, checked=True) & ~labelled)
        if node in free:
            root = np.sqrt(A.sum(axis=1)[free])
            b = np.where(free == node, 1.0 / root, 0.0)
            S = diags_array(1.0 / root) @ A[free][:, free] @ diags_array(1.0 / root)
            weights = A[:, free] @ (_solve(eye_array(len(free)) - S, b) / root)
        if model.class_mass:
            note = "Shares are those before classes are scaled to their mass."
    known = np.flatnonzero(labelled)
    shares = weights[known, None] * one_hot(codes[known], len(model.classes_), np.float64)
    return _Sum(shares.sum(axis=0), np.zeros(len(model.classes_)), shares, note=note)


def _scaled(A: csr_array, alpha: float) -> Any:
    degree = A.sum(axis=1)
    scale = diags_array(np.divide(1.0, np.sqrt(degree), out=np.zeros_like(degree), where=degree > 0))
    return eye_array(A.shape[0]) - alpha * (scale @ A @ scale)


def _solve(M: Any, b: np.ndarray) -> np.ndarray:
    return np.asarray(cg(csr_array(M), b, rtol=1e-12, maxiter=20 * len(b))[0])


def _head_sums(model: EmbeddingClassifier, nodes: np.ndarray) -> list[_Sum]:
    """Explain a linear head by features, and a ridge head also by labels."""
    head, codes = model.head_, model.fit_codes
    c, seen = len(model.classes_), np.asarray(head.classes_, dtype=np.int64)
    coef, intercept = np.zeros((len(head.coef_), c)), np.zeros(c)
    coef[:, seen], intercept[seen] = head.coef_, head.intercept_
    rows = model._embed_rows(nodes, model._no_fit()).astype(np.float64)
    sums = _linear_sums(rows, coef, intercept, named=isinstance(model.embedder_, GraphEmbedder))
    if not isinstance(head, RidgeHead):
        note = f"A {type(head).__name__} has no closed form, so labels have no shares."
        return [replace(one, note=note) for one in sums]
    labelled = np.flatnonzero(codes != UNLABELLED)
    U = model._embed_rows(labelled, model._no_fit()).astype(np.float64)
    w = class_weights(head.class_weight, head.classes_, codes[labelled])[codes[labelled]]
    w = w / w.mean()
    penalty = max(head.penalty * len(U) * mean_square(U, w), np.finfo(model._fit_inputs.X.dtype).tiny)
    H = Ridge(U, penalty, w).influence(rows)
    Y = one_hot(codes[labelled], c, np.float64)
    return [replace(one, shares=h[:, None] * Y) for one, h in zip(sums, H, strict=True)]


def _linear_sums(rows: np.ndarray, coef: np.ndarray, intercept: np.ndarray, named: bool = True) -> list[_Sum]:
    sums = []
    for row in rows.astype(np.float64):
        features = row[:, None] * coef
        scores = intercept + features.sum(axis=0)
        sums.append(_Sum(scores, intercept, features=features if named else None))
    return sums


def _explain(model: Any, node: int, one: _Sum) -> Explanation:
    """Add the predicted class, the runner-up and the strongest labels to the sums."""
    classes, c = model.classes_, len(model.classes_)
    codes = model.fit_codes
    ours = int(np.searchsorted(classes, model.transduction_[node]))
    theirs = int(np.argmax(np.where(np.arange(c) == ours, -np.inf, one.scores)))
    labelled = np.flatnonzero(codes != UNLABELLED) if one.shares is not None else np.empty(0, np.int64)
    shares = np.empty((0, c)) if one.shares is None else one.shares
    lead = shares[:, ours] - shares[:, theirs]
    voices = strongest_voices(_followed_links(model), node, labelled, classes[codes[labelled]], lead)
    note = one.note
    if not model.informed_[node]:
        note = f"No label or feature reaches this node, so its distribution is uniform. {note}".strip()
    return Explanation(
        node=node,
        predicted=classes[ours],
        runner_up=classes[theirs],
        probability=float(model.label_distributions_[node, ours]),
        classes=classes,
        scores=one.scores,
        intercept=one.intercept,
        labelled=labelled,
        labels=classes[codes[labelled]],
        shares=shares,
        unlabelled=np.zeros(c) if one.unlabelled is None else one.unlabelled,
        features=one.features,
        links=np.zeros(c) if one.links is None else one.links,
        voices=voices,
        note=note,
        beside=one.beside,
    )


def strongest_voices(
    A: csr_array, node: int, labelled: np.ndarray, labels: Any, shares: np.ndarray, n: int = _LISTED
) -> list[Voice]:
    """Return the labels with the largest shares for and against, at most n each, with paths to them."""
    strongest = _strongest(shares, n)
    if not strongest:
        return []
    _, before = breadth_first_order(A, node, return_predecessors=True)
    voices = []
    for j, share in strongest:
        path = _path(before, labelled[j], node)
        kinds = () if path is None else _kinds_of_links(A, (node, *path, int(labelled[j])))
        voices.append(Voice(int(labelled[j]), labels[j], share, path, kinds))
    return voices


def _followed_links(model: Any) -> csr_array:
    """Return the links over which labels speak: those of some relations, if no model follows the others."""
    A, average = model._fit_inputs.A, getattr(model, "_fitted_average", None)
    if average is None or not relations_of(A):
        return A
    filters = [member.filter for member in average.members]
    if any(filter_.follows_union for filter_ in filters):
        return A
    used = {name for filter_ in filters for name in filter_.relations}
    some = {name: relations_of(A)[name] for name in used}
    return read_adjacency(some, directed=True)[0] if used else A


def _kinds_of_links(A: csr_array, way: Sequence[int]) -> tuple[str, ...]:
    """Name the relations of the links between consecutive nodes, each once; with their direction, if any."""
    kinds: dict[str, None] = {}
    for u, v in pairwise(way):
        for name, links in relations_of(A).items():
            leads, comes = links[u, v] != 0, links[v, u] != 0
            if leads or comes:
                direction = "" if leads and comes else ", out" if leads else ", in"
                kinds[f"{name}{direction}"] = None
    return tuple(kinds)


def _path(before: np.ndarray, start: int, end: int) -> tuple[int, ...] | None:
    """Return the inner nodes of the path from ``end`` to ``start``; None if there is no path."""
    way = [int(start)]
    while way[-1] != end:
        if before[way[-1]] < 0:
            return None
        way.append(int(before[way[-1]]))
    return tuple(way[-2:0:-1])


def _strongest(shares: np.ndarray, n: int) -> list[tuple[int, float]]:
    """Return indices and values of the n largest positive and n largest negative shares, in this order."""
    order = np.argsort(-shares, kind="stable")
    least = _NOTHING * np.abs(shares).max(initial=0.0)
    strongest = [j for j in order[:n] if shares[j] > least] + [
        j for j in order[::-1][:n] if shares[j] < -least
    ]
    return [(int(j), float(shares[j])) for j in strongest]


def _way(voice: Voice, of: Explanation, name: Any) -> str:
    if voice.node == of.node:
        return "its own label"
    if voice.path is None:
        return "through features only"
    if len(voice.path) > _FAR:
        return f"{len(voice.path) + 1} links away"
    by = f" ({'; '.join(voice.relations)})" if voice.relations else ""
    return f"via {', '.join(name(node) for node in voice.path)}{by}" if voice.path else f"a neighbour{by}"


def _aligned(rows: Sequence[tuple[float, str]]) -> list[str]:
    return [f"  {share:>+9.3g}  {text}" for share, text in rows]
