"""The operators as functions of tensors and as layers: lazy convolution, IGC (Eq. 10) and SEB (Eq. 6)."""

from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from gssl.torch.links import Links, SparseMatrix, can_look, read_links

Loss = Literal["squared", "cross_entropy"]
# draws seldom hit a link; pairs still missing after this many rounds are given up
_ROUNDS = 64


@dataclass(frozen=True)
class _Scaled:
    """Links with the weights of an operator, and its scale of each node as a column."""

    links: Links
    weight: Tensor
    scale: Tensor
    matrix: SparseMatrix | None

    @classmethod
    def of(cls, links: Links, weight: Tensor, degrees: Tensor) -> "_Scaled":
        return cls(links, weight, torch.rsqrt(degrees).unsqueeze(1), links.as_matrix(weight))

    def sums(self, V: Tensor) -> Tensor:
        """Return the weighted sums of the neighbours' rows of V."""
        return self.links.sums(V, self.weight) if self.matrix is None else self.matrix @ V


class _Convolution(torch.nn.Module):
    """A layer without learned parameters that can cache the graph of its last call."""

    def __init__(self, beta: float, cached: bool) -> None:
        super().__init__()
        check_share(type(self).__name__, "beta", beta)
        self.beta = beta
        self.cached = cached
        self._kept: tuple[Any, Any, _Scaled] | None = None

    def _scaled(self, x: Tensor, edge_index: Any, edge_weight: Tensor | None, scale: Any) -> _Scaled:
        if self._kept is not None:
            edges, weight, kept = self._kept
            known = kept.scale
            same = edges is edge_index and weight is edge_weight and len(known) == len(x)
            if same and known.dtype == x.dtype and known.device == x.device:
                return kept
        scaled: _Scaled = scale(read_links(x, edge_index, edge_weight, reused=self.cached))
        # learned weights change between calls
        keep = self.cached and not scaled.weight.requires_grad
        self._kept = (edge_index, edge_weight, scaled) if keep else None
        return scaled

    def __getstate__(self) -> dict[str, Any]:
        # copies and pickles do not keep the cached graph
        return {**self.__dict__, "_kept": None}

    def extra_repr(self) -> str:
        """Name the parameters."""
        return f"beta={self.beta}"


def lazy_convolution(
    x: Tensor, edge_index: Any, edge_weight: Tensor | None = None, beta: float = 1.0
) -> Tensor:
    r"""Move each embedding towards those of its neighbours (lazy graph convolution, Eq. 21).

    .. math:: [\beta \hat A + (1 - \beta) I] U, \qquad
              \hat A = \tilde D^{-1/2} (A + I) \tilde D^{-1/2}

    Results are those of :func:`gssl.operators.lazy_convolution`. Self-loops in the input are ignored, because
    every node has one of weight 1; so an isolated node keeps its embedding.

    Parameters
    ----------
    x : tensor of shape (n, d)
        U.
    edge_index : long tensor of shape (2, E), or sparse tensor (COO or CSR) of shape (n, n)
        Every link in both directions.
    edge_weight : tensor of shape (E,), optional
    beta : float, default=1.0
        The moving probability; 1 is plain graph convolution.

    Examples
    --------
    >>> x, pair = torch.tensor([[1.0], [0.0], [5.0]]), torch.tensor([[0, 1], [1, 0]])
    >>> lazy_convolution(x, pair, beta=0.5)
    tensor([[0.7500],
            [0.2500],
            [5.0000]])
    """
    check_share("lazy_convolution", "beta", beta)
    return _smooth(x, _smooth_scale(read_links(x, edge_index, edge_weight)), beta)


def _smooth_scale(links: Links) -> _Scaled:
    return _Scaled.of(links, links.weight, links.degrees(links.weight) + 1.0)


def _smooth(x: Tensor, A_hat: _Scaled, beta: float) -> Tensor:
    V = A_hat.scale * x
    smooth = A_hat.scale * (A_hat.sums(V) + V)
    return smooth if beta == 1.0 else beta * smooth + (1.0 - beta) * x


