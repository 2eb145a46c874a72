"""A straightforward GGCM in torch with the exact complement: two CSR products per iteration."""

import numpy as np
import torch
from torch import Tensor

import gssl
from benchmarks.graphs import Task
from benchmarks.rivals.torch_matrices import csr_tensor, dense_features, normalized_csr
from gssl.methods.heads import LogisticHead


def make_inputs(task: Task) -> Tensor:
    """Return dense features; not timed."""
    return dense_features(task.data.features)


def classify(task: Task, X: Tensor, settings: gssl.GGCM) -> np.ndarray:
    """Embed every node and fit gssl's head, so that only the embedding differs."""
    U = embed(task, X, settings).numpy()
    labelled = np.flatnonzero(task.y >= 0)
    return LogisticHead().fit(U[labelled], task.y[labelled]).predict(U)


def embed(task: Task, X: Tensor, settings: gssl.GGCM) -> Tensor:
    """Return αX + (1 − α)/K · Σ (smo + sharp)/2, where β of the sharp branch decays from ``igc_beta``."""
    A = task.data.adjacency
    n = A.shape[0]
    A_hat, links = csr_tensor(normalized_csr(A)), csr_tensor(A)
    t = torch.from_numpy(1 / np.sqrt(n + 1.0 - np.diff(A.indptr))).float()[:, None]
    U, total, beta = X, torch.zeros_like(X), settings.igc_beta
    for _ in range(settings.depth):
        V = t * U
        sharp = beta * t * (3 * V + links @ V - V.sum(dim=0)) + (1 - beta) * U
        U = A_hat @ U
        total += (U + sharp) / 2
        beta *= settings.igc_decay
    return settings.alpha * X + (1 - settings.alpha) / settings.depth * total
