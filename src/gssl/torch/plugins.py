"""Add IGC and SEB to the layers of a network.

A PyTorch Geometric network keeps its layers in ``convs``, the last of which outputs the classes::

    network.convs = supervise(sharpen(network.convs))
    NetworkClassifier(network).fit(X, y, adjacency=A)
"""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from gssl.torch.layers import InverseGraphConv, Loss, SupervisedEmbedding, check_share


class _Plugged(torch.nn.Module):
    """A layer that takes ``(x, edge_index, …)``, and an operation on its output."""

    def __init__(self, layer: torch.nn.Module) -> None:
        super().__init__()
        self.layer = layer

    @abstractmethod
    def follow(self, out: Tensor, x: Tensor, edge_index: Any, edge_weight: Any) -> Tensor:
        """Apply the operation to the output of the layer."""

    def forward(self, x: Tensor, edge_index: Any, edge_weight: Any = None, **rest: Any) -> Tensor:
        if edge_weight is not None:
            # some layers do not accept weights
            rest["edge_weight"] = edge_weight
        return self.follow(self.layer(x, edge_index, **rest), x, edge_index, edge_weight)

    def reset_parameters(self) -> None:
        self.layer.reset_parameters()  # type: ignore[operator]


class Sharpened(_Plugged):
    """½ (layer(U) + [β¬Â + (1−β)I] U), as in GGC (Alg. 2), if the layer keeps the width; else layer(U)."""

    def __init__(self, layer: torch.nn.Module, inverse: InverseGraphConv, beta: float = 1.0) -> None:
        super().__init__(layer)
        check_share("Sharpened", "beta", beta)
        self.inverse = inverse
        self.beta = beta

    def follow(self, out: Tensor, x: Tensor, edge_index: Any, edge_weight: Any) -> Tensor:
        """Average the output with the inverse convolution."""
        if out.shape != x.shape or x.layout != torch.strided:
            return out
        sharp: Tensor = self.inverse(x, edge_index, edge_weight)
        return (out + self.beta * sharp + (1.0 - self.beta) * x) / 2.0

    def extra_repr(self) -> str:
        """Name the parameters."""
        return f"beta={self.beta}"


def sharpen(
    layers: Any, beta: float = 1.0, decay: float = 0.5, negatives: Any = "complement", cached: bool = True
) -> torch.nn.ModuleList:
    """Add IGC to all layers of a network but the last, which outputs the classes.

    Parameters
    ----------
    layers : ModuleList or list of Module
        Each takes ``(x, edge_index, …)``.
    beta, decay : float, default=1.0 and 0.5
        Moving probability of the inverse convolution in the first layer, and its factor from each layer to
        the next.
    negatives : "complement" or float, default="complement"
        See :class:`gssl.torch.InverseGraphConv`.
    cached : bool, default=True
        Whether to read the graph only once for calls with the same ``edge_index`` tensor.

    Examples
    --------
    >>> from gssl.torch import LazyConv
    >>> sharpen([LazyConv(), LazyConv()])[0]
    Sharpened(
      beta=1.0
      (layer): LazyConv(beta=1.0)
      (inverse): InverseGraphConv(beta=1.0, negatives='complement')
    )
    """
    check_share("sharpen", "decay", decay)
    inverse = InverseGraphConv(1.0, negatives, cached)
    *hidden, last = _as_list("sharpen", layers)
    return torch.nn.ModuleList(
        [*(Sharpened(layer, inverse, beta * decay**k) for k, layer in enumerate(hidden)), last]
    )


