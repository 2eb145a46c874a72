r"""The operators that filters are made of, by name.

======== ======================================================== =====================================
smooth   :math:`\hat A = \tilde D^{-1/2} (A + I) \tilde D^{-1/2}` graph convolution
hop      :math:`D^{-1/2} A D^{-1/2}`                              the neighbours, without a node itself
high     :math:`\bar D^{-1/2} (2I - A) \bar D^{-1/2}`             the difference to the neighbours
out      :math:`D_{out}^{-1/2} A D_{in}^{-1/2}`                   the nodes that links lead to
in       :math:`D_{in}^{-1/2} A^\top D_{out}^{-1/2}`              the nodes that links come from
======== ======================================================== =====================================

with :math:`\bar D = 2I + D`. ``high`` is inverse convolution of the graph itself. ``out`` and ``in`` are for
links with directions, and are the transposes of each other; the others are symmetric.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from gssl.operators.convolution import NormalizedAdjacency, normalized_adjacency, row_sums, scaled_weights
from gssl.operators.mixture import Filters, Mixture

_FORWARD = Mixture(smooth=1.0)
# one application of each operator: the links of ``high`` are negative
HOPS = {"smooth": _FORWARD, "hop": _FORWARD, "high": Mixture(smooth=-1.0), "out": _FORWARD, "in": _FORWARD}
# by operator, the one that is its transpose
TRANSPOSED = {"smooth": "smooth", "hop": "hop", "high": "high", "out": "in", "in": "out"}


def directed_operators(R: csr_array, dtype: Any) -> dict[str, Filters]:
    """Return the matrices ``out`` and ``in`` of links with directions."""
    if not R.nnz:
        return dict.fromkeys(("out", "in"), named_operators(R, dtype)["hop"])
    degrees = row_sums(R), np.bincount(R.indices, R.data, minlength=R.shape[1])
    s_out, s_in = (1.0 / np.sqrt(np.where(degree > 0, degree, 1.0)) for degree in degrees)
    nothing = np.zeros(R.shape[0], dtype)

    def filters(A: csr_array, rows: np.ndarray, columns: np.ndarray) -> Filters:
        indptr, indices = A.indptr.astype(np.int64, copy=False), A.indices.astype(np.int32, copy=False)
        # without self-loops: their weight is that of the scale
        return Filters(NormalizedAdjacency(indptr, indices, scaled_weights(A, rows, dtype, columns), nothing))

    return {"out": filters(R, s_out, s_in), "in": filters(csr_array(R.T), s_in, s_out)}


def named_operators(A: csr_array, dtype: Any) -> dict[str, Filters]:
    """Return the symmetric matrices of a graph by name."""
    A_hat = normalized_adjacency(A, dtype)
    # double precision until the values are normalised
    unweighted = not A_hat.weights.size
    degree = row_sums(A)
    # isolated nodes: one instead of infinity; their self-loop is subtracted again below
    s = 1.0 / np.sqrt(np.where(degree > 0, degree, 1.0))
    t = 1.0 / np.sqrt(degree + 2.0)
    if not unweighted:
        # degrees may be far less than one: do not add a large self-loop and subtract it again
        hop = replace(A_hat, weights=scaled_weights(A, s, dtype), scale=np.zeros_like(A_hat.scale))
        high = replace(A_hat, weights=scaled_weights(A, t, dtype), scale=t.astype(dtype))
        own = None
    else:
        hop, high = replace(A_hat, scale=s.astype(dtype)), replace(A_hat, scale=t.astype(dtype))
        own = -np.square(hop.scale)
    return {
        "smooth": Filters(A_hat),
        "hop": Filters(hop, own=own),
        "high": Filters(high, own=-3.0 * np.square(high.scale)),
    }
