"""FastGCN: convolutions trained on a few sampled nodes of each layer (Chen et al., 2018)."""

from typing import Any

import numpy as np
import torch
from scipy.sparse import csr_array
from torch import Tensor
from torch.nn.functional import cross_entropy

from gssl.methods.inputs import check_number
from gssl.torch._classifier import DeepClassifier, Inputs, Targets
from gssl.torch._layers import drop
from gssl.torch._sparse import SparseMatrix
from gssl.torch.gcn import ConvolutionNetwork


class FastGCN(DeepClassifier):
    r"""Graph convolutions trained on few nodes of each layer, drawn by importance (Chen et al., 2018).

    .. math:: (\hat A U)_v \approx \frac1t \sum_{s=1}^{t} \frac{\hat A_{v u_s}}{q(u_s)} U_{u_s}, \qquad
        q(u) \propto \|\hat A_{:u}\|^2

    Predictions use all nodes. Needs torch and torch-geometric (``pip install gssl[baselines]``).

    Parameters
    ----------
    hidden : int, default=16
    depth : int, default=2
        Layers.
    samples : int, default=400
        Nodes t that each layer draws in each epoch.
    dropout : float, default=0.0
    learning_rate, weight_decay, epochs, patience, random_state, device
        See :class:`gssl.torch.GCN`, as for the attributes.

    Examples
    --------
    >>> import gssl
    >>> data = gssl.datasets.load("karate")
    >>> y = data.mask_labels("default")
    >>> model = FastGCN(samples=20, epochs=50, random_state=0).fit(data.features, y, adjacency=data.adjacency)
    >>> float((model.transduction_ == data.labels).mean()) > 0.9
    True
    """

    def __init__(
        self,
        hidden: int = 16,
        depth: int = 2,
        samples: int = 400,
        dropout: float = 0.0,
        learning_rate: float = 0.01,
        weight_decay: float = 5e-4,
        epochs: int = 200,
        patience: int | None = 100,
        random_state: Any = None,
        device: Any = None,
    ) -> None:
        super().__init__(
            hidden, depth, dropout, learning_rate, weight_decay, epochs, patience, random_state, device
        )
        self.samples = samples

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number(self, "samples", low=1, whole=True)

    def _network(self, n_features: int, n_classes: int) -> ConvolutionNetwork:
        return ConvolutionNetwork([n_features, *[self.hidden] * (self.depth - 1), n_classes], self.dropout)

    def _loss(self, network: Any, inputs: Inputs, targets: Targets) -> Tensor:
        A_hat = inputs.graph.A_hat
        rows, hops = targets.nodes.cpu().numpy(), []
        for _ in network.layers:  # from the last layer to the first
            hop, rows = sampled_rows(A_hat.scipy, rows, self.samples)
            hops.append(SparseMatrix.from_scipy(hop, device=A_hat.csr.device))
        U: Any = inputs.X.rows(rows) if isinstance(inputs.X, SparseMatrix) else inputs.X[rows]
        for k, (layer, hop) in enumerate(zip(network.layers, reversed(hops), strict=True)):
            U = torch.relu(U) if k else U
            U = hop @ layer.lin(drop(U, self.dropout, network.training)) + layer.bias
        return cross_entropy(U, targets.codes)


def sampled_rows(A_hat: csr_array, rows: np.ndarray, samples: int) -> tuple[csr_array, np.ndarray]:
    r"""Draw columns of some rows of Â, weighted so that products with them are right on average.

    Parameters
    ----------
    A_hat : csr_array of shape (n, n)
    rows : int ndarray of shape (m,)
    samples : int
        How many columns to draw, with replacement, by q.

    Returns
    -------
    hop : csr_array of shape (m, samples)
        :math:`\hat A_{v u_s} / (t \, q(u_s))`.
    drawn : int ndarray of shape (samples,)
        The columns.

    Examples
    --------
    >>> hop, drawn = sampled_rows(csr_array([[0.5, 0.5], [0.5, 0.5]]), np.array([0]), 4)
    >>> hop.toarray(), len(drawn)
    (array([[0.25, 0.25, 0.25, 0.25]]), 4)
    """
    part = csr_array(A_hat[rows])
    # columns that no row sees would be drawn in vain
    q = np.asarray(part.power(2).sum(axis=0)).ravel().astype(np.float64)
    q /= q.sum()
    # torch's random state is the one that is seeded and restored
    drawn = torch.multinomial(torch.as_tensor(q), samples, replacement=True).numpy()
    hop = csr_array(part[:, drawn]).multiply(1.0 / (samples * q[drawn]))
    return csr_array(hop), drawn
