"""GGCM and OGC in label space with SciPy's sparse products, for features too wide to be dense.

Settings are gssl's defaults. Products have as many columns as there are labelled nodes or classes, in single
precision. GGCM uses gssl's head.
"""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array, diags_array, eye_array

import gssl

BETA, ETA_SUP, ETA_W, DECAY = 0.1, 0.001, 0.5, 0.9
ALPHA, DEPTH, IGC_DECAY = 0.15, 16, 0.5


def classify_by_ggcm(X: csr_array, A: csr_array, y: np.ndarray) -> np.ndarray:
    """Embed labelled nodes with the transposed filter, fit the head, and filter the scores of all nodes."""
    graph = _Complement(A)
    labelled = np.flatnonzero(y >= 0)
    V = np.zeros((len(y), len(labelled)), np.float32)
    E = np.zeros_like(V)
    E[labelled, np.arange(len(labelled))] = 1.0
    smooth, sharp = graph.A_hat @ E, graph.sharpen(E)
    for k in range(DEPTH, 0, -1):
        beta = IGC_DECAY ** (k - 1)
        V = graph.A_hat @ V
        V += 0.5 * (smooth + beta * sharp + (1 - beta) * E)
    V = ALPHA * E + (1 - ALPHA) / DEPTH * V
    head = gssl.LogisticHead().fit((X.T @ V).T, y[labelled])
    U = scores = X @ head.coef_
    total = np.zeros_like(scores)
    for k in range(1, DEPTH + 1):
        beta = IGC_DECAY ** (k - 1)
        smo = graph.A_hat @ U
        total += 0.5 * (smo + beta * graph.sharpen(U) + (1 - beta) * U)
        U = smo
    scores = ALPHA * scores + (1 - ALPHA) / DEPTH * total + head.intercept_
    return np.asarray(head.classes_[scores.argmax(axis=1)])


def classify_by_ogc(X: csr_array, A: csr_array, y: np.ndarray, n_iter: int) -> np.ndarray:
    """Run Algorithm 1 on feature rows that sum to one, with the initial W of ``random_state=0``."""
    labelled, d, c = np.flatnonzero(y >= 0), X.shape[1], int(y.max()) + 1
    Y = np.eye(c, dtype=np.float32)[y[labelled]]
    U = _Factors(X, A, labelled)
    bound = 1.0 / np.sqrt(d)
    W = np.random.default_rng(0).uniform(-bound, bound, size=(d, c)).astype(np.float32)
    Z, eta_w = U.times(W), 2 * ETA_W
    for k in range(n_iter):
        R = Z[labelled] - Y
        G = U.transposed_times(R)
        while True:
            W_next = W - eta_w * G
            Z_L = U.times(W_next)[labelled]
            if np.square(Z_L - Y).sum() <= np.square(R).sum() * (1 + 1e-6):
                break
            eta_w /= 2
        W = W_next
        U.pulls.append((-2 * ETA_SUP * DECAY**k * (Z_L - Y), W))
        Z = U.times(W)
    return Z.argmax(axis=1)


class _Complement:
    """Â, and products N̂U computed from the links of A."""

    def __init__(self, A: csr_array) -> None:
        n = A.shape[0]
        self.A_hat = _normalized(A)
        self.t = (1.0 / np.sqrt(n + 1.0 - np.diff(A.indptr))).astype(np.float32)[:, None]
        self.links = csr_array(A + 3 * eye_array(n)).astype(np.float32)

    def sharpen(self, U: np.ndarray) -> np.ndarray:
        scaled = self.t * U
        return self.t * (self.links @ scaled - scaled.sum(axis=0))


@dataclass
class _Factors:
    """U in implicit form: X and the pulls of all steps, which every product replays."""

    X: csr_array
    A: csr_array
    labelled: np.ndarray

    def __post_init__(self) -> None:
        self.P = csr_array(BETA * _normalized(self.A) + (1 - BETA) * eye_array(len(self.A.indptr) - 1))
        self.P = self.P.astype(np.float32)
        self.pulls: list[tuple[np.ndarray, np.ndarray]] = []

    def times(self, W: np.ndarray) -> np.ndarray:
        Z = self.X @ W
        for R, before in self.pulls:
            Z = self.P @ Z
            Z[self.labelled] += R @ (before.T @ W)
        return Z

    def transposed_times(self, R: np.ndarray) -> np.ndarray:
        V = np.zeros((self.X.shape[0], R.shape[1]), np.float32)
        V[self.labelled] = R
        G = np.zeros((self.X.shape[1], R.shape[1]), np.float32)
        for pull, W in reversed(self.pulls):
            G += W @ (pull.T @ V[self.labelled])
            V = self.P @ V
        return G + self.X.T @ V


def _normalized(A: csr_array) -> csr_array:
    root = diags_array(1.0 / np.sqrt(np.asarray(A.sum(axis=1)).ravel() + 1.0))
    return csr_array(root @ (A + eye_array(A.shape[0])) @ root).astype(np.float32)
