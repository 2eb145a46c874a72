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
    """Take rows of length one, unless the rows as given do clearly better on the labels.

    Parameters
    ----------
    inputs : FitInputs
        Features and graph.
    nodes : int ndarray of shape (m,)
        The labelled nodes.
    labels : Labels
    depth : int
    known : mapping from bool to KnownTables, optional
        What earlier labels needed, with rows scaled and not.
    deadline : float, default=inf
        As :func:`time.perf_counter` counts; past it, nothing is compared.
    execution : Execution, optional
        How hops run.

    Returns
    -------
    unit : bool
        Whether rows have length one.
    rows : LabelledRows
    lost : dict of KnownTables
        What the other one needed, and nothing else of it; empty where nothing was compared.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> X = np.repeat(np.eye(2), 4, axis=0)
    >>> inputs, labels = FitInputs(X, csr_array((8, 8))), Labels(X, np.ones(8))
    >>> unit, rows, lost = choose_scaling(inputs, np.arange(8), labels, depth=2)
    >>> unit, list(lost)
    (True, [False])
    """
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
