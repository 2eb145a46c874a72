r"""The operators that filters are made of, by name; all are symmetric and share the links of the graph.

======== ======================================================== =====================================
smooth   :math:`\hat A = \tilde D^{-1/2} (A + I) \tilde D^{-1/2}` graph convolution
hop      :math:`D^{-1/2} A D^{-1/2}`                              the neighbours, without a node itself
high     :math:`\bar D^{-1/2} (2I - A) \bar D^{-1/2}`             the difference to the neighbours
======== ======================================================== =====================================

with :math:`\bar D = 2I + D`. The last is inverse convolution of the graph itself.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from gssl.operators.convolution import normalized_adjacency, row_sums, scaled_weights
from gssl.operators.mixture import Filters, Mixture

# one application of each operator: the links of ``high`` are negative
HOPS = {"smooth": Mixture(smooth=1.0), "hop": Mixture(smooth=1.0), "high": Mixture(smooth=-1.0)}


def named_operators(A: csr_array, dtype: Any) -> dict[str, Filters]:
    """Return the matrices of a graph for each name in :data:`HOPS`."""
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
