"""SEB and IGC inside the networks of this room, whatever their layers look like."""

from typing import Any, Self

import numpy as np
import torch
from scipy.sparse import csr_array
from torch import Tensor
from torch_geometric.utils import to_torch_csr_tensor

from gssl.methods.inputs import check_number
from gssl.torch._classifier import DeepClassifier, Inputs, Targets
from gssl.torch._graph import Graph
from gssl.torch._layers import Features
from gssl.torch._sparse import quiet
from gssl.torch.appnp import APPNP, SpreadingNetwork
from gssl.torch.gcn import GCN
from gssl.torch.gcnii import GCNII
from gssl.torch.guidance import Guide
from gssl.torch.inverse import InverseGraphConv
from gssl.torch.jknet import JKNet
from gssl.torch.plugins import linear_part
from gssl.torch.supervision import SupervisedEmbedding

# a node that is moved by its label has little to learn from it: so many go without, and train
_HIDDEN = 0.5


class _Symmetric(torch.autograd.Function):
    """A product with a symmetric matrix, which is also that of its gradient."""

    @staticmethod
    def forward(ctx: Any, U: Tensor, product: Any) -> Tensor:
        ctx.product = product
        return product(U)  # type: ignore[no-any-return]

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        return ctx.product(gradients[0].contiguous()), None


class Steps:
    r"""What follows each hidden layer of a network: IGC, SEB, both or neither.

    .. math:: V = \tfrac12 \left(\mathrm{layer}_k(U) + \left[\beta^{k-1} {}^\neg\hat A
              + (1 - \beta^{k-1}) I\right] U\right), \qquad U \leftarrow V - \eta_{sup} S (Z - Y) W_k^\top

    Where a layer changes the width there is nothing to average with, and IGC leaves it as it is.

    Parameters
    ----------
    igc_decay : float or None
        β; None: no IGC.
    seb : SupervisedEmbedding or None
        It moves nothing until there is a ``guide``.

    Examples
    --------
    >>> graph = Graph.from_scipy(csr_array([[0.0, 1.0], [1.0, 0.0]]))
    >>> steps = Steps(1.0, None)
    >>> steps.enter(graph)
    >>> steps(torch.tensor([[0.5], [0.5]]), torch.tensor([[1.0], [0.0]]), k=1)
    tensor([[0.7500],
            [0.2500]])
    """

    def __init__(self, igc_decay: float | None, seb: SupervisedEmbedding | None) -> None:
        self.igc_decay = igc_decay
        self.seb = seb
        self.guide: Guide | None = None
        self.last: Tensor | None = None
        self._graph: Graph | None = None
        self._product: Any = None

    def enter(self, graph: Graph) -> None:
        """Take the graph that the next layers see."""
        if self.igc_decay is None or graph is self._graph:
            return
        inverse, shape = InverseGraphConv(cached=True), (graph.n_nodes, graph.n_nodes)
        with quiet():
            A = to_torch_csr_tensor(graph.links, graph.weights, shape)
        self._graph, self._product = graph, lambda U: inverse(U, A)

    def __call__(self, out: Tensor, U: Any, k: int) -> Tensor:
        """Follow layer k, which made ``out`` of U."""
        if self.igc_decay is not None and isinstance(U, Tensor) and U.shape == out.shape:
            beta = self.igc_decay ** (k - 1)
            sharp: Tensor = _Symmetric.apply(U, self._product)  # type: ignore[no-untyped-call]
            out = (out + beta * sharp + (1.0 - beta) * U) / 2.0
        if self.seb is not None and self.guide is not None:
            out = self.seb(out, self.guide.weight(k), self.guide.labels, self.guide.nodes)
        self.last = out.detach()
        return out


class _Layer(torch.nn.Module):
    """A layer and what follows it."""

    def __init__(self, layer: torch.nn.Module, steps: Steps, k: int) -> None:
        super().__init__()
        self.layer = layer
        self.steps = steps
        self.k = k

    def forward(self, U: Any, *rest: Any) -> Tensor:
        return self.steps(self.layer(U, *rest), U, self.k)


