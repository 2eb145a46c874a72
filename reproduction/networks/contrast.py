"""Embeddings that tell who belongs to a node: N2N by neighbourhoods, SAGE by walks, LINE by links.

N2N and SAGEWalks have ``embed(x, edge_index)`` and ``loss(x, edge_index)``; LINE has no features.
"""

from typing import Any, ClassVar

import numpy as np
import torch
from scipy.sparse import csr_array
from torch import Tensor
from torch.nn.functional import cross_entropy, logsigmoid, normalize

from gssl.methods.inputs import check_number
from gssl.torch.training import default_device, seeded
from reproduction.networks.embedding import train_embedding
from reproduction.networks.graphs import Perceptron, check_counts, check_rates, graph_of
from reproduction.networks.neighborhood import GraphSAGE
from reproduction.skipgram import TransductiveEmbedder
from reproduction.walks import random_walks, transitions


class N2N(torch.nn.Module):
    r"""Make a node's embedding agree with the mean of its neighbours' (Dong et al., 2022).

    .. math:: U = \mathrm{MLP}(X), \qquad S = D^{-1} A U, \qquad
              \min -\frac1{|B|} \sum_{i \in B} \log
              \frac{\exp(\cos(S_i, U_i) / \tau)}{\sum_{j \in B} \exp(\cos(S_i, U_j) / \tau)}

    over nodes B that have neighbours, ``batch`` of them drawn in each epoch. The graph takes part in training
    only. The publication's topology-aware choice of neighbours is left out: all are taken.
    """

    accepts_sparse = True
    estimator: ClassVar[dict[str, Any]] = {"epochs": 200, "learning_rate": 0.001, "patience": None}

    def __init__(
        self,
        n_features: int,
        *,
        dimensions: int = 256,
        hidden: int = 512,
        temperature: float = 0.5,
        batch: int = 2048,
        dropout: float = 0.5,
    ) -> None:
        super().__init__()
        self.dimensions, self.hidden, self.temperature = dimensions, hidden, temperature
        self.batch, self.dropout = batch, dropout
        check_counts(self, "dimensions", "hidden", "batch")
        check_rates(self, "dropout")
        check_number(self, "temperature", low=0.0, open_ends=True)
        self.perceptron = Perceptron(n_features, hidden, dimensions, dropout)

    def embed(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None) -> Tensor:
        return self.perceptron(x)

    def loss(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None = None) -> Tensor:
        U = self.perceptron(x)
        graph = graph_of(edge_index, edge_weight, len(U), U.dtype)
        linked = torch.nonzero(graph.degrees[:, 0] > 0)[:, 0]
        drawn = linked[torch.randperm(len(linked), device=U.device)[: self.batch]]
        S = (graph.A @ U) / graph.degrees.clamp(min=1e-30)
        return neighbourhood_contrast(S[drawn], U[drawn], self.temperature)


def neighbourhood_contrast(S: Tensor, U: Tensor, temperature: float) -> Tensor:
    """Compute how badly cosines tell the node of each neighbourhood from the other nodes."""
    cosines = normalize(S) @ normalize(U).t()
    return cross_entropy(cosines / temperature, torch.arange(len(U), device=U.device))


class SAGEWalks(torch.nn.Module):
    r"""GraphSAGE without labels: nodes that walks connect are near each other (Hamilton et al., 2017).

    .. math:: \min -\frac1m \sum_{(v, u)} \Big[\log \sigma(U_v^\top U_u)
              + \sum_{s=1}^Q \log \sigma(-U_v^\top U_{k_s})\Big]

    with rows of U of length one, u on a walk of ``walk_length`` steps from v, and k any node. ``negative`` is
    Q. The publication draws k by degree to the power 0.75 and 50 walks for each node; here k is uniform, and
    one walk is drawn in each epoch.
    """

    accepts_sparse = True
    estimator: ClassVar[dict[str, Any]] = {"epochs": 60, "learning_rate": 0.003, "patience": None}

    def __init__(
        self,
        n_features: int,
        *,
        dimensions: int = 64,
        aggregator: str = "mean",
        walk_length: int = 5,
        negative: int = 5,
    ) -> None:
        super().__init__()
        self.dimensions, self.aggregator = dimensions, aggregator
        self.walk_length, self.negative = walk_length, negative
        check_counts(self, "dimensions", "walk_length", "negative")
        self.encoder = GraphSAGE(
            n_features, dimensions, hidden=dimensions, aggregator=aggregator, dropout=0.0
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
    r"""Compute how badly products tell partners from strangers, C being the embedding of partners.

    .. math:: -\frac1m \sum_i \Big[\log \sigma(U_{v_i}^\top C_{u_i})
              + \sum_j \log \sigma(-U_{v_i}^\top C_{k_{ij}})\Big]
    """
    V = U[starts]
    near = (V * C[ends]).sum(dim=1)
    far = (V[:, None] * C[strangers]).sum(dim=2)
    return -(logsigmoid(near) + logsigmoid(-far).sum(dim=1)).mean()


class LINE(TransductiveEmbedder):
    r"""Embed nodes by their links and, apart from that, by whom they are linked to (Tang et al., 2015).

    .. math:: \min -\sum_{(i, j) \in E} \Big[\log \sigma(U_i^\top C_j)
              + \sum_{s=1}^{Q} \log \sigma(-U_i^\top C_{k_s})\Big]

    with C = U for the first order, and C of its own for the second. Half of the ``dimensions`` belong to
    each, and rows of each have length one. All links take one step of Adam together in each epoch; the
    publication takes one link at a time, and draws k by degree to the power 0.75.
    """

    _packages = ("torch",)

    def __init__(
        self,
        dimensions: int = 128,
        negative: int = 5,
        epochs: int = 300,
        learning_rate: float = 0.02,
        random_state: Any = None,
    ) -> None:
        self.dimensions = dimensions
        self.negative = negative
        self.epochs = epochs
        self.learning_rate = learning_rate
        self.random_state = random_state

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
        joined = torch.cat([normalize(first), normalize(second)], dim=1)
        self.embedding_ = joined.detach().numpy().copy()
        self.embedding_[np.diff(A.indptr) == 0] = 0.0
        self.n_iter_ = len(self.losses_)
        self._remember(A)
