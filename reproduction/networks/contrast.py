"""Contrastive embeddings: N2N by neighbourhoods, SAGE by walks, LINE by links.

N2N and SAGEWalks have ``embed(x, edge_index)`` and ``loss(x, edge_index)``; LINE has no features.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from scipy.sparse import csr_array
from torch import Tensor
from torch.nn.functional import logsigmoid, normalize
from torch_geometric.nn import Linear

from gssl.methods.inputs import check_number
from gssl.torch.links import row_numbers
from gssl.torch.training import default_device, seeded
from reproduction.networks.embedding import train_embedding
from reproduction.networks.graphs import (
    InputLinear,
    Network,
    choice,
    count,
    drop,
    graph_of,
    is_sparse,
    number,
    rate,
)
from reproduction.networks.neighborhood import GraphSAGE
from reproduction.skipgram import TransductiveEmbedder
from reproduction.walks import random_walks, transitions


class N2N(Network):
    r"""Make a node's embedding agree with the mean of its neighbourhood's (Dong et al., 2022).

    .. math:: U = \mathrm{ReLU}\Big(\frac{\ell}{\|X_i\|} X_i W_0\Big)_i, \qquad V = U W_1 + b, \qquad
              \min L(U) + L(V), \qquad S = (D + I)^{-1} (A + I) U

    .. math:: L(U) = -\frac1{|B|} \sum_{i \in B} \log
              \frac{\exp(U_i^\top S_i / \tau)}{\sum_{j \in B} \exp(U_i^\top U_j / \tau)}

    over a ``batch`` of nodes B, drawn in each epoch. U is the embedding: the graph is used in training only.
    V has few columns (``outputs``); the authors use the number of classes. This differs from their code as
    follows. They select neighbours by the graph's topology, here all are used. They contrast each node with
    all others of a small graph, for 510 epochs. Their features are not published: because products are not
    scaled, the ``length`` ℓ of a node's features determines how fast the network learns.
    """

    estimator: ClassVar[dict[str, Any]] = {"epochs": 200, "learning_rate": 0.001, "patience": None}

    dimensions = count(512)
    outputs = count(7)
    length = number(8.0, low=1e-9)
    temperature = number(5.0, low=1e-9)
    batch = count(1500)
    dropout = rate(0.2)

    def add_layers(self, n_features: int) -> None:
        self.first = InputLinear(n_features, self.dimensions, bias=False, weight_initializer="glorot")
        self.second = Linear(
            self.dimensions, self.outputs, weight_initializer="glorot", bias_initializer="zeros"
        )

    def embed(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None) -> Tensor:
        H = self.first(drop(x, self.dropout, self.training))
        return torch.relu(H * (self.length / row_lengths(x).clamp(min=1e-30)))

    def loss(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None) -> Tensor:
        U = self.embed(x, edge_index, edge_weight)
        V = self.second(drop(U, self.dropout, self.training))
        graph = graph_of(edge_index, edge_weight, len(U), U.dtype)
        drawn = torch.randperm(len(U), device=U.device)[: self.batch]
        losses = []
        for Z in (U, V):
            losses.append(neighbourhood_contrast(graph.loop_mean(Z)[drawn], Z[drawn], self.temperature))
        return losses[0] + losses[1]


def row_lengths(x: Tensor) -> Tensor:
    """Return the Euclidean length of each row of dense or sparse features, as a column."""
    if not is_sparse(x):
        return torch.linalg.vector_norm(x, dim=1, keepdim=True)
    squares = x.values().new_zeros(x.shape[0]).index_add(0, row_numbers(x), x.values() ** 2)
    return squares.sqrt().unsqueeze(1)


def neighbourhood_contrast(S: Tensor, U: Tensor, temperature: float) -> Tensor:
    r"""Compute :math:`L(U)` of :class:`N2N`, which contrasts a node's neighbourhood with other nodes."""
    all_pairs = torch.logsumexp(U @ U.t() / temperature, dim=1)
    return (all_pairs - (U * S).sum(dim=1) / temperature).mean()


