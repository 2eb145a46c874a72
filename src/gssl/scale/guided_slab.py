"""What OGC does to some columns of its embeddings, wherever they are."""

from typing import Any

import numpy as np

from gssl.operators import Filters, Mixture, mix
from gssl.scale.plan import graph_bytes
from gssl.scale.precise import add_product, transposed_product

_ROWS = 4096


class GuidedSlab:
    r"""The steps of OGC on a slab of columns :math:`U_s`; columns meet in nothing but sums over slabs.

    .. math:: G_s = U_{L,s}^\top R, \qquad U_L G = \sum_s U_{L,s} G_s, \qquad
              U_s \leftarrow P U_s - E\, \mathrm{pull}\, W_s^\top, \qquad U W = \sum_s U_s W_s

    Sums are in double precision, and so is what a step adds to the anchors before it is rounded once, so the
    width of a slab shows in no result.

    Parameters
    ----------
    filters : Filters
    beta : float
    labelled, anchors : int ndarray

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> from gssl.operators import normalized_adjacency
    >>> filters = Filters(normalized_adjacency(csr_array([[0.0, 1.0], [1.0, 0.0]])))
    >>> slab = GuidedSlab(filters, 0.5, np.array([0]), np.array([0]))
    >>> slab.advance(np.array([[1.0], [0.0]]), np.array([[1.0]]), np.array([[0.25]])).round(6)
    array([[0.5 ],
           [0.25]])
    """

    def __init__(self, filters: Filters, beta: float, labelled: np.ndarray, anchors: np.ndarray) -> None:
        self._filters = filters
        self._lazy = Mixture.lazy(beta)
        self.labelled = labelled
        self._anchors = anchors
        self.n_bytes = graph_bytes(filters)

    def gradient(self, U_L: np.ndarray, R: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Give the rows of the gradient that belong to these columns, and their part of U_L G."""
        G = transposed_product(U_L, R).astype(U_L.dtype)
        pushed = np.zeros(R.shape)
        add_product(pushed, U_L, G)
        return G, pushed

    def advance(self, U: Any, W: np.ndarray, pull: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """Give the columns after a step; W are the rows of the predictor that belong to them."""
        moved: np.ndarray = mix(self._filters, U, self._lazy, out=out)
        across = W.T.astype(np.float64)
        for start in range(0, len(self._anchors), _ROWS):
            rows = self._anchors[start : start + _ROWS]
            moved[rows] -= (pull[start : start + _ROWS].astype(np.float64) @ across).astype(moved.dtype)
        return moved

    def pick(self, U: Any, nodes: np.ndarray | None = None) -> np.ndarray:
        """Give rows of the columns as a dense array: those of the labelled nodes if none are named."""
        rows = U[self.labelled if nodes is None else nodes]
        return np.asarray(rows if isinstance(rows, np.ndarray) else rows.toarray())