class PluggedNetwork(torch.nn.Module):
    """A network of this room with steps after its hidden layers, or after the products of one that spreads.

    Parameters
    ----------
    network : Module
        With ``layers``, the last of which gives the classes unless there is an ``exit``; or a
        :class:`SpreadingNetwork`.
    steps : Steps

    Examples
    --------
    >>> from gssl.torch.gcn import ConvolutionNetwork
    >>> plugged = PluggedNetwork(ConvolutionNetwork([5, 4, 2], 0.0), Steps(None, None))
    >>> plugged.head(1).shape
    torch.Size([4, 2])
    """

    def __init__(self, network: Any, steps: Steps) -> None:
        super().__init__()
        self.steps = steps
        if not isinstance(network, SpreadingNetwork):
            self.hidden = list(network.layers) if hasattr(network, "exit") else list(network.layers)[:-1]
            others = list(network.layers)[len(self.hidden) :]
            plugged = [_Layer(layer, steps, k) for k, layer in enumerate(self.hidden, start=1)]
            network.layers = torch.nn.ModuleList([*plugged, *others])
        self.network = network

    def head(self, k: int) -> Tensor:
        """Give the W that makes classes of the embeddings of layer k; a network that spreads has classes."""
        network: Any = self.network
        if isinstance(network, SpreadingNetwork):
            weight = network.perceptron.second.weight
            return torch.eye(weight.shape[0], dtype=weight.dtype, device=weight.device)
        W = linear_part(getattr(network, "exit", network.layers[-1])).weight.detach().T
        width = len(W) // len(self.hidden) if hasattr(network, "jump") else len(W)
        # of a layer that sees all others side by side, the part that sees this one
        return W[(k - 1) * width : k * width] if width < len(W) else W  # type: ignore[no-any-return]

    def start_from_identity(self) -> None:
        """Set the weights of hidden layers that keep the width to the identity."""
        for layer in getattr(self, "hidden", []):
            for weight in layer.parameters():
                if weight.dim() == 2 and weight.shape[0] == weight.shape[1]:
                    torch.nn.init.eye_(weight)

    def forward(self, X: Features, graph: Graph) -> Tensor:
        """Give the scores of each node."""
        self.steps.enter(graph)
        if not isinstance(self.network, SpreadingNetwork):
            return self.network(X, graph)  # type: ignore[no-any-return]
        rate, k = self.network.dropout if self.training else 0.0, 0

        def product(U: Tensor) -> Tensor:
            nonlocal k
            k += 1
            return self.steps(graph.A_hat.dropped(rate) @ U, U, k)

        return self.network.spread(self.network.perceptron(X), product)


