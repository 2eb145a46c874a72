"""A few rows of what pushes all unlinked nodes apart."""

import numpy as np
from scipy.sparse import csr_array

from gssl.operators import Complement, multiply


def complement_rows(negatives: Complement, V: np.ndarray, nodes: np.ndarray) -> np.ndarray:
    r"""Give some rows of :math:`\hat N V` for the complement of a graph, without the others.

    Parameters
    ----------
    negatives : Complement
    V : ndarray of shape (n, d)
    nodes : int ndarray of shape (m,)

    Returns
    -------
    ndarray of shape (m, d)

    Examples
    --------
    >>> from gssl.operators import complement_negatives
    >>> negatives = complement_negatives(csr_array([[0.0, 0.0], [0.0, 0.0]]))
    >>> complement_rows(negatives, np.array([[3.0], [0.0]]), np.array([1])).round(6)
    array([[-1.]])
    """
    scale = negatives.scale
    links = (scale[negatives.indices], negatives.indices, negatives.indptr)
    linked = csr_array(links, shape=(len(V), len(V)))[nodes]
    s = scale[nodes][:, None]
    return np.asarray(s * (3.0 * s * V[nodes] + multiply(linked, V) - scale @ V))