class LazyConv(_Convolution):
    r"""Layer for :func:`lazy_convolution`, :math:`[\beta \hat A + (1 - \beta) I] U`; nothing is learned.

    It can be used like a layer of PyTorch Geometric, and computes on the device of its input.

    Parameters
    ----------
    beta : float, default=1.0
        The moving probability, from 0 to 1.
    cached : bool, default=False
        Whether to normalise the graph only once for calls with the same ``edge_index`` tensor.

    Examples
    --------
    >>> layer = LazyConv(beta=0.5)
    >>> layer(torch.tensor([[1.0], [0.0]]), torch.tensor([[0, 1], [1, 0]]))
    tensor([[0.7500],
            [0.2500]])
    """

    def __init__(self, beta: float = 1.0, cached: bool = False) -> None:
        super().__init__(beta, cached)

    def forward(self, x: Tensor, edge_index: Any, edge_weight: Tensor | None = None) -> Tensor:
        """Convolve: see :func:`lazy_convolution`."""
        return _smooth(x, self._scaled(x, edge_index, edge_weight, _smooth_scale), self.beta)


def inverse_convolution(
    x: Tensor,
    edge_index: Any,
    edge_weight: Tensor | None = None,
    beta: float = 1.0,
    negatives: Any = "complement",
) -> Tensor:
    r"""Move each embedding away from those of unlinked nodes (lazy IGC, Eq. 10).

    .. math:: \left[\beta\, {}^\neg\tilde D^{-1/2} (2I - {}^\neg A) {}^\neg\tilde D^{-1/2}
              + (1 - \beta) I\right] U, \qquad {}^\neg\tilde D = 2I + {}^\neg D

    The complement :math:`{}^\neg A = 11^\top - I - A` is never built, because
    :math:`{}^\neg A V = 1 (1^\top V) - V - AV`, with the 0/1 pattern of the graph as A: weights say nothing
    about absent links. Results are those of :func:`gssl.operators.inverse_convolution`.

    Parameters
    ----------
    x : tensor of shape (n, d)
        U.
    edge_index : long tensor of shape (2, E), or sparse tensor (COO or CSR) of shape (n, n)
        Every link in both directions; self-loops are ignored.
    edge_weight : tensor of shape (E,), optional
        Links of weight zero are ignored.
    beta : float, default=1.0
        The moving probability.
    negatives : "complement" or float, default="complement"
        All unlinked pairs, or a random sample of them: this multiple of the number of edges, drawn with the
        generator of the device of x (``torch.manual_seed``). A sample contains no real edge; a pair that is
        drawn twice counts twice.

    Examples
    --------
    >>> inverse_convolution(torch.tensor([[3.0], [0.0]]), torch.empty(2, 0, dtype=torch.long)).round()
    tensor([[ 2.],
            [-1.]])
    """
    check_share("inverse_convolution", "beta", beta)
    _check_negatives("inverse_convolution", negatives)
    return _sharp(x, _sharp_scale(read_links(x, edge_index, edge_weight)), beta, negatives)


def _check_negatives(owner: str, negatives: Any) -> None:
    if isinstance(negatives, str) and negatives == "complement":
        return
    if not _is_number(negatives) or not 0.0 < negatives < float("inf"):
        raise ValueError(
            f'{owner}: negatives must be "complement" or a positive multiple of the number of edges, not '
            f"{negatives!r}."
        )


def _sharp_scale(links: Links) -> _Scaled:
    linked = links.pattern()
    return _Scaled.of(links, linked, links.n_nodes + 1.0 - links.degrees(linked))


def _sharp(x: Tensor, graph: _Scaled, beta: float, negatives: Any) -> Tensor:
    sharp = _complement(x, graph) if negatives == "complement" else _sampled(x, graph, negatives)
    return sharp if beta == 1.0 else beta * sharp + (1.0 - beta) * x


def _complement(x: Tensor, graph: _Scaled) -> Tensor:
    """Compute ¬D̃^-½ (3V + AV − 1(1ᵀV)) with V = ¬D̃^-½ U."""
    V = graph.scale * x
    return graph.scale * (3.0 * V + graph.sums(V) - V.sum(dim=0, keepdim=True))


def _sampled(x: Tensor, graph: _Scaled, multiple: float) -> Tensor:
    source, target = sample_unlinked(graph.links, multiple)
    both = Links(torch.cat([target, source]), torch.cat([source, target]), x, graph.links.n_nodes)
    ones = x.new_ones(len(both.target))
    scale = torch.rsqrt(both.degrees(ones) + 2.0).unsqueeze(1)
    V = scale * x
    return scale * (2.0 * V - both.sums(V, ones))


