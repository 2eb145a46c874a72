"""Conformal prediction: sets of labels with a given coverage."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from gssl.graph.validate import warn_user
from gssl.methods.base import GraphClassifier
from gssl.methods.inputs import select_nodes
from gssl.methods.state import reads_state
from gssl.selection.calibration import Calibration


@dataclass(frozen=True)
class Coverage:
    """How often sets contain the true label, and how large they are.

    ``by_class`` is the coverage of each class, NaN for a class without labels, and ``labels_by_class`` the
    number of labels it is estimated from. ``singles`` is the share of sets with one label.
    """

    coverage: float
    mean_size: float
    singles: float
    by_class: np.ndarray
    labels_by_class: np.ndarray
    n_labels: int


# minimum number of labels for a class to get its own threshold by default
OWN_LABELS = 10
# maximum number of classes named in a warning
NAMED = 3


def conformal_thresholds(
    P: np.ndarray, codes: np.ndarray, miscoverage: float, *, mondrian: bool | None = None
) -> np.ndarray:
    r"""Find the thresholds on 1 − P up to which labels belong to a set, from hidden labels.

    .. math:: t = \text{the } \lceil (m + 1)(1 - \alpha) \rceil\text{-th least of } 1 - P_{i y_i}

    If nodes are drawn from the same distribution as the m labelled ones, :math:`\{k : 1 - P_k \le t\}`
    contains the true label with a probability of at least :math:`1 - \alpha`, however good P is. A threshold
    from the labels of one class guarantees this for the nodes of that class.

    Parameters
    ----------
    P, codes : ndarrays of shape (m, c) and (m,)
        Distributions of nodes whose label was hidden, and their classes.
    miscoverage : float
        α, the share of sets that may miss the true label.
    mondrian : bool, optional
        True: one threshold per class, from its own labels. Every class then has coverage 1 − α, even if
        labels were drawn class by class, and a class with fewer than 1/α − 1 labels is in every set.
        False: one threshold from all labels, which may miss a rare class entirely. None: one threshold per
        class with at least 10 labels (and at least 1/α − 1), and a shared one for the other classes: from
        their labels, or from all labels if theirs are fewer than 1/α − 1.

    Returns
    -------
    ndarray of shape (c,)
        One threshold per class; infinite if there are too few labels to exclude anything.

    Examples
    --------
    >>> P = np.stack([np.arange(1, 20) / 20, 1 - np.arange(1, 20) / 20], axis=1)
    >>> conformal_thresholds(P, np.zeros(19, dtype=int), miscoverage=0.1, mondrian=False)
    array([0.9, 0.9])
    """
    scores = _scores(P, codes, miscoverage)
    thresholds = np.empty(P.shape[1])
    for classes, source in _groups(codes, P.shape[1], miscoverage, mondrian):
        thresholds[classes] = _quantile(scores[source], miscoverage)
    return thresholds


def own_thresholds(
    codes: np.ndarray, n_classes: int, miscoverage: float, mondrian: bool | None
) -> np.ndarray:
    """Return which classes have their own threshold."""
    if mondrian is not None:
        return np.full(n_classes, mondrian)
    counts = np.bincount(codes, minlength=n_classes)
    return counts >= max(OWN_LABELS, _fewest(miscoverage))


def _groups(
    codes: np.ndarray, n_classes: int, miscoverage: float, mondrian: bool | None
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield classes that share a threshold, and a mask of the labels that it is computed from."""
    own = own_thresholds(codes, n_classes, miscoverage, mondrian)
    for k in np.flatnonzero(own):
        yield np.array([k]), codes == k
    if not own.all():
        source = ~own[codes]
        few = source.sum() < _fewest(miscoverage)
        yield np.flatnonzero(~own), np.ones_like(source) if few else source


def label_sets(P: np.ndarray, thresholds: np.ndarray) -> np.ndarray:
    """Return the labels that are probable enough; the most probable one is always among them.

    Parameters
    ----------
    P : ndarray of shape (n, c)
    thresholds : ndarray of shape (c,) or (n, c)
        From :func:`conformal_thresholds`, or separate ones for each node.

    Returns
    -------
    bool ndarray of shape (n, c)

    Examples
    --------
    >>> label_sets(np.array([[0.7, 0.3], [0.55, 0.45]]), np.array([0.6, 0.6]))
    array([[ True, False],
           [ True,  True]])
    """
    # tolerance: rounding of P must not exclude the label that defines the threshold
    slack = 4.0 * float(np.finfo(np.result_type(P, np.float32)).eps)
    sets = 1.0 - np.asarray(P, dtype=np.float64) <= thresholds + slack
    sets[np.arange(len(P)), P.argmax(axis=1)] = True
    return np.asarray(sets)


