"""What a filter does to each frequency of a graph (Fig. 1, Theorem 2)."""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone

from gssl.graph import check_adjacency
from gssl.methods.embedder import GraphEmbedder

# an eigendecomposition takes about a minute and 0.4 GB here
_MAX_NODES = 5000


def filter_response(
    embedder: GraphEmbedder | Callable[[np.ndarray], np.ndarray],
    adjacency: Any,
    *,
    self_loops: bool = True,
) -> tuple[np.ndarray, np.ndarray]:
    r"""Measure how much of each eigenvector of a graph's Laplacian a filter lets pass.

    .. math:: \phi(\lambda_i) = \langle q_i, f(q_i) \rangle, \qquad
              \tilde D^{-1/2} \tilde L \tilde D^{-1/2} q_i = \lambda_i q_i

    Where f is a function of that Laplacian, as SGC is, this is all that f does. IGC, GGC and GGCM use the
    unlinked pairs, too, and mix eigenvectors on all but regular graphs; this is then their diagonal part.

    Parameters
    ----------
    embedder : GraphEmbedder or callable
        ``SGC(depth=k)``, ``GGCM()`` …, run on ``adjacency``; or a linear map of embeddings, such as
        ``lambda U: lazy_convolution(A_hat, U, 0.5)``.
    adjacency : sparse matrix or array-like of shape (n, n)
        At most 5,000 nodes: its eigenvectors are dense.
    self_loops : bool, default=True
        Take the Laplacian of A + I, as graph convolution does; without them that of A, in which Theorem 2
        writes IGC's filter on the negative graph.

    Returns
    -------
    eigenvalues : float64 ndarray of shape (n,), ascending
    responses : float64 ndarray of shape (n,)

    Examples
    --------
    >>> import gssl
    >>> A = gssl.datasets.load("karate").adjacency
    >>> eigenvalues, responses = filter_response(gssl.SGC(depth=2), A)
    >>> bool(np.allclose(responses, convolution_curve(eigenvalues, depth=2)))
    True
    """
    A = check_adjacency(adjacency)
    n = A.shape[0]
    if n > _MAX_NODES:
        raise ValueError(
            f"the graph has {n} nodes, too many for all eigenvectors: give {_MAX_NODES} or fewer."
        )
    weights = A.toarray().astype(np.float64) + (np.eye(n) if self_loops else 0.0)
    degrees = weights.sum(axis=1)
    root = np.divide(1.0, np.sqrt(degrees), out=np.zeros(n), where=degrees > 0)
    eigenvalues, Q = np.linalg.eigh(np.eye(n) - root[:, None] * weights * root)
    if isinstance(embedder, GraphEmbedder):
        passed = clone(embedder).fit_transform(Q, adjacency=A)
    else:
        passed = embedder(Q)
    return eigenvalues, np.asarray(np.einsum("ij,ij->j", Q, passed))


def convolution_curve(eigenvalues: Any, beta: float = 1.0, depth: int = 1) -> np.ndarray:
    r"""Give the filter of (lazy) graph convolution, applied ``depth`` times.

    .. math:: \phi(\lambda) = (1 - \beta \lambda)^k

    Parameters
    ----------
    eigenvalues : array-like
        Of the symmetric normalised Laplacian of A + I.
    beta : float, default=1.0
    depth : int, default=1
        k

    Returns
    -------
    float64 ndarray

    Examples
    --------
    >>> convolution_curve([0.0, 0.5, 1.5], depth=2)
    array([1.  , 0.25, 0.25])
    """
    return np.asarray((1.0 - beta * np.asarray(eigenvalues, dtype=np.float64)) ** depth)


def inverse_convolution_curve(eigenvalues: Any, mean_degree: float, beta: float = 1.0) -> np.ndarray:
    r"""Give the approximate filter of (lazy) inverse graph convolution (Theorem 2).

    .. math:: \phi({}^\neg\lambda) = \beta \frac{2 - \bar\xi + \bar\xi\, {}^\neg\lambda}{\bar\xi + 2}
              + 1 - \beta

    Parameters
    ----------
    eigenvalues : array-like
        Of the symmetric normalised Laplacian of the negative graph, without self-loops.
    mean_degree : float
        ξ̄, the mean degree of the negative graph.
    beta : float, default=1.0

    Returns
    -------
    float64 ndarray

    Examples
    --------
    >>> inverse_convolution_curve([0.0, 1.0, 2.0], mean_degree=2.0)
    array([0. , 0.5, 1. ])
    """
    eigenvalues = np.asarray(eigenvalues, dtype=np.float64)
    sharp = (2.0 - mean_degree + mean_degree * eigenvalues) / (mean_degree + 2.0)
    return np.asarray(beta * sharp + 1.0 - beta)
