"""A direct implementation of OGC in torch, with the n×n matrices S and I of the paper.

It has the settings and initial W of ``gssl.OGC(random_state=0)``, so both must reach the same accuracy. In
the ``dense`` form S and I are dense tensors, as in the published scripts; in the ``sparse`` form they are
sparse and the adjacency is CSR, as in PyG's example. W is updated by autograd and SGD over all nodes with a
mask.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from benchmarks.graphs import Task
from benchmarks.rivals.torch_matrices import csr_tensor, dense_features, normalized_csr

BETA, ETA_SUP, ETA_W, DECAY = 0.1, 0.001, 0.5, 0.9
AGREEMENT, PATIENCE = 0.995, 2

Form = Literal["dense", "sparse"]


@dataclass(frozen=True)
class Inputs:
    """Inputs of the loop; features are dense in both forms."""

    task: Task
    X: Tensor
    Y: Tensor
    labelled: Tensor
    train: Tensor


@dataclass(frozen=True)
class Outcome:
    """Predictions, and the number of iterations."""

    predicted: np.ndarray
    n_iter: int


def make_inputs(task: Task) -> Inputs:
    """Convert features and labels to tensors; not timed."""
    labelled = torch.from_numpy(task.y >= 0)
    train = torch.zeros(len(task.y), dtype=torch.bool)
    train[torch.from_numpy(np.array(task.anchors))] = True
    # rows of unlabelled nodes are arbitrary: S and the mask exclude them
    codes = torch.from_numpy(np.maximum(task.y, 0))
    Y = torch.nn.functional.one_hot(codes, task.data.n_classes)
    return Inputs(task, dense_features(task.data.features), Y.float(), labelled, train)


def fit(inputs: Inputs, form: Form, max_iter: int = 64, agreement: float = AGREEMENT) -> Outcome:
    """Alternate between a step of W and a step of U until predictions settle."""
    S, lazy_adjacency = _matrices(inputs, form)
    U, Y, labelled = inputs.X, inputs.Y, inputs.labelled
    d, c = U.shape[1], Y.shape[1]
    bound = 1 / np.sqrt(d)
    first = np.random.default_rng(0).uniform(-bound, bound, size=(d, c)).astype(np.float32)
    W = torch.nn.Parameter(torch.from_numpy(first))
    optimizer = torch.optim.SGD([W], lr=ETA_W)
    eta_sup, calm, n_iter = ETA_SUP, 0, 0
    with torch.no_grad():
        before = (U @ W).argmax(dim=1)
    while n_iter < max_iter and calm <= PATIENCE:
        optimizer.zero_grad()
        loss = (U @ W - Y)[labelled].square().sum()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            residual = U @ W - Y
            U = lazy_adjacency @ U - eta_sup * 2 * ((S @ residual) @ W.T)
            predicted = (U @ W).argmax(dim=1)
        calm += float((predicted == before)[~labelled].float().mean()) > agreement
        before, eta_sup, n_iter = predicted, eta_sup * DECAY, n_iter + 1
    return Outcome(before.numpy(), n_iter)


def _matrices(inputs: Inputs, form: Form) -> tuple[Tensor, Tensor]:
    """Return S and the lazy adjacency βÂ + (1 − β)I."""
    n = len(inputs.X)
    A_hat = normalized_csr(inputs.task.data.adjacency)
    if form == "dense":
        S, identity = torch.diag(inputs.train.float()), torch.eye(n)
        # the sum is dense, but converted to CSR: a dense product with U would take too long
        return S, (BETA * csr_tensor(A_hat).to_dense() + (1 - BETA) * identity).to_sparse_csr()
    where = inputs.train.nonzero().T.expand(2, -1)
    S = torch.sparse_coo_tensor(where, torch.ones(where.shape[1]), (n, n)).coalesce()
    every = torch.arange(n + 1)
    identity = torch.sparse_csr_tensor(every, every[:-1], torch.ones(n), (n, n))
    return S, BETA * csr_tensor(A_hat) + (1 - BETA) * identity
