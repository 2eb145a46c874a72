"""Which given labels may be wrong: those that a model contradicts while it does not see them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import solve
from scipy.special import softmax

from gssl.evaluation.holdout import HeldOut, held_out_distributions
from gssl.operators import small_algebra
from gssl.selection.auto import AutoClassifier
from gssl.selection.average import Average
from gssl.selection.leave_one_out import leave_one_out, spectrum_of_rows
from gssl.selection.softmax_link import fit_link, inverse_temperatures
from gssl.selection.why import unwrapped

# rounds of doubt: labels that look wrong count less when the others are judged
_ROUNDS = 3
# beyond so many labels all count the same: a few wrong ones move little
_MANY = 10_000
# a label that is surely wrong still counts so much: leave-one-out divides by it
_LEAST = 1e-3
# by how much a class may be raised for the label that is hidden from it
_RAISED = 3.0
# parts of wrong labels and inverse temperatures that are compared
_RATES = np.concatenate([[1e-4], np.arange(0.005, 0.1, 0.005), np.arange(0.1, 0.45, 0.02)])
_SHARPNESS = np.geomspace(0.3, 16.0, 30)
# pulls the inverse temperature towards one
_PULL = 0.1
# numbers of a batch of scores
_ROOM = 1 << 24


@dataclass(frozen=True, eq=False)
class Audit:
    """Given labels, the most doubtful first.

    Attributes
    ----------
    nodes : int ndarray of shape (m,)
        Labelled nodes. Those whose class has no other label cannot be judged and are left out.
    given, says : ndarrays of shape (m,)
        The label, and the class that the model finds most probable without having seen it.
    probability, p_given : ndarrays of shape (m,)
        The probability of what the model says, and of the label.
    p_wrong : ndarray of shape (m,)
        The probability that the label is wrong.
    removed, flipped : int ndarrays of shape (m,)
        How many predictions would change if the label were removed, or were what the model says; −1 where
        this was not computed.
    expected_wrong : float
        How many of the labels are wrong, as far as the labels themselves can tell.
    interval : tuple of float
        A 90 % interval of it, under the assumption that a wrong label may be any other class.
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

    def __len__(self) -> int:
        return len(self.nodes)

    @property
    def summary(self) -> str:
        """The expected number of wrong labels in a sentence."""
        low, high = self.interval
        return (
            f"About {self.expected_wrong:.0f} of {len(self):,} labels are wrong ({low:.0f} to {high:.0f}), "
            "assuming that a wrong label may be of any other class."
        )

    def columns(self, node_ids: Any = None) -> dict[str, list[Any]]:
        """Return the table by columns; ids are numbers where there are no others."""
        ids = self.nodes if node_ids is None else [node_ids[node] for node in self.nodes]
        removed, flipped = (
            [None if n < 0 else int(n) for n in part] for part in (self.removed, self.flipped)
        )
        return {
            "id": [str(one) for one in ids],
            "given": [str(one) for one in self.given],
            "says": [str(one) for one in self.says],
            "probability": self.probability.tolist(),
            "p_given": self.p_given.tolist(),
            "p_wrong": self.p_wrong.tolist(),
            "changes_if_removed": removed,
            "changes_if_flipped": flipped,
        }


