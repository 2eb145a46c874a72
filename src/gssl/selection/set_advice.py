"""Advice about several labels per node: which known cells look wrong, given labels and missing ones."""

from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
from scipy.special import expit

from gssl.methods.inputs import ids_of_fit
from gssl.methods.label_sets import UNKNOWN
from gssl.methods.labels import UNLABELLED
from gssl.selection.audit_table import AuditTable
from gssl.selection.auto_sets import AutoLabelSets
from gssl.selection.set_search import log_odds
from gssl.wording import counted, write_probability

# rates of wrong cells to begin with, the least ones, and rounds of expectation and maximisation
_FIRST, _LEAST, _ROUNDS = 0.02, 1e-4, 40
# the prior of a rate, as right cells
_PRIOR = 5.0
# how much steeper log-odds may be without wrong cells, and the strength of the prior that they are not
_STEEPNESS, _PULL = np.geomspace(1.0, 8.0, 13), 0.1
# most cells to fit rates to
_MOST = 20_000


@dataclass(frozen=True, eq=False, repr=False)
class SetAudit(AuditTable):
    """Known cells, each a node and a label, that the model contradicts, the most doubtful first.

    Attributes
    ----------
    nodes, labels : ndarrays of shape (k,)
        The node and the label of each cell.
    given : bool ndarray of shape (k,)
        Whether the label is given; if not, it may be missing.
    probability : ndarray of shape (k,)
        Of the label, predicted without the labels of the node.
    p_wrong : ndarray of shape (k,)
        The probability that the cell is wrong.
    n_given, n_cells : int
        The numbers of given labels and of known cells.
    expected_spurious, expected_missing : float
        The expected numbers of given labels that are wrong, and of labels that are missing, in all cells.
    node_ids : ndarray of shape (n,), or None
        The ids of all nodes, if the problem is known.
    """

    nodes: np.ndarray
    labels: np.ndarray
    given: np.ndarray
    probability: np.ndarray
    p_wrong: np.ndarray
    n_given: int
    n_cells: int
    expected_spurious: float
    expected_missing: float
    node_ids: np.ndarray | None = None

    @property
    def summary(self) -> str:
        """How many cells are expected to be wrong, and how many the model contradicts, in words."""
        n_spurious = int(self.given.sum())
        return (
            f"About {self.expected_spurious:.0f} of {counted(self.n_given, 'given label')} are wrong, and "
            f"about {self.expected_missing:.0f} are missing. Without the labels of a node, the model "
            f"contradicts {n_spurious:,} given labels and would add {len(self) - n_spurious:,}, in part "
            "by its own errors."
        )

    def columns(self, node_ids: Any = None) -> dict[str, list[Any]]:
        """Return a dict of columns; ids are node numbers if neither these nor the problem are known."""
        return {
            "id": self._ids(node_ids),
            "label": [str(one) for one in self.labels],
            "given": ["yes" if one else "no" for one in self.given],
            "probability": self.probability.tolist(),
            "p_wrong": self.p_wrong.tolist(),
        }

    def text(self, n: int = 10) -> str:
        """Describe the n most doubtful cells, one per line."""
        rows = zip(*(column[:n] for column in self.columns().values()), strict=True)
        return "\n".join(
            f"{node}: {label} is {'given' if given == 'yes' else 'not given'}, the model says "
            f"{write_probability(p)}, wrong with probability {write_probability(wrong)}"
            for node, label, given, p, wrong in rows
        )

    def __repr__(self) -> str:
        return f"Audit of {self.n_cells:,} cells\n{self.summary}"

    def _repr_html_(self) -> str:
        return f"<p>{escape(self.summary)}</p>{super()._repr_html_()}"


def audit_sets(model: AutoLabelSets, problem: Any = None) -> SetAudit:
    """Rank the known cells that the model contradicts by the probability that they are wrong."""
    ids = ids_of_fit(model, problem)
    nodes = np.flatnonzero(model.fit_codes != UNLABELLED)
    cells, P = model.fit_cells[nodes], np.asarray(model.held_out_probabilities, dtype=np.float64)
    known, given = cells != UNKNOWN, cells == 1
    wrong = np.zeros(P.shape)
    wrong[known] = wrong_cells(P, given, known)
    rows, columns = np.nonzero(known & (model.decide(P) != given))
    order = np.argsort(-wrong[rows, columns], kind="stable")
    rows, columns = rows[order], columns[order]
    at = rows, columns
    return SetAudit(
        nodes=nodes[rows],
        labels=model.classes_[columns],
        given=given[at],
        probability=P[at],
        p_wrong=wrong[at],
        n_given=int(given.sum()),
        n_cells=int(known.sum()),
        expected_spurious=float(wrong[given].sum()),
        expected_missing=float(wrong[known & ~given].sum()),
        node_ids=ids,
    )


def wrong_cells(P: np.ndarray, given: np.ndarray, known: np.ndarray) -> np.ndarray:
    r"""Return the probability that each known cell is wrong.

    A label that a node has is missing at the rate μ, and one that it lacks is given at the rate σ:

    .. math:: p(\text{given}) = (1 - \mu)\, q + \sigma (1 - q), \qquad
              \mathrm{logit}\, q = b_k + t\, (\mathrm{logit}\, p - b_k)

    with the log-odds :math:`b_k` of the share of label k. Wrong cells have made the probabilities p of the
    model flatter than q. Both rates and the steepness t maximise the likelihood of the cells.
    """
    shares = ((given & known).sum(axis=0) + 0.5) / (known.sum(axis=0) + 1.0)
    base = np.broadcast_to(np.log(shares / (1.0 - shares)), P.shape)[known]
    lead, is_given = log_odds(P[known]) - base, given[known]
    # evenly spaced by probability: the order of nodes must not matter
    order = np.lexsort((lead, base + lead, is_given))
    part = order[np.unique(np.linspace(0, len(order) - 1, _MOST).round().astype(int))]
    fits = [_fit_rates(expit(base[part] + t * lead[part]), is_given[part]) for t in _STEEPNESS]
    likely = [fit[1] - 0.5 * _PULL * np.log(t) ** 2 for fit, t in zip(fits, _STEEPNESS, strict=True)]
    best = int(np.argmax(likely))
    return _posterior(expit(base + _STEEPNESS[best] * lead), is_given, fits[best][0])


def _fit_rates(q: np.ndarray, given: np.ndarray) -> tuple[tuple[float, float], float]:
    """Fit the rates of missing and of spurious cells; return them and the log-likelihood."""
    missing = spurious = _FIRST
    for _ in range(_ROUNDS):
        wrong = _posterior(q, given, (missing, spurious))
        lost, added = float(wrong[~given].sum()), float(wrong[given].sum())
        n_true = float((given * (1.0 - wrong) + ~given * wrong).sum())
        missing = max(lost / (n_true + _PRIOR), _LEAST)
        spurious = max(added / (len(q) - n_true + _PRIOR), _LEAST)
    p = (1.0 - missing) * q + spurious * (1.0 - q)
    logs = np.log(np.maximum(np.where(given, p, 1.0 - p), 1e-300))
    return (missing, spurious), float(logs.sum())


def _posterior(q: np.ndarray, given: np.ndarray, rates: tuple[float, float]) -> np.ndarray:
    """Return the probability that each cell is wrong, for rates of missing and of spurious cells."""
    missing, spurious = rates
    p = (1.0 - missing) * q + spurious * (1.0 - q)
    wrong = np.where(given, spurious * (1.0 - q), missing * q)
    return np.asarray(wrong / np.maximum(np.where(given, p, 1.0 - p), 1e-300))
