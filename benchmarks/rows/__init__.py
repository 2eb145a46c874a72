"""The rows of the table, one file for each part, in the order in which they run."""

from benchmarks.row import Row
from benchmarks.rows import (
    answers,
    embeddings,
    growth,
    hop,
    memory,
    ogc,
    selection,
    shortcuts,
    slabs,
    spreading,
    starting,
    tables,
)

_PARTS = (
    starting, hop, ogc, embeddings, spreading, shortcuts, selection, answers, tables, growth, memory, slabs
)  # fmt: skip


def rows(*, quick: bool) -> list[Row]:
    """Return all rows, with the sizes of a full or a quick run."""
    return [row for part in _PARTS for row in part.rows(quick=quick)]