def audit(model: Any, changes: int = 20, *, held_out: HeldOut | None = None) -> Audit:
    r"""Rank given labels by how surely the model contradicts them without having seen them.

    What a fitted average says about a label is known in closed form without the label, and also if doubtful
    labels count less. So labels that look wrong are given less weight when the others are judged, and that a
    few times over. A label is ranked by

    .. math:: \log \bar p_{y_i} - \log p_{i y_i},

    where :math:`\bar p_k` is the mean probability of labels of class k: a class that is hard to tell is not
    suspect for that. The part ε of wrong labels and a temperature t are those under which the labels are most
    probable, each of them being wrong with probability ε and then any other class,

    .. math:: \prod_i (1 - \varepsilon)\, p_{i y_i}(t) + \tfrac{\varepsilon}{c - 1} (1 - p_{i y_i}(t)).

    Other models are fitted without some labels at a time, and their labels are ranked in the same way, but
    with all labels counting the same.

    Parameters
    ----------
    model : fitted classifier
        Not one that was loaded from a file.
    changes : int, default=20
        For so many of the most doubtful labels, count the predictions that would change. Only the average of
        ``AutoClassifier`` can tell, with its choice of models and what unlabelled nodes teach as they are.
    held_out : HeldOut, optional
        What the model says about hidden labels, where it is known already.

    Returns
    -------
    Audit

    Examples
    --------
    >>> import gssl
    >>> data = gssl.datasets.load("cora")
    >>> y = data.mask_labels("default")
    >>> wrong = (y == 0).nonzero()[0][0]
    >>> y[wrong] = 1
    >>> model = gssl.AutoClassifier(depth=4).fit(data.features, y, adjacency=data.adjacency)
    >>> found = audit(model, changes=2)
    >>> bool(wrong in found.nodes[:10])
    True
    """
    if isinstance(changes, bool) or not isinstance(changes, int | np.integer) or changes < 0:
        raise ValueError(f"changes is a number of labels, a whole number from 0 on, not {changes!r}.")
    model = unwrapped(model)
    X, A, classes = model._fit_inputs.X, model._fit_inputs.A, model.classes_
    held = held_out
    if held is None:
        held = held_out_distributions(model, X if X.shape[1] else None, A, with_priors=False)
    average: Average | None = getattr(model, "_fitted_average", None)
    with small_algebra():
        logits = np.log(np.maximum(held.distributions, 1e-12))
        judged = robust_distributions(logits, held.codes)
        if average is not None and len(held.nodes) <= _MANY:
            judged = _refined(average, held)
    P, right, _, rates = judged
    order = np.argsort(-_doubt(P, held.codes), kind="stable")
    nodes, codes, P, wrong = held.nodes[order], held.codes[order], P[order], 1.0 - right[order]
    says, expected = P.argmax(axis=1), float(wrong.sum())
    removed, flipped = (np.full(len(nodes), -1) for _ in range(2))
    top = slice(0, int(changes))
    if average is not None and not hasattr(model, "propagation_") and len(nodes[top]):
        with small_algebra():
            removed[top], flipped[top] = _changes(model, average, nodes[top], P[top], codes[top])
    return Audit(
        nodes=nodes,
        given=classes[codes],
        says=classes[says],
        probability=P[np.arange(len(P)), says],
        p_given=P[np.arange(len(P)), codes],
        p_wrong=wrong,
        removed=removed,
        flipped=flipped,
        expected_wrong=expected,
        interval=(min(len(nodes) * rates[0], expected), max(len(nodes) * rates[1], expected)),
    )


# distributions, the probability that each label is right, the part of wrong ones, and a 90 % interval of it
_Judged = tuple[np.ndarray, np.ndarray, float, tuple[float, float]]


def robust_distributions(
    logits: np.ndarray, codes: np.ndarray, sharpness: np.ndarray = _SHARPNESS
) -> _Judged:
    """Sharpen logits by the temperature that is best if a part of the labels is wrong, and find that part."""
    m, c = logits.shape
    own, e, others = (np.arange(m), codes), _RATES[:, None], max(c - 1, 1)
    likely = np.empty((len(sharpness), len(_RATES)))
    for k, t in enumerate(sharpness):
        p = softmax(t * logits, axis=1)[own]
        likely[k] = np.log(np.maximum((1.0 - e) * p + e / others * (1.0 - p), 1e-300)).sum(axis=1)
    likely -= 0.5 * _PULL * np.square(np.log(sharpness))[:, None]
    best, place = np.unravel_index(likely.argmax(), likely.shape)
    # rates are not evenly spaced, so each counts by the room that it stands for
    mass = np.exp(likely - likely.max()).sum(axis=0) * np.gradient(_RATES)
    summed = np.cumsum(mass) / mass.sum()
    low, high = np.interp([0.05, 0.95], summed, _RATES)
    rate, P = float(_RATES[place]), softmax(sharpness[best] * logits, axis=1)
    p = P[own]
    right = (1.0 - rate) * p / ((1.0 - rate) * p + rate / others * (1.0 - p))
    return P, right, rate, (float(low), float(high))