class Supervised(_Plugged):
    """layer(U) − η_sup S(Z − Y)Wᵀ, as in OGC (Alg. 1); this step gives W no gradient."""

    def __init__(self, layer: torch.nn.Module, step: SupervisedEmbedding, guide: "Guide", k: int = 1) -> None:
        super().__init__(layer)
        self.step = step
        self.guide = guide
        self.k = k

    def follow(self, out: Tensor, x: Tensor, edge_index: Any, edge_weight: Any) -> Tensor:
        """Move the labelled rows."""
        W = self.guide.weight(self.k)
        if out.shape[1] != W.shape[0]:
            raise ValueError(
                f"a layer outputs {out.shape[1]} columns but the last one takes {W.shape[0]}: plug "
                "SEB only into layers as wide as the last."
            )
        moved: Tensor = self.step(out, W, self.guide.labels, self.guide.nodes, self.k)
        return moved

    def extra_repr(self) -> str:
        """Name the parameters."""
        return f"k={self.k}"


class Guide(torch.nn.Module):
    """The labels that SEB may use, and the W that maps embeddings to classes.

    A node whose label moves its own embedding learns little from that label. So in training, :meth:`hide`
    hides the labels of a random part of the nodes, and the loss is computed on these nodes.

    Parameters
    ----------
    head : Module or callable
        The linear layer that outputs the classes, or a module whose first linear layer does. Or a function
        that returns W of shape (d, c) for the number of a layer, if layers do not share one.
    labels : long tensor of shape (m,), optional
        The classes of ``nodes``. If None, nothing is moved until :meth:`see` is called, as
        :class:`gssl.torch.NetworkClassifier` does.
    nodes : long tensor of shape (m,), optional

    Examples
    --------
    >>> guide = Guide(torch.nn.Linear(3, 2), torch.tensor([0, 1]), torch.tensor([4, 7]))
    >>> guide.weight().shape
    torch.Size([3, 2])
    """

    labels: Tensor
    nodes: Tensor

    def __init__(
        self,
        head: torch.nn.Module | Callable[[int], Tensor],
        labels: Any = None,
        nodes: Any = None,
    ) -> None:
        super().__init__()
        # in a tuple, so that torch does not register the layer, which the network already contains
        self._head: tuple[Any] = (_linear_part(head) if isinstance(head, torch.nn.Module) else head,)
        none = torch.empty(0, dtype=torch.long)
        self.register_buffer("labels", none, persistent=False)
        self.register_buffer("nodes", none, persistent=False)
        self.see(none if labels is None else labels, none if nodes is None else nodes)

    def see(self, labels: Any, nodes: Any) -> None:
        """Replace all labels by those of these nodes."""
        labels, nodes = torch.as_tensor(labels), torch.as_tensor(nodes)
        if labels.shape != nodes.shape or nodes.dim() != 1:
            raise ValueError(
                f"labels have shape {tuple(labels.shape)} but nodes have shape "
                f"{tuple(nodes.shape)}: give one label for each of these nodes, such as y[train] and train."
            )
        for name, numbers in (("labels", labels), ("nodes", nodes)):
            if numbers.dtype != torch.long:
                raise ValueError(f"{name} are {numbers.dtype}: give whole numbers as a long tensor.")
        if len(labels) and int(labels.min()) < 0:
            raise ValueError(
                f"node {int(nodes[labels.argmin()])} has the label {int(labels.min())}: give nodes that have "
                "a class, numbered from 0."
            )
        self._all = (labels.clone(), nodes.clone())
        self.labels, self.nodes = (kept.to(self.nodes.device) for kept in self._all)

    def weight(self, k: int = 1) -> Tensor:
        """Return the current W of shape (d, c) for layer k, detached."""
        head = self._head[0]
        if isinstance(head, torch.nn.Module):
            W: Tensor = head.weight.T  # type: ignore[assignment]
        else:
            W = head(k)
        return W.detach()

    def hide(self, part: float) -> Tensor:
        """Hide the labels of a random part of the nodes until the next call, and return these nodes.

        ``part=0`` restores all labels, and ``part=1`` hides all.
        """
        check_share("Guide.hide", "part", part)
        labels, nodes = (kept.to(self.nodes.device) for kept in self._all)
        order = torch.randperm(len(nodes), device=nodes.device)
        n_hidden = round(part * len(nodes))
        self.labels, self.nodes = labels[order[n_hidden:]], nodes[order[n_hidden:]]
        hidden: Tensor = nodes[order[:n_hidden]]
        return hidden