def sample_unlinked(links: Links, multiple: float) -> tuple[Tensor, Tensor]:
    """Draw pairs of unlinked nodes, as many as a multiple of the edges, with replacement.

    Draws that hit a link are repeated; in a nearly complete graph, fewer pairs may be returned.
    """
    n, device = links.n_nodes, links.target.device
    present = links.pattern() > 0
    linked = torch.sort(links.target[present] * n + links.source[present]).values
    missing = round(multiple * len(linked) / 2)
    if n < 2 or not missing:
        none = links.target[:0]
        return none, none
    accepted: list[Tensor] = []
    for _ in range(_ROUNDS):
        u = torch.randint(n, (missing,), device=device)
        v = (u + torch.randint(1, n, (missing,), device=device)) % n
        codes = u * n + v
        if len(linked):
            position = torch.searchsorted(linked, codes).clamp(max=len(linked) - 1)
            codes = codes[linked[position] != codes]
        accepted.append(codes)
        missing -= len(codes)
        if not missing:
            break
    drawn = torch.cat(accepted)
    return drawn // n, drawn % n


class InverseGraphConv(_Convolution):
    r"""Layer for :func:`inverse_convolution`, which pushes unlinked nodes apart; nothing is learned.

    It can be used like a layer of PyTorch Geometric, and computes on the device of its input.

    Parameters
    ----------
    beta : float, default=1.0
        The moving probability, from 0 to 1.
    negatives : "complement" or float, default="complement"
        All unlinked pairs, or a new random sample in every call, of this multiple of the number of edges.
    cached : bool, default=False
        Whether to read the graph only once for calls with the same ``edge_index`` tensor.

    Examples
    --------
    >>> layer = InverseGraphConv(beta=0.5)
    >>> layer(torch.tensor([[3.0], [0.0]]), torch.empty(2, 0, dtype=torch.long))
    tensor([[ 2.5000],
            [-0.5000]])
    """

    def __init__(self, beta: float = 1.0, negatives: Any = "complement", cached: bool = False) -> None:
        super().__init__(beta, cached)
        _check_negatives("InverseGraphConv", negatives)
        self.negatives = negatives

    def forward(self, x: Tensor, edge_index: Any, edge_weight: Tensor | None = None) -> Tensor:
        """Convolve: see :func:`inverse_convolution`."""
        graph = self._scaled(x, edge_index, edge_weight, _sharp_scale)
        return _sharp(x, graph, self.beta, self.negatives)

    def extra_repr(self) -> str:
        """Name the parameters."""
        return f"beta={self.beta}, negatives={self.negatives!r}"


def supervised_embedding(U: Tensor, W: Tensor, Y: Tensor, eta_sup: float, loss: Loss = "squared") -> Tensor:
    r"""Pull labelled embeddings towards their labels: the SEB operator (Eq. 6).

    .. math:: -\eta_{sup} S (Z - Y) W^\top, \qquad
              Z = U W \ \text{(squared loss)}, \quad Z = \mathrm{softmax}(U W) \ \text{(cross-entropy)}

    Rows of unlabelled nodes are zero, so only labelled rows are used and returned, and S is never built.
    Results are those of :func:`gssl.operators.supervised_embedding`.

    Parameters
    ----------
    U : tensor of shape (m, d)
        Embeddings of labelled nodes.
    W : tensor of shape (d, c)
    Y : tensor of shape (m, c)
        Their labels, one-hot.
    eta_sup : float
    loss : {"squared", "cross_entropy"}, default="squared"

    Returns
    -------
    tensor of shape (m, d)
        The update to add to those rows.

    Examples
    --------
    >>> U, W, Y = torch.tensor([[2.0]]), torch.tensor([[0.5, 0.25]]), torch.tensor([[1.0, 0.0]])
    >>> supervised_embedding(U, W, Y, eta_sup=0.1)
    tensor([[-0.0125]])
    """
    _check_loss("supervised_embedding", loss)
    scores = U @ W
    Z = scores if loss == "squared" else torch.softmax(scores, dim=1)
    return -eta_sup * ((Z - Y) @ W.T)


