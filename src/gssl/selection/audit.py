"""Find given labels that may be wrong: those that a model contradicts when they are hidden from it."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import softmax

from gssl.evaluation.holdout import HeldOut, held_out_distributions, held_out_if_known
from gssl.methods.inputs import ids_of_fit
from gssl.methods.regressor import GraphRegressor
from gssl.methods.ridge import Ridge, keep_class_mass, leave_one_out
from gssl.methods.softmax import fit_softmax_map, inverse_temperatures
from gssl.methods.state import current
from gssl.operators import small_algebra
from gssl.selection.audit_table import AuditTable
from gssl.selection.auto import AutoClassifier
from gssl.selection.ensemble import FittedEnsemble
from gssl.selection.number_advice import audit_numbers
from gssl.selection.set_advice import audit_sets
from gssl.selection.why import unwrapped
from gssl.wording import counted, write_fixed, write_probability, write_range

# rounds of reweighting: labels that look wrong count less in the next round
_ROUNDS = 3
# with more labels, skip reweighting: a few wrong ones matter little
_MOST_REWEIGHTED = 10_000
# minimum weight factor of a label: leave-one-out divides by its root
_LEAST = 1e-3
# grids of the fraction of wrong labels and of the inverse temperature
_RATES = np.concatenate([[1e-4], np.arange(0.005, 0.1, 0.005), np.arange(0.1, 0.45, 0.02)])
_SHARPNESS = np.geomspace(0.3, 16.0, 30)
# strength of the prior that the inverse temperature is one
_PULL = 0.1
# number of values in a batch of scores
_BATCH = 1 << 24


@dataclass(frozen=True, eq=False, repr=False)
class Audit(AuditTable):
    """Given labels, the most doubtful first.

    Attributes
    ----------
    nodes : int ndarray of shape (m,)
        Labelled nodes, without those whose class has no other label.
    given, says : ndarrays of shape (m,)
        The label, and the class that the model predicts when the label is hidden.
    probability, p_given : ndarrays of shape (m,)
        The probabilities of ``says`` and of ``given``.
    p_wrong : ndarray of shape (m,)
        The probability that the label is wrong, which takes into account that other labels may be wrong, too.
    removed, flipped : int ndarrays of shape (m,)
        How many predictions would change if the label were removed, or replaced by the most probable other
        class; −1 if not computed.
    expected_wrong : float
        The expected number of wrong labels.
    interval : tuple of float
        A 90 % interval for this number, assuming that a wrong label may be any other class.
    node_ids : ndarray of shape (n,), or None
        The ids of all nodes, if the problem is known.
    """

    nodes: np.ndarray
    given: np.ndarray
    says: np.ndarray
    probability: np.ndarray
    p_given: np.ndarray
    p_wrong: np.ndarray
    removed: np.ndarray
    flipped: np.ndarray
    expected_wrong: float
    interval: tuple[float, float]
    node_ids: np.ndarray | None = None

    @property
    def n_contradicted(self) -> int:
        """The number of labels that the model contradicts when they are hidden."""
        return int((self.given != self.says).sum())

    @property
    def summary(self) -> str:
        """The expected number of wrong labels, and the number that the model contradicts, in words."""
        likely, interval = write_fixed(self.expected_wrong), write_range(*self.interval, write_fixed)
        said = f"About {likely} of {len(self):,} labels are wrong"
        if likely == "0":
            said = f"Probably none of {len(self):,} labels is wrong"
        return (
            f"{said}{f' ({interval})' if interval != likely else ''}, assuming that a wrong label may be of "
            f"any other class. The model contradicts {counted(self.n_contradicted, 'label')} while hidden, "
            "in part by its own errors."
        )

    def __repr__(self) -> str:
        return f"Audit of {len(self):,} labels\n{self.summary}"

    def columns(self, node_ids: Any = None) -> dict[str, list[Any]]:
        """Return a dict of columns; ids are node indices if neither these nor the problem are known."""
        removed, flipped = (
            [None if n < 0 else int(n) for n in part] for part in (self.removed, self.flipped)
        )
        return {
            "id": self._ids(node_ids),
            "given": [str(one) for one in self.given],
            "says": [str(one) for one in self.says],
            "probability": self.probability.tolist(),
            "p_given": self.p_given.tolist(),
            "p_wrong": self.p_wrong.tolist(),
            "changes_if_removed": removed,
            "changes_if_flipped": flipped,
        }

    def text(self, n: int = 10) -> str:
        """Describe the n most doubtful labels, one per line."""
        rows = zip(*(column[:n] for column in self.columns().values()), strict=True)
        lines = []
        for node, given, says, p, _, wrong, removed, flipped in rows:
            opinion = (
                "the model agrees" if given == says else f"the model says {says} ({write_probability(p)})"
            )
            line = f"{node}: given {given}, {opinion}, wrong with probability {write_probability(wrong)}"
            if removed is not None:
                line += f"; predictions that change: {removed:,} without it, {flipped:,} if flipped"
            lines.append(line)
        return "\n".join(lines)


def audit(model: Any, changes: int = 20, *, held_out: HeldOut | None = None, problem: Any = None) -> Any:
    r"""Rank given labels by how strongly the model contradicts them when they are hidden.

    For ``AutoClassifier``, the prediction without a label has a closed form, also for weighted labels. Labels
    that look wrong get less weight when the others are predicted, and this is repeated a few times. A label
    is ranked by

    .. math:: \log \bar p_{y_i} - \log p_{i y_i},

    where :math:`\bar p_k` is the mean probability of the labels of class k, so that labels of a difficult
    class are not suspect for that alone. The fraction ε of wrong labels and the inverse temperature t
    maximise the likelihood of the labels if each is wrong with probability ε and then any other class,

    .. math:: \prod_i (1 - \varepsilon)\, p_{i y_i}(t) + \tfrac{\varepsilon}{c - 1} (1 - p_{i y_i}(t)).

    For other models, labels are hidden fold by fold and ranked in the same way, without reweighting. The
    numbers of a regressor are ranked by how many deviations they are away from predictions without them. Of
    several labels per node, both given labels and missing ones are ranked, by the probability that they are
    wrong.

    Parameters
    ----------
    model : fitted classifier
        If it was loaded from a file, one that was saved with its problem.
    changes : int, default=20
        For this many of the most doubtful labels, count the predictions that would change. Available only for
        the average of ``AutoClassifier``, with its choice of models and self-training targets held fixed.
    held_out : HeldOut, optional
        The model's predictions for hidden labels, if already known.
    problem : Problem, optional
        That of fit (:func:`gssl.read`), to name nodes.

    Returns
    -------
    Audit, NumberAudit for a regressor, or SetAudit for several labels per node

    Examples
    --------
    >>> import gssl
    >>> data = gssl.datasets.load("cora")
    >>> y = data.mask_labels("default")
    >>> wrong = (y == 0).nonzero()[0][0]
    >>> y[wrong] = 1
    >>> model = gssl.AutoClassifier(depth=4).fit(data.features, y, adjacency=data.adjacency)
    >>> doubtful = audit(model, changes=2)
    >>> bool(wrong in doubtful.nodes[:10])
    True
    """
    model = current(model)
    if isinstance(model, GraphRegressor):
        return audit_numbers(model, problem)
    if hasattr(model, "label_sets_"):
        return audit_sets(model.label_sets_, problem)
    if isinstance(changes, bool) or not isinstance(changes, int | np.integer) or changes < 0:
        raise ValueError(f"changes is a number of labels, a whole number from 0 on, not {changes!r}.")
    ids = ids_of_fit(model, problem)
    shown = held_out_if_known(model) if held_out is None else held_out
    model = unwrapped(model)
    X, A, classes = model._fit_inputs.X, model._fit_inputs.A, model.classes_
    held = held_out
    if held is None:
        held = held_out_distributions(model, X if X.shape[1] else None, A, with_priors=False)
    average: FittedEnsemble | None = getattr(model, "_fitted_average", None)
    with small_algebra():
        logits = np.log(np.maximum(held.distributions, 1e-12))
        doubts = robust_distributions(logits, held.codes)
        if average is not None and len(held.nodes) <= _MOST_REWEIGHTED:
            doubts = _refined(average, held)
    P, right, _, rates = doubts
    order = np.argsort(-_doubt(P, held.codes), kind="stable")
    nodes, codes, P, wrong = held.nodes[order], held.codes[order], P[order], 1.0 - right[order]
    expected = float(wrong.sum())
    # what the model says is the same here as in tables of predictions: only p_wrong doubts other labels, too
    shown = held if shown is None else shown
    assert np.array_equal(shown.nodes, held.nodes)  # both are sorted by node
    hidden = shown.distributions[order]
    says = hidden.argmax(axis=1)
    removed, flipped = (np.full(len(nodes), -1) for _ in range(2))
    top = slice(0, int(changes))
    if average is not None and not hasattr(model, "propagation_") and len(nodes[top]):
        with small_algebra():
            removed[top], flipped[top] = _changes(model, average, nodes[top], P[top], codes[top])
    return Audit(
        nodes=nodes,
        given=classes[codes],
        says=classes[says],
        probability=hidden[np.arange(len(P)), says],
        p_given=hidden[np.arange(len(P)), codes],
        p_wrong=wrong,
        removed=removed,
        flipped=flipped,
        expected_wrong=expected,
        interval=(min(len(nodes) * rates[0], expected), max(len(nodes) * rates[1], expected)),
        node_ids=ids,
    )


# distributions, the probability that each label is right, the fraction of wrong ones, and its 90 % interval
_Judged = tuple[np.ndarray, np.ndarray, float, tuple[float, float]]


def robust_distributions(
    logits: np.ndarray, codes: np.ndarray, sharpness: np.ndarray = _SHARPNESS
) -> _Judged:
    """Fit an inverse temperature and the fraction of wrong labels, and apply the temperature to logits."""
    m, c = logits.shape
    own, e, others = (np.arange(m), codes), _RATES[:, None], max(c - 1, 1)
    likely = np.empty((len(sharpness), len(_RATES)))
    for k, t in enumerate(sharpness):
        p = softmax(t * logits, axis=1)[own]
        likely[k] = np.log(np.maximum((1.0 - e) * p + e / others * (1.0 - p), 1e-300)).sum(axis=1)
    likely -= 0.5 * _PULL * np.square(np.log(sharpness))[:, None]
    best, rate_index = np.unravel_index(likely.argmax(), likely.shape)
    # weight each rate by the width of its grid cell, since rates are not evenly spaced
    mass = np.exp(likely - likely.max()).sum(axis=0) * np.gradient(_RATES)
    summed = np.cumsum(mass) / mass.sum()
    low, high = np.interp([0.05, 0.95], summed, _RATES)
    rate, P = float(_RATES[rate_index]), softmax(sharpness[best] * logits, axis=1)
    p = P[own]
    right = (1.0 - rate) * p / ((1.0 - rate) * p + rate / others * (1.0 - p))
    return P, right, rate, (float(low), float(high))


def rank_labels(P: np.ndarray, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rank labels by calibrated distributions from models without them.

    Returns the order, the most doubtful first, and the probability that each label is wrong.
    """
    _, right, _, _ = robust_distributions(np.log(np.maximum(P, 1e-12)), codes, np.ones(1))
    return np.argsort(-_doubt(P, codes), kind="stable"), 1.0 - right


