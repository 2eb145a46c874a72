"""SEB and IGC in the layers of a baseline network (Sect. 4), by the plug-ins of the library."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from gssl.torch import sharpen, start_from_identity, supervise


class Watched(torch.nn.Module):
    """A layer that keeps what it gave last."""

    def __init__(self, layer: torch.nn.Module) -> None:
        super().__init__()
        self.layer = layer
        self.last: Tensor | None = None

    def forward(self, *inputs: Any, **options: Any) -> Tensor:
        out: Tensor = self.layer(*inputs, **options)
        self.last = out.detach()
        return out


def plug(
    factory: Callable[[int, int], torch.nn.Module],
    n_features: int,
    n_classes: int,
    *,
    igc: bool = True,
    seb: bool = True,
    identity_start: bool = False,
    igc_decay: float = 0.5,
    eta_sup: float = 1.0,
) -> torch.nn.Module:
    r"""Make a network whose hidden layers are followed by IGC, SEB, both or neither.

    .. math:: V = \tfrac12 \left(\mathrm{layer}_k(U) + \left[\beta^{k-1} {}^\neg\hat A
              + (1 - \beta^{k-1}) I\right] U\right), \qquad U \leftarrow V - \eta_{sup} S (Z - Y) W_k^\top

    with β = ``igc_decay`` and cross-entropy in SEB. The network has its hidden layers in ``convs`` and gives
    W_k by ``head(k)``: GCN, JKNet, GCNII and APPNP do. With ``identity_start``, weights of hidden layers that
    keep the width start as the identity.
    """
    network: Any = factory(n_features, n_classes)
    name = type(network).__name__
    if not hasattr(network, "head") or name in ("EigenGCN", "FastGCN"):
        # these have a GCN's layers, but other inputs, or a loss that does not go through its forward
        raise ValueError(f"{name} has no layers to plug into: use GCN, JKNet, GCNII or APPNP.")
    if not len(network.convs):
        raise ValueError(f"a {name} of one layer has no hidden one to plug into: depth=2.")
    if identity_start:
        start_from_identity(network.convs)
    layers = network.convs
    if igc:
        # the last one of a list gives the classes, and stays as it is
        layers = sharpen([*layers, torch.nn.Identity()], decay=igc_decay)[:-1]
    if seb:
        network.head(1)
        layers = supervise(layers, eta_sup=eta_sup, decay=1.0, loss="cross_entropy", head=network.head)
    network.convs = torch.nn.ModuleList([*layers[:-1], Watched(layers[-1])])
    return network


def hidden_embedding(network: Any) -> Tensor:
    """Return what the last hidden layer of a plugged network gave last, before its non-linearity."""
    last: Tensor = network.convs[-1].last
    return last
