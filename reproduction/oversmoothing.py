"""Figure 3 and Table 5: how close embeddings are to the limit of smoothing (Theorem 1)."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from gssl.datasets import load
from gssl.graph import check_adjacency, connected_components
from gssl.operators import normalized_adjacency, smoothing_loss
from reproduction.spec import Artefact, Cell, Entry, build, measure, part


def smoothing_limit(X: Any, adjacency: Any) -> np.ndarray:
    r"""Return the limit of repeated graph convolution of features (Theorem 1).

    In each connected component C, with :math:`v_i = \sqrt{D_{ii} + 1}`,

    .. math:: U_i^{(\infty)} = v_i \tau, \qquad \tau = \frac{\sum_{j \in C} v_j X_j}{\sum_{j \in C} v_j^2}.
    """
    v, component = _roots(X, adjacency)
    return np.asarray(v[:, None] * _common(np.asarray(X, dtype=np.float64), v, component)[component])


def oversmoothing_gap(U: Any, adjacency: Any) -> float:
    r"""Return the greatest relative distance of a scaled row from the common value τ of its component.

    .. math:: \max_i \frac{\left\| U_i / v_i - \tau \right\|}{\|\tau\|}

    with τ and v as in :func:`smoothing_limit`, computed from U itself. It is 0 exactly if Theorem 1 holds,
    whatever the scale of U, so it applies to GCN as well as to SGC.
    """
    v, component = _roots(U, adjacency)
    rows = np.asarray(U, dtype=np.float64)
    tau = _common(rows, v, component)[component]
    gaps, sizes = np.linalg.norm(rows / v[:, None] - tau, axis=1), np.linalg.norm(tau, axis=1)
    # rows of zeros count as fully smoothed
    relative = np.divide(gaps, sizes, out=np.where(gaps > 0, np.inf, 0.0), where=sizes > 0)
    return float(relative.max(initial=0.0))


def limit_distance(U: Any, adjacency: Any) -> float:
    r"""Return the relative distance of embeddings from their limit of smoothing, from 0 to 1.

    .. math:: \frac{\|U - U^{(\infty)}\|_F}{\|U\|_F}

    with the limit of U itself, see :func:`smoothing_limit`. It is 0 exactly if Theorem 1 holds.
    """
    rows = np.asarray(U, dtype=np.float64)
    size = float(np.linalg.norm(rows))
    # rows of zeros count as fully smoothed
    return float(np.linalg.norm(rows - smoothing_limit(rows, adjacency))) / size if size else 0.0


def dirichlet_energy(U: Any, adjacency: Any) -> float:
    r"""Return how much the embeddings of linked nodes differ: Q_smo of U scaled to unit Frobenius norm.

    .. math:: \frac{\mathrm{tr}\left(U^\top (I - \hat A) U\right)}{\|U\|_F^2}
    """
    rows = np.asarray(U, dtype=np.float64)
    size = float(np.vdot(rows, rows))
    A_hat = normalized_adjacency(check_adjacency(adjacency, n_nodes=len(rows), allow_empty=True))
    return smoothing_loss(A_hat, rows) / size if size else 0.0


def limit_ratios(U: Any, adjacency: Any, reference: int) -> tuple[np.ndarray, np.ndarray]:
    r"""Return each node's embedding divided by that of a reference node, and the limit by Theorem 1.

    .. math:: \frac{U_{il}}{U_{rl}} \to \sqrt{\frac{D_{ii} + 1}{D_{rr} + 1}}
    """
    v, component = _roots(U, adjacency)
    rows = np.asarray(U, dtype=np.float64)
    if (rows[reference] == 0).any():
        raise ValueError(f"the embedding of node {reference} holds a zero: name another reference.")
    measured = rows / rows[reference]
    measured[component != component[reference]] = np.nan
    return measured, v / v[reference]


def _roots(U: Any, adjacency: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the square roots of the degrees plus one, and each node's component."""
    A = check_adjacency(adjacency, n_nodes=len(U), allow_empty=True)
    return np.sqrt(np.asarray(A.sum(axis=1), dtype=np.float64) + 1.0), connected_components(A)


def _common(rows: np.ndarray, v: np.ndarray, component: np.ndarray) -> np.ndarray:
    """Return τ of each component."""
    sums = np.zeros((component.max(initial=-1) + 1, rows.shape[1]))
    np.add.at(sums, component, v[:, None] * rows)
    return np.asarray(sums / np.bincount(component, weights=v**2)[:, None])


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
    r"""Embed two random features and return the ratios to a node of degree 1, :math:`U_i / U_{11}`."""
    graph = load(cell.dataset).adjacency
    X = np.random.default_rng(seed).random((graph.shape[0], 2))
    U = build(cell.settings, seed).fit_transform(X, adjacency=graph)
    measured, _ = limit_ratios(U, graph, cell.settings["reference"])
    ratios = {f"node {node}": float(measured[node].mean()) for node in cell.settings["nodes"]}
    return ratios | {"gap": oversmoothing_gap(U, graph)}


@part
@dataclass(eq=False, repr=False)
class UniformGCN(BaseEstimator):
    r"""An untrained GCN whose layers all have the same width, with weights drawn from [0, 1).

    .. math:: U^{(k)} = \hat A \, \mathrm{ReLU}(U^{(k-1)}) W_k, \qquad U^{(0)} = X

    It computes in double precision, because a thousand layers make numbers tiny. Needs gssl[baselines].
    """

    _packages = ("torch", "torch_geometric")

    depth: int = 2
    random_state: int | None = None

    def fit_transform(self, X: np.ndarray, *, adjacency: Any) -> np.ndarray:
        """Return the output of the last layer for X."""
        import torch

        from gssl.torch.training import Inputs
        from reproduction.networks.convolutional import GCN

        d = X.shape[1]
        network: Any = GCN(d, d, hidden=d, depth=self.depth, dropout=0.0).double().eval()
        source = torch.Generator().manual_seed(self.random_state or 0)
        with torch.no_grad():
            for layer in (*network.convs, network.exit):
                layer.lin.weight.uniform_(0.0, 1.0, generator=source)
            U = Inputs.of(X, adjacency, network).pass_to(network)
        return np.asarray(U.numpy())


def _columns() -> Iterator[tuple[str, int, dict[int, float], float]]:
    """Yield the method of each column, its depth, the published numbers and their rounding tolerance."""
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
    source="Figure 3 and Table 5",
    title="The limit of smoothing on the karate club",
    entries=tuple(_entries()),
    unit="ratio of embeddings",
    note="""\
Every seed draws two random features per node.
Embeddings depend on these features, but their ratios do not.
By Theorem 1, the ratios are √((D_i + 1) / (D_11 + 1)).
GCN needs gssl[baselines], has two columns in each layer and is not trained.
Its weights are uniform, as in the paper, and drawn from [0, 1).
Its embeddings shrink with depth, like the paper's.""",
)
