"""Supervised embedding (SEB, Eq. 6) and the gradient step of the linear predictor.

In the paper, ``S`` is an n×n diagonal matrix that selects the labelled nodes. It is never built here:
functions take only the labelled rows of ``U`` and ``Y``.
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.special import softmax

from gssl.operators.arrays import alike

Loss = Literal["squared", "cross_entropy"]
# rows of U updated at a time
_ROWS = 4096


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
    """Return ``Z − Y``, the derivative of either loss with respect to the scores UW (appendix D.3, D.4).

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


@dataclass(frozen=True)
class Pull:
    r"""The update that SEB adds to the embeddings, stored as factors of :math:`S R W^\top`.

    ``nodes`` are the rows that S selects, and ``R`` has one row for each. ``numpy.asarray`` computes the
    product for these rows.
    """

    nodes: np.ndarray
    R: np.ndarray
    W: np.ndarray

    def columns(self, columns: slice) -> "Pull":
        """Return the pull on some columns of U."""
        return Pull(self.nodes, self.R, self.W[columns])

    def add_to(self, U: Any) -> None:
        """Add the pull to U in place, a block of rows at a time."""
        for start in range(0, len(self.nodes), _ROWS):
            part = slice(start, start + _ROWS)
            U[self.nodes[part]] += alike(self.R[part] @ self.W.T, U)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.asarray(self.R @ self.W.T, dtype=dtype)


def supervised_embedding(
    R: np.ndarray, W: np.ndarray, eta_sup: float, nodes: np.ndarray | None = None
) -> Pull:
    r"""Pull labelled embeddings towards their labels: the SEB operator (Eq. 6).

    .. math:: -\eta_{sup} S (Z - Y) W^\top

    Rows of unlabelled nodes are zero, so only labelled rows are used and returned, as factors.

    Parameters
    ----------
    R : ndarray of shape (m, c)
        The residual Z − Y of m labelled nodes: see :func:`residual`.
    W : ndarray of shape (d, c)
    eta_sup : float
    nodes : int ndarray of shape (m,), optional
        The labelled rows of U; the first m if None.

    Returns
    -------
    Pull of shape (m, d)
        The update to add to those rows.

    Examples
    --------
    >>> import numpy as np
    >>> U, W, Y = np.array([[2.0]]), np.array([[0.5, 0.25]]), np.array([[1.0, 0.0]])
    >>> np.asarray(supervised_embedding(residual(U @ W, Y), W, eta_sup=0.1))
    array([[-0.0125]])
    """
    return Pull(np.arange(len(R)) if nodes is None else nodes, -eta_sup * R, W)


def linear_step(U: Any, W: np.ndarray, R: np.ndarray, eta_w: float) -> Any:
    r"""Take one gradient step of the linear predictor on the labelled nodes (Sect. 4.1).

    .. math:: W - \eta_W U^\top S (Z - Y)

    Parameters
    ----------
    U : ndarray of shape (m, d), or rows of an embedding
        Embeddings of labelled nodes.
    W : ndarray of shape (d, c)
    R : ndarray of shape (m, c)
        Their residual Z − Y: see :func:`residual`.
    eta_w : float

    Returns
    -------
    ndarray of shape (d, c)

    Examples
    --------
    >>> import numpy as np
    >>> U, W, Y = np.array([[2.0]]), np.array([[0.5, 0.25]]), np.array([[1.0, 0.0]])
    >>> linear_step(U, W, residual(U @ W, Y), eta_w=0.1)
    array([[0.5 , 0.15]])
    """
    return W - eta_w * (U.T @ R)
