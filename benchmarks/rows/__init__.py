"""What is measured, a file for each part of the table; the first to run is the first here."""

from benchmarks.entry import Figure, Race
from benchmarks.rows import (
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
    tables,
    order,
    slabs,
)


def entries(*, quick: bool) -> list[Race | Figure]:
    """Give every benchmark, or the ones for a quick look."""
    return [entry for part in _PARTS for entry in part.entries(quick=quick)]
