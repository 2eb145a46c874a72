"""Predictions for labels that are hidden fold by fold.

Only labels are hidden. Every node and edge stays, as when the model is used.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from gssl.evaluation.metrics import Confusion, confusion_matrix, score_error, share_interval
from gssl.graph import GraphWarning, check_adjacency
from gssl.graph.validate import without_warnings
from gssl.methods.base import GraphClassifier
from gssl.methods.label_sets import refuse_label_sets
from gssl.methods.labels import UNLABELLED, decode_labels, encode_labels
from gssl.wording import counted, quoted, write_range, write_share

# folds if no refit is needed: they cost next to nothing, and more folds hide fewer labels at a time
_CHEAP_FOLDS = 20
# minimum number of hidden labels for a meaningful accuracy
_TELLING = 8
# number of classes to name in a warning
_NAMED = 3


@dataclass(frozen=True, eq=False, repr=False)
class HeldOut:
    """Predictions of a method for labels that were hidden from it.

    ``nodes`` are the nodes whose labels were hidden, once each, in order; ``codes`` are their classes as
    indices into ``classes``; ``distributions`` are the predictions made while they were hidden, one column
    per class. ``n_untested`` classes have only one label, which cannot be hidden. ``n_folds`` is 0 if the
    predictions come from :func:`held_out_if_known`.
    """

    nodes: np.ndarray
    codes: np.ndarray
    distributions: np.ndarray
    classes: np.ndarray
    n_folds: int
    n_untested: int

    def __repr__(self) -> str:
        return f"HeldOut: {self.summary}" if len(self.nodes) else "HeldOut: no label was hidden."

    @property
    def n_labels(self) -> int:
        """Number of labels that were hidden."""
        return len(self.nodes)

    @property
    def truth(self) -> np.ndarray:
        """The hidden labels."""
        return np.asarray(self.classes[self.codes])

    @property
    def predicted(self) -> np.ndarray:
        """The most probable class of each of ``nodes``."""
        return np.asarray(self.classes[self.distributions.argmax(axis=1)])

    @property
    def accuracy(self) -> float:
        """Fraction of hidden labels that were predicted correctly."""
        return float(self._hits.mean())

    @property
    def standard_error(self) -> float:
        r"""Standard error of ``accuracy``, with one success and one failure added.

        .. math:: \sqrt{\tilde p (1 - \tilde p) / (n + 2)}, \quad \tilde p = (k + 1) / (n + 2),

        so that it is not zero if a few labels are all predicted correctly.
        """
        return score_error(self.accuracy, self.n_labels)

    @property
    def interval(self) -> tuple[float, float]:
        """The interval that holds the accuracy on more such labels in nine of ten cases, by Wilson."""
        return share_interval(self.accuracy, self.n_labels)

    @property
    def largest_share(self) -> float:
        """Fraction of hidden labels in the largest class: the accuracy of always predicting it."""
        return float(np.bincount(self.codes).max() / self.n_labels)

    @property
    def confusion(self) -> Confusion:
        """Confusion matrix of hidden labels and their predictions."""
        return confusion_matrix(self.truth, self.predicted, self.classes, self.source)

    @property
    def macro_recall(self) -> float:
        """Mean recall over the classes with hidden labels."""
        return float(np.nanmean(self.confusion.recall))

    @property
    def beats_largest_class(self) -> bool:
        """Whether ``accuracy`` exceeds ``largest_share`` by more than its standard error."""
        return self.accuracy > self.largest_share + self.standard_error

    @property
    def tells(self) -> bool:
        """Whether enough labels were hidden for a percentage to mean anything."""
        return self.n_labels >= _TELLING

    @property
    def summary(self) -> str:
        """Accuracy, mean recall, and accuracy of always predicting the largest class, in words."""
        if not self.tells:
            tested = counted(self.n_labels, "label")
            return f"Only {tested} could be tested: too few to say how good the predictions are."
        largest = self.classes[np.bincount(self.codes).argmax()]
        interval = write_range(*self.interval, partial(write_share, digits=1))
        text = (
            f"{write_share(self.accuracy, 1)} of {self.n_labels:,} hidden labels are right "
            f"({interval}), and {write_share(self.macro_recall, 1)} on average over the classes; "
            f"always answering {quoted(str(largest))} would be right for "
            f"{write_share(self.largest_share, 1)}."
        )
        if not self.beats_largest_class:
            text += " This is no better than always answering the largest class."
        return text

    @property
    def rarely_found(self) -> np.ndarray:
        """Classes whose recall is less than half of the accuracy, as indices, the worst first.

        The recall, with one hit and one miss added, is two standard errors lower, so few labels do not warn.
        """
        confusion = self.confusion
        totals = confusion.counts.sum(axis=1)
        p = (np.diag(confusion.counts) + 1) / (totals + 2)
        sure = p + 2 * np.sqrt(p * (1 - p) / (totals + 2)) < self.accuracy
        with np.errstate(invalid="ignore"):
            poor = np.flatnonzero(sure & (confusion.recall < self.accuracy / 2))
        return np.asarray(poor[np.lexsort((-totals[poor], confusion.recall[poor]))])

    @property
    def warning(self) -> str:
        """A sentence about the classes that are rarely found; empty if there are none."""
        poor, counts = self.rarely_found, self.confusion.counts
        if not len(poor):
            return ""
        named = ", ".join(
            f"{quoted(self.classes[c])} ({counts[c, c]:,} of {counts[c].sum():,} hidden labels)"
            for c in poor[:_NAMED]
        )
        more = f" and {len(poor) - _NAMED:,} more" if len(poor) > _NAMED else ""
        return f"Warning: the model rarely finds {named}{more}: label more nodes of them."

    @property
    def source(self) -> str:
        """One sentence on how the numbers were obtained."""
        if self.n_folds:
            text = f"{self.n_folds}-fold label masking on {self.n_labels:,} labels; the graph was never cut"
        else:
            text = f"Each of {self.n_labels:,} labels was hidden while its node was predicted"
        if self.n_untested:
            classes = "class" if self.n_untested == 1 else "classes"
            text += f", and {self.n_untested} {classes} with one label could not be tested"
        return f"{text}."

    @property
    def _hits(self) -> np.ndarray:
        return np.asarray(self.distributions.argmax(axis=1) == self.codes)


def held_out_accuracy(
    model: Any,
    X: Any,
    y: Any,
    adjacency: Any,
    n_folds: int = 5,
    random_state: int = 0,
    on_fold: Callable[[int, int], None] | None = None,
) -> HeldOut:
    """Hide some labels, fit to the others and predict the hidden ones, until each was hidden once.

    Parameters
    ----------
    model : classifier
        Cloned for each fold.
    X : array-like or sparse matrix of shape (n, d), or None
    y : array-like of shape (n,)
        Labels; −1, None or NaN where there is none.
    adjacency : sparse matrix or array-like of shape (n, n), or None
    n_folds : int, default=5
        Fewer if there are fewer labels to hide.
    random_state : int, default=0
        Draws the folds; the same seed and labels give the same folds for every model.
    on_fold : callable, optional
        Called with the number of folds done and of all folds.

    Returns
    -------
    HeldOut

    Examples
    --------
    >>> import gssl
    >>> data = gssl.datasets.load("karate")
    >>> y = data.labels.copy()
    >>> y[10:30] = -1
    >>> result = held_out_accuracy(gssl.LabelPropagation(class_mass=False), None, y, data.adjacency)
    >>> result.n_labels, result.accuracy > 0.8
    (14, True)
    >>> result.source
    '5-fold label masking on 14 labels; the graph was never cut.'
    """
    classes, codes = encode_labels(y)
    folds = label_folds(codes, n_folds, random_state)
    if adjacency is not None:
        # checked here, so that problems of the graph are reported only once
        adjacency = check_adjacency(adjacency, directed=getattr(model, "directed", False), allow_empty=True)

    predict = partial(_refit_without, model, X, adjacency, classes, codes, {})
    return _hold_out(folds, predict, classes, codes, on_fold)


def held_out_distributions(
    model: Any,
    X: Any,
    adjacency: Any,
    n_folds: int = 5,
    random_state: int = 0,
    *,
    with_priors: bool = True,
    **options: Any,
) -> HeldOut:
    """Return the predictions of a fitted classifier for its own labels, each hidden once.

    If only a linear head depends on labels, only the head is refitted, with at least 20 folds. If the
    classifier keeps its leave-one-out predictions, these are used. Otherwise it is refitted for each fold.

    Parameters
    ----------
    model : fitted classifier
    X : features of fit, or None
    adjacency : graph of fit
    n_folds : int, default=5
        Fewer if there are fewer labels to hide.
    random_state : int, default=0
        Draws the folds.
    with_priors : bool, default=True
        Whether the ``priors`` of the model are applied.
    **options
        Passed to each fit.

    Returns
    -------
    HeldOut

    Examples
    --------
    >>> import gssl
    >>> data = gssl.datasets.load("karate")
    >>> y = data.labels.copy()
    >>> y[10:30] = -1
    >>> model = gssl.LabelPropagation().fit(None, y, adjacency=data.adjacency)
    >>> held_out = held_out_distributions(model, None, data.adjacency)
    >>> held_out.nodes.tolist() == (y != -1).nonzero()[0].tolist()
    True
    """
    check_is_fitted(
        model, msg="this %(name)s is not fitted: fit it first, or call held_out_accuracy, which fits it."
    )
    model = model.snapshot()
    classes, codes = model.classes_, model.fit_codes
    predict = partial(model.distributions_without, with_priors=with_priors)
    folds = label_folds(codes, max(n_folds, _CHEAP_FOLDS), random_state)
    if predict(folds[0]) is None:
        folds = label_folds(codes, n_folds, random_state)
        if not with_priors and model.priors is not None:
            model = clone(model).set_params(priors=None)
        predict = partial(_refit_without, model, X, adjacency, classes, codes, options)
    return _hold_out(folds, predict, classes, codes)


def held_out_if_known(model: Any) -> HeldOut | None:
    """Return the predictions of a fitted classifier for hidden labels if they need no refit.

    Parameters
    ----------
    model : fitted classifier

    Returns
    -------
    HeldOut or None
        None if the model would have to be refitted, or if every class has only one label.

    Examples
    --------
    >>> import gssl
    >>> data = gssl.datasets.load("karate")
    >>> model = gssl.AutoClassifier(depth=2).fit(data.features, data.labels, adjacency=data.adjacency)
    >>> held_out_if_known(model).n_labels
    34
    """
    refuse_label_sets(model, "a hold-out")
    model = model.snapshot()
    inner = getattr(model, "classifier_", None)
    if inner is not None and inner.priors is not None:
        # priors are applied after calibration, so stored predictions lack them
        return held_out_if_known(inner)
    classes, codes = model.classes_, model.fit_codes
    try:
        folds = label_folds(codes, _CHEAP_FOLDS, random_state=0)
    except ValueError:
        return None
    if inner is not None:
        # a calibrated classifier stores its predictions for hidden labels
        nodes = np.sort(np.concatenate(folds))
        P = model.calibration_(model.held_out_distributions_)
        return HeldOut(nodes, codes[nodes], P, classes, 0, _count_untested(codes))
    if model.distributions_without(folds[0]) is None:
        return None
    held_out = _hold_out(folds, model.distributions_without, classes, codes)
    return replace(held_out, n_folds=0)


def has_cheap_holdout(model: Any) -> bool:
    """Return whether a classifier can predict hidden labels without a refit.

    Parameters
    ----------
    model : classifier

    Examples
    --------
    >>> import gssl
    >>> has_cheap_holdout(gssl.AutoClassifier()), has_cheap_holdout(gssl.OGC())
    (True, False)
    """
    if not isinstance(model, GraphClassifier):
        return False
    return type(model).distributions_without is not GraphClassifier.distributions_without


def masked_labels(y: Any, n_folds: int = 5, random_state: int = 0) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield labels with one fold hidden, and the nodes of that fold; each label is hidden once.

    scikit-learn's cross-validation leaves out rows, which removes nodes and their links from the graph. Here
    a fold is a copy of y with some labels replaced by −1 (None unless labels are integers).

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels; −1, None or NaN where there is none.
    n_folds : int, default=5
        Fewer if there are fewer labels to hide.
    random_state : int, default=0

    Yields
    ------
    masked : ndarray of shape (n,)
        The labels to fit to.
    hidden : int ndarray
        The nodes at which to compare predictions with ``y``.

    Examples
    --------
    >>> for masked, hidden in masked_labels(["a", "b", "a", "b", None], n_folds=2):
    ...     print(masked, hidden)
    [None None 'a' 'b' None] [0 1]
    ['a' 'b' None None None] [2 3]
    """
    classes, codes = encode_labels(y)
    if classes.dtype.kind not in "iu":
        classes = classes.astype(object)
    for hidden in label_folds(codes, n_folds, random_state):
        yield _hide(hidden, classes, codes), hidden


