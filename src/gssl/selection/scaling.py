"""Features as they are given, or with rows of length one."""

from collections.abc import Mapping
from time import perf_counter
from types import MappingProxyType

import numpy as np

from gssl.methods.inputs import FitInputs
from gssl.operators import small_algebra
from gssl.scale.execution import IN_MEMORY, Execution
from gssl.selection.features import Features
from gssl.selection.filters import candidate_filters
from gssl.selection.graph_operators import operators
from gssl.selection.labelled_rows import KnownTables, LabelledRows
from gssl.selection.search import SCREEN, try_filter
from gssl.selection.trial import NEAR, Labels, score_error, stratified_part

# a few hops tell
SCALING_DEPTH = 2


def choose_scaling(
    inputs: FitInputs,
    nodes: np.ndarray,
    labels: Labels,
    depth: int,
    known: Mapping[bool, KnownTables] = MappingProxyType({}),
    deadline: float = np.inf,
    execution: Execution = IN_MEMORY,
) -> tuple[bool, LabelledRows, dict[bool, KnownTables]]:
    """Take rows of length one, unless the rows as given do clearly better on the labels."""
    X, A = inputs.X, inputs.A
    apply = operators(A, X.dtype)
    scaled = LabelledRows(Features.unit(X), A, nodes, depth, apply, known.get(True), execution)
    if perf_counter() > deadline:
        return True, scaled, {}
    given = LabelledRows(X, A, nodes, depth, apply, known.get(False), execution)
    part = stratified_part(labels.Y, SCREEN)
    filters = candidate_filters(SCALING_DEPTH)[: SCALING_DEPTH + 1]
    with small_algebra():
        scores = [
            max(float(try_filter(rows, f, labels, part).scores.max()) for f in filters)
            for rows in (scaled, given)
        ]
    if scores[1] <= scores[0] + NEAR * score_error(scores[0], labels):
        return True, scaled, {False: given.tables}
    return False, given, {True: scaled.tables}