def supervise(
    layers: Any,
    labels: Any = None,
    nodes: Any = None,
    eta_sup: float = 1e-3,
    decay: float = 0.9,
    loss: Loss = "squared",
    head: Any = None,
) -> torch.nn.ModuleList:
    """Add SEB to the layers of a network, with its last layer as the predictor W.

    Parameters
    ----------
    layers : ModuleList or list of Module
        Each takes ``(x, edge_index, …)`` and outputs as many columns as the last one takes.
    labels, nodes : long tensor of shape (m,), optional
        The classes of the training nodes, and these nodes; no other labels are used. If None,
        :class:`gssl.torch.NetworkClassifier` sets those that it trains on.
    eta_sup, decay, loss
        See :class:`gssl.torch.SupervisedEmbedding`.
    head : Module or callable, optional
        The layer that outputs the classes, if it is not the last of these layers, which then gets SEB as
        well: see :class:`gssl.torch.Guide`.

    Examples
    --------
    >>> from torch_geometric.nn import GCNConv
    >>> layers = [GCNConv(5, 4), GCNConv(4, 2)]
    >>> plugged = supervise(layers, labels=torch.tensor([1]), nodes=torch.tensor([0]))
    >>> plugged[0].guide.nodes, plugged[1] is layers[1]
    (tensor([0]), True)
    """
    modules = _as_list("supervise", layers)
    hidden, last = (modules[:-1], modules[-1:]) if head is None else (modules, [])
    guide = Guide(_innermost(modules[-1]) if head is None else head, labels, nodes)
    step = SupervisedEmbedding(eta_sup, decay, loss)
    return torch.nn.ModuleList(
        [*(Supervised(layer, step, guide, k) for k, layer in enumerate(hidden, start=1)), *last]
    )


def start_from_identity(layers: Any) -> Any:
    """Set the weights of layers that keep the width to the identity, in place, and return the layers.

    Random weights mix all features again in every layer, so dozens of layers leave nothing to learn from.
    With the identity, a deep GCN starts as repeated convolution, and a sharpened one as GGC.

    Parameters
    ----------
    layers : ModuleList or list of Module
        Square weight matrices are set; others are left unchanged.

    Examples
    --------
    >>> start_from_identity([torch.nn.Linear(2, 2)])[0].weight
    Parameter containing:
    tensor([[1., 0.],
            [0., 1.]], requires_grad=True)
    """
    for layer in layers:
        for weight in layer.parameters():
            if weight.dim() == 2 and weight.shape[0] == weight.shape[1]:
                torch.nn.init.eye_(weight)
    return layers


def _as_list(owner: str, layers: Any) -> list[torch.nn.Module]:
    modules = list(layers) if isinstance(layers, torch.nn.ModuleList | list | tuple) else []
    if not modules:
        raise ValueError(
            f"{owner}: expected a non-empty list of layers, the last of which outputs the classes, got "
            f"{type(layers).__name__}."
        )
    others = [layer for layer in modules if not isinstance(layer, torch.nn.Module)]
    if others:
        raise ValueError(f"{owner}: expected a torch.nn.Module, got {others[0]!r}.")
    return modules


def _innermost(layer: torch.nn.Module) -> torch.nn.Module:
    while isinstance(layer, _Plugged):
        layer = layer.layer
    return layer


def _linear_part(head: torch.nn.Module) -> torch.nn.Module:
    """Return the first linear layer of a module, which may be the module itself."""
    for layer in head.modules():
        weight = getattr(layer, "weight", None)
        if isinstance(weight, Tensor) and weight.dim() == 2:
            return layer
    raise ValueError(f"{type(head).__name__} has no linear layer: give a layer with a weight.")
