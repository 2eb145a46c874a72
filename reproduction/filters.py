"""Figure 1: the filter functions of graph convolution and of its inverse."""

from collections.abc import Iterator

import numpy as np

from gssl.datasets import load
from gssl.graph import sample_negatives
from gssl.methods import SGC
from gssl.operators import inverse_convolution, normalized_negatives
from reproduction.measures import measure
from reproduction.spec import Artefact, Cell, Claim, Entry
from reproduction.spectrum import convolution_curve, filter_response, inverse_convolution_curve

FREQUENCIES = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25)
_MULTIPLE = 3
# edges of the karate club, and its nodes
_MEAN_DEGREE = 2 * _MULTIPLE * 78 / 34
_LOW, _HIGH = "graph convolution", "inverse graph convolution"


@measure("filters")
def measure_filters(cell: Cell, seed: int) -> dict[str, float]:
    """Give the responses of both filters at some frequencies, between those that the graph has.

    Parameters
    ----------
    cell : Cell
        Its settings: the ``multiple`` of negative edges, sampled with equal degrees, and ``frequencies``.
    seed : int
        Of the sample.

    Returns
    -------
    dict
        ``<filter>@<frequency>``, and the ``largest`` response of the inverse, in size.

    Examples
    --------
    >>> cell = Cell("filters", "karate", {"multiple": 3, "frequencies": [0.5]})
    >>> round(measure_filters(cell, 0)["graph convolution@0.5"], 6)
    0.5
    """
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
    note="Published numbers are those of the formulas: 1 − λ, and Theorem 2 with the mean degree of the "
    "negative graph, which holds three random pairs for each edge and has equal degrees, up to one.",
    claims=(
        Claim(
            "Inverse graph convolution lets high frequencies pass, and its response is below 1",
            lambda means: (
                means["", _HIGH, "λ = 0.0"] < means["", _HIGH, "λ = 1.25"]
                and means["", "inverse, largest response", "all λ"] < 1.0
            ),
        ),
    ),
    x_title="frequency",
)
