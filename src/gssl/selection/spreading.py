"""Label spreading judged on hidden labels, all folds side by side."""

from collections.abc import Callable
from time import perf_counter
from typing import TypeAlias

import numpy as np

from gssl.evaluation.held_out import label_folds
from gssl.methods._base import iterate, last
from gssl.methods._distributions import one_hot, rows_to_distributions
from gssl.methods._labels import UNLABELLED
from gssl.selection.leaderboard import Entry
from gssl.selection.search import Labels, score_error

Hop = Callable[[np.ndarray], np.ndarray]
# nodes whose labels were hidden, and what was said about them
Hidden: TypeAlias = tuple[np.ndarray, np.ndarray]


def judge_spreading(
    alpha: float, hop: Hop, codes: np.ndarray, weigh: Callable[[np.ndarray], Labels]
) -> tuple[Entry, Hidden] | None:
    """Judge label spreading on hidden labels, if any class has two; None if not.

    Parameters
    ----------
    alpha : float
    hop : callable
    codes : int ndarray of shape (n,)
    weigh : callable
        From class codes to labels that know how much they count.

    Returns
    -------
    entry : Entry
    hidden : (ndarray of shape (m,), ndarray of shape (m, c))
    """
    start = perf_counter()
    if np.bincount(codes[codes != UNLABELLED]).max() < 2:
        return None
    nodes, P = spread_hidden(hop, codes, alpha)
    labels = weigh(codes[nodes])
    score = float(np.average(P.argmax(axis=1) == codes[nodes], weights=labels.weights))
    entry = Entry(
        model="LabelSpreading",
        settings=f"alpha={alpha}",
        score=score,
        standard_error=score_error(score, labels),
        squared_error=float(np.average(np.square(P - labels.Y).sum(axis=1), weights=labels.weights)),
        seconds=perf_counter() - start,
        chosen=False,
    )
    return entry, (nodes, P)


def spread_hidden(
    hop: Hop, codes: np.ndarray, alpha: float = 0.9, n_folds: int = 5, steps: int = 32
) -> Hidden:
    r"""Say what label spreading thinks of labels that were hidden from it, each of them once.

    .. math:: F \leftarrow \alpha D^{-1/2} A D^{-1/2} F + (1 - \alpha) Y

    Every fold is a few columns more, so all of them are one run over the graph.

    Parameters
    ----------
    hop : callable
        Multiplies columns by :math:`D^{-1/2} A D^{-1/2}`.
    codes : int ndarray of shape (n,)
        Class codes, −1 where unlabelled; some class has two labels.
    alpha : float, default=0.9
    n_folds : int, default=5
    steps : int, default=32
        Enough to tell a good model from a bad one.

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
    Y = np.zeros((len(codes), len(folds), n_classes))
    known = np.flatnonzero(codes != UNLABELLED)
    Y[known] = (1.0 - alpha) * one_hot(codes[known], n_classes, Y.dtype)[:, None]
    for fold, hidden in enumerate(folds):
        Y[hidden, fold] = 0.0
    wide = Y.reshape(len(codes), -1)
    F = last(iterate(lambda F, k: alpha * hop(F) + wide, wide, range(steps))).reshape(Y.shape)
    nodes = np.concatenate(folds)
    said = np.concatenate([F[hidden, fold] for fold, hidden in enumerate(folds)])
    order = np.argsort(nodes)
    return nodes[order], rows_to_distributions(said[order])
