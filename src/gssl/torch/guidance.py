"""SEB as a plug-in: layers of a network after which known labels move the embeddings of their nodes."""

from collections.abc import Callable
from typing import Any

from gssl.torch._packages import torch
from gssl.torch.convolution import check_share
from gssl.torch.plugins import Sharpened, call_layer, linear_part, some_layers
from gssl.torch.supervision import Loss, SupervisedEmbedding


class Supervised(torch.nn.Module):
    r"""A layer after which known labels move the embeddings of their nodes, as in OGC (Alg. 1).

    .. math:: U \leftarrow \mathrm{layer}(U) - \eta_{sup} S (Z - Y) W^\top

    W is that of the network's last layer as it stands: it learns from the loss, not from here.

    Parameters
    ----------
    layer : Module
        Takes ``(x, edge_index, …)``.
    step : SupervisedEmbedding
    guide : Guide
        The labels and the last layer, the same for all layers of a network.
    k : int, default=1
        Which layer it is, for the decay.

    Examples
    --------
    >>> from gssl.torch import LazyConv
    >>> head = torch.nn.Linear(1, 2, bias=False)
    >>> _ = torch.nn.init.constant_(head.weight, 0.5)
    >>> guide = Guide(head, torch.tensor([0]), torch.tensor([1]))
    >>> layer = Supervised(LazyConv(beta=0.0), SupervisedEmbedding(eta_sup=0.1), guide)
    >>> layer(torch.tensor([[1.0], [0.0]]), torch.tensor([[0, 1], [1, 0]]))
    tensor([[1.0000],
            [0.0500]])
    """

    def __init__(self, layer: torch.nn.Module, step: SupervisedEmbedding, guide: "Guide", k: int = 1) -> None:
        super().__init__()
        self.layer = layer
        self.step = step
        self.guide = guide
        self.k = k

    def forward(self, x: torch.Tensor, edge_index: Any, edge_weight: Any = None, **rest: Any) -> torch.Tensor:
        """Run the layer and move the labelled rows."""
        out: torch.Tensor = call_layer(self.layer, x, edge_index, edge_weight, rest)
        W = self.guide.weight()
        if out.shape[1] != W.shape[0]:
            raise ValueError(
                f"a layer gives {out.shape[1]} numbers per node but the last one takes {W.shape[0]}: plug "
                "SEB only into layers as wide as the last."
            )
        moved: torch.Tensor = self.step(out, W, self.guide.labels, self.guide.nodes, self.k)
        return moved

    def reset_parameters(self) -> None:
        """Begin anew."""
        self.layer.reset_parameters()  # type: ignore[operator]

    def extra_repr(self) -> str:
        """Name the parameters."""
        return f"k={self.k}"


class Guide(torch.nn.Module):
    """The labels that may be seen, those of some nodes alone, and the layer that makes classes of embeddings.

    In training a node whose label moves its own embedding has little left to learn from that label: with
    :meth:`hide` a random part of the nodes goes without, and the loss is taken on them.

    Parameters
    ----------
    head : Module or callable
        A linear layer that gives the classes, or a convolution that has one; its first counts. Or what gives
        W of shape (d, c) for the number of a layer, where layers do not share one.
    labels : long tensor of shape (m,)
        The classes of these nodes; no others are kept.
    nodes : long tensor of shape (m,)

    Examples
    --------
    >>> guide = Guide(torch.nn.Linear(3, 2), torch.tensor([0, 1]), torch.tensor([4, 7]))
    >>> guide.weight().shape
    torch.Size([3, 2])
    """

    labels: torch.Tensor
    nodes: torch.Tensor

    def __init__(
        self,
        head: torch.nn.Module | Callable[[int], torch.Tensor],
        labels: torch.Tensor,
        nodes: torch.Tensor,
    ) -> None:
        super().__init__()
        labels, nodes = torch.as_tensor(labels), torch.as_tensor(nodes)
        if labels.shape != nodes.shape or nodes.dim() != 1:
            raise ValueError(
                f"labels of the shape {tuple(labels.shape)} do not belong to nodes of the shape "
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
        # in a tuple, for the network has this layer already, and would list its weights twice
        self._head: tuple[Any] = (linear_part(head) if isinstance(head, torch.nn.Module) else head,)
        self._all = (labels.clone(), nodes.clone())
        self.register_buffer("labels", labels.clone(), persistent=False)
        self.register_buffer("nodes", nodes.clone(), persistent=False)

    def weight(self, k: int = 1) -> torch.Tensor:
        """Give W of shape (d, c) for layer k, as it stands."""
        head = self._head[0]
        if not isinstance(head, torch.nn.Module):
            return head(k).detach()  # type: ignore[no-any-return]
        W: torch.Tensor = head.weight  # type: ignore[assignment]
        return W.detach().T

    def hide(self, part: float) -> torch.Tensor:
        """Leave a random part of the nodes without their labels, until the next call, and give these nodes.

        Parameters
        ----------
        part : float
            Of the nodes, from 0 to 1; with 0 all labels are back.

        Returns
        -------
        long tensor of shape (h,)
        """
        check_share("Guide.hide", "part", part)
        labels, nodes = (kept.to(self.nodes.device) for kept in self._all)
        order = torch.randperm(len(nodes), device=nodes.device)
        n_hidden = round(part * len(nodes))
        self.labels, self.nodes = labels[order[n_hidden:]], nodes[order[n_hidden:]]
        return nodes[order[:n_hidden]]


def supervise(
    layers: Any,
    labels: torch.Tensor,
    nodes: torch.Tensor,
    eta_sup: float = 1e-3,
    decay: float = 0.9,
    loss: Loss = "squared",
) -> torch.nn.ModuleList:
    """Plug SEB into the layers of a network, with its last one as the predictor W.

    Parameters
    ----------
    layers : ModuleList or list of Module
        Each takes ``(x, edge_index, …)`` and is as wide as the last one takes.
    labels, nodes : long tensor of shape (m,)
        The nodes whose labels may be seen, training nodes, and their classes.
    eta_sup, decay, loss
        See :class:`gssl.torch.SupervisedEmbedding`.

    Returns
    -------
    ModuleList

    Examples
    --------
    >>> from torch_geometric.nn import GCNConv
    >>> layers = [GCNConv(5, 4), GCNConv(4, 2)]
    >>> plugged = supervise(layers, labels=torch.tensor([1]), nodes=torch.tensor([0]))
    >>> plugged[0].guide.nodes, plugged[1] is layers[1]
    (tensor([0]), True)
    """
    *hidden, last = some_layers("supervise", layers)
    guide, step = Guide(_innermost(last), labels, nodes), SupervisedEmbedding(eta_sup, decay, loss)
    return torch.nn.ModuleList(
        [*(Supervised(layer, step, guide, k) for k, layer in enumerate(hidden, start=1)), last]
    )


def _innermost(layer: torch.nn.Module) -> torch.nn.Module:
    while isinstance(layer, Sharpened | Supervised):
        layer = layer.layer
    return layer
