"""VERSE: versatile graph embeddings from similarities (Tsitsulin et al., 2018)."""

from collections.abc import Callable
from math import log
from typing import Any, ClassVar

import numpy as np
import torch
from scipy.sparse import csr_array
from torch import Tensor
from torch.nn.functional import logsigmoid

from gssl.methods.inputs import check_number
from gssl.torch._device import seeded
from gssl.torch._unsupervised import descend
from reproduction.skipgram import TransductiveEmbedder
from reproduction.walks import Transitions, random_walks, transitions

# walks that go on longer are cut: at the default alpha one in thirty thousand
_LONGEST = 64


class VERSE(TransductiveEmbedder):
    r"""Embed nodes so that products of their embeddings tell how often walks lead from one to the other.

    .. math:: \min -\sum_v \mathbb E_{u \sim \Pi_v} \log \sigma(U_v^\top U_u - \log n)
              - \sum_v \sum_{m=1}^s \mathbb E_k \log \sigma\big(\log\tfrac ns - U_v^\top U_k\big), \qquad
              \Pi = (1 - \alpha) \sum_{t \ge 0} \alpha^t (D^{-1} A)^t

    :math:`\Pi` is personalised PageRank: u is where a walk from v ends that goes on with probability α after
    each step; k is any node. Ends are drawn, so no matrix of all pairs is needed. The publication takes
    single steps of gradient descent, a hundred thousand for each node; here all nodes take one step of Adam
    together, so far fewer do. A node without links has zeros. Features are used only to build a graph where
    none is given. Needs torch (``pip install gssl[baselines]``).

    Parameters
    ----------
    dimensions : int, default=128
        Numbers per node.
    alpha : float, default=0.85
        The chance of a walk to go on.
    negative : int, default=3
        s, the nodes that are drawn as strangers for each end of a walk.
    walks_per_node : int, default=4
        Walks from each node in each epoch.
    epochs : int, default=500
    learning_rate : float, default=0.01
        Of Adam; it falls to zero in a straight line.
    device : str, torch.device or None, default=None
        Where to train; the CPU if None.
    random_state : int, Generator, RandomState or None, default=None

    Attributes
    ----------
    embedding_ : float32 ndarray of shape (n, dimensions)
    losses_ : ndarray of shape (n_epochs,)
        The loss of each epoch per walk, on walks of its own.
    n_iter_ : int
        The epochs.
    n_features_in_ : int
        Only where there were features.

    Examples
    --------
    >>> import gssl
    >>> data = gssl.datasets.load("karate")
    >>> model = VERSE(dimensions=8, epochs=50, random_state=0).fit(None, adjacency=data.adjacency)
    >>> model.embedding_.shape, bool(model.losses_[-1] < model.losses_[0])
    ((34, 8), True)
    """

    _packages = ("torch", "torch_geometric")
    # no choice of the user: it is what a device is a device of
    backend: ClassVar[str] = "torch"

    def __init__(
        self,
        dimensions: int = 128,
        alpha: float = 0.85,
        negative: int = 3,
        walks_per_node: int = 4,
        epochs: int = 500,
        learning_rate: float = 0.01,
        device: Any = None,
        random_state: Any = None,
    ) -> None:
        self.dimensions = dimensions
        self.alpha = alpha
        self.negative = negative
        self.walks_per_node = walks_per_node
        self.epochs = epochs
        self.learning_rate = learning_rate
        self.device = device
        self.random_state = random_state

    def _check_parameters(self) -> None:
        for name in ("dimensions", "negative", "walks_per_node", "epochs"):
            check_number(self, name, low=1, whole=True)
        check_number(self, "learning_rate", low=0.0)
        check_number(self, "alpha", low=0.0, high=1.0, open_ends=True)

    def _learn(self, A: csr_array, X: Any) -> None:
        with seeded(self.random_state, self.device) as device:
            nodes = torch.nn.Embedding(A.shape[0], self.dimensions).to(device)
            torch.nn.init.uniform_(nodes.weight, -0.5, 0.5)
            optimizer = torch.optim.Adam(nodes.parameters(), lr=self.learning_rate)
            rate = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, self.epochs)
            optimizer.register_step_post_hook(lambda *_: rate.step())
            self.losses_ = descend(nodes, optimizer, self._loss(nodes, A), self.epochs, None)
        self.embedding_ = nodes.weight.detach().cpu().numpy().copy()
        self.embedding_[np.diff(A.indptr) == 0] = 0.0
        self.n_iter_ = len(self.losses_)
        self._remember(A)

    def _loss(self, nodes: torch.nn.Embedding, A: csr_array) -> Callable[[], Tensor]:
        graph, n = transitions(A), A.shape[0]
        starts = np.tile(np.arange(n), self.walks_per_node)

        def loss() -> Tensor:
            rng = np.random.default_rng(int(torch.randint(2**31, ())))
            ends = walk_ends(graph, starts, self.alpha, rng)
            strangers = rng.integers(n, size=(len(starts), self.negative))
            device = nodes.weight.device
            return noise_contrast(
                nodes.weight,
                torch.as_tensor(starts, device=device),
                torch.as_tensor(ends, device=device),
                torch.as_tensor(strangers, device=device),
            )

        return loss


def walk_ends(graph: Transitions, starts: np.ndarray, alpha: float, rng: np.random.Generator) -> np.ndarray:
    r"""Draw where walks end that go on with probability α after each step, one from each start.

    .. math:: P(u \mid v) = (1 - \alpha) \sum_{t \ge 0} \alpha^t \big((D^{-1} A)^t\big)_{vu}

    Walks of 64 steps end there.

    Parameters
    ----------
    graph : Transitions
    starts : int ndarray of shape (m,)
    alpha : float
    rng : Generator

    Returns
    -------
    int64 ndarray of shape (m,)

    Examples
    --------
    >>> pair = transitions(csr_array([[0.0, 1.0], [1.0, 0.0]]))
    >>> walk_ends(pair, np.zeros(5, dtype=int), 1e-9, np.random.default_rng(0))
    array([0, 0, 0, 0, 0])
    """
    steps = np.minimum(rng.geometric(1.0 - alpha, size=len(starts)) - 1, _LONGEST)
    walks = random_walks(graph, starts, int(steps.max()) + 1, rng)
    return walks[np.arange(len(starts)), steps].astype(np.int64)


def noise_contrast(U: Tensor, starts: Tensor, ends: Tensor, strangers: Tensor) -> Tensor:
    r"""Weigh how well products tell the ends of walks from strangers.

    .. math:: -\frac1m \sum_{i=1}^m \Big[\log \sigma(U_{v_i}^\top U_{u_i} - \log n)
              + \sum_{j=1}^s \log \sigma\big(\log\tfrac ns - U_{v_i}^\top U_{k_{ij}}\big)\Big]

    Parameters
    ----------
    U : Tensor of shape (n, d)
    starts, ends : int64 Tensor of shape (m,)
        v and u.
    strangers : int64 Tensor of shape (m, s)
        k.

    Returns
    -------
    Tensor
        A number.

    Examples
    --------
    >>> one = torch.tensor([0])
    >>> round(float(noise_contrast(torch.zeros(1, 2), one, one, one[:, None])), 4) == round(2 * log(2), 4)
    True
    """
    n, s = len(U), strangers.shape[1]
    V = U[starts]
    near = (V * U[ends]).sum(dim=1)
    far = (V[:, None] * U[strangers]).sum(dim=2)
    return -(logsigmoid(near - log(n)) + logsigmoid(log(n / s) - far).sum(dim=1)).mean()
