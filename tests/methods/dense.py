"""Equations in dense algebra, and a comparison of every depth of a filter."""

import numpy as np


def dense_A_hat(A):
    root = np.diag(1 / np.sqrt(A.sum(axis=1) + 1))
    return root @ (A + np.eye(len(A))) @ root


def dense_N_hat(N):
    root = np.diag(1 / np.sqrt(N.sum(axis=1) + 2))
    return root @ (2 * np.eye(len(N)) - N) @ root


def one_hot(y):
    return np.eye(3)[y] * (y >= 0)[:, None]


def assert_depths(model, X, A, expected):
    """Compare every depth of one run with a reference, and the last depth with fit and transform."""
    found = list(model.iter_embeddings(X, adjacency=A))
    assert len(found) == len(expected) == model.depth + 1
    for embedding, reference in zip(found, expected, strict=True):
        np.testing.assert_allclose(embedding, reference, atol=1e-12)
    np.testing.assert_array_equal(model.fit_transform(X, adjacency=A), found[-1])
    np.testing.assert_array_equal(model.transform(X, adjacency=A), found[-1])
