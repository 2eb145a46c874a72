"""Sets of labels that hold the true one as often as was asked for."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from gssl.methods.base import GraphClassifier
from gssl.methods.inputs import select_nodes
from gssl.selection.calibration import Calibration


@dataclass(frozen=True)
class Coverage:
    """How often sets held the true label, and how large they were.

    ``by_class`` are the shares for each class alone, NaN for a class that was not among the labels;
    ``singles`` is the share of sets of one label.
    """

    coverage: float
    mean_size: float
    singles: float
    by_class: np.ndarray
    n_labels: int


def conformal_thresholds(
    P: np.ndarray, codes: np.ndarray, miscoverage: float, *, mondrian: bool
) -> np.ndarray:
    r"""Find how improbable a label may be and still belong to a set, from labels that were hidden.

    .. math:: t = \text{the } \lceil (m + 1)(1 - \alpha) \rceil\text{-th least of } 1 - P_{i y_i}

    If nodes to be judged are drawn as the m labelled ones were, :math:`\{k : 1 - P_k \le t\}` holds the true
    label with a probability of at least :math:`1 - \alpha`, whatever P is worth.

    Parameters
    ----------
    P : ndarray of shape (m, c)
        Distributions of nodes whose label was hidden.
    codes : int ndarray of shape (m,)
        Their classes.
    miscoverage : float
        The share of sets that may miss.
    mondrian : bool
        A threshold for each class, from its own labels: sets then hold 1 − α of every class, and labels that
        were drawn class by class do no harm. A class with fewer than 1/α − 1 labels is in every set.

    Returns
    -------
    ndarray of shape (c,)
        One threshold for each class; infinite where there are too few labels to exclude anything.

    Examples
    --------
    >>> P = np.stack([np.arange(1, 20) / 20, 1 - np.arange(1, 20) / 20], axis=1)
    >>> conformal_thresholds(P, np.zeros(19, dtype=int), miscoverage=0.1, mondrian=False)
    array([0.9, 0.9])
    """
    scores = _scores(P, codes, miscoverage)
    if not mondrian:
        return np.full(P.shape[1], _quantile(scores, miscoverage))
    return np.array([_quantile(scores[codes == k], miscoverage) for k in range(P.shape[1])])


def label_sets(P: np.ndarray, thresholds: np.ndarray) -> np.ndarray:
    """Return the labels that are probable enough; the most probable one is always among them.

    Parameters
    ----------
    P : ndarray of shape (n, c)
    thresholds : ndarray of shape (c,) or (n, c)
        From :func:`conformal_thresholds`; or for each node its own.

    Returns
    -------
    bool ndarray of shape (n, c)

    Examples
    --------
    >>> label_sets(np.array([[0.7, 0.3], [0.55, 0.45]]), np.array([0.6, 0.6]))
    array([[ True, False],
           [ True,  True]])
    """
    # a hair of slack: 1 − P of the label that is the threshold must not miss it by the rounding of P
    slack = 4.0 * float(np.finfo(np.result_type(P, np.float32)).eps)
    sets = 1.0 - np.asarray(P, dtype=np.float64) <= thresholds + slack
    sets[np.arange(len(P)), P.argmax(axis=1)] = True
    return np.asarray(sets)


def coverage(sets: np.ndarray, codes: np.ndarray) -> Coverage:
    """Count how often sets hold the true label.

    Parameters
    ----------
    sets : bool ndarray of shape (m, c)
    codes : int ndarray of shape (m,)
        The true classes.

    Returns
    -------
    Coverage

    Examples
    --------
    >>> found = coverage(np.array([[True, False], [True, True]]), np.array([1, 1]))
    >>> found.coverage, found.mean_size, found.singles
    (0.5, 1.5, 0.5)
    """
    held = sets[np.arange(len(codes)), codes]
    counts = np.bincount(codes, minlength=sets.shape[1])
    hits = np.bincount(codes, weights=held, minlength=sets.shape[1])
    sizes = sets.sum(axis=1)
    return Coverage(
        coverage=float(held.mean()),
        mean_size=float(sizes.mean()),
        singles=float((sizes == 1).mean()),
        by_class=np.where(counts > 0, hits / np.maximum(counts, 1), np.nan),
        n_labels=len(codes),
    )


def held_out_coverage(P: np.ndarray, codes: np.ndarray, miscoverage: float, *, mondrian: bool) -> Coverage:
    r"""Estimate the coverage of sets from the hidden labels themselves, each judged by the others.

    .. math:: t_i = s_{(r + [\mathrm{rank}_i \le r])}, \qquad r = \lceil m (1 - \alpha) \rceil
    """
    scores = _scores(P, codes, miscoverage)
    if mondrian:
        # a node has a part in the threshold of its own class only
        thresholds = np.tile(conformal_thresholds(P, codes, miscoverage, mondrian=True), (len(codes), 1))
        for k in np.unique(codes):
            thresholds[codes == k, k] = _quantiles_without(scores[codes == k], miscoverage)
    else:
        thresholds = np.repeat(_quantiles_without(scores, miscoverage)[:, None], P.shape[1], axis=1)
    return coverage(label_sets(P, thresholds), codes)


def _scores(P: np.ndarray, codes: np.ndarray, miscoverage: float) -> np.ndarray:
    if isinstance(miscoverage, bool) or not 0.0 < miscoverage < 1.0:
        raise ValueError(
            f"miscoverage is the share of sets that may miss, between 0 and 1, not {miscoverage!r}."
        )
    return np.asarray(1.0 - np.asarray(P, dtype=np.float64)[np.arange(len(codes)), codes])


def _rank(n_scores: int, miscoverage: float) -> int:
    # the small number keeps 0.9 × 20 from being more than 18
    return int(np.ceil((n_scores + 1) * (1.0 - miscoverage) - 1e-9))


def _quantile(scores: np.ndarray, miscoverage: float) -> float:
    rank = _rank(len(scores), miscoverage)
    return float(np.sort(scores)[rank - 1]) if rank <= len(scores) else np.inf


def _quantiles_without(scores: np.ndarray, miscoverage: float) -> np.ndarray:
    """Return for each score the quantile of all others."""
    m = len(scores)
    rank = _rank(m - 1, miscoverage)
    if rank > m - 1:
        return np.full(m, np.inf)
    order = np.argsort(scores)
    thresholds = np.empty(m)
    thresholds[order[:rank]] = scores[order[rank]]
    thresholds[order[rank:]] = scores[order[rank - 1]]
    return thresholds


class SetPredictor(GraphClassifier):
    """A classifier that knows what it said about hidden labels, and so how wide its sets must be."""

    held_out_distributions_: np.ndarray
    held_out_codes_: np.ndarray

    @cached_property
    def calibration_(self) -> Calibration:
        """What is done to distributions before they are judged: nothing, unless a subclass does."""
        return Calibration()

    def predict_sets(
        self,
        X: Any = None,
        *,
        adjacency: Any = None,
        nodes: Any = None,
        miscoverage: float = 0.1,
        mondrian: bool = False,
    ) -> np.ndarray:
        """Return sets of labels that hold the true one in a share 1 − α of nodes.

        This holds on average over nodes that were drawn as the labelled ones were: a random draw. Where
        labels were drawn class by class, or chosen by somebody, or where ``priors`` say that the nodes to be
        judged have other shares of classes, ``mondrian`` keeps the promise for each class, with larger sets.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (m, d), optional
            Features of all nodes of a new graph; the nodes of fit if neither X nor ``adjacency`` is given.
        adjacency : array-like or sparse matrix of shape (m, m), optional
        nodes : bool mask of shape (m,) or indices, optional
            The k nodes that are wanted: all if None. See :meth:`predict_proba`.
        miscoverage : float, default=0.1
            The share of sets that may miss.
        mondrian : bool, default=False
            Whether each class has a threshold of its own.

        Returns
        -------
        bool ndarray of shape (m, c) or (k, c)
            Columns as in ``classes_``. Never empty; all true for a node that no label or feature reaches.

        Examples
        --------
        >>> import gssl
        >>> data = gssl.datasets.load("digits")
        >>> y = data.labels.copy()
        >>> y[300:] = -1
        >>> model = gssl.CalibratedClassifier(gssl.LabelSpreading(), folds=2)
        >>> model = model.fit(None, y, adjacency=data.adjacency)
        >>> sets = model.predict_sets(nodes=y == -1)
        >>> bool(sets[range(len(sets)), data.labels[300:]].mean() > 0.85)
        True
        """
        check_is_fitted(self)
        if X is None and adjacency is None:
            n = len(self.label_distributions_)
            chosen = slice(None) if nodes is None else select_nodes(nodes, n, "nodes")
            P, informed = self.label_distributions_[chosen], self.informed_[chosen]
        else:
            P, informed = self.predict_informed(X, adjacency, nodes)
        sets = label_sets(P, conformal_thresholds(*self._judged(), miscoverage, mondrian=mondrian))
        sets[~informed] = True
        return sets

    def coverage(self, miscoverage: float = 0.1, *, mondrian: bool = False) -> Coverage:
        """Estimate how often sets hold the true label and how large they are, from hidden labels.

        Parameters
        ----------
        miscoverage : float, default=0.1
        mondrian : bool, default=False

        Returns
        -------
        Coverage

        Examples
        --------
        >>> import gssl
        >>> data = gssl.datasets.load("karate")
        >>> y = data.labels.copy()
        >>> y[20:] = -1
        >>> model = gssl.CalibratedClassifier(gssl.LabelPropagation())
        >>> found = model.fit(None, y, adjacency=data.adjacency).coverage(0.2)
        >>> found.n_labels, 1.0 <= found.mean_size <= 2.0
        (20, True)
        """
        check_is_fitted(self)
        if not len(self.held_out_codes_):
            raise ValueError(
                "no label could be hidden, so nothing tells how often sets are right: label more."
            )
        return held_out_coverage(*self._judged(), miscoverage, mondrian=mondrian)

    @cached_property
    def coverage_(self) -> Coverage:
        """The coverage of sets at α = 0.1."""
        return self.coverage()

    def _judged(self) -> tuple[np.ndarray, np.ndarray]:
        return self._with_priors(self.calibration_(self.held_out_distributions_)), self.held_out_codes_
