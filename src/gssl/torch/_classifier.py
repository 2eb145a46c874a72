"""What every deep classifier does alike: inputs, training, the best epoch, predictions."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import torch
from scipy.sparse import csr_array, issparse
from torch import Tensor
from torch.nn.functional import cross_entropy, softmax

from gssl.methods.base import GraphClassifier, featured_nodes
from gssl.methods.inputs import check_number, select_labelled
from gssl.methods.labels import UNLABELLED
from gssl.torch._device import seeded
from gssl.torch._graph import Graph
from gssl.torch._layers import Features
from gssl.torch._sparse import SparseMatrix
from gssl.torch._training import train


@dataclass(frozen=True, eq=False)
class Inputs:
    """Features and graph as a network takes them."""

    X: Features
    graph: Graph


@dataclass(frozen=True, eq=False)
class Targets:
    """Nodes that train, and their class codes."""

    nodes: Tensor
    codes: Tensor


class DeepClassifier(GraphClassifier):
    """A network with labels; a subclass says what the network is, and how it is penalised.

    Parameters
    ----------
    hidden : int
        Width of the hidden layers.
    depth : int
        Layers, or steps of propagation.
    dropout : float in [0, 1)
    learning_rate : float
        Of Adam.
    weight_decay : float
        What is added to gradients, times the weights; which of them is up to the network.
    epochs : int
        At most; exactly so many without validation nodes.
    patience : int or None
        Stop after so many epochs in which the loss on validation nodes has not fallen. None: never.
    random_state : int, Generator, RandomState or None
    device : str or torch.device, optional
        Where to compute: the CPU if None.
    """

    _packages = ("torch", "torch_geometric")

    def __init__(
        self,
        hidden: int = 16,
        depth: int = 2,
        dropout: float = 0.5,
        learning_rate: float = 0.01,
        weight_decay: float = 5e-4,
        epochs: int = 200,
        patience: int | None = 100,
        random_state: Any = None,
        device: Any = None,
    ) -> None:
        self.hidden = hidden
        self.depth = depth
        self.dropout = dropout
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.epochs = epochs
        self.patience = patience
        self.random_state = random_state
        self.device = device

    @abstractmethod
    def _network(self, n_features: int, n_classes: int) -> torch.nn.Module:
        """Make the network: features and a graph in, a score of each node for each class out."""

    def _groups(self, network: Any) -> list[dict[str, Any]]:
        """Say which parameters are penalised; all alike unless a method's publication says otherwise."""
        return [{"params": list(network.parameters()), "weight_decay": self.weight_decay}]

    def _inputs(self, X: Any, A: csr_array, device: torch.device) -> Inputs:
        """Bring features and graph to torch, in single precision."""
        if issparse(X):
            features: Features = SparseMatrix.from_scipy(X, device=device)
        else:
            features = torch.tensor(X, dtype=torch.float32, device=device)
        return Inputs(features, Graph.from_scipy(A, device=device))

    def _loss(self, network: Any, inputs: Inputs, targets: Targets) -> Tensor:
        """Give the loss of an epoch."""
        return cross_entropy(network(inputs.X, inputs.graph)[targets.nodes], targets.codes)

    def _check_parameters(self) -> None:
        for name in ("hidden", "depth", "epochs"):
            check_number(self, name, low=1, whole=True)
        for name in ("learning_rate", "weight_decay"):
            check_number(self, name, low=0.0)
        for name in self._rates():
            check_number(self, name, low=0.0, high=np.nextafter(1.0, 0.0))
        if self.patience is not None:
            check_number(self, "patience", low=1, whole=True)

    def _rates(self) -> tuple[str, ...]:
        """Name the parameters that are chances to drop something."""
        return ("dropout",)

    def fit(self, X: Any, y: Any, *, adjacency: Any = None, validation: Any = None) -> Self:
        """Train the network on the labelled nodes and predict all.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
        y : array-like of shape (n,)
            Labels; −1, None or NaN where there is none.
        adjacency : array-like or sparse matrix of shape (n, n), optional
            Built from the nearest neighbours in X if None.
        validation : bool mask of shape (n,) or indices, optional
            Labelled nodes that train nothing and choose the epoch: the one with the least loss on them. Their
            labels count as seen. Without them training takes all epochs and keeps the last.

        Returns
        -------
        self
        """
        X, A, codes = self._start(X, y, adjacency)
        self._check_parameters()
        training, held_out = _parts(codes, validation)
        with seeded(self.random_state, self.device) as device:
            inputs = self._inputs(X, A, device)
            targets, judges = _targets(training, codes, device), _targets(held_out, codes, device)
            network = self._network(inputs.X.shape[1], len(self.classes_)).to(device)
            optimizer = torch.optim.Adam(self._groups(network), lr=self.learning_rate)
            end = train(
                network,
                optimizer,
                lambda: self._loss(network, inputs, targets),
                score_of=(lambda: -_validation_loss(network, inputs, judges)) if len(held_out) else None,
                epochs=self.epochs,
                patience=self.patience,
            )
        self.network_ = network
        self.n_iter_, self.best_epoch_ = end.number, end.best
        self.loss_curve_, self.validation_curve_ = np.array(end.losses), -np.array(end.scores)
        return self._finish(self._distributions(inputs), featured_nodes(A, X))

    def _distributions(self, inputs: Inputs) -> np.ndarray:
        """Give the softmax of the scores, in double precision lest rows miss their sum."""
        self.network_.eval()
        with torch.no_grad():
            scores = self.network_(inputs.X, inputs.graph)
        return np.asarray(softmax(scores.to(torch.float64), dim=1).cpu().numpy())

    def _score_graph(self, X: Any, A: csr_array) -> tuple[np.ndarray, np.ndarray]:
        device = next(self.network_.parameters()).device
        return self._distributions(self._inputs(X, A, device)), featured_nodes(A, X)

    def _columns(self, X: Any, A: csr_array, n_labelled: int, n_classes: int) -> int:
        # every layer keeps its embeddings for the gradient
        return int(self.hidden * (self.depth + 1))


def _validation_loss(network: torch.nn.Module, inputs: Inputs, judges: Targets) -> float:
    return float(cross_entropy(network(inputs.X, inputs.graph)[judges.nodes], judges.codes))


def _targets(nodes: np.ndarray, codes: np.ndarray, device: torch.device) -> Targets:
    return Targets(torch.as_tensor(nodes, device=device), torch.as_tensor(codes[nodes], device=device))


def _parts(codes: np.ndarray, validation: Any) -> tuple[np.ndarray, np.ndarray]:
    """Give the nodes that train, and those that only choose the epoch."""
    held_out = select_labelled([] if validation is None else validation, codes, "validation")
    training = np.setdiff1d(np.flatnonzero(codes != UNLABELLED), held_out)
    if len(np.unique(codes[training])) < 2:
        raise ValueError("validation leaves fewer than two classes to train on: name fewer nodes.")
    return training, held_out
