"""IGC as a plug-in: layers of a network whose output is averaged with an inverse convolution.

A network of PyTorch Geometric keeps its layers in ``convs``, the last of which gives the classes::

    network.convs = sharpen(network.convs)
    network.convs = supervise(network.convs, labels, nodes)
"""

from typing import Any

from gssl.torch._packages import torch
from gssl.torch.convolution import check_share
from gssl.torch.inverse import InverseGraphConv


class Sharpened(torch.nn.Module):
    r"""A layer whose output is averaged with an inverse convolution of its input, as GGC does (Alg. 2).

    .. math:: U \leftarrow \tfrac12 \left(\mathrm{layer}(U) +
              \left[\beta {}^\neg\hat A + (1 - \beta) I\right] U\right)

    A layer that changes the width is left as it is, for there is nothing to average with.

    Parameters
    ----------
    layer : Module
        Takes ``(x, edge_index, …)``.
    inverse : InverseGraphConv
        The full inverse convolution, which many layers may share.
    beta : float, default=1.0
        Its moving probability in this layer.

    Examples
    --------
    >>> from gssl.torch import LazyConv
    >>> pair, x = torch.tensor([[0, 1], [1, 0]]), torch.tensor([[1.0], [0.0]])
    >>> Sharpened(LazyConv(), InverseGraphConv(), beta=0.0)(x, pair)
    tensor([[0.7500],
            [0.2500]])
    """

    def __init__(self, layer: torch.nn.Module, inverse: InverseGraphConv, beta: float = 1.0) -> None:
        super().__init__()
        check_share("Sharpened", "beta", beta)
        self.layer = layer
        self.inverse = inverse
        self.beta = beta

    def forward(self, x: torch.Tensor, edge_index: Any, edge_weight: Any = None, **rest: Any) -> torch.Tensor:
        """Run the layer and average."""
        out: torch.Tensor = call_layer(self.layer, x, edge_index, edge_weight, rest)
        if out.shape != x.shape:
            return out
        sharp: torch.Tensor = self.inverse(x, edge_index, edge_weight)
        sharp = self.beta * sharp + (1.0 - self.beta) * x
        return (out + sharp) / 2.0

    def reset_parameters(self) -> None:
        """Begin anew."""
        self.layer.reset_parameters()  # type: ignore[operator]

    def extra_repr(self) -> str:
        """Name the parameters."""
        return f"beta={self.beta}"


def sharpen(
    layers: Any, beta: float = 1.0, decay: float = 0.5, negatives: Any = "complement", cached: bool = True
) -> torch.nn.ModuleList:
    """Plug IGC into the layers of a network, but not into the last, which gives the classes.

    Parameters
    ----------
    layers : ModuleList or list of Module
        Each takes ``(x, edge_index, …)``.
    beta, decay : float, default=1.0 and 0.5
        Moving probability of the inverse convolution in the first layer, and what it is multiplied by from
        each to the next.
    negatives : "complement" or float, default="complement"
        See :class:`gssl.torch.InverseGraphConv`.
    cached : bool, default=True
        Whether the network always sees one graph.

    Returns
    -------
    ModuleList

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
    *hidden, last = some_layers("sharpen", layers)
    return torch.nn.ModuleList(
        [*(Sharpened(layer, inverse, beta * decay**k) for k, layer in enumerate(hidden)), last]
    )


def start_from_identity(layers: Any) -> Any:
    """Set the weights of layers that keep the width to the identity, in place.

    Random weights mix all features anew in every layer, so that dozens of layers leave nothing to learn from.
    From the identity a deep GCN starts as repeated convolution, and a sharpened one as GGC; both then learn.

    Parameters
    ----------
    layers : ModuleList or list of Module
        Each has one linear layer.

    Returns
    -------
    The same layers.

    Examples
    --------
    >>> start_from_identity([torch.nn.Linear(2, 2)])[0].weight
    Parameter containing:
    tensor([[1., 0.],
            [0., 1.]], requires_grad=True)
    """
    for layer in layers:
        weight = linear_part(layer).weight
        if weight.shape[0] == weight.shape[1]:
            torch.nn.init.eye_(weight)
    return layers


def some_layers(owner: str, layers: Any) -> list[torch.nn.Module]:
    """Give the layers of a network as a list, and refuse what is none.

    Examples
    --------
    >>> some_layers("sharpen", [])
    Traceback (most recent call last):
        ...
    ValueError: sharpen: there are no layers: give those of a network, the last of which gives the classes.
    """
    found = list(layers) if isinstance(layers, torch.nn.ModuleList | list | tuple) else []
    if not found:
        raise ValueError(
            f"{owner}: there are no layers: give those of a network, the last of which gives the classes."
        )
    strange = [layer for layer in found if not isinstance(layer, torch.nn.Module)]
    if strange:
        raise ValueError(f"{owner}: {strange[0]!r} is no layer: give torch modules.")
    return found


def linear_part(head: torch.nn.Module) -> Any:
    """Give the linear layer that a layer is or has; the first, if it has several.

    Examples
    --------
    >>> linear_part(torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Linear(3, 2)))
    Linear(in_features=3, out_features=2, bias=True)
    """
    for layer in head.modules():
        weight = getattr(layer, "weight", None)
        if isinstance(weight, torch.Tensor) and weight.dim() == 2:
            return layer
    raise ValueError(f"{type(head).__name__} has no linear layer: give a layer with a weight.")


def call_layer(layer: Any, x: torch.Tensor, edge_index: Any, edge_weight: Any, rest: dict[str, Any]) -> Any:
    """Call a layer with weights only where there are any, for some take none.

    Examples
    --------
    >>> call_layer(lambda x, edge_index: x, torch.ones(1), None, None, {})
    tensor([1.])
    """
    if edge_weight is not None:
        rest = {**rest, "edge_weight": edge_weight}
    return layer(x, edge_index, **rest)
