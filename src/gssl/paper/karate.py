"""Figure 3 and Table 4: what endless convolution makes of the karate club (Theorem 1)."""

from collections.abc import Iterator

import numpy as np

from gssl.datasets import load
from gssl.evaluation import limit_ratios, oversmoothing_gap
from gssl.paper.measures import build, measure
from gssl.paper.spec import Artefact, Cell, Entry

# the first number of each embedding that the paper lists for SGC, by node
PUBLISHED = {11: 0.2904, 4: 0.4107, 10: 0.4107, 5: 0.4591, 6: 0.4591, 7: 0.4591, 0: 0.8466, 33: 0.8712}
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


def _entries() -> Iterator[Entry]:
    for depth in DEPTHS:
        settings = {
            "method": "SGC",
            "params": {"depth": depth},
            "nodes": list(PUBLISHED),
            "reference": _REFERENCE,
        }
        cell = Cell("oversmoothing", "karate", settings, split="default")
        column = f"SGC, {depth} iterations"
        for node, first in PUBLISHED.items():
            ratio = round(first / PUBLISHED[_REFERENCE], 3)
            yield Entry(
                f"node {node} / node {_REFERENCE}",
                column,
                published=ratio,
                cell=cell,
                value=f"node {node}",
                tolerance=0.002,
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
    "the features drawn, their ratios do not: Theorem 1 says √((D_i + 1) / (D_11 + 1)).",
)
