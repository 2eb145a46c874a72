"""Every filter with every penalty, judged by leave-one-out on the labels at hand."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from time import perf_counter

import numpy as np

from gssl.methods.base import iterate, watching
from gssl.operators import small_algebra
from gssl.selection.filters import MOST_BLOCKS, Filter
from gssl.selection.labelled_rows import LabelledRows
from gssl.selection.leave_one_out import (
    Spectrum,
    dual_coefficients,
    leave_one_out,
    spectrum,
    spectrum_of_rows,
)
from gssl.selection.trial import PENALTIES, Labels, Trial, compared, stratified_part, teachers

# above this many labels and features a decomposition is worth avoiding: so many labels screen the filters
SCREEN = 250
FINALISTS = 8
# how many filters are tried again in the metric of all nodes
CLUSTERED = 6
MOST_CLUSTERED = 1000
# powers at the end whose weights are together less than this part tell no models apart
_FAINT = 1e-4
# decompositions of no more numbers than this are kept for what comes after
_KEPT = 1_500_000


def try_filter(rows: LabelledRows, filter_: Filter, labels: Labels, part: np.ndarray | None = None) -> Trial:
    """Judge a filter on all labels, or on a part of them where a decomposition of all is too dear."""
    start = perf_counter()
    if part is not None and min(len(rows.nodes), rows.width(filter_)) > SCREEN:
        U, labels = rows.rows(filter_, part), labels.part(part)
    else:
        U = rows.rows(filter_)
    roots = np.sqrt(labels.weights)[:, None]
    return _judge(spectrum_of_rows(roots * U), filter_, labels, start)


def try_taught(rows: LabelledRows, filter_: Filter, labels: Labels, part: np.ndarray) -> Trial:
    """Judge a filter on all labels by what a part of them teaches: leave-one-out for those of the part."""
    start = perf_counter()
    U, taught = rows.rows(filter_), labels.part(part)
    V, roots = U[part], np.sqrt(taught.weights)[:, None]
    gram, others = spectrum_of_rows(roots * V), np.setdiff1d(np.arange(len(U)), part)
    predicted = np.empty((len(PENALTIES), *labels.Y.shape))
    predicted[:, part] = leave_one_out(gram, roots * taught.Y, PENALTIES) / roots
    duals = [roots * dual_coefficients(gram, roots * taught.Y, penalty) for penalty in PENALTIES]
    # all penalties side by side: the rows are read once
    said = U[others] @ (V.T @ np.hstack(duals))
    predicted[:, others] = np.stack(np.hsplit(said, len(PENALTIES)))
    return _compared(predicted, filter_, labels, start)


def try_clustered(rows: LabelledRows, filter_: Filter, labels: Labels) -> Trial:
    r"""Judge a filter in the metric of all nodes, which stretches the directions in which they vary most.

    .. math:: K = U_L (U^\top U) U_L^\top = G^\top G, \qquad G = U U_L^\top
    """
    start = perf_counter()
    U = rows.rows(filter_)
    K = rows.metric(_shortened(filter_), U)
    roots = np.sqrt(labels.weights)
    return _judge(spectrum(roots[:, None] * K * roots), filter_, labels, start, K)


def _shortened(filter_: Filter) -> Filter:
    """Leave out the last powers of a single block, if they hardly count."""
    (block,) = filter_.blocks
    rest = np.cumsum(np.abs(block.powers[::-1]))[::-1]
    return replace(filter_, blocks=(replace(block, powers=block.powers[rest > _FAINT * rest[0]]),))


def try_all(
    rows: LabelledRows, filters: Sequence[Filter], labels: Labels, deadline: float = np.inf
) -> list[Trial]:
    """Try all filters, then the best of them in the metric of all nodes, until time is up."""
    part = stratified_part(labels.Y, SCREEN) if len(labels.Y) > SCREEN else None
    with small_algebra():
        steps = [("plain", f) for f in filters]
        trials = list(_run(rows, steps, labels, part, deadline))
        if part is not None and any(len(t.predicted[0]) < len(labels.Y) for t in trials):
            # screened on a part of the labels: the finalists, and no graph, now see all of them
            plain = trials[0].filter
            best = [t.filter for t in sorted(trials, key=lambda t: t.rank)[:FINALISTS]]
            # best first, for time may be up after it
            chosen = [*best, *([] if any(f is plain for f in best) else [plain])]
            part = teachers(labels.Y, MOST_BLOCKS * rows.X.shape[1])
            metric = "plain" if part is None else "taught"
            trials = list(_run(rows, [(metric, f) for f in chosen], labels, part, deadline))
        if len(labels.Y) <= min(rows.X.shape[1], MOST_CLUSTERED):
            ranked = sorted((t for t in trials if t.filter.is_polynomial), key=lambda t: t.rank)
            steps = [("clustered", t.filter) for t in ranked[:CLUSTERED]]
            trials += _run(rows, steps, labels, None, deadline, first=False)
    return trials


def _run(
    rows: LabelledRows,
    steps: Sequence[tuple[str, Filter]],
    labels: Labels,
    part: np.ndarray | None,
    deadline: float,
    first: bool = True,
) -> Iterator[Trial]:
    def step(_: Trial | None, k: int) -> Trial | None:
        metric, filter_ = steps[k]
        if perf_counter() > deadline and not (first and k == 0):
            return None
        # a bar counts models, not the hops inside of them
        with watching(lambda done, total: None):
            if metric == "clustered":
                return try_clustered(rows, filter_, labels)
            if metric == "taught" and part is not None:
                return try_taught(rows, filter_, labels, part)
            return try_filter(rows, filter_, labels, part)

    for trial in iterate(step, None, range(len(steps))):
        if trial is None:
            return
        yield trial


def _judge(
    gram: Spectrum, filter_: Filter, labels: Labels, start: float, K: np.ndarray | None = None
) -> Trial:
    roots = np.sqrt(labels.weights)[:, None]
    predicted = leave_one_out(gram, roots * labels.Y, PENALTIES) / roots
    kept = gram if gram.vectors.size <= _KEPT else None
    return _compared(predicted, filter_, labels, start, K, kept)


def _compared(
    predicted: np.ndarray,
    filter_: Filter,
    labels: Labels,
    start: float,
    K: np.ndarray | None = None,
    gram: Spectrum | None = None,
) -> Trial:
    hits, errors = compared(predicted, "ridge", labels.Y)
    return Trial(
        filter_,
        predicted,
        np.average(hits, axis=1, weights=labels.weights),
        np.average(errors, axis=1, weights=labels.weights),
        perf_counter() - start,
        PENALTIES,
        gram=K,
        spectrum=gram,
    )
