"""The benchmarks, one file for each part of the table, in the order in which they run."""

from benchmarks.entry import Figure, Race
from benchmarks.rows import (
    answers,
    embeddings,
    growth,
    hop,
    importing,
    label_space,
    memory,
    negatives,
    ogc,
    order,
    selection,
    slabs,
    spreading,
    tables,
    unseen,
)

_PARTS = (
    importing,
    hop,
    ogc,
    negatives,
    label_space,
    unseen,
    memory,
    growth,
    embeddings,
    spreading,
    selection,
    answers,
    tables,
    order,
    slabs,
)


def entries(*, quick: bool) -> list[Race | Figure]:
    """Return all benchmarks, or those of a quick run."""
    return [entry for part in _PARTS for entry in part.entries(quick=quick)]
