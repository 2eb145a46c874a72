"""Label spreading judged on hidden labels."""

from collections.abc import Callable
from time import perf_counter
from typing import Any, TypeAlias

import numpy as np

from gssl.evaluation.held_out import label_folds
from gssl.methods._base import iterate, last
from gssl.methods._distributions import one_hot, rows_to_distributions
from gssl.methods._labels import UNLABELLED
from gssl.selection.leaderboard import Entry
from gssl.selection.trial import Labels, score_error

Hop = Callable[[np.ndarray], np.ndarray]
# nodes whose labels were hidden, and what was said about them
Hidden: TypeAlias = tuple[np.ndarray, np.ndarray]
# the part of the fixed point that may be missing, and the fewest and most steps towards it: few would not
# come far enough from a label to say anything
_MISSING = 0.01
_FEWEST, _MOST = 32, 1000
# folds are run side by side up to so many columns: a hop over few of them costs about as much as over one
_COLUMNS = 32


def judge_spreading(
    alpha: float,
    hop: Hop,
    codes: np.ndarray,
    weigh: Callable[[np.ndarray], Labels],
    dtype: Any = np.float64,
) -> tuple[Entry, Hidden] | None:
    """Judge label spreading on hidden labels, if any class has two; None if not.

    Parameters
    ----------
    alpha : float
    hop : callable
    codes : int ndarray of shape (n,)
    weigh : callable
        From class codes to labels that know how much they count.
    dtype : dtype, default=float64
        The precision of the hops.

    Returns
    -------
    entry : Entry
    hidden : (ndarray of shape (m,), ndarray of shape (m, c))

    Examples
    --------
    >>> A, codes = np.kron(np.eye(2), np.ones((4, 4)) - np.eye(4)) / 3, np.array([0, 0, 0, -1, 1, 1, 1, -1])
    >>> weigh = lambda codes: Labels(one_hot(codes, 2, float), np.ones(len(codes)))
    >>> judge_spreading(0.9, lambda F: A @ F, codes, weigh)[0].score
    1.0
    """
    start = perf_counter()
    if np.bincount(codes[codes != UNLABELLED]).max() < 2:
        return None
    hidden = spread_hidden(hop, codes, alpha, dtype=dtype)
    return hidden_entry("LabelSpreading", f"alpha={alpha}", hidden, codes, weigh, start), hidden


def hidden_entry(
    model: str,
    settings: str,
    hidden: Hidden,
    codes: np.ndarray,
    weigh: Callable[[np.ndarray], Labels],
    start: float,
) -> Entry:
    """Enter what a model said about hidden labels into the table, with the seconds since it started.

    Examples
    --------
    >>> hidden = np.arange(2), np.array([[1.0, 0.0], [0.5, 0.5]])
    >>> weigh = lambda codes: Labels(one_hot(codes, 2, float), np.ones(len(codes)))
    >>> entry = hidden_entry("OGC", "", hidden, np.array([0, 1]), weigh, perf_counter())
    >>> entry.score, entry.squared_error
    (0.5, 0.25)
    """
    nodes, P = hidden
    labels = weigh(codes[nodes])
    score = float(np.average(P.argmax(axis=1) == codes[nodes], weights=labels.weights))
    return Entry(
        model=model,
        settings=settings,
        score=score,
        standard_error=score_error(score, labels),
        squared_error=float(np.average(np.square(P - labels.Y).sum(axis=1), weights=labels.weights)),
        seconds=perf_counter() - start,
        chosen=False,
    )


def spread_hidden(
    hop: Hop,
    codes: np.ndarray,
    alpha: float = 0.9,
    n_folds: int = 5,
    steps: int | None = None,
    dtype: Any = np.float64,
) -> Hidden:
    r"""Say what label spreading thinks of labels that were hidden from it, each of them once.

    .. math:: F \leftarrow \alpha D^{-1/2} A D^{-1/2} F + (1 - \alpha) Y

    After k steps a part :math:`\alpha^k` of the fixed point is missing, which is what predicts in the end.
    Folds are run side by side as long as that is a few columns.

    Parameters
    ----------
    hop : callable
        Multiplies columns by :math:`D^{-1/2} A D^{-1/2}`.
    codes : int ndarray of shape (n,)
        Class codes, −1 where unlabelled; some class has two labels.
    alpha : float, default=0.9
    n_folds : int, default=5
    steps : int, optional
        So many that 1 % is missing if None, but 32 to 1000.
    dtype : dtype, default=float64

    Returns
    -------
    nodes : int ndarray of shape (m,)
        The nodes whose labels were hidden, in order.
    distributions : ndarray of shape (m, c)

    Examples
    --------
    >>> A = np.kron(np.eye(2), np.ones((4, 4)) - np.eye(4)) / 3
    >>> nodes, P = spread_hidden(lambda F: A @ F, np.array([0, 0, 0, -1, 1, 1, 1, -1]))
    >>> nodes.tolist(), P.argmax(axis=1).tolist()
    ([0, 1, 2, 4, 5, 6], [0, 0, 0, 1, 1, 1])
    """
    n_classes = int(codes.max()) + 1
    folds = label_folds(codes, n_folds, random_state=0)
    if steps is None:
        steps = int(np.clip(np.ceil(np.log(_MISSING) / np.log(alpha)), _FEWEST, _MOST))
    ks = range(steps)
    labelled = np.flatnonzero(codes != UNLABELLED)
    said = []
    together = max(1, _COLUMNS // n_classes)
    for first in range(0, len(folds), together):
        group = folds[first : first + together]
        Y = np.zeros((len(codes), len(group), n_classes), dtype)
        for k, hidden in enumerate(group):
            shown = np.setdiff1d(labelled, hidden)
            Y[shown, k] = (1.0 - alpha) * one_hot(codes[shown], n_classes, Y.dtype)
        F = _spread(hop, Y.reshape(len(codes), -1), alpha, ks).reshape(Y.shape)
        said += [F[hidden, k] for k, hidden in enumerate(group)]
    nodes = np.concatenate(folds)
    order = np.argsort(nodes)
    return nodes[order], rows_to_distributions(np.concatenate(said)[order].astype(np.float64))


def _spread(hop: Hop, Y: np.ndarray, alpha: float, ks: range) -> np.ndarray:
    def step(F: np.ndarray, _: int) -> np.ndarray:
        F = hop(F)
        F *= alpha
        F += Y
        return F

    return last(iterate(step, Y, ks))
