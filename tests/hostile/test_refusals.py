"""Invalid paths, names, numbers and graphs are refused with one sentence; also rare code paths."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from gssl.graph import clean_adjacency
from gssl.operators import get_threads, set_threads
from gssl.operators.mixture import add_scaled


def test_threads_by_the_environment(monkeypatch: pytest.MonkeyPatch):
    set_threads(None)
    monkeypatch.setenv("GSSL_NUM_THREADS", "3")
    assert get_threads() == 3
    monkeypatch.setenv("GSSL_NUM_THREADS", "many")
    with pytest.raises(ValueError, match="GSSL_NUM_THREADS is 'many': give a whole number of threads"):
        get_threads()


def test_weights_that_add_up_to_infinity():
    A = np.full((3, 3), 1.5e308) - np.diag([1.5e308] * 3)
    with pytest.raises(ValueError, match="the weights of row 0 of the adjacency add up to more than float64"):
        clean_adjacency(csr_array(A))


def test_an_entry_named_twice_counts_twice():
    X = csr_array((np.array([1.0, 2.0, 5.0]), np.array([1, 1, 0]), np.array([0, 2, 3])), shape=(2, 2))
    out = np.ones((2, 2))
    add_scaled(out, 10.0, X)
    assert out.tolist() == [[1.0, 31.0], [51.0, 1.0]]
    assert X.nnz == 3
