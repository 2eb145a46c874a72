"""How right a method is on labels it did not see, without cutting the graph."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from gssl.graph import GraphWarning, check_adjacency
from gssl.methods.labels import UNLABELLED, decode_labels, encode_labels


@dataclass(frozen=True, eq=False)
class HeldOut:
    """What a method said about labels that were hidden from it.

    ``nodes`` are the nodes whose labels were hidden, once each, in order; ``truth`` their labels and
    ``distributions`` what was said about them out of fold, one column for each of ``classes``.
    ``source`` tells in one sentence where the number comes from.
    """

    accuracy: float
    standard_error: float
    n_labels: int
    n_folds: int
    source: str
    truth: np.ndarray
    distributions: np.ndarray
    classes: np.ndarray
    nodes: np.ndarray

    @property
    def predicted(self) -> np.ndarray:
        """The class with the greatest probability for each of ``nodes``."""
        return np.asarray(self.classes[self.distributions.argmax(axis=1)])


def held_out_accuracy(
    model: Any,
    X: Any,
    y: Any,
    adjacency: Any,
    n_folds: int = 5,
    random_state: int = 0,
    on_fold: Callable[[int, int], None] | None = None,
) -> HeldOut:
    r"""Hide a part of the labels, fit to the rest, score the hidden ones; each label is hidden once.

    Only labels are masked: every node and edge stays, as it will when the model is used. The standard
    error is that of a proportion with one success and one failure added,

    .. math:: \sqrt{\tilde p (1 - \tilde p) / (n + 2)}, \quad \tilde p = (k + 1) / (n + 2),

    so that a few labels, all of them right, do not claim to be certain.

    Parameters
    ----------
    model : classifier
        Cloned for each fold.
    X : array-like or sparse matrix of shape (n, d), or None
    y : array-like of shape (n,)
        Labels; −1, None or NaN where there is none.
    adjacency : sparse matrix or array-like of shape (n, n), or None
    n_folds : int, default=5
        Fewer are made where there are fewer labels to hide.
    random_state : int, default=0
        Draws the folds; equal numbers and labels give equal folds for every model.
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
    >>> result = held_out_accuracy(gssl.LabelPropagation(), None, y, data.adjacency)
    >>> result.n_labels, result.accuracy > 0.8
    (14, True)
    >>> result.source
    '5-fold label masking on 14 labels; the graph was never cut.'
    """
    classes, codes = encode_labels(y)
    folds = label_folds(codes, n_folds, random_state)
    if adjacency is not None:
        # once, so that what is wrong with the graph is told once
        adjacency = check_adjacency(adjacency, allow_empty=True)
    P = np.zeros((len(codes), len(classes)))
    for done, hidden in enumerate(folds, start=1):
        masked = codes.copy()
        masked[hidden] = UNLABELLED
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", GraphWarning)
            # in the caller's own labels, by which weights and priors may be given
            fitted = clone(model).fit(X, decode_labels(classes, masked), adjacency=adjacency)
        P[hidden] = fitted.label_distributions_[hidden]
        if on_fold is not None:
            on_fold(done, len(folds))
    nodes = np.sort(np.concatenate(folds))
    right = P[nodes].argmax(axis=1) == codes[nodes]
    return HeldOut(
        accuracy=float(right.mean()),
        standard_error=_standard_error(right),
        n_labels=len(nodes),
        n_folds=len(folds),
        source=_source(codes, len(nodes), len(folds)),
        truth=classes[codes[nodes]],
        distributions=P[nodes],
        classes=classes,
        nodes=nodes,
    )


def label_folds(codes: np.ndarray, n_folds: int, random_state: int) -> list[np.ndarray]:
    """Deal the labelled nodes of each class into folds; a class with one label is never hidden.

    Parameters
    ----------
    codes : int ndarray of shape (n,)
        Class codes, −1 where unlabelled.
    n_folds : int
    random_state : int

    Returns
    -------
    list of int ndarray
        No fold is empty, and none holds all labels of a class.

    Examples
    --------
    >>> label_folds(np.array([0, 0, 1, 1, 2, -1]), n_folds=2, random_state=0)
    [array([0, 2]), array([1, 3])]
    """
    if n_folds < 2:
        raise ValueError(f"label masking needs at least 2 folds, not {n_folds}.")
    rng = np.random.default_rng(random_state)
    groups = [np.flatnonzero(codes == code) for code in range(codes.max(initial=-1) + 1)]
    dealt = [rng.permutation(group) for group in groups if len(group) > 1]
    if not dealt:
        raise ValueError(
            "every class has one label only, so none can be hidden: label a second node of some class."
        )
    order = np.concatenate(dealt)
    n_folds = min(n_folds, len(order))
    # like cards: members of a class go to different folds, and folds differ by one label at most
    return [np.sort(order[fold::n_folds]) for fold in range(n_folds)]


def _standard_error(right: np.ndarray) -> float:
    n = len(right) + 2
    p = (right.sum() + 1) / n
    return float(np.sqrt(p * (1.0 - p) / n))


def _source(codes: np.ndarray, n_labels: int, n_folds: int) -> str:
    said = f"{n_folds}-fold label masking on {n_labels:,} labels; the graph was never cut"
    singles = int((np.bincount(codes[codes != UNLABELLED]) == 1).sum())
    if singles:
        said += f", and {singles} {'class' if singles == 1 else 'classes'} with one label could not be tested"
    return said + "."
