"""numba loops over the rows of a graph; their twins are in ``rows_numpy``.

Every step of every method here is a mixture of three products, so one pass serves all of them:

    out_i    = p₀ (ÂU)_i + p₁ (N̂U)_i + p₂ U_i
    total_i += q₀ (ÂU)_i + q₁ (N̂U)_i + q₂ U_i

with Â the normalised adjacency and N̂ the inverse convolution over the exact complement, which needs the sum
of the neighbours' scaled rows that Â's product gathers anyway. An unweighted graph stores no weights: a
neighbour counts s_j, its D̃^-½, and the whole row s_i. A weighted one stores the weights of Â itself. Arrays
of size zero switch a part off, for each combination that were a type of its own would be compiled apart.
"""

from typing import Any

import numba
import numpy as np
from numba import types

_OPTIONS: Any = {"nogil": True, "error_model": "numpy", "fastmath": {"contract", "nsz"}}


def _compiled(signatures: list[Any]) -> Any:
    """Compile a loop for these signatures, once per machine where numba finds a folder for its cache."""

    def compile_loop(loop: Any) -> Any:
        try:
            return numba.njit(signatures, cache=True, **_OPTIONS)(loop)
        except RuntimeError:  # no folder may be written to
            return numba.njit(signatures, **_OPTIONS)(loop)

    return compile_loop


def _given(dtype: types.Type, ndim: int) -> types.Array:
    # read-only, for the arrays of a Dataset are
    return types.Array(dtype, ndim, "C", readonly=True)


def _graph(real: types.Type) -> list[types.Type]:
    """Types of: first and last row, indptr, indices, weights, s, t, column sums of t·U."""
    return [
        types.int64,
        types.int64,
        _given(types.int64, 1),
        _given(types.int32, 1),
        *[_given(real, 1)] * 4,
    ]


def _outputs(real: types.Type) -> list[types.Type]:
    """Types of: p, q, out, total."""
    triple = types.UniTuple(real, 3)  # type: ignore[no-untyped-call]
    return [triple, triple, types.Array(real, 2, "C"), types.Array(real, 2, "C")]


_DENSE = [types.void(*_graph(r), _given(r, 2), *_outputs(r)) for r in (types.float32, types.float64)]
_SPARSE = [
    types.void(*_graph(r), _given(types.int64, 1), _given(types.int32, 1), _given(r, 1), *_outputs(r))
    for r in (types.float32, types.float64)
]
_SUM = [
    types.void(types.int64, types.int64, _given(r, 1), _given(r, 2), types.Array(types.float64, 1, "C"))
    for r in (types.float32, types.float64)
]
_PRODUCT = [
    types.void(
        types.int64, types.int64, _given(types.int64, 1), _given(types.int32, 1), _given(r, 1), _given(r, 2),
        types.Array(r, 2, "C"),
    )
    for r in (types.float32, types.float64)
]  # fmt: skip


@_compiled(_DENSE)
def mix_dense(start, stop, indptr, indices, weights, s, t, sums, U, p, q, out, total):  # type: ignore[no-untyped-def]
    """Mix the rows start … stop − 1 of a dense U."""
    d = U.shape[1]
    weighted, sharp, gather = weights.size > 0, t.size > 0, total.size > 0
    a = np.empty(d, U.dtype)
    b = np.empty(d, U.dtype)
    for i in range(start, stop):
        row = 0 * s[i] + 1 if weighted else s[i]
        for c in range(d):
            a[c] = s[i] * s[i] / row * U[i, c]
        if sharp:
            for c in range(d):
                b[c] = 3 * t[i] * U[i, c] - sums[c]
        for e in range(indptr[i], indptr[i + 1]):
            j = indices[e]
            w = weights[e] if weighted else s[j]
            if sharp:
                for c in range(d):
                    a[c] += w * U[j, c]
                    b[c] += t[j] * U[j, c]
            else:
                for c in range(d):
                    a[c] += w * U[j, c]
        if gather:
            for c in range(d):
                total[i, c] += q[0] * row * a[c] + q[2] * U[i, c]
        for c in range(d):
            out[i, c] = p[0] * row * a[c] + p[2] * U[i, c]
        if sharp:
            for c in range(d):
                out[i, c] += p[1] * t[i] * b[c]
            if gather:
                for c in range(d):
                    total[i, c] += q[1] * t[i] * b[c]


@_compiled(_SPARSE)
def mix_sparse(  # type: ignore[no-untyped-def]
    start, stop, indptr, indices, weights, s, t, sums, X_indptr, X_indices, X_data, p, q, out, total
):
    """Mix the rows start … stop − 1 of a sparse U, given by its CSR arrays; the output is dense."""
    d = out.shape[1]
    weighted, sharp, gather = weights.size > 0, t.size > 0, total.size > 0
    a = np.empty(d, X_data.dtype)
    b = np.empty(d, X_data.dtype)
    for i in range(start, stop):
        row = 0 * s[i] + 1 if weighted else s[i]
        for c in range(d):
            a[c] = 0
        if sharp:
            for c in range(d):
                b[c] = -sums[c]
        for x in range(X_indptr[i], X_indptr[i + 1]):
            a[X_indices[x]] += s[i] * s[i] / row * X_data[x]
            if sharp:
                b[X_indices[x]] += 3 * t[i] * X_data[x]
        for e in range(indptr[i], indptr[i + 1]):
            j = indices[e]
            w = weights[e] if weighted else s[j]
            for x in range(X_indptr[j], X_indptr[j + 1]):
                a[X_indices[x]] += w * X_data[x]
                if sharp:
                    b[X_indices[x]] += t[j] * X_data[x]
        for c in range(d):
            out[i, c] = p[0] * row * a[c]
        if gather:
            for c in range(d):
                total[i, c] += q[0] * row * a[c]
        if sharp:
            for c in range(d):
                out[i, c] += p[1] * t[i] * b[c]
            if gather:
                for c in range(d):
                    total[i, c] += q[1] * t[i] * b[c]
        for x in range(X_indptr[i], X_indptr[i + 1]):
            out[i, X_indices[x]] += p[2] * X_data[x]
            if gather:
                total[i, X_indices[x]] += q[2] * X_data[x]


@_compiled(_SUM)
def sum_rows(start, stop, t, U, sums):  # type: ignore[no-untyped-def]
    """Add t_i U_i of the rows start … stop − 1 to double-precision column sums."""
    for i in range(start, stop):
        for c in range(U.shape[1]):
            sums[c] += t[i] * U[i, c]


@_compiled(_PRODUCT)
def multiply_rows(start, stop, indptr, indices, data, V, out):  # type: ignore[no-untyped-def]
    """Write the rows start … stop − 1 of the product of a CSR matrix with a narrow dense one."""
    c = V.shape[1]
    for i in range(start, stop):
        for k in range(c):
            out[i, k] = 0
        for e in range(indptr[i], indptr[i + 1]):
            for k in range(c):
                out[i, k] += data[e] * V[indices[e], k]


LOOPS = (mix_dense, mix_sparse, sum_rows, multiply_rows)