def _hide(hidden: np.ndarray, classes: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return the labels without those of some nodes."""
    masked = codes.copy()
    masked[hidden] = UNLABELLED
    return decode_labels(classes, masked)


def label_folds(codes: np.ndarray, n_folds: int, random_state: int) -> list[np.ndarray]:
    """Split the labelled nodes of each class into random folds; a class with one label is never hidden.

    No fold is empty, and none holds all labels of a class.
    """
    rng = np.random.default_rng(random_state)
    return _deal([rng.permutation(group) for group in _groups(codes)], n_folds)


def dealt_folds(codes: np.ndarray, n_folds: int, keys: np.ndarray) -> list[np.ndarray]:
    """Split as :func:`label_folds`, but by keys of nodes, not by the order of nodes and classes."""
    return _deal(_in_order(_groups(codes), keys), n_folds)


def _groups(codes: np.ndarray, least: int = 2) -> list[np.ndarray]:
    """Return the labelled nodes of each class with at least so many labels."""
    order = np.argsort(codes, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(codes[order])) + 1)
    return [group for group in groups if len(group) >= least and codes[group[0]] != UNLABELLED]


def _in_order(groups: Sequence[np.ndarray], keys: np.ndarray) -> list[np.ndarray]:
    """Order nodes by key, and groups by size and then by their first key."""
    ordered = (group[np.argsort(keys[group], kind="stable")] for group in groups)
    return sorted(ordered, key=lambda group: (len(group), keys[group[0]]))


def _deal(groups: Sequence[np.ndarray], n_folds: int) -> list[np.ndarray]:
    if n_folds < 2:
        raise ValueError(f"label masking needs at least 2 folds, not {n_folds}.")
    if not groups:
        raise ValueError(
            "every class has one label only, so none can be hidden: label a second node of some class."
        )
    order = np.concatenate(groups)
    n_folds = min(n_folds, len(order))
    # round-robin: members of a class go to different folds, and fold sizes differ by at most one
    return [np.sort(order[fold::n_folds]) for fold in range(n_folds)]


def fold_numbers(codes: np.ndarray, n_folds: int, keys: np.ndarray) -> np.ndarray:
    """Return a fold for every label, dealt as in :func:`dealt_folds`."""
    order = np.concatenate(_in_order(_groups(codes, 1), keys))
    fold = np.empty(len(codes), dtype=np.int64)
    fold[order] = np.arange(len(codes)) % n_folds
    return fold


def balanced_fold_count(codes: np.ndarray, most: int) -> int:
    """Return the median number of labels per class, between 2 and ``most``, as the number of folds."""
    # with two labels per class, five folds would hide a label of some classes and none of others, and a head
    # that interpolates is biased against a class with half as many rows as the others, whatever their weights
    counts = np.bincount(codes)
    return int(np.clip(np.median(counts[counts > 1]), 2, most))


def _refit_without(
    model: Any,
    X: Any,
    adjacency: Any,
    classes: np.ndarray,
    codes: np.ndarray,
    options: dict[str, Any],
    hidden: np.ndarray,
) -> np.ndarray:
    """Fit a clone of the model without the labels of some nodes, and return its distributions at them."""
    # decoded labels, because class weights and priors may refer to classes
    y = _hide(hidden, classes, codes)
    # already reported by the caller
    with without_warnings(GraphWarning):
        fitted = clone(model).fit(X, y, adjacency=adjacency, **options)
    return np.asarray(fitted.label_distributions_[hidden])


def _hold_out(
    folds: Sequence[np.ndarray],
    predict: Callable[[np.ndarray], np.ndarray],
    classes: np.ndarray,
    codes: np.ndarray,
    on_fold: Callable[[int, int], None] | None = None,
) -> HeldOut:
    P = np.zeros((len(codes), len(classes)))
    for done, hidden in enumerate(folds, start=1):
        P[hidden] = predict(hidden)
        if on_fold is not None:
            on_fold(done, len(folds))
    nodes = np.sort(np.concatenate(folds))
    return HeldOut(nodes, codes[nodes], P[nodes], classes, len(folds), _count_untested(codes))


def _count_untested(codes: np.ndarray) -> int:
    return int((np.bincount(codes[codes != UNLABELLED]) == 1).sum())