def _refined(average: FittedEnsemble, held: HeldOut) -> _Judged:
    """Judge labels by leave-one-out, repeatedly giving doubtful labels less weight."""
    kept = np.searchsorted(average.labelled, held.nodes)
    trusted = np.ones(len(average.labels.Y))
    trusted[kept[_contradicted(held.distributions, held.codes)]] = 0.0
    for _ in range(_ROUNDS):
        logits = leave_one_out_logits(average, trusted)
        doubts = robust_distributions(logits[kept], held.codes)
        trusted[kept] = doubts[1]
    return doubts


def leave_one_out_logits(average: FittedEnsemble, trusted: np.ndarray) -> np.ndarray:
    """Return leave-one-out logits of the average for every label, with labels weighted by ``trusted``."""
    Y = average.labels.Y
    weights = average.labels.weights * np.maximum(trusted, _LEAST)
    total = np.zeros(Y.shape)
    for member, rows in zip(average.members, average.rows, strict=True):
        scores = leave_one_out(rows[: len(Y)], Y, np.array([member.penalty]), weights)
        scores = keep_class_mass(scores, Y, weights)
        t = float(inverse_temperatures(scores, Y, weights)[0][0])
        total += fit_softmax_map(scores[0], Y, weights, t, member.map_penalty).map.logits(scores[0])
    return total / len(average.members)


