"""An average of linear models on filtered features is one model: a polynomial with matrix coefficients."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from gssl.methods import GGC
from gssl.selection.features import Features
from gssl.selection.filters import GGC_DEPTHS, GGCM_DEPTHS, SHORT, Filter, sharpening
from gssl.selection.graph_operators import operators
from gssl.selection.labelled_rows import LabelledRows
from gssl.selection.predictor import predictor
from gssl.selection.trial import Chosen, Labels

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
