"""The compiled loops run as plain Python: same numbers, and no index out of bounds.

Compiled code does not check indices; Python does. Coverage can also be measured in plain Python, so these
tests cover lines and cases that no other test reaches.
"""

import numpy as np
import pytest
from scipy.sparse import csr_array, random_array

from gssl.operators import (
    Filters,
    Mixture,
    complement_negatives,
    mix,
    multiply,
    normalized_adjacency,
)
from gssl.operators._kernels import narrow, rows
from gssl.operators.mixture import column_sums

MAKERS = [
    rows.mix_dense,
    rows.mix_sparse,
    rows.sum_rows,
    rows.multiply_rows,
    narrow.mix_narrow,
    narrow.multiply_narrow,
]


def forget_loops():
    for maker in MAKERS:
        maker.cache_clear()


@pytest.fixture
def twice(monkeypatch):
    """Return a function that runs a call with compiled loops and with the same loops in plain Python."""

    def run(call):
        compiled, used = call(), []
        with monkeypatch.context() as patch:
            for module in (rows, narrow):
                patch.setattr(module, "compiled", lambda loop, *_: used.append(loop.__name__) or loop)
            forget_loops()
            plain = call()
        forget_loops()
        assert used, "no loop was made anew"
        return compiled, plain, used

    return run


def graph(weighted):
    """Return a random graph with a hub and two isolated nodes."""
    rng = np.random.default_rng(0)
    A = np.triu(rng.random((12, 12)) < 0.25, k=1).astype(float)
    A[0, 1:9] = 1
    A[:, [3, 11]] = A[[3, 11]] = 0
    A *= rng.random((12, 12)) * 4 if weighted else 1
    return csr_array(A + A.T)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("sharp", [0.0, 0.7])
@pytest.mark.parametrize("gather", [False, True])
@pytest.mark.parametrize("past", [0.0, 0.5])
@pytest.mark.parametrize("restart", [0.0, 0.2])
@pytest.mark.parametrize("kind", ["wide", "narrow", "sparse"])
def test_mixtures(twice, dtype, weighted, sharp, gather, past, restart, kind):
    A = graph(weighted)
    X = random_array((12, 3 if kind == "narrow" else 9), density=0.5, rng=np.random.default_rng(1))
    U = csr_array(X).astype(dtype) if kind == "sparse" else X.toarray().astype(dtype)
    filters = Filters(normalized_adjacency(A, dtype), complement_negatives(A, dtype))

    def call():
        total = np.ones(U.shape, dtype) if gather else None
        gathered = Mixture(-0.5, sharp, 0.1) if gather else None
        carried, out = Mixture(0.3, sharp, 0.4, restart, past), np.ones(U.shape, dtype)
        mix(filters, U, carried, out=out, gathered=gathered, total=total, X=X.toarray().astype(dtype))
        return np.concatenate([out, total]) if gather else out

    compiled, plain, used = twice(call)
    tolerance = 1e-6 if dtype == np.float32 else 1e-14
    np.testing.assert_allclose(plain, compiled, rtol=tolerance, atol=tolerance)
    name = {"wide": "mix_dense_rows", "narrow": "mix_narrow_rows", "sparse": "mix_sparse_rows"}[kind]
    assert name in used


@pytest.mark.parametrize("width", [2, 9])
def test_products_and_sums(twice, width):
    rng = np.random.default_rng(2)
    X = csr_array(random_array((15, 8), density=0.3, rng=rng))
    V, W, t = rng.random((8, width)), rng.random((15, width)), rng.random(15)
    compiled, plain, used = twice(lambda: np.concatenate([multiply(X, V), [column_sums(t, W)]]))
    np.testing.assert_allclose(plain, compiled, rtol=1e-14, atol=1e-15)
    assert {"multiply_narrow_rows" if width == 2 else "write_product_rows", "add_scaled_rows"} <= set(used)
