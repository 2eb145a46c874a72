"""Add SEB and IGC to the layers of a baseline network (Sect. 4), with the library's plug-ins."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from gssl.torch import sharpen, start_from_identity, supervise


class Watched(torch.nn.Module):
    """A layer that stores its last output."""

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
    r"""Return a network whose hidden layers are followed by IGC, SEB, both or neither.

    .. math:: V = \tfrac12 \left(\mathrm{layer}_k(U) + \left[\beta^{k-1} {}^\neg\hat A
              + (1 - \beta^{k-1}) I\right] U\right), \qquad U \leftarrow V - \eta_{sup} S (Z - Y) W_k^\top

    with β = ``igc_decay`` and cross-entropy in SEB. The network must have its hidden layers in ``convs`` and
    return W_k by ``head(k)``, as GCN, JKNet, GCNII and APPNP do. With ``identity_start``, square weights of
    hidden layers are initialized as the identity.
    """
    network: Any = factory(n_features, n_classes)
    name = type(network).__name__
    if not hasattr(network, "head") or name in ("EigenGCN", "FastGCN"):
        # subclasses of GCN, but with other inputs, or a loss that does not call forward
        raise ValueError(f"{name} has no layers to plug into: use GCN, JKNet, GCNII or APPNP.")
    if not len(network.convs):
        raise ValueError(f"a {name} of one layer has no hidden one to plug into: depth=2.")
    if identity_start:
        start_from_identity(network.convs)
    layers = network.convs
    if igc:
        # sharpen() leaves the last layer alone, which is meant to be the output layer: append a dummy
        layers = sharpen([*layers, torch.nn.Identity()], decay=igc_decay)[:-1]
    if seb:
        network.head(1)
        layers = supervise(layers, eta_sup=eta_sup, decay=1.0, loss="cross_entropy", head=network.head)
    network.convs = torch.nn.ModuleList([*layers[:-1], Watched(layers[-1])])
    return network


def hidden_embedding(network: Any) -> Tensor:
    """Return the last output of the last hidden layer of a plugged network, before its non-linearity."""
    last: Tensor = network.convs[-1].last
    return last
