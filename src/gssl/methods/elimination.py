"""Direct solution of the harmonic function on long, thin graphs, where iterations would be many."""

import numpy as np
from scipy.sparse import csc_array, csr_array, diags_array
from scipy.sparse.csgraph import reverse_cuthill_mckee
from scipy.sparse.linalg import splu

# a label must travel this many hops, and elimination may add this many entries per entry of the matrix
FAR, FILL = 256, 40
_COLUMNS = 64


def thin_order(links: csr_array, near: np.ndarray, far: int = FAR, fill: int = FILL) -> np.ndarray | None:
    """Return an order of the nodes in which elimination stays sparse; None if iterations are better.

    An iteration carries a label one hop further, so only graphs with nodes more than ``far`` hops from
    ``near`` (the neighbours of labelled nodes) are worth it. In the order of Cuthill and McKee, elimination
    fills at most the envelope, the entries between the first of a row and the diagonal.
    """
    if not _has_far_nodes(links, near, far):
        return None
    order = reverse_cuthill_mckee(links, symmetric_mode=True)
    position = np.empty(len(order), dtype=np.int64)
    position[order] = np.arange(len(order))
    first = position.copy()
    row = np.repeat(np.arange(len(order)), np.diff(links.indptr))
    np.minimum.at(first, row, position[links.indices])
    envelope = int((position - first).sum())
    return np.asarray(order) if envelope <= fill * (links.nnz + len(order)) else None


def _has_far_nodes(links: csr_array, near: np.ndarray, far: int) -> bool:
    seen = np.zeros(links.shape[0], dtype=bool)
    seen[near], border = True, near
    for _ in range(far):
        reached = links[border].indices
        border = np.unique(reached[~seen[reached]])
        if not len(border):
            return False
        seen[border] = True
    return True


def eliminate(links: csr_array, degrees: np.ndarray, B: csr_array, order: np.ndarray) -> np.ndarray | None:
    r"""Return the solution of :math:`(D - A) F = B` by elimination in the given order.

    The matrix is an M-matrix, diagonally dominant, so no pivots are needed and none are chosen. None if it is
    singular, because some weights are lost beside others in rounding.
    """
    laplacian = csc_array((diags_array(degrees) - links)[order][:, order])
    try:
        factors = splu(
            laplacian,
            permc_spec="NATURAL",
            diag_pivot_thresh=0.0,
            options={"SymmetricMode": True, "Equil": False},
        )
    except RuntimeError:
        return None
    F = np.empty(B.shape)
    # a few columns at a time, because the solver makes a dense copy of them
    for start in range(0, B.shape[1], _COLUMNS):
        columns = slice(start, start + _COLUMNS)
        F[order, columns] = factors.solve(B[order, columns].toarray())
    return F