class SupervisedEmbedding(torch.nn.Module):
    r"""Layer for :func:`supervised_embedding`, which moves embeddings towards the labels of their nodes.

    .. math:: U \leftarrow U - \eta_{sup}\, \mathrm{decay}^{k-1}\, S (Z - Y) W^\top

    It has no learned parameters: W is given by the caller, for instance the last layer of a network.

    Parameters
    ----------
    eta_sup : float, default=1e-3
    decay : float, default=1.0
        Factor of the step size from each k to the next.
    loss : {"squared", "cross_entropy"}, default="squared"

    Examples
    --------
    >>> layer = SupervisedEmbedding(eta_sup=0.1)
    >>> U, W = torch.tensor([[2.0], [7.0]]), torch.tensor([[0.5, 0.25]])
    >>> layer(U, W, labels=torch.tensor([0]), nodes=torch.tensor([0]))
    tensor([[1.9875],
            [7.0000]])
    """

    def __init__(self, eta_sup: float = 1e-3, decay: float = 1.0, loss: Loss = "squared") -> None:
        super().__init__()
        check_share("SupervisedEmbedding", "decay", decay)
        if not _is_number(eta_sup) or not 0.0 <= eta_sup < float("inf"):
            raise ValueError(f"SupervisedEmbedding: eta_sup must be a number of at least 0, not {eta_sup!r}.")
        _check_loss("SupervisedEmbedding", loss)
        self.eta_sup = eta_sup
        self.decay = decay
        self.loss: Loss = loss

    def forward(self, x: Tensor, W: Tensor, labels: Tensor, nodes: Tensor, k: int = 1) -> Tensor:
        """Move the rows of labelled nodes.

        Parameters
        ----------
        x : tensor of shape (n, d)
            U.
        W : tensor of shape (d, c)
        labels : long tensor of shape (m,), or tensor of shape (m, c)
            The classes of ``nodes``, or their rows of Y.
        nodes : long tensor of shape (m,)
            The labelled nodes; other rows of x do not change.
        k : int, default=1
            Number of the step, for the decay.
        """
        if labels.shape[0] != nodes.shape[0]:
            raise ValueError(
                f"there are {labels.shape[0]} labels for {nodes.shape[0]} nodes: give one label per node."
            )
        _check_labelled(x, W, labels, nodes)
        Y = torch.nn.functional.one_hot(labels, W.shape[1]) if labels.dim() == 1 else labels
        eta_sup = self.eta_sup * self.decay ** (k - 1)
        moves = supervised_embedding(x.index_select(0, nodes), W, Y.to(x.dtype), eta_sup, self.loss)
        return x.index_add(0, nodes, moves)

    def extra_repr(self) -> str:
        """Name the parameters."""
        return f"eta_sup={self.eta_sup}, decay={self.decay}, loss={self.loss!r}"


def _check_loss(owner: str, loss: Any) -> None:
    if loss not in ("squared", "cross_entropy"):
        raise ValueError(f'{owner}: loss must be "squared" or "cross_entropy", not {loss!r}.')


def _check_labelled(x: Tensor, W: Tensor, labels: Tensor, nodes: Tensor) -> None:
    if x.dim() != 2 or W.dim() != 2 or x.shape[1] != W.shape[0]:
        raise ValueError(
            f"W has the shape {tuple(W.shape)} for x of the shape {tuple(x.shape)}: it needs a row for each "
            "column of x."
        )
    if labels.dim() == 2 and labels.shape[1] != W.shape[1]:
        raise ValueError(f"labels have {labels.shape[1]} columns but W has {W.shape[1]}: give one per class.")
    for name, numbers, size in (("labels", labels, W.shape[1]), ("nodes", nodes, x.shape[0])):
        if numbers.dim() > 1:
            continue
        if numbers.dtype != torch.long:
            raise ValueError(f"{name} are {numbers.dtype}: give whole numbers as a long tensor.")
        if can_look(numbers) and numbers.numel() and not 0 <= int(numbers.min()) <= int(numbers.max()) < size:
            low, high = int(numbers.min()), int(numbers.max())
            raise ValueError(f"{name} range from {low} to {high}: they must be within 0 … {size - 1}.")


def check_share(owner: str, name: str, value: Any) -> None:
    """Raise if a parameter is not a number from 0 to 1."""
    if not _is_number(value) or not 0.0 <= value <= 1.0:
        raise ValueError(f"{owner}: {name} must be a number from 0 to 1, not {value!r}.")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
