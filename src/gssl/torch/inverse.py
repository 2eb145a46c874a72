"""Inverse graph convolution (IGC, Eq. 10) as a function and as a layer."""

from typing import Any

from gssl.torch._links import Links, Scaled, read_links
from gssl.torch._packages import torch
from gssl.torch.convolution import check_share


def inverse_convolution(
    x: torch.Tensor,
    edge_index: Any,
    edge_weight: torch.Tensor | None = None,
    beta: float = 1.0,
    negatives: Any = "complement",
) -> torch.Tensor:
    r"""Move every embedding away from those of unlinked nodes (lazy IGC, Eq. 10).

    .. math:: \left[\beta\, {}^\neg\tilde D^{-1/2} (2I - {}^\neg A) {}^\neg\tilde D^{-1/2}
              + (1 - \beta) I\right] U, \qquad {}^\neg\tilde D = 2I + {}^\neg D

    The complement :math:`{}^\neg A = 11^\top - I - A` is never built, for
    :math:`{}^\neg A V = 1 (1^\top V) - V - AV`, with the 0/1 pattern of the graph as A: weights say nothing
    about absent links. The numbers are those of :func:`gssl.operators.inverse_convolution`.

    Parameters
    ----------
    x : tensor of shape (n, d)
        U.
    edge_index : long tensor of shape (2, E), or sparse tensor of shape (n, n)
        Every link in both directions; self-loops do not count.
    edge_weight : tensor of shape (E,), optional
        A link of weight zero is none.
    beta : float, default=1.0
        The moving probability.
    negatives : "complement" or float, default="complement"
        All unlinked pairs, or a random sample of them: this multiple of the number of edges, from the
        generator of the device of x (``torch.manual_seed``). A sample holds no real edge, and may name a pair
        twice, which then counts twice.

    Returns
    -------
    tensor of shape (n, d)

    Examples
    --------
    >>> inverse_convolution(torch.tensor([[3.0], [0.0]]), torch.empty(2, 0, dtype=torch.long)).round()
    tensor([[ 2.],
            [-1.]])
    """
    check_share("inverse_convolution", "beta", beta)
    _check_negatives("inverse_convolution", negatives)
    return _convolve(x, _patterned(x, edge_index, edge_weight), beta, negatives)


def _check_negatives(owner: str, negatives: Any) -> None:
    if isinstance(negatives, str) and negatives == "complement":
        return
    number = isinstance(negatives, int | float) and not isinstance(negatives, bool)
    if not number or not 0.0 < negatives < float("inf"):
        raise ValueError(
            f'{owner}: negatives must be "complement" or a positive multiple of the number of edges, not '
            f"{negatives!r}."
        )


def _patterned(x: torch.Tensor, edge_index: Any, edge_weight: torch.Tensor | None) -> Scaled:
    links = read_links(x, edge_index, edge_weight)
    linked = links.pattern()
    return Scaled(links, linked, torch.rsqrt(links.n_nodes + 1.0 - links.degrees(linked)).unsqueeze(1))


def _convolve(x: torch.Tensor, graph: Scaled, beta: float, negatives: Any) -> torch.Tensor:
    sharp = _complement(x, graph) if negatives == "complement" else _sampled(x, graph, negatives)
    return sharp if beta == 1.0 else beta * sharp + (1.0 - beta) * x


def _complement(x: torch.Tensor, graph: Scaled) -> torch.Tensor:
    """Give ¬D̃^-½ (3V + AV − 1(1ᵀV)) with V = ¬D̃^-½ U."""
    V = graph.scale * x
    return graph.scale * (3.0 * V + graph.links.sums(V, graph.weight) - V.sum(dim=0, keepdim=True))


def _sampled(x: torch.Tensor, graph: Scaled, multiple: float) -> torch.Tensor:
    links = graph.links
    source, target = sample_unlinked(links, multiple)
    both = Links(torch.cat([target, source]), torch.cat([source, target]), x, links.n_nodes)
    ones = x.new_ones(len(both.target))
    scale = torch.rsqrt(both.degrees(ones) + 2.0).unsqueeze(1)
    V = scale * x
    return scale * (2.0 * V - both.sums(V, ones))


def sample_unlinked(links: Links, multiple: float) -> tuple[torch.Tensor, torch.Tensor]:
    """Draw pairs of nodes that are not linked, as many as a multiple of the edges.

    Blind draws are looked up among the links and drawn again where they hit one. A pair that is still linked
    after many rounds, as in a graph that is nearly complete, is left out.

    Parameters
    ----------
    links : Links
    multiple : float

    Returns
    -------
    two long tensors of shape (m,)

    Examples
    --------
    >>> path = read_links(torch.ones(3, 1), torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    >>> pairs = sample_unlinked(path, 2.0)
    >>> {tuple(sorted(pair)) for pair in torch.stack(pairs).T.tolist()}
    {(0, 2)}
    """
    n, device = links.n_nodes, links.target.device
    present = links.pattern() > 0
    linked = torch.sort(links.target[present] * n + links.source[present]).values
    wanted = round(multiple * len(linked) / 2)
    if n < 2 or not wanted:
        none = links.target[:0]
        return none, none
    found: list[torch.Tensor] = []
    missing = wanted
    for _ in range(_ROUNDS):
        u = torch.randint(n, (missing,), device=device)
        v = (u + torch.randint(1, n, (missing,), device=device)) % n
        codes = u * n + v
        if len(linked):
            place = torch.searchsorted(linked, codes).clamp(max=len(linked) - 1)
            codes = codes[linked[place] != codes]
        found.append(codes)
        missing -= len(codes)
        if not missing:
            break
    drawn = torch.cat(found)
    return drawn // n, drawn % n


# a draw hits a link seldom in a graph worth the name, so what this many rounds cannot place is given up
_ROUNDS = 64


class InverseGraphConv(torch.nn.Module):
    r"""The layer of :func:`inverse_convolution`, which pushes unlinked nodes apart, with nothing to learn.

    It stands wherever a layer of PyTorch Geometric stands, and computes on the device of its input.

    Parameters
    ----------
    beta : float, default=1.0
        The moving probability, from 0 to 1.
    negatives : "complement" or float, default="complement"
        All unlinked pairs, exactly; or a fresh random sample in every call, of this multiple of the number of
        edges.
    cached : bool, default=False
        Whether the graph of the first call is that of all others, and is read once.

    Examples
    --------
    >>> layer = InverseGraphConv(beta=0.5)
    >>> layer(torch.tensor([[3.0], [0.0]]), torch.empty(2, 0, dtype=torch.long))
    tensor([[ 2.5000],
            [-0.5000]])
    """

    def __init__(self, beta: float = 1.0, negatives: Any = "complement", cached: bool = False) -> None:
        super().__init__()
        check_share("InverseGraphConv", "beta", beta)
        _check_negatives("InverseGraphConv", negatives)
        self.beta = beta
        self.negatives = negatives
        self.cached = cached
        self._kept: Scaled | None = None

    def forward(
        self, x: torch.Tensor, edge_index: Any, edge_weight: torch.Tensor | None = None
    ) -> torch.Tensor:
        """Convolve: see :func:`inverse_convolution`."""
        graph = self._kept
        if graph is None or not graph.fits(x):
            graph = _patterned(x, edge_index, edge_weight)
            self._kept = graph if self.cached else None
        return _convolve(x, graph, self.beta, self.negatives)

    def extra_repr(self) -> str:
        """Name the parameters."""
        return f"beta={self.beta}, negatives={self.negatives!r}"
