"""Eigen-GCN: eigenvectors of the graph as further features of a GCN (Zhang et al., 2021)."""

from typing import Any

import numpy as np
import torch
from scipy.sparse import csr_array, hstack, issparse
from scipy.sparse.linalg import eigsh

from gssl.methods.inputs import check_number
from gssl.operators import normalized_adjacency
from gssl.torch._classifier import Inputs
from gssl.torch.gcn import GCN
from reproduction.skipgram import fingerprint


class EigenGCN(GCN):
    r"""A GCN whose features have the leading eigenvectors of the graph beside them (Zhang et al., 2021).

    .. math:: Z = \mathrm{GCN}([X \,\|\, Q], A), \qquad \hat A Q = Q \Lambda

    Eigenvectors belong to the nodes of fit, so no other graph can be predicted. A graph of many components
    has as many leading eigenvectors of the same eigenvalue, of which some are taken. Needs torch and
    torch-geometric (``pip install gssl[baselines]``).

    Parameters
    ----------
    eigenvectors : int, default=32
        How many; at most n − 2.
    hidden, depth, dropout, drop_edge, learning_rate, weight_decay, epochs, patience, random_state, device
        See :class:`gssl.torch.GCN`, as for the attributes.

    Examples
    --------
    >>> import gssl
    >>> data = gssl.datasets.load("karate")
    >>> y = data.mask_labels("default")
    >>> model = EigenGCN(eigenvectors=4, epochs=50, random_state=0)
    >>> model = model.fit(data.features, y, adjacency=data.adjacency)
    >>> float((model.transduction_ == data.labels).mean()) > 0.9
    True
    """

    def __init__(
        self,
        eigenvectors: int = 32,
        hidden: int = 16,
        depth: int = 2,
        dropout: float = 0.5,
        drop_edge: float = 0.0,
        learning_rate: float = 0.01,
        weight_decay: float = 5e-4,
        epochs: int = 200,
        patience: int | None = 100,
        random_state: Any = None,
        device: Any = None,
    ) -> None:
        super().__init__(
            hidden,
            depth,
            dropout,
            drop_edge,
            learning_rate,
            weight_decay,
            epochs,
            patience,
            random_state,
            device,
        )
        self.eigenvectors = eigenvectors

    @property
    def _knows_nodes(self) -> bool:
        return True

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number(self, "eigenvectors", low=1, whole=True)

    def _inputs(self, X: Any, A: csr_array, device: torch.device) -> Inputs:
        Q = leading_eigenvectors(A, self.eigenvectors).astype(X.dtype)
        X = csr_array(hstack([X, csr_array(Q)])) if issparse(X) else np.hstack([X, Q])
        self._fingerprint = fingerprint(A)
        return super()._inputs(X, A, device)

    def _score_graph(self, X: Any, A: csr_array) -> tuple[np.ndarray, np.ndarray]:
        if fingerprint(A) != self._fingerprint:
            raise ValueError(
                "EigenGCN predicts only the graph of its fit, for eigenvectors belong to it: fit EigenGCN "
                "again on the whole new graph."
            )
        return super()._score_graph(X, A)


def leading_eigenvectors(A: csr_array, count: int) -> np.ndarray:
    r"""Give the eigenvectors of Â with the greatest eigenvalues, of unit length.

    Their signs are such that the entry of greatest size is positive.

    Examples
    --------
    >>> leading_eigenvectors(csr_array([[0, 1, 0], [1, 0, 1], [0, 1, 0.0]]), 1).round(3).ravel().tolist()
    [0.535, 0.655, 0.535]
    """
    n = A.shape[0]
    A_hat = normalized_adjacency(A, np.float64)
    start = np.random.default_rng(0).uniform(0.5, 1.0, n)
    _, Q = eigsh(A_hat.tocsr(), k=min(count, n - 2) if n > 2 else 1, which="LA", v0=start)
    Q = Q[:, ::-1]
    largest = np.abs(Q).argmax(axis=0)
    return np.asarray(Q * np.sign(Q[largest, np.arange(Q.shape[1])]))
