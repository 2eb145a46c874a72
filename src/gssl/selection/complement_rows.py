"""A few rows of what pushes all unlinked nodes apart."""

import numpy as np
from scipy.sparse import csr_array

from gssl.operators import Complement, multiply


def complement_rows(negatives: Complement, V: np.ndarray, nodes: np.ndarray) -> np.ndarray:
    r"""Return some rows of :math:`\hat N V` for the complement of a graph, without the others."""
    scale, indptr = negatives.scale, negatives.indptr
    counts = indptr[nodes + 1] - indptr[nodes]
    ends = np.concatenate([[0], np.cumsum(counts)])
    # of the links of these nodes alone: a graph may be a file
    places = np.arange(ends[-1]) + np.repeat(indptr[nodes] - ends[:-1], counts)
    neighbours = negatives.indices[places]
    linked = csr_array((scale[neighbours], neighbours, ends), shape=(len(nodes), len(V)))
    s = scale[nodes][:, None]
    return np.asarray(s * (3.0 * s * V[nodes] + multiply(linked, V) - scale @ V))
