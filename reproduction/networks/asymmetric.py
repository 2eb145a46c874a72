"""OAGS, after its abstract: convolutions on a directed graph whose edges are inferred with the classifier."""

from itertools import pairwise
from typing import Any, ClassVar

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, logsigmoid

from reproduction.networks.graphs import InputLinear, Network, count, drop, graph_of, number, rate


class OAGS(Network):
    r"""Convolutions on an asymmetric graph of probable edges, after the abstract of Song et al. (2022).

    .. math:: Z = P\, \mathrm{ReLU}\big(P (X W_0 + b_0)\big) W_1 + P b_1, \qquad
        P = D^{-1} (M \circ S \circ A + I), \qquad
        p_{ij} = \sigma\Big((X Q)_i (X K)_j^\top + \log \frac{\rho}{1 - \rho}\Big)

    The directed edge from j to i exists with probability :math:`p_{ij}`. S is a concrete sample of the edges
    in training, with ``temperature``, and p in prediction. D divides rows by their sums. M is 0 for edges
    from unlabelled to labelled nodes, so that unlabelled nodes do not change labelled ones, and 1 elsewhere.
    The loss is

    .. math:: \ell(Z, Y) + \lambda\, \mathrm{mean}_{ij}\, \mathrm{KL}(p_{ij} \,\|\, \rho)

    with ``prior`` ρ and ``kl_weight`` λ, which replaces weight decay for Q and K. If labelled nodes had no
    unlabelled neighbours in training, P would hardly be learnt. So in each epoch about a share ``hide`` of
    them counts as unlabelled, and ℓ is the cross-entropy of these.

    The abstract describes an asymmetric graph that distinguishes labelled from unlabelled nodes, and a
    probabilistic model of its edges, trained jointly with the classifier. The publication's own equations
    were not available; these are ours. On other graphs than that of fit, no node counts as labelled.
    """

    estimator: ClassVar[dict[str, Any]] = {"epochs": 300, "learning_rate": 0.02}

    hidden = count(64)
    depth = count(2)
    edge_hidden = count(16)
    prior = number(0.9, low=0.01, high=0.99)
    kl_weight = number(5.0)
    temperature = number(0.5, low=0.01)
    hide = number(0.5, high=1.0)
    dropout = rate(0.5)

    def add_layers(self, n_features: int, n_classes: int) -> None:
        widths = pairwise([n_features, *[self.hidden] * (self.depth - 1), n_classes])
        self.layers = torch.nn.ModuleList(InputLinear(a, b, weight_initializer="glorot") for a, b in widths)
        self.query, self.key = (
            InputLinear(n_features, self.edge_hidden, bias=False, weight_initializer="glorot")
            for _ in range(2)
        )
        # the graph of fit and its labelled nodes
        self._fitted: tuple[bytes, Tensor] | None = None

    def edge_logits(self, x: Tensor, edge_index: Tensor) -> Tensor:
        """Return the log-odds of p for each edge."""
        source, target = edge_index
        Q, K = self.query(x), self.key(x)
        return (Q[target] * K[source]).sum(dim=1) + torch.logit(torch.as_tensor(self.prior, dtype=Q.dtype))

    def forward(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None) -> Tensor:
        labelled = edge_index.new_zeros(0)
        if self._fitted is not None and self._fitted[0] == self._fingerprint(x, edge_index, edge_weight):
            labelled = self._fitted[1]
        return self._scores(x, edge_index, edge_weight, self.edge_logits(x, edge_index), labelled)

    def loss(
        self, x: Tensor, edge_index: Tensor, nodes: Tensor, codes: Tensor, edge_weight: Tensor | None = None
    ) -> Tensor:
        self._fitted = self._fingerprint(x, edge_index, edge_weight), nodes
        hidden = torch.rand(len(nodes), device=nodes.device) < self.hide
        # all, if none was drawn
        hidden |= ~hidden.any()
        logits = self.edge_logits(x, edge_index)
        Z = self._scores(x, edge_index, edge_weight, logits, nodes[~hidden])
        divergence = bernoulli_divergence(logits, self.prior).mean() if len(logits) else 0.0
        return cross_entropy(Z[nodes[hidden]], codes[hidden]) + self.kl_weight * divergence

    def parameter_groups(self, weight_decay: float) -> list[dict[str, Any]]:
        return self.groups(self.layers.parameters(), weight_decay)

    def _scores(
        self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None, logits: Tensor, labelled: Tensor
    ) -> Tensor:
        weights = concrete_sample(logits, self.temperature) if self.training else torch.sigmoid(logits)
        if edge_weight is not None:
            weights = weights * edge_weight
        weights = weights * (~enters_labelled(edge_index, labelled, x.shape[0])).to(weights.dtype)
        U = x
        for k, layer in enumerate(self.layers):
            U = layer(drop(torch.relu(U) if k else U, self.dropout, self.training))
            U = weighted_mean(U, edge_index, weights)
        return U

    def _fingerprint(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None) -> bytes:
        return graph_of(edge_index, edge_weight, x.shape[0], self.query.weight.dtype).fingerprint


def enters_labelled(edge_index: Tensor, labelled: Tensor, n_nodes: int) -> Tensor:
    """Return which edges lead from an unlabelled to a labelled node."""
    known = torch.zeros(n_nodes, dtype=torch.bool, device=edge_index.device)
    known[labelled] = True
    source, target = edge_index
    return known[target] & ~known[source]


def weighted_mean(U: Tensor, edge_index: Tensor, weights: Tensor) -> Tensor:
    """Average the rows of each node, with weight 1, and of the sources of its edges."""
    source, target = edge_index
    sums = U.index_add(0, target, weights.unsqueeze(1) * U[source])
    return sums / (1.0 + weights.new_zeros(len(U)).index_add(0, target, weights)).unsqueeze(1)


def concrete_sample(logits: Tensor, temperature: float) -> Tensor:
    """Draw from the concrete distribution, a relaxation of Bernoulli variables with these log-odds."""
    return torch.sigmoid((logits + torch.logit(torch.rand_like(logits), eps=1e-6)) / temperature)


def bernoulli_divergence(logits: Tensor, rate: float) -> Tensor:
    """Return the KL divergence of Bernoulli variables with these log-odds from one with a given rate."""
    p, prior = torch.sigmoid(logits), torch.logit(torch.as_tensor(rate, dtype=logits.dtype))
    return p * (logsigmoid(logits) - logsigmoid(prior)) + (1 - p) * (logsigmoid(-logits) - logsigmoid(-prior))
