"""Supervised embedding (SEB, Eq. 6) as a function and as a layer."""

from typing import Any, Literal

from gssl.torch._links import can_look
from gssl.torch._packages import torch
from gssl.torch.convolution import check_share

Loss = Literal["squared", "cross_entropy"]


def supervised_embedding(
    U: torch.Tensor, W: torch.Tensor, Y: torch.Tensor, eta_sup: float, loss: Loss = "squared"
) -> torch.Tensor:
    r"""Pull labelled embeddings towards their labels: the SEB operator (Eq. 6).

    .. math:: -\eta_{sup} S (Z - Y) W^\top, \qquad
              Z = U W \ \text{(squared loss)}, \quad Z = \mathrm{softmax}(U W) \ \text{(cross-entropy)}

    Rows of unlabelled nodes are zero, so only the labelled rows are taken and given back, and S is never
    built. The numbers are those of :func:`gssl.operators.supervised_embedding`.

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
        What is to be added to those rows.

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


def _check_labelled(x: torch.Tensor, W: torch.Tensor, labels: torch.Tensor, nodes: torch.Tensor) -> None:
    if x.dim() != 2 or W.dim() != 2 or x.shape[1] != W.shape[0]:
        raise ValueError(
            f"W has the shape {tuple(W.shape)} for x of the shape {tuple(x.shape)}: it needs a row for each "
            "column of x."
        )
    if labels.dim() == 2 and labels.shape[1] != W.shape[1]:
        raise ValueError(f"labels have {labels.shape[1]} columns and W {W.shape[1]}: one for each class.")
    for name, numbers, size in (("labels", labels, W.shape[1]), ("nodes", nodes, x.shape[0])):
        if numbers.dim() > 1:
            continue
        if numbers.dtype != torch.long:
            raise ValueError(f"{name} are {numbers.dtype}: give whole numbers as a long tensor.")
        if can_look(numbers) and numbers.numel() and not 0 <= int(numbers.min()) <= int(numbers.max()) < size:
            raise ValueError(
                f"{name} go from {int(numbers.min())} to {int(numbers.max())}: there are 0 to {size - 1}."
            )


def _check_loss(owner: str, loss: Any) -> None:
    if loss not in ("squared", "cross_entropy"):
        raise ValueError(f'{owner}: loss must be "squared" or "cross_entropy", not {loss!r}.')


class SupervisedEmbedding(torch.nn.Module):
    r"""The layer of :func:`supervised_embedding`: known labels move the embeddings of their nodes.

    .. math:: U \leftarrow U - \eta_{sup}\, \mathrm{decay}^{k-1}\, S (Z - Y) W^\top

    It has nothing to learn: W is a predictor that the caller has, for instance the last layer of a network.

    Parameters
    ----------
    eta_sup : float, default=1e-3
    decay : float, default=1.0
        What the step is multiplied by from each k to the next.
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
        if (
            not isinstance(eta_sup, int | float)
            or isinstance(eta_sup, bool)
            or not 0.0 <= eta_sup < float("inf")
        ):
            raise ValueError(f"SupervisedEmbedding: eta_sup must be a number from 0 on, not {eta_sup!r}.")
        _check_loss("SupervisedEmbedding", loss)
        self.eta_sup = eta_sup
        self.decay = decay
        self.loss: Loss = loss

    def forward(
        self, x: torch.Tensor, W: torch.Tensor, labels: torch.Tensor, nodes: torch.Tensor, k: int = 1
    ) -> torch.Tensor:
        """Move the rows of labelled nodes.

        Parameters
        ----------
        x : tensor of shape (n, d)
            U.
        W : tensor of shape (d, c)
        labels : long tensor of shape (m,), or tensor of shape (m, c)
            Of these nodes alone: classes, or their rows of Y.
        nodes : long tensor of shape (m,)
            Where they are; no label of another node is ever seen.
        k : int, default=1
            Which step it is, for the decay.

        Returns
        -------
        tensor of shape (n, d)
        """
        if labels.shape[0] != nodes.shape[0]:
            raise ValueError(
                f"there are {labels.shape[0]} labels for {nodes.shape[0]} nodes: give those of these nodes."
            )
        _check_labelled(x, W, labels, nodes)
        Y = torch.nn.functional.one_hot(labels, W.shape[1]) if labels.dim() == 1 else labels
        eta_sup = self.eta_sup * self.decay ** (k - 1)
        moves = supervised_embedding(x.index_select(0, nodes), W, Y.to(x.dtype), eta_sup, self.loss)
        return x.index_add(0, nodes, moves)

    def extra_repr(self) -> str:
        """Name the parameters."""
        return f"eta_sup={self.eta_sup}, decay={self.decay}, loss={self.loss!r}"
