"""The average of many linear models: how it is fitted, kept, and how it predicts."""

import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import solve
from scipy.sparse import csr_array
from scipy.special import softmax

from gssl.graph import GraphWarning
from gssl.methods import GGC
from gssl.methods.base import GraphClassifier, featured_nodes
from gssl.methods.inputs import FitInputs
from gssl.methods.labels import UNLABELLED, class_weights, nearest_distribution, one_hot
from gssl.scale.execution import IN_MEMORY, part_of_run
from gssl.selection.candidates import GGC_DEPTHS, GGCM_DEPTHS, SHORT, Filter, candidate_filters, sharpening
from gssl.selection.graph_features import Features, label_space_pays, operators
from gssl.selection.labelled_rows import OTHERS, KnownTables, LabelledRows
from gssl.selection.leave_one_out import dual_coefficients
from gssl.selection.rivals import Hidden
from gssl.selection.search import (
    CLUSTERED,
    FILTERS,
    FINALISTS,
    SCALING_DEPTH,
    SCREEN,
    fit_logistic,
    row_spectrum,
)
from gssl.selection.trial import PENALTIES, Chosen, Labels, Trial


def predictor(
    rows: LabelledRows, trial: Trial, penalties: Sequence[float], labels: Labels
) -> tuple[np.ndarray, np.ndarray]:
    """Average the predictors that a trial gives with some penalties."""
    U = rows.rows(trial.filter)
    if trial.head == "logistic":
        gram = row_spectrum(rows, trial, labels)
        found = [fit_logistic(U, labels, penalty, gram) for penalty in penalties]
        return np.mean([theta for theta, _ in found], axis=0), np.mean([b for _, b in found], axis=0)
    none = np.zeros(labels.Y.shape[1])
    roots = np.sqrt(labels.weights)[:, None]
    if trial.spectrum is not None:
        duals = roots * np.mean(
            [dual_coefficients(trial.spectrum, roots * labels.Y, penalty) for penalty in penalties], axis=0
        )
        if trial.gram is None:
            return U.T @ duals, none
    elif trial.gram is None:
        return ridge(U, labels, penalties), none
    else:
        duals = roots * _shrunk(roots * trial.gram * roots.T, roots * labels.Y, penalties, len(U))
    # Θ = UᵀUU_Lᵀα, and U is the filter of X
    scores = rows.filtered(trial.filter, rows.gathered(U.T @ duals))
    return rows.spread(rows.filtered(trial.filter, scores)), none


def ridge(U: np.ndarray, labels: Labels, penalties: Sequence[float]) -> np.ndarray:
    r"""Average ridge predictors of several penalties, by the smaller of two systems of equations.

    .. math:: \Theta = V^\top (V V^\top + \lambda s I)^{-1} R = (V^\top V + \lambda s I)^{-1} V^\top R
    """
    roots = np.sqrt(labels.weights)[:, None]
    V, R = roots * U, roots * labels.Y
    if len(V) <= V.shape[1]:
        return np.asarray(V.T @ _shrunk(V @ V.T, R, penalties, len(V)))
    return _shrunk(V.T @ V, V.T @ R, penalties, len(V))


def _shrunk(K: np.ndarray, R: np.ndarray, penalties: Sequence[float], n_rows: int) -> np.ndarray:
    """Average the solutions of (K + λsI)Z = R; K has the trace of the rows' Gram matrix."""
    scale = float(np.trace(K)) / n_rows or 1.0
    eye = np.eye(len(K))
    solved = [solve(K + penalty * scale * eye, R, assume_a="pos") for penalty in penalties]
    return np.asarray(np.mean(solved, axis=0))


# bytes of products with X that wait to be added up
ROOM = 1 << 30


def terms(depth: int) -> list[tuple[str, int]]:
    """List the terms of the coefficients: an operator and its power, or a depth of GGC or GGCM."""
    powers = [("smooth", k) for k in range(depth + 1)]
    powers += [(name, k) for name in ("hop", "high") for k in range(1, SHORT + 1)]
    powers += [("sharp", k) for k in GGCM_DEPTHS if k <= depth]
    return powers + [("GGC", k) for k in GGC_DEPTHS if k <= depth]