def _contradicted(P: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return which labels differ from the most probable class whose probability reaches its class mean.

    This is the rule of confident learning (Northcutt et al., 2021).
    """
    sure = _mean_confidence(P, codes) <= P
    says = np.where(sure, P, -1.0).argmax(axis=1)
    return np.asarray(sure.any(axis=1) & (says != codes))


def _mean_confidence(P: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return the mean probability of the labels of each class; one for a class without labels."""
    own = P[np.arange(len(P)), codes]
    counts = np.bincount(codes, minlength=P.shape[1])
    sums = np.bincount(codes, weights=own, minlength=P.shape[1])
    return np.asarray(np.where(counts > 0, sums / np.maximum(counts, 1), 1.0))


def _doubt(P: np.ndarray, codes: np.ndarray) -> np.ndarray:
    own = np.maximum(P[np.arange(len(P)), codes], 1e-300)
    return np.asarray(np.log(np.maximum(_mean_confidence(P, codes)[codes], 1e-300)) - np.log(own))


def _changes(
    model: AutoClassifier, average: FittedEnsemble, nodes: np.ndarray, P: np.ndarray, codes: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    r"""Count predictions that change if a label is removed or replaced by the most probable other class.

    .. math:: W_{-j} = W - \frac{w_j\, G^{-1} u_j (y_j - u_j^\top W)}{1 - w_j\, u_j^\top G^{-1} u_j}, \qquad
              W' = W + w_j\, G^{-1} u_j (y' - y_j)
    """
    c = P.shape[1]
    others = np.where(np.arange(c) == codes[:, None], -1.0, P).argmax(axis=1)
    positions = np.searchsorted(average.labelled, nodes)
    w, Y, base = average.targets.weights, average.targets.Y, average.fit
    fits: list[list[Any]] = [[] for _ in range(2 * len(nodes))]
    for member, U, (W, score_map) in zip(average.members, average.rows, base, strict=True):
        g = Ridge(U, member.penalty, w).inverse_times(U[positions].T)
        for k, j in enumerate(positions):
            rest = 1.0 - w[j] * (U[j] @ g[:, k])
            without = -(w[j] / max(rest, 1e-12)) * (Y[j] - U[j] @ W)
            instead = w[j] * (np.eye(c)[others[k]] - Y[j])
            fits[2 * k].append((W + np.outer(g[:, k], without), score_map))
            fits[2 * k + 1].append((W + np.outer(g[:, k], instead), score_map))
    offset = np.zeros(c)
    if model._priors is not None:
        old, new = np.log(np.maximum(model._priors, np.finfo(np.float64).tiny))
        offset = (new - old) / average.sharpness
    informed = model.informed_
    now = (average.ensemble.logits([base])[:, 0] + offset).argmax(axis=1)
    at_once = max(1, _BATCH // max(1, model._fit_inputs.A.shape[0] * c))
    changed: list[int] = []
    for start in range(0, len(fits), at_once):
        logits = average.ensemble.logits(fits[start : start + at_once]) + offset
        differs = logits.argmax(axis=2) != now[:, None]
        changed += np.count_nonzero(differs & informed[:, None], axis=0).tolist()
    return np.array(changed[::2]), np.array(changed[1::2])
