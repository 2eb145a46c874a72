"""The losses that the operators descend or ascend: Q_smo, Q_sharp and Q_sup."""

from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.special import logsumexp

from gssl.operators.supervision import Loss


def smoothing_loss(A_hat: Any, U: np.ndarray) -> float:
    r"""Measure how much the embeddings of linked nodes differ (Q_smo, Eq. 3).

    .. math:: \bar Q_{smo} = \mathrm{tr}\left(U^\top (I - \hat A) U\right)

    With the normalised negatives of :func:`gssl.operators.normalized_negatives` in place of
    :math:`\hat A`, this is Q_igc of Theorem 4.

    Parameters
    ----------
    A_hat : NormalizedAdjacency, Complement or csr_array of shape (n, n)
    U : ndarray of shape (n, d)

    Returns
    -------
    float

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from gssl.operators import normalized_adjacency
    >>> A_hat = normalized_adjacency(csr_array([[0.0, 1.0], [1.0, 0.0]]))
    >>> round(smoothing_loss(A_hat, np.array([[1.0], [0.0]])), 6)
    0.5
    """
    return float(np.vdot(U, U - A_hat @ U))


def sharpening_loss(N: csr_array, U: np.ndarray) -> float:
    r"""Measure how far apart the embeddings of unlinked nodes are (Q_sharp, Eq. 7).

    .. math:: Q_{sharp} = \mathrm{tr}\left(U^\top {}^\neg D^{-1/2}\, {}^\neg L\, {}^\neg D^{-1/2} U\right)

    Parameters
    ----------
    N : csr_array of shape (n, n)
        Symmetric 0/1 matrix of unlinked pairs. Nodes in no pair contribute nothing.
    U : ndarray of shape (n, d)

    Returns
    -------
    float

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> sharpening_loss(csr_array([[0.0, 1.0], [1.0, 0.0]]), np.array([[1.0], [-1.0]]))
    4.0
    """
    degree = N.sum(axis=1, dtype=np.float64)
    scale = np.zeros_like(degree)
    np.divide(1.0, np.sqrt(degree), out=scale, where=degree > 0)
    V = scale[:, None] * U
    return float(np.vdot(V, degree[:, None] * V - N @ V))


def classification_loss(scores: np.ndarray, Y: np.ndarray, loss: Loss = "squared") -> float:
    r"""Measure how far the predictions of labelled nodes are from their labels (Q_sup, appendix D.3 and D.4).

    .. math:: \tfrac12 \sum_{i \in L} \|U_i W - Y_i\|^2, \qquad
              -\sum_{i \in L} \sum_k Y_{ik} \log \mathrm{softmax}(U_i W)_k

    Parameters
    ----------
    scores : ndarray of shape (m, c)
        The product UW of labelled nodes.
    Y : ndarray of shape (m, c)
        Their labels, one-hot.
    loss : {"squared", "cross_entropy"}, default="squared"

    Returns
    -------
    float

    Examples
    --------
    >>> import numpy as np
    >>> classification_loss(np.array([[1.0, 1.0]]), np.array([[1.0, 0.0]]))
    0.5
    """
    if loss == "squared":
        return float(0.5 * np.square(scores - Y).sum())
    return float((logsumexp(scores, axis=1) - (scores * Y).sum(axis=1)).sum())
