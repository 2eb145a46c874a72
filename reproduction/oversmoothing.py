"""How close embeddings are to the limit of endless smoothing (Theorem 1, Table 4, Fig. 3)."""

from typing import Any

import numpy as np

from gssl.graph import check_adjacency, connected_components
from gssl.operators import normalized_adjacency, smoothing_loss


def smoothing_limit(X: Any, adjacency: Any) -> np.ndarray:
    r"""Give what graph convolution turns features into if it is repeated without end (Theorem 1).

    In each connected component C, with :math:`v_i = \sqrt{D_{ii} + 1}`,

    .. math:: U_i^{(\infty)} = v_i \tau, \qquad \tau = \frac{\sum_{j \in C} v_j X_j}{\sum_{j \in C} v_j^2}.

    Parameters
    ----------
    X : array-like of shape (n, d)
    adjacency : sparse matrix or array-like of shape (n, n)

    Returns
    -------
    float64 ndarray of shape (n, d)

    Examples
    --------
    >>> smoothing_limit([[4.0], [0.0], [5.0]], [[0, 1, 0], [1, 0, 0], [0, 0, 0]]).ravel().round(6)
    array([2., 2., 5.])
    """
    v, component = _roots(X, adjacency)
    return np.asarray(v[:, None] * _common(np.asarray(X, dtype=np.float64), v, component)[component])


def oversmoothing_gap(U: Any, adjacency: Any) -> float:
    r"""Give the greatest relative distance of a row from what its component has in common.

    .. math:: \max_i \frac{\left\| U_i / v_i - \tau \right\|}{\|\tau\|}

    with τ and v as in :func:`smoothing_limit`, from U itself: 0 exactly where Theorem 1 holds, at any scale
    of U, so for GCN as well as for SGC.

    Parameters
    ----------
    U : array-like of shape (n, d)
    adjacency : sparse matrix or array-like of shape (n, n)

    Returns
    -------
    float
        Infinite if the rows of a component cancel out.

    Examples
    --------
    >>> import gssl
    >>> karate = gssl.datasets.load("karate")
    >>> X = np.random.default_rng(0).random((34, 2))
    >>> U = gssl.SGC(depth=1024).fit_transform(X, adjacency=karate.adjacency)
    >>> oversmoothing_gap(U, karate.adjacency) < 1e-12
    True
    """
    v, component = _roots(U, adjacency)
    rows = np.asarray(U, dtype=np.float64)
    tau = _common(rows, v, component)[component]
    gaps, sizes = np.linalg.norm(rows / v[:, None] - tau, axis=1), np.linalg.norm(tau, axis=1)
    # rows of zeros are as smooth as can be
    relative = np.divide(gaps, sizes, out=np.where(gaps > 0, np.inf, 0.0), where=sizes > 0)
    return float(relative.max(initial=0.0))


def limit_distance(U: Any, adjacency: Any) -> float:
    r"""Give how much of embeddings is not the limit of smoothing, from 0 to 1.

    .. math:: \frac{\|U - U^{(\infty)}\|_F}{\|U\|_F}

    with the limit of U itself, :func:`smoothing_limit`: what is left of the rows without what their component
    has in common. 0 exactly where Theorem 1 holds.

    Parameters
    ----------
    U : array-like of shape (n, d)
    adjacency : sparse matrix or array-like of shape (n, n)

    Returns
    -------
    float

    Examples
    --------
    >>> round(limit_distance([[1.0], [0.0]], [[0, 1], [1, 0]]), 4)
    0.7071
    """
    rows = np.asarray(U, dtype=np.float64)
    size = float(np.linalg.norm(rows))
    # rows of zeros are as smooth as can be
    return float(np.linalg.norm(rows - smoothing_limit(rows, adjacency))) / size if size else 0.0


