"""Supervised embedding (SEB, Eq. 6) and the step of the linear predictor beside it.

``S`` in the paper is an n×n diagonal that picks the labelled nodes. Here it is never built: every
function takes the rows of ``U`` and ``Y`` that ``S`` keeps.
"""

from typing import Any, Literal

import numpy as np
from scipy.special import softmax

Loss = Literal["squared", "cross_entropy"]


def soft_labels(scores: np.ndarray, loss: Loss = "squared") -> Any:
    r"""Turn scores into soft labels (Sect. 4.1).

    .. math:: Z = U W \ \text{(squared loss)}, \qquad Z = \mathrm{softmax}(U W) \ \text{(cross-entropy)}

    Parameters
    ----------
    scores : ndarray of shape (m, c)
        The product UW.
    loss : {"squared", "cross_entropy"}, default="squared"

    Returns
    -------
    ndarray of shape (m, c)

    Examples
    --------
    >>> import numpy as np
    >>> soft_labels(np.array([[0.0, 0.0]]), "cross_entropy")
    array([[0.5, 0.5]])
    """
    return scores if loss == "squared" else softmax(scores, axis=1)


def residual(scores: np.ndarray, Y: np.ndarray, loss: Loss = "squared") -> Any:
    """Give ``Z − Y``, the derivative of either loss with respect to the scores UW (appendix D.3, D.4).

    Parameters
    ----------
    scores : ndarray of shape (m, c)
        The product UW of labelled nodes.
    Y : ndarray of shape (m, c)
        Their labels, one-hot.
    loss : {"squared", "cross_entropy"}, default="squared"

    Returns
    -------
    ndarray of shape (m, c)

    Examples
    --------
    >>> import numpy as np
    >>> residual(np.array([[1.0, 0.5]]), np.array([[1.0, 0.0]]))
    array([[0. , 0.5]])
    """
    return soft_labels(scores, loss) - Y


def supervised_embedding(
    U: np.ndarray, W: np.ndarray, Y: np.ndarray, eta_sup: float, loss: Loss = "squared"
) -> Any:
    r"""Pull labelled embeddings towards their labels: the SEB operator (Eq. 6).

    .. math:: -\eta_{sup} S (Z - Y) W^\top

    Rows of unlabelled nodes are zero, so only the labelled rows are taken and given back.

    Parameters
    ----------
    U : ndarray of shape (m, d)
        Embeddings of labelled nodes.
    W : ndarray of shape (d, c)
    Y : ndarray of shape (m, c)
        Their labels, one-hot.
    eta_sup : float
    loss : {"squared", "cross_entropy"}, default="squared"

    Returns
    -------
    ndarray of shape (m, d)
        What is to be added to those rows.

    Examples
    --------
    >>> import numpy as np
    >>> U, W, Y = np.array([[2.0]]), np.array([[0.5, 0.25]]), np.array([[1.0, 0.0]])
    >>> supervised_embedding(U, W, Y, eta_sup=0.1)
    array([[-0.0125]])
    """
    return -eta_sup * (residual(U @ W, Y, loss) @ W.T)


def linear_step(U: np.ndarray, W: np.ndarray, Y: np.ndarray, eta_w: float, loss: Loss = "squared") -> Any:
    r"""Take one gradient step of the linear predictor on the labelled nodes (Sect. 4.1).

    .. math:: W - \eta_W U^\top S (Z - Y)

    Parameters
    ----------
    U : ndarray of shape (m, d)
        Embeddings of labelled nodes.
    W : ndarray of shape (d, c)
    Y : ndarray of shape (m, c)
        Their labels, one-hot.
    eta_w : float
    loss : {"squared", "cross_entropy"}, default="squared"

    Returns
    -------
    ndarray of shape (d, c)

    Examples
    --------
    >>> import numpy as np
    >>> U, W, Y = np.array([[2.0]]), np.array([[0.5, 0.25]]), np.array([[1.0, 0.0]])
    >>> linear_step(U, W, Y, eta_w=0.1)
    array([[0.5 , 0.15]])
    """
    return W - eta_w * (U.T @ residual(U @ W, Y, loss))
