"""numba loops for a few columns, whose sums stay in registers; NumPy versions are in ``rows_numpy``.

The compiler keeps the sums of a row in registers if it knows their number and that nothing aliases them. A
tuple guarantees both, an array neither: with a few columns, a pass is two to three times as fast as with the
loops of ``rows``. From eight columns on, which fill a vector register, those loops are as fast, and tuples
are no longer unrolled.
"""

from functools import cache
from typing import Any

import numpy as np
from numba import types
from numba.cpython.unsafe.tuple import tuple_setitem
from numba.extending import overload

from gssl.operators._kernels.rows import AHEAD, given, prefetch, real_type, signature_of_mix
from gssl.operators.compiling import compiled

# intrinsics are called without their first argument, which type checkers do not know
_set_item: Any = tuple_setitem

# largest number of columns: one less than a vector register holds
NARROW = 7


def replaced(values: Any, c: Any, value: Any) -> Any:
    """Return a tuple with another value at position c."""
    return (*values[:c], value, *values[c + 1 :])


overload(replaced)(lambda values, c, value: lambda values, c, value: _set_item(values, c, value))


@cache
def mix_narrow(dtype: str, width: int, sharp: bool) -> Any:
    """Compile the loop that mixes ``width`` columns: see ``rows.mix_dense``."""
    zeros = (np.dtype(dtype).type(0),) * width

    def mix_narrow_rows(start, stop, indptr, indices, weights, s, t, sums, U, p, q, out, total, r, X):  # type: ignore[no-untyped-def]
        weighted, gather = weights.size > 0, total.size > 0
        last = indptr[stop] - 1
        for i in range(start, stop):
            row = 0 * s[i] + 1 if weighted else s[i]
            a = zeros
            b = zeros
            for c in range(width):
                a = replaced(a, c, s[i] * s[i] / row * U[i, c])
                if sharp:
                    b = replaced(b, c, 3 * t[i] * U[i, c] - sums[c])
            for e in range(indptr[i], indptr[i + 1]):
                # an unsigned index avoids the check for negative indices
                j = np.uint64(indices[e])
                w = weights[e] if weighted else s[j]
                prefetch(U, np.int64(indices[min(e + AHEAD, last)]), 0)
                for c in range(width):
                    a = replaced(a, c, a[c] + w * U[j, c])
                    if sharp:
                        b = replaced(b, c, b[c] + t[j] * U[j, c])
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
    """Compile the loop that writes ``width`` columns of the product of a CSR matrix and a dense one."""
    real = real_type(dtype)
    zeros = (np.dtype(dtype).type(0),) * width

    def multiply_narrow_rows(start, stop, indptr, indices, data, V, out):  # type: ignore[no-untyped-def]
        for i in range(start, stop):
            a = zeros
            for e in range(indptr[i], indptr[i + 1]):
                j = np.uint64(indices[e])
                for c in range(width):
                    a = replaced(a, c, a[c] + data[e] * V[j, c])
            for c in range(width):
                out[i, c] = a[c]

    csr = [given(types.int64), given(types.int32), given(real)]
    written = types.Array(real, 2, "C")
    return compiled(multiply_narrow_rows, types.int64, types.int64, *csr, given(real, 2), written)