def dirichlet_energy(U: Any, adjacency: Any) -> float:
    r"""Give how much linked embeddings differ, whatever their size: Q_smo of rows of unit length in all.

    .. math:: \frac{\mathrm{tr}\left(U^\top (I - \hat A) U\right)}{\|U\|_F^2}

    Parameters
    ----------
    U : array-like of shape (n, d)
    adjacency : sparse matrix or array-like of shape (n, n)

    Returns
    -------
    float
        From 0, where smoothing would change nothing, to below 2.

    Examples
    --------
    >>> round(dirichlet_energy([[1.0], [0.0]], [[0, 1], [1, 0]]), 6)
    0.5
    """
    rows = np.asarray(U, dtype=np.float64)
    size = float(np.vdot(rows, rows))
    A_hat = normalized_adjacency(check_adjacency(adjacency, n_nodes=len(rows), allow_empty=True))
    return smoothing_loss(A_hat, rows) / size if size else 0.0


def limit_ratios(U: Any, adjacency: Any, reference: int) -> tuple[np.ndarray, np.ndarray]:
    r"""Give each node's embedding over that of a reference node, and what Theorem 1 says it becomes.

    .. math:: \frac{U_{il}}{U_{rl}} \to \sqrt{\frac{D_{ii} + 1}{D_{rr} + 1}}

    Parameters
    ----------
    U : array-like of shape (n, d)
    adjacency : sparse matrix or array-like of shape (n, n)
    reference : int
        The node r.

    Returns
    -------
    measured : float64 ndarray of shape (n, d)
        NaN for nodes of other components, where the theorem says nothing.
    stated : float64 ndarray of shape (n,)

    Examples
    --------
    >>> measured, stated = limit_ratios([[1.0], [3.0]], [[0, 1], [1, 0]], reference=0)
    >>> measured.ravel(), stated
    (array([1., 3.]), array([1., 1.]))
    """
    v, component = _roots(U, adjacency)
    rows = np.asarray(U, dtype=np.float64)
    if (rows[reference] == 0).any():
        raise ValueError(f"the embedding of node {reference} holds a zero: name another reference.")
    measured = rows / rows[reference]
    measured[component != component[reference]] = np.nan
    return measured, v / v[reference]


def principal_plane(U: Any) -> np.ndarray:
    """Give the first two principal components of embeddings, for a chart.

    Parameters
    ----------
    U : array-like of shape (n, d)

    Returns
    -------
    float64 ndarray of shape (n, 2)
        Each axis points to where its farthest node lies, so that equal embeddings give equal charts.

    Examples
    --------
    >>> principal_plane([[0.0, 0.0, 1.0], [0.0, 3.0, 1.0], [0.0, 0.0, 1.0]]).round(6) + 0.0
    array([[-1.,  0.],
           [ 2.,  0.],
           [-1.,  0.]])
    """
    centred = np.asarray(U, dtype=np.float64)
    centred = centred - centred.mean(axis=0)
    left, sizes, _ = np.linalg.svd(centred, full_matrices=False)
    plane = np.zeros((len(centred), 2))
    plane[:, : min(2, len(sizes))] = (left * sizes)[:, :2]
    # the first of those that are equally far, whatever rounding says
    farthest = (np.abs(plane) >= (1.0 - 1e-9) * np.abs(plane).max(axis=0, initial=0.0)).argmax(axis=0)
    return np.asarray(plane * np.where(plane[farthest, [0, 1]] < 0, -1.0, 1.0))


def _roots(U: Any, adjacency: Any) -> tuple[np.ndarray, np.ndarray]:
    """Give the roots of the degrees plus one, and each node's component."""
    A = check_adjacency(adjacency, n_nodes=len(U), allow_empty=True)
    return np.sqrt(np.asarray(A.sum(axis=1), dtype=np.float64) + 1.0), connected_components(A)


def _common(rows: np.ndarray, v: np.ndarray, component: np.ndarray) -> np.ndarray:
    """Give τ of each component."""
    sums = np.zeros((component.max(initial=-1) + 1, rows.shape[1]))
    np.add.at(sums, component, v[:, None] * rows)
    return np.asarray(sums / np.bincount(component, weights=v**2)[:, None])
