"""numba loops over the rows of a graph; NumPy versions are in ``rows_numpy``.

Every step of every method is a mixture of these terms, so one kind of pass computes all of them:

    out_i    = p₀ (ÂU)_i + p₁ (N̂U)_i + p₂ U_i + p₃ out_i + r X_i
    total_i += q₀ (ÂU)_i + q₁ (N̂U)_i + q₂ U_i

with Â the normalised adjacency and N̂ the inverse convolution over the exact complement. Both need sums over
the same neighbours. out is read only if p₃ is not zero, and X only if r is not zero. An unweighted graph
stores no weights: entry (i, j) of Â is s_i s_j, with s the diagonal of D̃^-½. A weighted graph stores the
weights of Â itself. An empty array disables a term: optional arguments would have types of their own, and
each combination would be compiled separately.

Every function below compiles its loop for one precision. ``narrow`` has loops for a few columns.
"""

from functools import cache
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload

from gssl.operators.compiling import compiled

_INT = types.int64
# by NumPy's type character, which is faster to get than the name
_REAL: dict[str, Any] = {"f": types.float32, "d": types.float64}


def real_type(dtype: str) -> Any:
    """Return numba's type for a type character of NumPy."""
    return _REAL[dtype]


def given(dtype: Any, ndim: int = 1) -> Any:
    """Return the type of an input array, which may be read-only, as in a Dataset."""
    return types.Array(dtype, ndim, "C", readonly=True)


# how many entries ahead rows are prefetched
AHEAD = 8
# columns of a row to prefetch (the processor itself prefetches the rest), and columns in a cache line
_FETCHED, _LINE = 128, 16


def prefetch(U: Any, i: Any, c: Any) -> None:
    """Prefetch the cache line of U[i, c]; this does not change results."""


def _prefetch_line(context, U, i, c):  # type: ignore[no-untyped-def]
    """Generate the LLVM instruction for ``prefetch``."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        place = builder.add(builder.mul(arguments[1], builder.extract_value(array.shape, 1)), arguments[2])
        pointer = builder.bitcast(builder.gep(array.data, [place]), ir.IntType(8).as_pointer())
        number = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [pointer.type, *[number] * 3])
        fetch = builder.module.declare_intrinsic("llvm.prefetch", [pointer.type], kind)
        # for reading, kept in all cache levels, data cache
        builder.call(fetch, [pointer, number(0), number(3), number(1)])
        return context.get_dummy_value()

    return types.void(U, types.int64, types.int64), generate


_fetch: Any = intrinsic(_prefetch_line)
overload(prefetch)(lambda U, i, c: lambda U, i, c: _fetch(U, i, c))


def signature_of_mix(dtype: str) -> list[Any]:
    """Return the argument types of a loop that mixes rows of a dense U."""
    real = real_type(dtype)
    numbers = types.UniTuple(real, 4)  # type: ignore[no-untyped-call]
    graph = [_INT, _INT, given(types.int64), given(types.int32), *[given(real)] * 4]
    written = types.Array(real, 2, "C")
    return [*graph, given(real, 2), numbers, numbers, written, written, real, given(real, 2)]


@cache
def mix_dense(dtype: str) -> Any:
    """Compile the loop that mixes rows of a dense U."""

    def mix_dense_rows(start, stop, indptr, indices, weights, s, t, sums, U, p, q, out, total, r, X):  # type: ignore[no-untyped-def]
        d = U.shape[1]
        weighted, sharp, gather = weights.size > 0, t.size > 0, total.size > 0
        last, fetched = indptr[stop] - 1, min(d, _FETCHED)
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
                # rows are read in random order; without prefetching, most of the time would be spent waiting
                soon = np.int64(indices[min(e + AHEAD, last)])
                for c in range(0, fetched, _LINE):
                    prefetch(U, soon, c)
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
            if p[3] != 0:
                for c in range(d):
                    out[i, c] = p[0] * row * a[c] + p[2] * U[i, c] + p[3] * out[i, c]
            else:
                for c in range(d):
                    out[i, c] = p[0] * row * a[c] + p[2] * U[i, c]
            if r != 0:
                for c in range(d):
                    out[i, c] += r * X[i, c]
            if sharp:
                for c in range(d):
                    out[i, c] += p[1] * t[i] * b[c]
                if gather:
                    for c in range(d):
                        total[i, c] += q[1] * t[i] * b[c]

    return compiled(mix_dense_rows, *signature_of_mix(dtype))


@cache
def mix_sparse(dtype: str) -> Any:
    """Compile the loop that mixes rows of a sparse U, given by its CSR arrays, into a dense output."""
    real = real_type(dtype)
    numbers = types.UniTuple(real, 4)  # type: ignore[no-untyped-call]

    def mix_sparse_rows(  # type: ignore[no-untyped-def]
        start, stop, indptr, indices, weights, s, t, sums, X_indptr, X_indices, X_data, p, q, out, total
    ):
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
            if p[3] != 0:
                for c in range(d):
                    out[i, c] = p[0] * row * a[c] + p[3] * out[i, c]
            else:
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

    written = types.Array(real, 2, "C")
    graph = [_INT, _INT, given(types.int64), given(types.int32), *[given(real)] * 4]
    features = [given(types.int64), given(types.int32), given(real)]
    return compiled(mix_sparse_rows, *graph, *features, numbers, numbers, written, written)


@cache
def sum_rows(dtype: str) -> Any:
    """Compile the loop that adds t_i U_i over rows to double-precision column sums."""
    real = real_type(dtype)

    def add_scaled_rows(start, stop, t, U, sums):  # type: ignore[no-untyped-def]
        for i in range(start, stop):
            for c in range(U.shape[1]):
                sums[c] += t[i] * U[i, c]

    sums = types.Array(types.float64, 1, "C")
    return compiled(add_scaled_rows, _INT, _INT, given(real), given(real, 2), sums)


@cache
def multiply_rows(dtype: str) -> Any:
    """Compile the loop that writes rows of the product of a CSR matrix and a dense one."""
    real = real_type(dtype)

    def write_product_rows(start, stop, indptr, indices, data, V, out):  # type: ignore[no-untyped-def]
        d = V.shape[1]
        last, fetched = indptr[stop] - 1, min(d, _FETCHED)
        a = np.empty(d, V.dtype)
        for i in range(start, stop):
            for c in range(d):
                a[c] = 0
            for e in range(indptr[i], indptr[i + 1]):
                # read before the inner loop, which is unrolled only if writing to a cannot change them
                j, x = indices[e], data[e]
                soon = np.int64(indices[min(e + AHEAD, last)])
                for c in range(0, fetched, _LINE):
                    prefetch(V, soon, c)
                for c in range(d):
                    a[c] += x * V[j, c]
            for c in range(d):
                out[i, c] = a[c]

    csr = [given(types.int64), given(types.int32), given(real)]
    return compiled(write_product_rows, _INT, _INT, *csr, given(real, 2), types.Array(real, 2, "C"))
