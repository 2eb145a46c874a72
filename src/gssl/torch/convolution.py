"""Lazy graph convolution (Sect. 3.1) as a function and as a layer."""

from typing import Any

from gssl.torch._links import Scaled, read_links
from gssl.torch._packages import torch


def lazy_convolution(
    x: torch.Tensor, edge_index: Any, edge_weight: torch.Tensor | None = None, beta: float = 1.0
) -> torch.Tensor:
    r"""Move every embedding towards its neighbours' (lazy graph convolution, Eq. 21).

    .. math:: [\beta \hat A + (1 - \beta) I] U, \qquad
              \hat A = \tilde D^{-1/2} (A + I) \tilde D^{-1/2}

    The numbers are those of :func:`gssl.operators.lazy_convolution`. Self-loops that are given are left out,
    for every node has one of weight 1 anyway; so an isolated node keeps itself.

    Parameters
    ----------
    x : tensor of shape (n, d)
        U.
    edge_index : long tensor of shape (2, E), or sparse tensor of shape (n, n)
        Every link in both directions. A sparse tensor (COO or CSR) saves the row per link that an edge index
        gathers.
    edge_weight : tensor of shape (E,), optional
    beta : float, default=1.0
        The moving probability; 1 is plain graph convolution.

    Returns
    -------
    tensor of shape (n, d)

    Examples
    --------
    >>> x, pair = torch.tensor([[1.0], [0.0], [5.0]]), torch.tensor([[0, 1], [1, 0]])
    >>> lazy_convolution(x, pair, beta=0.5)
    tensor([[0.7500],
            [0.2500],
            [5.0000]])
    """
    check_share("lazy_convolution", "beta", beta)
    return _convolve(x, _normalized(x, edge_index, edge_weight), beta)


def _normalized(x: torch.Tensor, edge_index: Any, edge_weight: torch.Tensor | None) -> Scaled:
    links = read_links(x, edge_index, edge_weight)
    return Scaled(links, links.weight, torch.rsqrt(links.degrees(links.weight) + 1.0).unsqueeze(1))


def _convolve(x: torch.Tensor, A_hat: Scaled, beta: float) -> torch.Tensor:
    V = A_hat.scale * x
    smooth = A_hat.scale * (A_hat.links.sums(V, A_hat.weight) + V)
    return smooth if beta == 1.0 else beta * smooth + (1.0 - beta) * x


class LazyConv(torch.nn.Module):
    r"""The layer of :func:`lazy_convolution`, :math:`[\beta \hat A + (1 - \beta) I] U`: nothing to learn.

    It stands wherever a layer of PyTorch Geometric stands, and computes on the device of its input.

    Parameters
    ----------
    beta : float, default=1.0
        The moving probability, from 0 to 1.
    cached : bool, default=False
        Whether the graph of the first call is that of all others, and is normalised once.

    Examples
    --------
    >>> layer = LazyConv(beta=0.5)
    >>> layer(torch.tensor([[1.0], [0.0]]), torch.tensor([[0, 1], [1, 0]]))
    tensor([[0.7500],
            [0.2500]])
    """

    def __init__(self, beta: float = 1.0, cached: bool = False) -> None:
        super().__init__()
        check_share("LazyConv", "beta", beta)
        self.beta = beta
        self.cached = cached
        self._kept: Scaled | None = None

    def forward(
        self, x: torch.Tensor, edge_index: Any, edge_weight: torch.Tensor | None = None
    ) -> torch.Tensor:
        """Convolve: see :func:`lazy_convolution`."""
        A_hat = self._kept
        if A_hat is None or not A_hat.fits(x):
            A_hat = _normalized(x, edge_index, edge_weight)
            self._kept = A_hat if self.cached else None
        return _convolve(x, A_hat, self.beta)

    def extra_repr(self) -> str:
        """Name the parameters."""
        return f"beta={self.beta}"


def check_share(owner: str, name: str, value: float) -> None:
    """Refuse a parameter that is not a number from 0 to 1.

    Examples
    --------
    >>> check_share("LazyConv", "beta", 2.0)
    Traceback (most recent call last):
        ...
    ValueError: LazyConv: beta must be a number from 0 to 1, not 2.0.
    """
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0.0 <= value <= 1.0:
        raise ValueError(f"{owner}: {name} must be a number from 0 to 1, not {value!r}.")
