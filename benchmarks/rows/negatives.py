"""Exact negatives against sampled ones, and the time to sample."""

from functools import partial

import gssl
from benchmarks import graphs
from benchmarks.entry import Contest, Figure, Race, Reading, Rival
from benchmarks.measure import interleaved, seconds
from gssl.graph import sample_negatives


def entries(*, quick: bool) -> list[Race | Figure]:
    """Return the race of complement against samples for each graph, and the time of sampling alone."""
    rows: list[Race | Figure] = [
        Race(f"ggcm-{name}", f"GGCM (depth 16), {name}", partial(_contest, name, at_least), 3)
        for name, at_least in ([("cora", 5.0)] if quick else dict.fromkeys(_GRAPHS, 5.0).items())
    ]
    if not quick:
        what = "drawing 50·|E| negatives, pubmed"
        rows.append(Figure("sample-negatives", what, _draw, unit="s", at_most=1.0))
    return rows


_GRAPHS = ("cora", "citeseer", "pubmed")


def _contest(name: str, at_least: float) -> Contest:
    data = graphs.citation(name).data
    exact, sampled = gssl.GGCM(), gssl.GGCM(negatives=20, random_state=0)
    rival = Rival(
        "gssl, 20·|E| sampled",
        lambda: sampled.fit_transform(data.features, adjacency=data.adjacency),
        at_least,
        note="drawn anew in every iteration, as in the paper",
    )
    return Contest(lambda: exact.fit_transform(data.features, adjacency=data.adjacency), (rival,))


def _draw() -> Reading:
    A = graphs.citation("pubmed").data.adjacency
    calls = {kind: partial(sample_negatives, A, 50, 0, kind=kind) for kind in ("uniform", "regular")}
    interleaved(calls, 1)
    times = interleaved(calls, 5)
    return Reading(times["uniform"], seconds(times["uniform"]), note=f"regular: {seconds(times['regular'])}")
