"""Networks that embed nodes and are trained without labels: what they share."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import torch
from scipy.sparse import csr_array, issparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin
from torch import Tensor

from gssl.methods.embedder import Embedder
from gssl.methods.inputs import check_number
from gssl.torch._device import seeded
from gssl.torch._graph import Graph
from gssl.torch._layers import Features
from gssl.torch._sparse import SparseMatrix
from gssl.torch._training import train

Loss = Callable[[], Tensor]


def descend(
    network: torch.nn.Module, optimizer: torch.optim.Optimizer, loss: Loss, epochs: int, patience: int | None
) -> np.ndarray:
    """Train a network by a loss that is its own judge, and give the loss of each epoch.

    Parameters
    ----------
    network : Module
    optimizer : Optimizer
    loss : callable
    epochs : int
        At most; none leaves the network as it is.
    patience : int or None
        Stop after so many epochs without a lower loss, and take the weights of the lowest one. None: never,
        and take the last ones.

    Returns
    -------
    ndarray of shape (epochs that it took,)

    Examples
    --------
    >>> line = torch.nn.Linear(1, 1)
    >>> optimizer = torch.optim.SGD(line.parameters(), 0.1)
    >>> descend(line, optimizer, lambda: line.weight.sum() * 0 + 1, epochs=9, patience=2)
    array([1., 1., 1.])
    """
    if not epochs:
        network.eval()
        return np.empty(0)
    lowered: list[float] = []

    def judged() -> Tensor:
        value = loss()
        lowered.append(-float(value.detach()))
        return value

    score = None if patience is None else lambda: lowered[-1]
    end = train(network, optimizer, judged, score_of=score, epochs=epochs, patience=patience)
    return np.array(end.losses)


def features_of(X: Any, device: torch.device) -> Features:
    """Bring features to torch in single precision; sparse ones stay sparse.

    Examples
    --------
    >>> features_of(csr_array([[0.0, 2.0]]), torch.device("cpu")).values
    tensor([2.])
    """
    if issparse(X):
        return SparseMatrix.from_scipy(X, device=device)
    return torch.tensor(X, dtype=torch.float32, device=device)


class EncoderEmbedder(ClassNamePrefixFeaturesOutMixin, Embedder):
    """A graph convolutional encoder: features and a graph in, a row of numbers for every node out.

    A subclass gives a network, whose ``encoder`` embeds nodes, and its loss.
    """

    _packages = ("torch", "torch_geometric")
    # no choice of the user: it is what a device is a device of
    backend: ClassVar[str] = "torch"
    dimensions: int
    epochs: int
    learning_rate: float
    patience: int | None
    device: Any
    random_state: Any

    @abstractmethod
    def _network(self, n_features: int) -> Any:
        """Give the untrained network."""

    @abstractmethod
    def _loss(self, network: Any, X: Features, A: csr_array) -> Loss:
        """Give the loss of an epoch on the graph of fit."""

    def _optimizer(self, network: Any) -> torch.optim.Optimizer:
        return torch.optim.Adam(network.parameters(), lr=self.learning_rate)

    def _check_parameters(self) -> None:
        check_number(self, "dimensions", low=1, whole=True)
        check_number(self, "epochs", low=0, whole=True)
        check_number(self, "learning_rate", low=0.0)
        if self.patience is not None:
            check_number(self, "patience", low=1, whole=True)

    def _width(self, n_features: int) -> int:
        return self.dimensions

    def _learn(self, A: csr_array, X: Any) -> None:
        with seeded(self.random_state, self.device) as device:
            network = self._network(X.shape[1]).to(device)
            loss = self._loss(network, features_of(X, device), A)
            self.losses_ = descend(network, self._optimizer(network), loss, self.epochs, self.patience)
        self.encoder_ = network.encoder.requires_grad_(False)
        self.n_iter_ = len(self.losses_)

    def _filters(self, A: csr_array, dtype: Any) -> SparseMatrix:
        device = next(self.encoder_.parameters()).device
        return Graph.from_scipy(A, device=device).A_hat

    def _apply(self, X: Any, filters: SparseMatrix) -> np.ndarray:
        with torch.no_grad():
            U = self.encoder_(features_of(X, filters.csr.device), filters)
        return np.asarray(U.cpu().numpy())

    @property
    def _n_features_out(self) -> int:
        return self.dimensions

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # networks compute in float32, whatever the features are
        tags.transformer_tags.preserves_dtype = []
        return tags