def coverage(sets: np.ndarray, codes: np.ndarray) -> Coverage:
    """Compute how often sets contain the true label, and their sizes.

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
    >>> result = coverage(np.array([[True, False], [True, True]]), np.array([1, 1]))
    >>> result.coverage, result.mean_size, result.singles
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
        labels_by_class=counts,
        n_labels=len(codes),
    )


def held_out_coverage(
    P: np.ndarray, codes: np.ndarray, miscoverage: float, *, mondrian: bool | None = None
) -> Coverage:
    r"""Estimate coverage on hidden labels, each with thresholds computed from the other labels.

    .. math:: t_i = s_{(r + [\mathrm{rank}_i \le r])}, \qquad r = \lceil m (1 - \alpha) \rceil
    """
    scores = _scores(P, codes, miscoverage)
    thresholds = np.empty(P.shape)
    for classes, source in _groups(codes, P.shape[1], miscoverage, mondrian):
        # leave a label out only of thresholds that were computed from it
        at_node = np.full(len(codes), _quantile(scores[source], miscoverage))
        at_node[source] = _quantiles_without(scores[source], miscoverage)
        thresholds[:, classes] = at_node[:, None]
    return coverage(label_sets(P, thresholds), codes)


def _scores(P: np.ndarray, codes: np.ndarray, miscoverage: float) -> np.ndarray:
    if isinstance(miscoverage, bool) or not 0.0 < miscoverage < 1.0:
        raise ValueError(
            f"miscoverage is the share of sets that may miss, between 0 and 1, not {miscoverage!r}."
        )
    return np.asarray(1.0 - np.asarray(P, dtype=np.float64)[np.arange(len(codes)), codes])


def _rank(n_scores: int, miscoverage: float) -> int:
    # 1e-9 guards against rounding, such as 0.9 × 20 > 18
    return int(np.ceil((n_scores + 1) * (1.0 - miscoverage) - 1e-9))


def _fewest(miscoverage: float) -> int:
    """Return the minimum number of scores for a finite threshold."""
    return int(np.ceil((1.0 - miscoverage - 1e-9) / miscoverage))


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
    """A classifier that predicts label sets, using its distributions for hidden labels."""

    held_out_distributions_: np.ndarray
    held_out_codes_: np.ndarray

    @cached_property
    def calibration_(self) -> Calibration:
        """The calibration of distributions; the identity unless a subclass overrides it."""
        return Calibration()

    @reads_state
    def predict_sets(
        self,
        X: Any = None,
        *,
        adjacency: Any = None,
        nodes: Any = None,
        miscoverage: float = 0.1,
        mondrian: bool | None = None,
    ) -> np.ndarray:
        """Return sets of labels that contain the true one for a share 1 − α of nodes.

        The coverage holds on average over nodes drawn like the labelled ones, and within each class with at
        least 10 labels, even if labels were drawn class by class. Classes with fewer labels share a
        threshold, with no guarantee for a single class; a warning names them with their estimated coverage.
        See ``coverage_.by_class`` for all classes.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (m, d), optional
            Features of all nodes of a new graph; the nodes of fit if neither X nor ``adjacency`` is given.
        adjacency : array-like or sparse matrix of shape (m, m), optional
        nodes : bool mask of shape (m,) or indices, optional
            The k nodes to predict; all if None. See :meth:`predict_proba`.
        miscoverage : float, default=0.1
            α, the share of sets that may miss the true label.
        mondrian : bool, optional
            Whether each class has its own threshold: see :func:`conformal_thresholds`.

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
        if mondrian is None and len(self.held_out_codes_):
            self._name_uncovered(miscoverage)
        sets[~informed] = True
        return sets

    @reads_state
    def coverage(self, miscoverage: float = 0.1, *, mondrian: bool | None = None) -> Coverage:
        """Estimate how often sets contain the true label and how large they are, from hidden labels.

        Parameters
        ----------
        miscoverage, mondrian
            As in :meth:`predict_sets`.

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
        >>> result = model.fit(None, y, adjacency=data.adjacency).coverage(0.2)
        >>> result.n_labels, 1.0 <= result.mean_size <= 2.0
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

    def _name_uncovered(self, miscoverage: float) -> None:
        """Warn about classes without a guarantee of their own, with their estimated coverage."""
        own = own_thresholds(self.held_out_codes_, len(self.classes_), miscoverage, None)
        shared = np.flatnonzero(~own)
        if not len(shared):
            return
        estimate = self.coverage(miscoverage)
        worst = shared[np.argsort(np.nan_to_num(estimate.by_class[shared]), kind="stable")][:NAMED]
        named = ", ".join(
            f"{str(self.classes_[k])!r} ({estimate.labels_by_class[k]} labels, "
            f"{100 * np.nan_to_num(estimate.by_class[k]):.0f}% of them covered)"
            for k in worst
        )
        warn_user(
            f"label sets promise their coverage over all nodes, but not within {len(shared)} of {len(own)} "
            f"classes with too few labels: {named}{' …' if len(shared) > NAMED else ''}; label at least "
            f"{max(OWN_LABELS, _fewest(miscoverage))} nodes of each, or use mondrian=True."
        )

    def _judged(self) -> tuple[np.ndarray, np.ndarray]:
        return self._with_priors(self.calibration_(self.held_out_distributions_)), self.held_out_codes_
