"""The rows of the table, one file for each part, in the order in which they run."""

from benchmarks.row import Row
from benchmarks.rows import (
    answers,
    audit,
    embeddings,
    growth,
    hop,
    labelling,
    learning_curve,
    limits,
    memory,
    ogc,
    plans,
    selection,
    shortcuts,
    slabs,
    spreading,
    starting,
    tables,
    whole_run,
)

_PARTS = (
    starting, hop, ogc, embeddings, spreading, shortcuts, selection, answers, tables, growth, memory, slabs,
    audit, learning_curve, labelling, plans, limits, whole_run,
)  # fmt: skip


def rows(*, quick: bool) -> list[Row]:
    """Return all rows, with the sizes of a full or a quick run."""
    return [row for part in _PARTS for row in part.rows(quick=quick)]