class PluggedClassifier(DeepClassifier):
    r"""A network of this room with IGC and SEB plugged into its layers (Sect. 4).

    After each hidden layer comes what ``Steps`` says. SEB sees the labels that train, and no others: not
    those of validation nodes. In each epoch half of them are hidden from it, and the loss is taken on these.
    On a graph other than that of fit SEB moves nothing, for its labels belong to the nodes of fit. Needs
    torch and torch-geometric (``pip install gssl[baselines]``).

    Parameters
    ----------
    classifier : GCN, JKNet, GCNII, APPNP or another network with layers
    igc, seb : bool, default=True
    identity_start : bool, default=False
        Whether weights of hidden layers that keep the width start as the identity.
    igc_decay : float in [0, 1], default=0.5
        What the moving probability of IGC, 1 in the first layer, is multiplied by from each to the next.
    eta_sup : float, default=1.0
        The step of SEB, with cross-entropy.
    random_state : int, Generator, RandomState or None, default=None

    Attributes
    ----------
    hidden_embedding_ : float32 ndarray of shape (n, width)
        What the last hidden layer gives, before its non-linearity.
    transduction_, label_distributions_, network_, best_epoch_, n_iter_
        As of the classifier.

    Examples
    --------
    >>> import gssl
    >>> data = gssl.datasets.load("karate")
    >>> y = data.mask_labels("default")
    >>> model = PluggedClassifier(gssl.torch.GCN(depth=8, dropout=0.0), identity_start=True, random_state=0)
    >>> model = model.fit(data.features, y, adjacency=data.adjacency)
    >>> model.hidden_embedding_.shape, float((model.transduction_ == data.labels).mean()) > 0.9
    ((34, 16), True)
    """

    def __init__(
        self,
        classifier: Any,
        igc: bool = True,
        seb: bool = True,
        identity_start: bool = False,
        igc_decay: float = 0.5,
        eta_sup: float = 1.0,
        random_state: Any = None,
    ) -> None:
        self.classifier = classifier
        self.igc = igc
        self.seb = seb
        self.identity_start = identity_start
        self.igc_decay = igc_decay
        self.eta_sup = eta_sup
        self.random_state = random_state

    def __getattr__(self, name: str) -> Any:
        # how long and where to train is up to the classifier
        if name in ("hidden", "depth", "learning_rate", "epochs", "patience", "device"):
            return getattr(self.classifier, name)
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}.")

    def _check_parameters(self) -> None:
        if not isinstance(self.classifier, DeepClassifier):
            raise ValueError(
                f"PluggedClassifier: classifier must be a network of gssl.torch, not {self.classifier!r}."
            )
        # a subclass may have inputs or layers of another kind
        if type(self.classifier) not in (GCN, JKNet, GCNII, APPNP):
            raise ValueError(
                f"PluggedClassifier: {type(self.classifier).__name__} has no layers to plug into: use GCN, "
                "JKNet, GCNII or APPNP."
            )
        self.classifier._check_parameters()
        if type(self.classifier) is GCN and self.classifier.depth < 2:
            raise ValueError("PluggedClassifier: a GCN of one layer has no hidden one to plug into: depth=2.")
        if self.seb and getattr(self.classifier, "mode", "cat") != "cat":
            raise ValueError('PluggedClassifier: SEB in JKNet needs mode="cat", in which layers stay apart.')
        check_number(self, "igc_decay", low=0.0, high=1.0)
        check_number(self, "eta_sup", low=0.0)

    def _network(self, n_features: int, n_classes: int) -> PluggedNetwork:
        inner = self.classifier._network(n_features, n_classes)
        step = SupervisedEmbedding(self.eta_sup, loss="cross_entropy") if self.seb else None
        network = PluggedNetwork(inner, Steps(self.igc_decay if self.igc else None, step))
        if self.identity_start:
            network.start_from_identity()
        return network

    def _groups(self, network: PluggedNetwork) -> list[dict[str, Any]]:
        groups: list[dict[str, Any]] = self.classifier._groups(network.network)
        return groups

    def _loss(self, network: PluggedNetwork, inputs: Inputs, targets: Targets) -> Tensor:
        if self.seb:
            if network.steps.guide is None:
                network.steps.guide = Guide(network.head, targets.codes, targets.nodes)
            hidden = network.steps.guide.hide(_HIDDEN)
            codes = targets.codes.new_zeros(inputs.X.shape[0]).index_copy(0, targets.nodes, targets.codes)
            targets = Targets(hidden, codes[hidden])
        loss: Tensor = self.classifier._loss(network, inputs, targets)
        if network.steps.guide is not None:
            network.steps.guide.hide(0.0)
        return loss

    def fit(self, X: Any, y: Any, *, adjacency: Any = None, validation: Any = None) -> Self:
        """Train the network on the labelled nodes and predict all: see :meth:`gssl.torch.GCN.fit`."""
        super().fit(X, y, adjacency=adjacency, validation=validation)
        self.hidden_embedding_ = self._steps.last.cpu().numpy()
        return self

    @property
    def _steps(self) -> Any:
        return self.network_.steps

    def _score_graph(self, X: Any, A: csr_array) -> tuple[np.ndarray, np.ndarray]:
        guide, self._steps.guide = self._steps.guide, None
        try:
            return super()._score_graph(X, A)
        finally:
            self._steps.guide = guide
