"""An estimator that trains any network on features, a graph and labels."""

from copy import deepcopy
from typing import Any, Self

import numpy as np
import torch
from scipy.sparse import csr_array
from torch import Tensor
from torch.nn.functional import cross_entropy, softmax

from gssl.methods.base import GraphClassifier
from gssl.methods.inputs import check_number, select_labelled
from gssl.methods.labels import UNLABELLED
from gssl.methods.neighbourhood import EVERY, Nodes, featured_nodes
from gssl.methods.state import replaces_state
from gssl.scale.execution import current_settings
from gssl.torch.plugins import Guide
from gssl.torch.training import Inputs, seeded, train

# fraction of training nodes whose labels are hidden from SEB in an epoch, and on which the loss is computed:
# a node that is moved by its own label learns little from it
_HIDDEN = 0.5


class NetworkClassifier(GraphClassifier):
    r"""Train a network with PyTorch Geometric's ``forward(x, edge_index)`` on the labelled nodes.

    .. math:: \min_\theta -\frac1{|L|} \sum_{i \in L} \log \mathrm{softmax}(f_\theta(X, A)_i)_{y_i}

    with Adam, on all nodes at once. Optionally, a network has:

    - an argument ``edge_weight`` of ``forward`` (and ``loss``): receives the weights of links, unless all are
      one.
    - ``loss(x, edge_index, nodes, codes)``: replaces cross-entropy on the training nodes.
    - ``parameter_groups(weight_decay)``: returns groups for the optimizer, for example to decay only some.
    - ``accepts_sparse = True``: receives sparse features as a CSR tensor instead of a dense one.
    - layers with SEB (:func:`gssl.torch.supervise`): use only labels of training nodes. In each epoch, half
      of these are hidden, and the loss is computed on them. On other graphs than fit's, they use no labels.

    Needs torch (``pip install gssl[torch]``).

    Parameters
    ----------
    module : torch.nn.Module or callable
        A network, which is copied and trained from its current weights; or a function
        ``(n_features, n_classes) -> Module``, whose random weights depend on ``random_state``.
    learning_rate : float, default=0.01
        Learning rate of Adam.
    weight_decay : float, default=5e-4
        L2 penalty: the gradients are increased by this multiple of the weights.
    epochs : int, default=200
        Maximum number of epochs; without validation nodes, all of them are run.
    patience : int or None, default=100
        Stop after this many epochs without a lower loss on the validation nodes; if None, never.
    random_state : int, Generator, RandomState or None, default=None

    Attributes
    ----------
    transduction_, label_distributions_, reached_, classes_
        As for every classifier of gssl.
    network_ : torch.nn.Module
    best_epoch_, n_iter_ : int
        The epoch whose weights are kept, and the number of epochs run.
    loss_curve_, validation_curve_ : ndarray
        Losses on training and validation nodes, by epoch.

    Examples
    --------
    >>> import gssl
    >>> from torch_geometric.nn import GCN
    >>> data = gssl.datasets.load("karate")
    >>> network = lambda n_features, n_classes: GCN(n_features, 16, 2, n_classes)
    >>> model = NetworkClassifier(network, epochs=50, random_state=0)
    >>> model = model.fit(data.features, data.mask_labels("default"), adjacency=data.adjacency)
    >>> float((model.transduction_ == data.labels).mean()) > 0.9
    True
    """

    _packages = ("torch",)

    def __init__(
        self,
        module: Any,
        learning_rate: float = 0.01,
        weight_decay: float = 5e-4,
        epochs: int = 200,
        patience: int | None = 100,
        random_state: Any = None,
    ) -> None:
        self.module = module
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.epochs = epochs
        self.patience = patience
        self.random_state = random_state

    @replaces_state
    def fit(self, X: Any, y: Any = None, *, adjacency: Any = None, validation: Any = None) -> Self:
        """Train the network on the labelled nodes and predict all nodes.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
        y : array-like of shape (n,)
            Labels; −1, None or NaN for unlabelled nodes.
        adjacency : array-like or sparse matrix of shape (n, n), optional
            Built from the nearest neighbours in X if None.
        validation : bool mask of shape (n,) or indices, optional
            Labelled nodes that are not used for training, but to select the epoch with the lowest loss on
            them; so do not test on them. If None, all epochs are run and the last is kept.
        """
        X, A, codes = self._start(X, y, adjacency)
        self._check_parameters()
        held_out = select_labelled([] if validation is None else validation, codes, "validation")
        training = np.setdiff1d(np.flatnonzero(codes != UNLABELLED), held_out)
        if len(np.unique(codes[training])) < 2:
            raise ValueError("validation leaves fewer than two classes to train on: name fewer nodes.")
        with seeded(self.random_state, current_settings().device) as device:
            self.network_ = self._build(X.shape[1], len(self.classes_)).to(device)
            inputs = Inputs.of(X, A, self.network_)
            self._train(inputs, torch.as_tensor(codes, device=device), training, held_out)
        return self._finish(self._distributions(inputs), featured_nodes(A, X))

    def _check_parameters(self) -> None:
        if not callable(self.module):
            raise ValueError(
                "NetworkClassifier: module must be a torch.nn.Module, or a function (n_features, n_classes) "
                f"that returns one, not {self.module!r}."
            )
        check_number(self, "epochs", low=1, whole=True)
        for name in ("learning_rate", "weight_decay"):
            check_number(self, name, low=0.0)
        if self.patience is not None:
            check_number(self, "patience", low=1, whole=True)

    def _build(self, n_features: int, n_classes: int) -> torch.nn.Module:
        if isinstance(self.module, torch.nn.Module):
            network = deepcopy(self.module)
        else:
            network = self.module(n_features, n_classes)
            if not isinstance(network, torch.nn.Module):
                raise ValueError(
                    f"NetworkClassifier: module returned {network!r}: expected a torch.nn.Module."
                )
        if not any(True for _ in network.parameters()):
            raise ValueError(f"NetworkClassifier: {type(network).__name__} has no parameters to train.")
        return network

    def _train(self, inputs: Inputs, codes: Tensor, training: np.ndarray, held_out: np.ndarray) -> None:
        network: Any = self.network_
        nodes, judges = (torch.as_tensor(part, device=codes.device) for part in (training, held_out))
        guide = find_guide(network)
        if guide is not None:
            guide.see(codes[nodes], nodes)

        def loss() -> Tensor:
            targets = nodes if guide is None else guide.hide(_HIDDEN)
            if hasattr(network, "loss"):
                value: Tensor = inputs.pass_to(network.loss, targets, codes[targets])
            else:
                value = cross_entropy(self._scores(inputs)[targets], codes[targets])
            if guide is not None:
                guide.hide(0.0)
            return value

        def score() -> float:
            return -float(cross_entropy(self._scores(inputs)[judges], codes[judges]))

        if hasattr(network, "parameter_groups"):
            groups = network.parameter_groups(self.weight_decay)
        else:
            groups = [{"params": list(network.parameters()), "weight_decay": self.weight_decay}]
        end = train(
            network,
            torch.optim.Adam(groups, lr=self.learning_rate),
            loss,
            score_of=score if len(held_out) else None,
            epochs=self.epochs,
            patience=self.patience,
        )
        self.n_iter_, self.best_epoch_ = len(end.losses), end.best
        self.loss_curve_, self.validation_curve_ = np.array(end.losses), -np.array(end.scores)

    def _scores(self, inputs: Inputs) -> Tensor:
        scores: Tensor = inputs.pass_to(self.network_)
        wanted = (inputs.x.shape[0], len(self.classes_))
        if tuple(scores.shape) != wanted:
            raise ValueError(
                f"the network gives scores of shape {tuple(scores.shape)} for {wanted[0]} nodes and "
                f"{wanted[1]} classes: its last layer must give one number per class."
            )
        return scores

    def _distributions(self, inputs: Inputs) -> np.ndarray:
        """Return the softmax of the scores, in double precision so that rows sum to one."""
        self.network_.eval()
        with torch.no_grad():
            scores = self._scores(inputs)
        return np.asarray(softmax(scores.to(torch.float64), dim=1).cpu().numpy())

    def _score_graph(self, X: Any, A: csr_array, nodes: Nodes = EVERY) -> tuple[np.ndarray, np.ndarray]:
        inputs, guide = Inputs.of(X, A, self.network_), find_guide(self.network_)
        informed = featured_nodes(A, X)[nodes]
        if guide is None:
            return self._distributions(inputs)[nodes], informed
        labels, labelled = guide.labels, guide.nodes
        # the labels are those of the nodes in fit
        guide.see(labels[:0], labelled[:0])
        try:
            return self._distributions(inputs)[nodes], informed
        finally:
            guide.see(labels, labelled)

    def propagated_columns(self, X: Any, A: csr_array, n_labelled: int, n_classes: int) -> int:
        """Return the number of features."""
        return int(X.shape[1])


def find_guide(network: torch.nn.Module) -> Guide | None:
    """Return the guide of the layers with SEB, if a network has any."""
    guides = [module for module in network.modules() if isinstance(module, Guide)]
    if len(guides) > 1:
        raise ValueError(
            f"the network has {len(guides)} guides: call supervise once, with all of its layers."
        )
    return guides[0] if guides else None