def average(rows: LabelledRows, chosen: Chosen, labels: Labels, depth: int) -> tuple[np.ndarray, np.ndarray]:
    """Add up the predictors of some trials with the same head, each with one of its penalties."""
    place = {term: i for i, term in enumerate(terms(depth))}
    M = np.zeros((len(place), rows.X.shape[1], labels.Y.shape[1]))
    b = np.zeros(labels.Y.shape[1])
    for trial in dict.fromkeys(trial for trial, _ in chosen):
        # penalties of one filter share its features
        penalties = [trial.penalties[k] for t, k in chosen if t is trial]
        theta, intercept = predictor(rows, trial, penalties, labels)
        b += len(penalties) / len(chosen) * intercept
        for term, weight, part in _terms_of(trial.filter, theta):
            M[place[term]] += len(penalties) / len(chosen) * weight * part
    return M.astype(rows.X.dtype), b.astype(rows.X.dtype)


def _terms_of(filter_: Filter, theta: np.ndarray) -> Iterator[tuple[tuple[str, int], float, np.ndarray]]:
    """Yield the terms of one filter: which one, its weight, and its part of Θ."""
    if filter_.embedder is not None:
        yield ("GGC", filter_.embedder.depth), 1.0, theta
        return
    if filter_.sharpened is not None:
        depth, weight = filter_.sharpened
        yield ("sharp", depth), weight, theta
    parts = np.split(theta, len(filter_.blocks))
    for block, part in zip(filter_.blocks, parts, strict=True):
        for power in np.flatnonzero(block.powers).tolist():
            # any operator to the power of zero is the identity
            yield ("smooth" if power == 0 else block.operator, power), block.powers[power], part


def polynomial_scores(
    M: np.ndarray,
    X: Any,
    A: csr_array,
    depth: int,
    apply: dict[str, Any] | None = None,
    room: int = ROOM,
) -> np.ndarray:
    r"""Score all nodes of a graph by Horner's rule: :math:`X M_0 + T (X M_1 + T (X M_2 + \dots))`."""
    features = X if isinstance(X, Features) else Features(X)
    scores = np.zeros((X.shape[0], M.shape[2]), X.dtype)
    places = {term: i for i, term in enumerate(terms(depth)) if M[i].any()}
    products = _Products(features, {term: M[i] for term, i in places.items()}, room)
    apply = operators(A, X.dtype) if apply is None else apply
    for operator in ("smooth", "hop", "high"):
        highest = max((power for name, power in places if name == operator), default=-1)
        parts = (products.take((operator, k)) for k in range(highest, -1, -1))
        scores += _horner(apply[operator], parts, scores)
    if any(name == "sharp" for name, _ in places):
        scores += apply["sharp"](_horner(apply["smooth"], _sharpened(products), scores))
    filters = apply["smooth"].filters
    for name, k in places:
        if name == "GGC":
            scores += GGC(depth=k)._apply(products.take((name, k)), lambda _: filters)
    return scores


