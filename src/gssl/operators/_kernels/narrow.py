"""numba loops for a few columns, whose sums stay in registers; their twins are in ``rows_numpy``.

The compiler keeps the sums of a row in registers where it knows how many there are and that nothing else can
point at them. A tuple promises both, an array neither: scores of a few classes pass over a graph two to three
times as fast as in the loops of ``rows``. Those are as fast from eight columns on, which fill a vector
register, and there a tuple is no longer unrolled.
"""

from functools import cache
from typing import Any

import numpy as np
from numba import types
from numba.cpython.unsafe.tuple import tuple_setitem as _tuple_setitem

from gssl.operators._kernels.rows import AHEAD, given, prefetch, real_type, signature_of_mix
from gssl.operators.compiling import compiled

# an intrinsic is called without its first argument, which type checkers cannot know
tuple_setitem: Any = _tuple_setitem

# fewer columns than a vector register holds
NARROW = 7


@cache
def mix_narrow(dtype: str, width: int, sharp: bool) -> Any:
    """Make the loop that mixes ``width`` columns: see ``rows.mix_dense``."""
    zeros = (np.dtype(dtype).type(0),) * width

    def mix_narrow_rows(start, stop, indptr, indices, weights, s, t, sums, U, p, q, out, total, r, X):  # type: ignore[no-untyped-def]
        weighted, gather = weights.size > 0, total.size > 0
        last = indptr[stop] - 1
        for i in range(start, stop):
            row = 0 * s[i] + 1 if weighted else s[i]
            a = zeros
            b = zeros
            for c in range(width):
                a = tuple_setitem(a, c, s[i] * s[i] / row * U[i, c])
                if sharp:
                    b = tuple_setitem(b, c, 3 * t[i] * U[i, c] - sums[c])
            for e in range(indptr[i], indptr[i + 1]):
                # an unsigned index is not checked for counting from the end
                j = np.uint64(indices[e])
                w = weights[e] if weighted else s[j]
                prefetch(U, np.int64(indices[min(e + AHEAD, last)]), 0)
                for c in range(width):
                    a = tuple_setitem(a, c, a[c] + w * U[j, c])
                    if sharp:
                        b = tuple_setitem(b, c, b[c] + t[j] * U[j, c])
            if gather:
                for c in range(width):
                    total[i, c] += q[0] * row * a[c] + q[2] * U[i, c]
                    if sharp:
                        total[i, c] += q[1] * t[i] * b[c]
            for c in range(width):
                if p[3] != 0:
                    out[i, c] = p[0] * row * a[c] + p[2] * U[i, c] + p[3] * out[i, c]
                else:
                    out[i, c] = p[0] * row * a[c] + p[2] * U[i, c]
                if r != 0:
                    out[i, c] += r * X[i, c]
                if sharp:
                    out[i, c] += p[1] * t[i] * b[c]

    return compiled(mix_narrow_rows, *signature_of_mix(dtype))


@cache
def multiply_narrow(dtype: str, width: int) -> Any:
    """Make the loop that writes ``width`` columns of the product of a CSR matrix with a dense one."""
    real = real_type(dtype)
    zeros = (np.dtype(dtype).type(0),) * width

    def multiply_narrow_rows(start, stop, indptr, indices, data, V, out):  # type: ignore[no-untyped-def]
        for i in range(start, stop):
            a = zeros
            for e in range(indptr[i], indptr[i + 1]):
                j = np.uint64(indices[e])
                for c in range(width):
                    a = tuple_setitem(a, c, a[c] + data[e] * V[j, c])
            for c in range(width):
                out[i, c] = a[c]

    csr = [given(types.int64), given(types.int32), given(real)]
    written = types.Array(real, 2, "C")
    return compiled(multiply_narrow_rows, types.int64, types.int64, *csr, given(real, 2), written)
