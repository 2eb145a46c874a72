"""Figure 1: filter functions of graph convolution and its inverse (Theorem 2), by formula and measured."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.base import clone

from gssl.datasets import load
from gssl.graph import check_adjacency, sample_negatives
from gssl.methods import SGC
from gssl.methods.embedder import GraphEmbedder
from gssl.operators import inverse_convolution, normalized_negatives
from reproduction.spec import Artefact, Cell, Claim, Entry, measure

# at this size an eigendecomposition takes about a minute and 0.4 GB
_MAX_NODES = 5000


def filter_response(
    embedder: GraphEmbedder | Callable[[np.ndarray], np.ndarray],
    adjacency: Any,
    *,
    self_loops: bool = True,
) -> tuple[np.ndarray, np.ndarray]:
    r"""Measure a filter's response to each eigenvector of a graph's Laplacian.

    .. math:: \phi(\lambda_i) = \langle q_i, f(q_i) \rangle, \qquad
              \tilde D^{-1/2} \tilde L \tilde D^{-1/2} q_i = \lambda_i q_i

    If f is a function of that Laplacian, as in SGC, the response describes f completely. IGC, GGC and GGCM
    also use unlinked pairs and mix eigenvectors unless the graph is regular; the response is then their
    diagonal part. Without ``self_loops`` the Laplacian is that of A, as Theorem 2 has it for IGC.
    """
    A = check_adjacency(adjacency)
    n = A.shape[0]
    if n > _MAX_NODES:
        raise ValueError(
            f"the graph has {n} nodes, too many for all eigenvectors: give {_MAX_NODES} or fewer."
        )
    weights = A.toarray().astype(np.float64) + (np.eye(n) if self_loops else 0.0)
    degrees = weights.sum(axis=1)
    root = np.divide(1.0, np.sqrt(degrees), out=np.zeros(n), where=degrees > 0)
    eigenvalues, Q = np.linalg.eigh(np.eye(n) - root[:, None] * weights * root)
    if isinstance(embedder, GraphEmbedder):
        passed = clone(embedder).fit_transform(Q, adjacency=A)
    else:
        passed = embedder(Q)
    return eigenvalues, np.asarray(np.einsum("ij,ij->j", Q, passed))


def convolution_curve(eigenvalues: Any, beta: float = 1.0, depth: int = 1) -> np.ndarray:
    r"""Return the filter of (lazy) graph convolution, applied ``depth`` times.

    .. math:: \phi(\lambda) = (1 - \beta \lambda)^k
    """
    return np.asarray((1.0 - beta * np.asarray(eigenvalues, dtype=np.float64)) ** depth)


def inverse_convolution_curve(eigenvalues: Any, mean_degree: float, beta: float = 1.0) -> np.ndarray:
    r"""Return the approximate filter of (lazy) inverse graph convolution (Theorem 2).

    .. math:: \phi({}^\neg\lambda) = \beta \frac{2 - \bar\xi + \bar\xi\, {}^\neg\lambda}{\bar\xi + 2}
              + 1 - \beta
    """
    eigenvalues = np.asarray(eigenvalues, dtype=np.float64)
    sharp = (2.0 - mean_degree + mean_degree * eigenvalues) / (mean_degree + 2.0)
    return np.asarray(beta * sharp + 1.0 - beta)


FREQUENCIES = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25)
_MULTIPLE = 3
# the karate club has 78 edges and 34 nodes
_MEAN_DEGREE = 2 * _MULTIPLE * 78 / 34
_LOW, _HIGH = "graph convolution", "inverse graph convolution"


@measure("filters")
def measure_filters(cell: Cell, seed: int) -> dict[str, float]:
    """Return the responses of both filters at some frequencies, interpolated between eigenvalues."""
    graph = load(cell.dataset).adjacency
    negatives = sample_negatives(graph, cell.settings["multiple"], random_state=seed, kind="regular")
    N_hat = normalized_negatives(negatives)
    responses = {
        _LOW: filter_response(SGC(depth=1), graph),
        _HIGH: filter_response(lambda U: inverse_convolution(N_hat, U), negatives, self_loops=False),
    }
    values = {
        f"{name}@{frequency}": float(np.interp(frequency, *response))
        for name, response in responses.items()
        for frequency in cell.settings["frequencies"]
    }
    return values | {"largest": float(np.abs(responses[_HIGH][1]).max())}


def _entries() -> Iterator[Entry]:
    cell = Cell("filters", "karate", {"multiple": _MULTIPLE, "frequencies": list(FREQUENCIES)})
    curves = {
        _LOW: convolution_curve(FREQUENCIES),
        _HIGH: inverse_convolution_curve(FREQUENCIES, mean_degree=_MEAN_DEGREE),
    }
    for row, curve in curves.items():
        for frequency, stated in zip(FREQUENCIES, curve, strict=True):
            yield Entry(
                row,
                f"λ = {frequency}",
                published=round(float(stated), 3),
                cell=cell,
                value=f"{row}@{frequency}",
                tolerance=0.05,
                budget="",
                digits=3,
                both_ways=True,
            )
    yield Entry("inverse, largest response", "all λ", cell=cell, value="largest", budget="", digits=3)


FILTERS = Artefact(
    name="filters",
    source="Figure 1",
    title="Filter functions on the karate club",
    entries=tuple(_entries()),
    unit="response",
    note="""\
Published numbers are values of the formulas: 1 − λ for graph convolution, and Theorem 2 for its inverse.
Theorem 2 uses the mean degree of the negative graph.
This graph has three random pairs per edge, and its degrees differ by at most one.""",
    claims=(
        Claim(
            "Inverse graph convolution passes high frequencies, and its response is below 1",
            lambda means: (
                means["", _HIGH, "λ = 0.0"] < means["", _HIGH, "λ = 1.25"]
                and means["", "inverse, largest response", "all λ"] < 1.0
            ),
        ),
    ),
    x_title="frequency",
)