def rank_labels(P: np.ndarray, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Judge labels by calibrated distributions that did not see them.

    Returns their order, the most doubtful first, and the probability that each is wrong.
    """
    _, right, _, _ = robust_distributions(np.log(np.maximum(P, 1e-12)), codes, np.ones(1))
    return np.argsort(-_doubt(P, codes), kind="stable"), 1.0 - right


def _refined(average: Average, held: HeldOut) -> _Judged:
    """Judge labels by leave-one-out with doubtful labels counting less, a few times over."""
    labelled = average.nodes[average.places]
    kept = np.searchsorted(labelled, held.nodes)
    trusted = np.ones(len(labelled))
    trusted[kept[_contradicted(held.distributions, held.codes)]] = 0.0
    for _ in range(_ROUNDS):
        logits = leave_one_out_logits(average, trusted)
        judged = robust_distributions(logits[kept], held.codes)
        trusted[kept] = judged[1]
    return judged


def leave_one_out_logits(average: Average, trusted: np.ndarray) -> np.ndarray:
    """Return what the average says about every label without it, the others counting as they are trusted."""
    Y = average.labels.Y
    weights = average.labels.weights * np.maximum(trusted, _LEAST)
    roots, total = np.sqrt(weights)[:, None], np.zeros(Y.shape)
    for member, rows in zip(average.members, average.rows, strict=True):
        gram = spectrum_of_rows(roots * rows[: len(Y)])
        said = leave_one_out(gram, roots * Y, np.array([member.penalty / gram.scale]))[0] / roots
        said = _keep_mass(said, Y, weights)
        t = float(inverse_temperatures(said[None], Y, weights)[0][0])
        total += fit_link(said, Y, weights, t)[0].logits(said)
    return total / len(average.members)


def _keep_mass(said: np.ndarray, Y: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Correct for the label that its own class lacks, as ``keep_class_mass`` does, with weights."""
    mass = Y @ (weights @ Y)
    raised = mass / np.maximum(mass - weights, mass / _RAISED)
    return np.asarray(np.where(Y > 0, raised[:, None] * said, said))


def _contradicted(P: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return which labels another class contradicts that is at least as probable as it is for its own labels.

    This is the rule of confident learning (Northcutt et al., 2021).
    """
    sure = _mean_confidence(P, codes) <= P
    says = np.where(sure, P, -1.0).argmax(axis=1)
    return np.asarray(sure.any(axis=1) & (says != codes))


def _mean_confidence(P: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return the mean probability of the labels of each class; one where it has none."""
    own = P[np.arange(len(P)), codes]
    counts = np.bincount(codes, minlength=P.shape[1])
    sums = np.bincount(codes, weights=own, minlength=P.shape[1])
    return np.asarray(np.where(counts > 0, sums / np.maximum(counts, 1), 1.0))


def _doubt(P: np.ndarray, codes: np.ndarray) -> np.ndarray:
    own = np.maximum(P[np.arange(len(P)), codes], 1e-300)
    return np.asarray(np.log(np.maximum(_mean_confidence(P, codes)[codes], 1e-300)) - np.log(own))


def _changes(
    model: AutoClassifier, average: Average, nodes: np.ndarray, P: np.ndarray, codes: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    r"""Count the predictions that change without a label, or with the most probable other class instead.

    .. math:: W_{-j} = W - \frac{w_j\, G^{-1} u_j (y_j - u_j^\top W)}{1 - w_j\, u_j^\top G^{-1} u_j}, \qquad
              W' = W + w_j\, G^{-1} u_j (y' - y_j)
    """
    c = P.shape[1]
    others = np.where(np.arange(c) == codes[:, None], -1.0, P).argmax(axis=1)
    places = np.searchsorted(average.nodes[average.places], nodes)
    w, Y, base = average.targets.weights, average.targets.Y, average.fit()
    fits: list[list[Any]] = [[] for _ in range(2 * len(nodes))]
    for member, U, (W, link) in zip(average.members, average.rows, base, strict=True):
        G = U.T @ (w[:, None] * U) + member.penalty * np.eye(U.shape[1])
        g = solve(G, U[places].T, assume_a="pos", check_finite=False)
        for k, j in enumerate(places):
            rest = 1.0 - w[j] * (U[j] @ g[:, k])
            without = -(w[j] / max(rest, 1e-12)) * (Y[j] - U[j] @ W)
            instead = w[j] * (np.eye(c)[others[k]] - Y[j])
            fits[2 * k].append((W + np.outer(g[:, k], without), link))
            fits[2 * k + 1].append((W + np.outer(g[:, k], instead), link))
    offset = np.zeros(c)
    if model._priors is not None:
        old, new = np.log(np.maximum(model._priors, np.finfo(np.float64).tiny))
        offset = (new - old) / average.sharpness
    informed = model.informed_
    now = (average.ensemble.logits([base])[:, 0] + offset).argmax(axis=1)
    at_once = max(1, _ROOM // max(1, average.A.shape[0] * c))
    changed: list[int] = []
    for start in range(0, len(fits), at_once):
        said = average.ensemble.logits(fits[start : start + at_once]) + offset
        differs = said.argmax(axis=2) != now[:, None]
        changed += np.count_nonzero(differs & informed[:, None], axis=0).tolist()
    return np.array(changed[::2]), np.array(changed[1::2])
