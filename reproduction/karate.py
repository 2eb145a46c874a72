"""Figure 3 and Table 4: what endless convolution makes of the karate club (Theorem 1)."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from gssl.datasets import load
from reproduction.estimators import part
from reproduction.measures import build, measure
from reproduction.oversmoothing import limit_ratios, oversmoothing_gap
from reproduction.spec import Artefact, Cell, Entry

# the first number of each embedding that the paper lists for SGC, by node
PUBLISHED = {11: 0.2904, 4: 0.4107, 10: 0.4107, 5: 0.4591, 6: 0.4591, 7: 0.4591, 0: 0.8466, 33: 0.8712}
# and for GCN, with fewer digits
PUBLISHED_GCN = {
    64: {11: 0.0111, 4: 0.0157, 10: 0.0157, 5: 0.0175, 6: 0.0175, 7: 0.0175, 0: 0.0323, 33: 0.0333},
    1024: {
        11: 1.09e-20,
        4: 1.53e-20,
        10: 1.53e-20,
        5: 1.72e-20,
        6: 1.72e-20,
        7: 1.72e-20,
        0: 3.16e-20,
        33: 3.26e-20,
    },
}
DEPTHS = (64, 1024)
_REFERENCE = 11


@measure("oversmoothing")
def oversmooth(cell: Cell, seed: int) -> dict[str, float]:
    r"""Embed two random features and give ratios to a node of degree 1, :math:`U_i / U_{11}`.

    Parameters
    ----------
    cell : Cell
        Its settings name an embedder, the ``nodes`` to tell of and the ``reference``, 11 here.
    seed : int
        Of the features.

    Returns
    -------
    dict
        ``node <i>``: the mean of its two ratios; ``gap``: the greatest relative distance of any node
        from the limit.

    Examples
    --------
    >>> settings = {"method": "SGC", "params": {"depth": 1024}, "nodes": [4], "reference": 11}
    >>> cell = Cell("oversmoothing", "karate", settings)
    >>> round(oversmooth(cell, 0)["node 4"], 4)
    1.4142
    """
    graph = load(cell.dataset).adjacency
    X = np.random.default_rng(seed).random((graph.shape[0], 2))
    U = build(cell.settings, seed).fit_transform(X, adjacency=graph)
    measured, _ = limit_ratios(U, graph, cell.settings["reference"])
    ratios = {f"node {node}": float(measured[node].mean()) for node in cell.settings["nodes"]}
    return ratios | {"gap": oversmoothing_gap(U, graph)}


@part
class UniformGCN(BaseEstimator):
    r"""An untrained GCN whose layers all keep the width, with weights drawn from [0, 1).

    .. math:: U^{(k)} = \hat A \, \mathrm{ReLU}(U^{(k-1)}) W_k, \qquad U^{(0)} = X

    In double precision, for a thousand layers leave little of numbers below one. Needs gssl[baselines].

    Examples
    --------
    >>> UniformGCN(depth=64)
    UniformGCN(depth=64)
    """

    _packages = ("torch", "torch_geometric")

    def __init__(self, depth: int = 2, random_state: int | None = None) -> None:
        self.depth = depth
        self.random_state = random_state

    def fit_transform(self, X: np.ndarray, *, adjacency: Any) -> np.ndarray:
        """Give what the last layer makes of X."""
        import torch

        from gssl.torch._graph import Graph
        from gssl.torch.gcn import ConvolutionNetwork

        network: Any = ConvolutionNetwork([X.shape[1]] * (self.depth + 1), dropout=0.0).double().eval()
        source = torch.Generator().manual_seed(self.random_state or 0)
        with torch.no_grad():
            for layer in network.layers:
                layer.lin.weight.uniform_(0.0, 1.0, generator=source)
            U = network(torch.tensor(X), Graph.from_scipy(adjacency, dtype=torch.float64))
        return np.asarray(U.numpy())


def _columns() -> Iterator[tuple[str, int, dict[int, float], float]]:
    """Give the method of each column, its depth, the published numbers, and what their digits allow."""
    for depth in DEPTHS:
        yield "SGC", depth, PUBLISHED, 0.002
    for depth in DEPTHS:
        yield "UniformGCN", depth, PUBLISHED_GCN[depth], 0.02


def _entries() -> Iterator[Entry]:
    for method, depth, published, tolerance in _columns():
        settings = {
            "method": method,
            "params": {"depth": depth},
            "nodes": list(published),
            "reference": _REFERENCE,
        }
        cell = Cell("oversmoothing", "karate", settings, split="default")
        column = f"SGC, {depth} iterations" if method == "SGC" else f"GCN, {depth} layers"
        for node, first in published.items():
            yield Entry(
                f"node {node} / node {_REFERENCE}",
                column,
                published=round(first / published[_REFERENCE], 3),
                cell=cell,
                value=f"node {node}",
                tolerance=tolerance,
                budget="",
                digits=3,
                both_ways=True,
            )
        yield Entry("greatest gap to the limit", column, cell=cell, value="gap", budget="", digits=-1)


KARATE = Artefact(
    name="karate",
    source="Figure 3 and Table 4",
    title="The limit of smoothing on the karate club",
    entries=tuple(_entries()),
    unit="ratio of embeddings",
    note="Two random features for each node, drawn anew for each seed. The embeddings themselves depend on "
    "the features drawn, their ratios do not: Theorem 1 says √((D_i + 1) / (D_11 + 1)). GCN, where "
    "gssl[baselines] is installed, has two columns in each layer and is not trained; its weights are "
    "uniform, as in the paper, and drawn from [0, 1), which leaves ever smaller numbers with depth as the "
    "paper's do.",
)
