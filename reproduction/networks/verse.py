"""VERSE: versatile graph embeddings from similarities (Tsitsulin et al., 2018)."""

from dataclasses import dataclass
from math import log
from typing import Any

import numpy as np
import torch
from scipy.sparse import csr_array
from torch import Tensor
from torch.nn.functional import logsigmoid

from gssl.methods.inputs import check_number
from gssl.torch.training import default_device, seeded
from reproduction.networks.embedding import train_embedding
from reproduction.skipgram import TransductiveEmbedder
from reproduction.walks import Transitions, random_walks, transitions

# longer walks are truncated: at the default alpha one in thirty thousand
_LONGEST = 64


@dataclass(eq=False, repr=False)
class VERSE(TransductiveEmbedder):
    r"""Embed nodes so that inner products of embeddings predict how often walks lead from one to the other.

    .. math:: \min -\sum_v \mathbb E_{u \sim \Pi_v} \log \sigma(U_v^\top U_u - \log n)
              - \sum_v \sum_{m=1}^s \mathbb E_k \log \sigma\big(\log\tfrac ns - U_v^\top U_k\big), \qquad
              \Pi = (1 - \alpha) \sum_{t \ge 0} \alpha^t (D^{-1} A)^t

    :math:`\Pi` is personalised PageRank: u is the end of a walk from v that continues with probability α
    after each step; k is any node, and ``negative`` is s. Ends are sampled, so no matrix of all pairs is
    needed. The publication uses stochastic gradient descent with a hundred thousand steps for each node; here
    each epoch is one step of Adam for all nodes, with a linearly decreasing rate, so far fewer steps suffice.
    A node without links has zeros. Features are used only to build a graph if none is given.
    """

    _packages = ("torch",)

    dimensions: int = 128
    alpha: float = 0.85
    negative: int = 3
    walks_per_node: int = 4
    epochs: int = 500
    learning_rate: float = 0.03
    random_state: Any = None

    def _check_parameters(self) -> None:
        for name in ("dimensions", "negative", "walks_per_node", "epochs"):
            check_number(self, name, low=1, whole=True)
        check_number(self, "learning_rate", low=0.0)
        check_number(self, "alpha", low=0.0, high=1.0, open_ends=True)

    def _learn(self, A: csr_array, X: Any) -> None:
        graph = transitions(A)
        with seeded(self.random_state, default_device()) as device:
            nodes = torch.nn.Embedding(A.shape[0], self.dimensions).to(device)
            torch.nn.init.uniform_(nodes.weight, -0.5, 0.5)
            optimizer = torch.optim.Adam(nodes.parameters(), lr=self.learning_rate)
            rate = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, self.epochs)
            optimizer.register_step_post_hook(lambda *_: rate.step())
            self.losses_ = train_embedding(
                nodes, optimizer, lambda: self._loss(nodes.weight, graph), self.epochs
            )
        self._keep(A, nodes.weight.detach().cpu().numpy())

    def _loss(self, U: Tensor, graph: Transitions) -> Tensor:
        rng = np.random.default_rng(int(torch.randint(2**31, ())))
        starts = np.tile(np.arange(len(U)), self.walks_per_node)
        ends = walk_ends(graph, starts, self.alpha, rng)
        strangers = rng.integers(len(U), size=(len(starts), self.negative))
        return noise_contrast(
            U, *(torch.as_tensor(part, device=U.device) for part in (starts, ends, strangers))
        )


def walk_ends(graph: Transitions, starts: np.ndarray, alpha: float, rng: np.random.Generator) -> np.ndarray:
    r"""Sample the ends of walks that continue with probability α after each step, one from each start.

    .. math:: P(u \mid v) = (1 - \alpha) \sum_{t \ge 0} \alpha^t \big((D^{-1} A)^t\big)_{vu}
    """
    steps = np.minimum(rng.geometric(1.0 - alpha, size=len(starts)) - 1, _LONGEST)
    walks = random_walks(graph, starts, int(steps.max()) + 1, rng)
    return walks[np.arange(len(starts)), steps].astype(np.int64)


def noise_contrast(U: Tensor, starts: Tensor, ends: Tensor, strangers: Tensor) -> Tensor:
    r"""Compute the noise-contrastive loss of walks from v to u against random nodes k.

    .. math:: -\frac1m \sum_{i=1}^m \Big[\log \sigma(U_{v_i}^\top U_{u_i} - \log n)
              + \sum_{j=1}^s \log \sigma\big(\log\tfrac ns - U_{v_i}^\top U_{k_{ij}}\big)\Big]
    """
    n, s = len(U), strangers.shape[1]
    V = U[starts]
    near = (V * U[ends]).sum(dim=1)
    far = (V[:, None] * U[strangers]).sum(dim=2)
    return -(logsigmoid(near - log(n)) + logsigmoid(log(n / s) - far).sum(dim=1)).mean()