class SAGEWalks(Network):
    r"""GraphSAGE without labels: nodes on the same walk are close (Hamilton et al., 2017).

    .. math:: \min -\frac1m \sum_{(v, u)} \Big[\log \sigma(U_v^\top U_u)
              + \sum_{s=1}^Q \log \sigma(-U_v^\top U_{k_s})\Big]

    with rows of U of unit length, u on a walk of ``walk_length`` steps from v, and k any node. ``negative``
    is Q. The publication draws k by degree to the power 0.75, and 50 walks for each node; here k is uniform,
    and one walk per node is drawn in each epoch.
    """

    estimator: ClassVar[dict[str, Any]] = {"epochs": 60, "learning_rate": 0.003, "patience": None}

    dimensions = count(64)
    aggregator = choice("mean")
    walk_length = count(5)
    negative = count(5)

    def add_layers(self, n_features: int) -> None:
        self.encoder = GraphSAGE(
            n_features, self.dimensions, hidden=self.dimensions, aggregator=self.aggregator, dropout=0.0
        )

    def embed(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None) -> Tensor:
        return normalize(self.encoder(x, edge_index, edge_weight))

    def loss(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None) -> Tensor:
        U = self.embed(x, edge_index, edge_weight)
        rng = np.random.default_rng(int(torch.randint(2**31, ())))
        graph = transitions(graph_of(edge_index, edge_weight, len(U), U.dtype).scipy)
        starts = np.arange(len(U))
        walks = random_walks(graph, starts, self.walk_length + 1, rng).astype(np.int64)
        ends = walks[starts, rng.integers(1, self.walk_length + 1, size=len(U))]
        strangers = rng.integers(len(U), size=(len(U), self.negative))
        return link_contrast(U, U, *(torch.as_tensor(part) for part in (starts, ends, strangers)))


def link_contrast(U: Tensor, C: Tensor, starts: Tensor, ends: Tensor, strangers: Tensor) -> Tensor:
    r"""Compute the negative-sampling loss of pairs (starts, ends) with C as the embedding of the ends.

    .. math:: -\frac1m \sum_i \Big[\log \sigma(U_{v_i}^\top C_{u_i})
              + \sum_j \log \sigma(-U_{v_i}^\top C_{k_{ij}})\Big]
    """
    V = U[starts]
    near = (V * C[ends]).sum(dim=1)
    far = (V[:, None] * C[strangers]).sum(dim=2)
    return -(logsigmoid(near) + logsigmoid(-far).sum(dim=1)).mean()


@dataclass(eq=False, repr=False)
class LINE(TransductiveEmbedder):
    r"""Embed nodes by first-order and second-order proximity (Tang et al., 2015).

    .. math:: \min -\sum_{(i, j) \in E} \Big[\log \sigma(U_i^\top C_j)
              + \sum_{s=1}^{Q} \log \sigma(-U_i^\top C_{k_s})\Big]

    with C = U for the first order and a separate C for the second. Each has half of the ``dimensions``, and
    rows of unit length. Each epoch is one step of Adam over all links; the publication takes one link at a
    time, and draws k by degree to the power 0.75.
    """

    _packages = ("torch",)

    dimensions: int = 128
    negative: int = 5
    epochs: int = 300
    learning_rate: float = 0.02
    random_state: Any = None

    def _check_parameters(self) -> None:
        for name in ("negative", "epochs"):
            check_number(self, name, low=1, whole=True)
        check_number(self, "dimensions", low=2, whole=True)
        check_number(self, "learning_rate", low=0.0)

    def _learn(self, A: csr_array, X: Any) -> None:
        links = A.tocoo()
        starts, ends = (torch.as_tensor(part.astype(np.int64)) for part in (links.row, links.col))
        half = self.dimensions // 2
        widths = {"first": half, "second": self.dimensions - half}
        with seeded(self.random_state, default_device()):
            tables = {name: torch.nn.Embedding(A.shape[0], width) for name, width in widths.items()}
            tables["partners"] = torch.nn.Embedding(A.shape[0], widths["second"])
            nodes = torch.nn.ModuleDict(tables)
            for table in tables.values():
                torch.nn.init.uniform_(table.weight, -0.5 / half, 0.5 / half)
            first, second, partners = (table.weight for table in tables.values())

            def loss() -> Tensor:
                strangers = torch.randint(A.shape[0], (len(starts), self.negative))
                pairs = (starts, ends, strangers)
                return link_contrast(first, first, *pairs) + link_contrast(second, partners, *pairs)

            optimizer = torch.optim.Adam(nodes.parameters(), lr=self.learning_rate)
            self.losses_ = train_embedding(nodes, optimizer, loss, self.epochs)
        self._keep(A, torch.cat([normalize(first), normalize(second)], dim=1).detach().numpy())
