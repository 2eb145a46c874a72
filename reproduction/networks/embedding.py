"""Networks trained without labels: a training function and an estimator."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from scipy.sparse import csr_array
from sklearn.base import ClassNamePrefixFeaturesOutMixin
from torch import Tensor

from gssl.methods.embedder import Embedder
from gssl.methods.inputs import check_number
from gssl.torch.training import Inputs, default_device, seeded, train


def train_embedding(
    network: torch.nn.Module,
    optimizer: torch.optim.Optimizer,
    loss: Callable[[], Tensor],
    epochs: int,
    patience: int | None = None,
) -> np.ndarray:
    """Train a network and return the loss of each epoch.

    With ``patience``, training stops after that many epochs without a lower loss, and restores the weights of
    the lowest. With ``epochs=0`` the network is not changed.
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
    return np.array(
        train(network, optimizer, judged, score_of=score, epochs=epochs, patience=patience).losses
    )


@dataclass(eq=False, repr=False)
class NetworkEmbedder(ClassNamePrefixFeaturesOutMixin, Embedder):
    """Train a network without labels and embed the nodes of a graph.

    ``module`` is a function ``n_features -> Module``. The module has ``embed(x, edge_index)``,
    ``loss(x, edge_index)``, ``dimensions``, and optionally ``optimizer(learning_rate, epochs)`` to replace
    Adam. A fit sets ``embedding_``, ``network_``, ``losses_`` by epoch and ``n_iter_``; other graphs with the
    same features can then be embedded too.
    """

    _packages = ("torch", "torch_geometric")

    module: Any
    epochs: int = 200
    learning_rate: float = 0.01
    patience: int | None = None
    random_state: Any = None

    def _check_parameters(self) -> None:
        check_number(self, "epochs", low=0, whole=True)
        check_number(self, "learning_rate", low=0.0)
        if self.patience is not None:
            check_number(self, "patience", low=1, whole=True)

    def embedding_width(self, n_features: int) -> int:
        return int(self.module(n_features).dimensions)

    def _learn(self, A: csr_array, X: Any) -> None:
        with seeded(self.random_state, default_device()) as device:
            network = self.module(X.shape[1]).to(device)
            inputs = Inputs.of(X, A, network)
            if hasattr(network, "optimizer"):
                optimizer = network.optimizer(self.learning_rate, self.epochs)
            else:
                optimizer = torch.optim.Adam(network.parameters(), lr=self.learning_rate)
            self.losses_ = train_embedding(
                network, optimizer, lambda: inputs.pass_to(network.loss), self.epochs, self.patience
            )
        self.network_ = network.requires_grad_(False)
        self.n_iter_ = len(self.losses_)

    def _filters(self, A: csr_array, dtype: Any) -> tuple[csr_array]:
        return (A,)

    def _apply(self, X: Any, filters: tuple[csr_array]) -> np.ndarray:
        with torch.no_grad():
            U = Inputs.of(X, filters[0], self.network_).pass_to(self.network_.embed)
        return np.asarray(U.cpu().numpy())

    @property
    def _n_features_out(self) -> int:
        return int(self.network_.dimensions)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # networks compute in float32, whatever the dtype of the features
        tags.transformer_tags.preserves_dtype = []
        return tags