class _Products:
    """The products XM_k, as many at a time as there is room for, in the order in which they are needed."""

    def __init__(
        self, features: Features, coefficients: dict[tuple[str, int], np.ndarray], room: int
    ) -> None:
        self._features, self._coefficients = features, coefficients
        order = ("smooth", "hop", "high", "sharp", "GGC")
        self._order = sorted(coefficients, key=lambda term: (order.index(term[0]), -term[1]))
        width = max((M.shape[1] for M in coefficients.values()), default=1)
        self._at_once = max(1, room // max(1, features.shape[0] * width * features.dtype.itemsize))
        self._ready: dict[tuple[str, int], np.ndarray] = {}

    @property
    def highest_sharp(self) -> int:
        """The greatest depth of GGCM."""
        return max(depth for name, depth in self._coefficients if name == "sharp")

    def take(self, term: tuple[str, int]) -> np.ndarray | None:
        """Return a product, once; None where there is no such term."""
        if term not in self._coefficients:
            return None
        if term not in self._ready:
            first = self._order.index(term)
            batch = self._order[first : first + self._at_once]
            # side by side: X is read once
            wide = self._features.times(np.hstack([self._coefficients[term] for term in batch]))
            self._ready = dict(zip(batch, np.hsplit(wide, len(batch)), strict=True))
        return np.ascontiguousarray(self._ready.pop(term))


def _sharpened(products: _Products) -> Iterator[np.ndarray]:
    """Return what powers of the smoothing operator are multiplied with before they are sharpened."""
    total: Any = 0.0
    for t in range(products.highest_sharp, 0, -1):
        part = products.take(("sharp", t))
        total = total if part is None else total + part
        yield np.asarray(sharpening(t) * total)


def _horner(apply: Any, parts: Iterable[np.ndarray | None], like: np.ndarray) -> np.ndarray:
    """Add up parts of the powers, the highest first."""
    total: np.ndarray | None = None
    for part in parts:
        total = np.zeros_like(like) if total is None else apply(total)
        if part is not None:
            total = total + part
    return np.zeros_like(like) if total is None else total


# the rows of all filters at the labelled nodes take no more numbers than this
_MOST_NUMBERS = 500_000_000
# and of those no more than this are kept for labels that may never come
_MOST_KEPT = 50_000_000


@dataclass(frozen=True)
class SelectionInputs(FitInputs):
    """What a fit leaves behind for other labels: also the rows it needed, by whether they were scaled."""

    known: dict[bool, KnownTables]

    def keep(self, tables: dict[bool, KnownTables]) -> None:
        """Keep rows for the next labels, if they are not too many."""
        self.known.clear()
        if sum(known.size for known in tables.values()) <= _MOST_KEPT:
            self.known.update(tables)

    def __getstate__(self) -> dict[str, Any]:
        # they can be made again
        return {**self.__dict__, "known": {}}


class AveragedClassifier(GraphClassifier):
    r"""Ridges and logistic heads on polynomial filters, or a model of its own where that does better.

    .. math:: P = (1 - s)\, \mathrm{proj}\Big(\sum_k T^k X M_k\Big)
              + s\, \mathrm{softmax}\Big(\sum_k T^k X M'_k + b'\Big)

    with s the part of the averaged models that are logistic: scores of different heads are of different
    scales, their distributions are not.
    """

    runs_by_columns = True
    depth: int
    class_weight: Any
    _fit_inputs: SelectionInputs
    coef_: np.ndarray
    logistic_coef_: np.ndarray
    logistic_intercept_: np.ndarray
    _shares: np.ndarray
    propagation_: GraphClassifier

    def _forget(self) -> None:
        """Drop what predicts."""
        for name in (
            *("coef_", "logistic_coef_", "logistic_intercept_", "_shares"),
            *("propagation_", "_leave_one_out"),
        ):
            self.__dict__.pop(name, None)

    def _take(self, rows: LabelledRows, chosen: Chosen, labels: Labels) -> None:
        """Fit what is averaged to all labels."""
        ridges = [pair for pair in chosen if pair[0].head == "ridge"]
        logistic = [pair for pair in chosen if pair[0].head == "logistic"]
        self._shares = np.array([len(ridges), len(logistic)]) / len(chosen)
        if ridges:
            self.coef_, _ = average(rows, ridges, labels, self.n_iter_)
        if logistic:
            found = average(rows, logistic, labels, self.n_iter_)
            self.logistic_coef_, self.logistic_intercept_ = found

    @property
    def uses_features(self) -> bool:
        """Whether features are needed to predict; fit itself takes either."""
        if hasattr(self, "propagation_"):
            return self.propagation_.uses_features
        return hasattr(self, "coef_") or hasattr(self, "logistic_coef_")

    def _class_weights(self) -> np.ndarray:
        return class_weights(self.class_weight, self.classes_, self._fit_codes[self._fit_codes != UNLABELLED])

    def _weigh(self, codes: np.ndarray) -> Labels:
        # by all labels, of which codes may be some
        return Labels(one_hot(codes, len(self.classes_), np.float64), self._class_weights()[codes])

    def _fitting_depth(self, X: Any, n_labelled: int) -> int:
        room = _MOST_NUMBERS // max(1, n_labelled * X.shape[1]) - 1 - OTHERS
        return int(min(self.depth, max(SCALING_DEPTH, room)))

    def _let_predict(
        self,
        model: GraphClassifier,
        A: csr_array,
        codes: np.ndarray,
        hidden: Hidden | None,
    ) -> None:
        """Make a model of its own predict, and keep what it said about hidden labels."""
        with warnings.catch_warnings():
            # told once, by this fit
            warnings.simplefilter("ignore", GraphWarning)
            X = self._fit_inputs.X if model.uses_features else None
            with part_of_run("predicts"):
                self.propagation_ = model.fit(X, codes, adjacency=A)
        labelled = np.flatnonzero(codes != UNLABELLED)
        self._leave_one_out = np.full((len(labelled), len(self.classes_)), 1.0 / len(self.classes_))
        if hidden is not None:
            nodes, P = hidden
            self._leave_one_out[np.searchsorted(labelled, nodes)] = P

    def distributions_without(self, hidden: np.ndarray) -> np.ndarray:
        """Look up what was said about labels when the models were tried, each without the label itself."""
        places = np.searchsorted(np.flatnonzero(self._fit_codes != UNLABELLED), hidden)
        return self._with_priors(nearest_distribution(self._leave_one_out[places]))

    def propagated_columns(self, X: Any, A: csr_array, n_labelled: int, n_classes: int) -> int:
        if X is None or not X.shape[1]:
            return n_classes
        n, d = X.shape
        depth = self._fitting_depth(X, n_labelled)
        carried = n_labelled if label_space_pays(X, A, n_labelled, depth) else d
        # the labelled rows of all powers, and what models in double precision said about the labels, with as
        # much again while they are judged
        tables = (depth + 1 + OTHERS) * n_labelled * d
        n_trials = len(candidate_filters(depth)) if n_labelled <= SCREEN else FINALISTS + CLUSTERED + FILTERS
        said = 2 * 2 * (n_trials + 1) * len(PENALTIES) * n_labelled * n_classes
        # per node; the estimate counts three of what is carried
        return int(carried + (tables + said) / (3 * max(1, n)))

    def _score_fit(self, X: Any, A: csr_array, rows: LabelledRows) -> tuple[np.ndarray, np.ndarray]:
        """Score the nodes of fit, where labels may have guided what predicts."""
        if hasattr(self, "propagation_") and self.uses_features:
            return self.propagation_.label_distributions_, self.propagation_.informed_
        return self._score_graph(X, A, rows)

    def _score_graph(
        self, X: Any, A: csr_array, rows: LabelledRows | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Score all nodes; what was made of this graph and these features in fit is taken from there."""
        if hasattr(self, "propagation_"):
            P, informed = self.propagation_._score_graph(X, A)
            return P, informed
        if rows is not None:
            scaled, apply, execution = rows.features, rows.operators, rows.execution
        else:
            scaled, apply, execution = (Features.unit(X) if self._unit_rows else X), None, IN_MEMORY
        heads = [name for name in ("coef_", "logistic_coef_") if hasattr(self, name)]
        # both heads side by side: one pass over the graph
        M = np.concatenate([getattr(self, name) for name in heads], axis=2)
        room = ROOM if execution.budget is None else min(ROOM, execution.budget // 4)
        scores = np.hsplit(polynomial_scores(M, scaled, A, self.n_iter_, apply, room), len(heads))
        P = np.zeros_like(scores[0])
        for name, Z in zip(heads, scores, strict=True):
            if name == "coef_":
                P += self._shares[0] * nearest_distribution(Z)
            else:
                P += self._shares[1] * softmax(Z + self.logistic_intercept_, axis=1)
        return P, featured_nodes(A, X)
