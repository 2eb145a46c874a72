"""Every filter with every penalty, judged by leave-one-out; the best ones with softmax regression, too."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from types import MappingProxyType
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax

from gssl.evaluation.holdout import balanced_fold_count, label_folds
from gssl.methods.base import iterate, watching
from gssl.methods.inputs import FitInputs
from gssl.operators import small_algebra
from gssl.scale.execution import IN_MEMORY, Execution
from gssl.selection.candidates import MOST_BLOCKS, Filter, candidate_filters
from gssl.selection.graph_features import Features, operators
from gssl.selection.labelled_rows import KnownTables, LabelledRows
from gssl.selection.leave_one_out import (
    Spectrum,
    dual_coefficients,
    leave_one_out,
    spectrum,
    spectrum_of_rows,
)
from gssl.selection.trial import (
    LOGISTIC_PENALTIES,
    NEAR,
    PENALTIES,
    Labels,
    Trial,
    best_of_models,
    compared,
    near_best,
    score_error,
    stratified_part,
    teachers,
)

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


_MAX_ITER = 1000


def solve_together(
    F: np.ndarray, labels: Labels, penalty: float, shown: np.ndarray, tol: float
) -> tuple[np.ndarray, np.ndarray]:
    """Minimise one softmax loss for each set of labels, all of them in one run."""
    (m, r), (n_sets, c) = F.shape, (shown.shape[1], labels.Y.shape[1])
    w = labels.weights[:, None] * shown
    w = (w / w.sum(axis=0))[:, :, None]
    wY = w * labels.Y[:, None, :]
    # the diagonal of the Hessian, up to the softmax's ≤ ¼
    curvature = np.sqrt(labels.weights @ np.square(F) / labels.weights.sum() / 4.0 + penalty)[:, None]
    F = F / curvature.T
    ridge = penalty / np.square(curvature)

    def loss_and_gradient(theta: np.ndarray) -> tuple[float, np.ndarray]:
        V = theta.reshape(r + 1, n_sets * c)
        scores = (F @ V[:r] + V[r]).reshape(m, n_sets, c)
        scores -= scores.max(axis=2, keepdims=True)
        Z = np.exp(scores)
        sums = Z.sum(axis=2, keepdims=True)
        loss = np.vdot(w, np.log(sums)) - np.vdot(scores, wY) + 0.5 * np.vdot(ridge * V[:r], V[:r])
        R = (Z * (w / sums) - wY).reshape(m, n_sets * c)
        return float(loss), np.vstack([F.T @ R + ridge * V[:r], R.sum(axis=0)]).ravel()

    options = {"maxiter": _MAX_ITER, "gtol": tol, "ftol": 0.0, "maxcor": 20}
    start = np.zeros((r + 1) * n_sets * c)
    found = minimize(loss_and_gradient, start, jac=True, method="L-BFGS-B", options=options)
    V = found.x.reshape(r + 1, n_sets, c)
    return (V[:r] / curvature[:, :, None]).transpose(1, 0, 2), V[r]


# how many filters are tried with this head: the best one of so many models; how many with all penalties
FILTERS = 4
THOROUGH = 2
FOLDS = 5
# what tells models apart is far coarser than what predicts should be
_COARSE, _FINE = 1e-3, 1e-6
# directions whose share of the scores would be less than this part of one are left out
_NEGLIGIBLE = 0.03


def try_logistic(
    rows: LabelledRows, trials: Sequence[Trial], labels: Labels, deadline: float = np.inf
) -> list[Trial]:
    """Return the best filters a logistic head: the best filter of each model, and of those the best few."""
    part = teachers(labels.Y, MOST_BLOCKS * rows.X.shape[1])
    codes = labels.Y.argmax(axis=1) if part is None else labels.Y[part].argmax(axis=1)
    if np.bincount(codes).max() < 2:
        return []
    folds = label_folds(codes, balanced_fold_count(codes, FOLDS), random_state=0)
    judge = _Judge(rows, labels, folds, part)
    best = best_of_models([trial for trial in trials if trial.gram is None])[:FILTERS]
    found: list[Trial] = []
    with small_algebra():
        for trial in best:
            if perf_counter() > deadline:
                return found
            found.append(judge.judge(trial, LOGISTIC_PENALTIES[:1]))
        near = {trial for trial, _ in near_best([*trials, *found], labels)}
        for trial in [t for t in sorted(found, key=lambda t: t.rank) if t in near][:THOROUGH]:
            if perf_counter() > deadline:
                return found
            more = judge.judge(trial, LOGISTIC_PENALTIES[1:])
            found[found.index(trial)] = _joined(trial, more)
    return found


@dataclass(frozen=True, eq=False)
class _Judge:
    """Labels and what is hidden of them at a time: folds of all, or of a part that teaches."""

    rows: LabelledRows
    labels: Labels
    folds: Sequence[np.ndarray]
    part: np.ndarray | None

    def judge(self, trial: Trial, penalties: np.ndarray) -> Trial:
        """Put a logistic head on the filter of a trial."""
        start = perf_counter()
        labels, filter_ = self.labels, trial.filter
        if self.part is None:
            gram = row_spectrum(self.rows, trial, labels)
            said = np.stack([hidden_logits(gram, labels, penalty, self.folds) for penalty in penalties])
        else:
            U, said = self.rows.rows(filter_), np.empty((len(penalties), *labels.Y.shape))
            others = np.setdiff1d(np.arange(len(U)), self.part)
            gram, crossed = spectrum_of_rows(U[self.part]), U[others] @ U[self.part].T
            taught, order = labels.part(self.part), np.concatenate([self.part, others])
            for k, penalty in enumerate(penalties):
                said[k, order] = hidden_logits(gram, taught, penalty, self.folds, crossed)
        hits, errors = compared(said, "logistic", labels.Y)
        return Trial(
            filter_,
            said,
            np.average(hits, axis=1, weights=labels.weights),
            np.average(errors, axis=1, weights=labels.weights),
            perf_counter() - start,
            penalties,
            head="logistic",
            spectrum=gram if self.part is None and trial.spectrum is not None else None,
        )


def row_spectrum(rows: LabelledRows, trial: Trial, labels: Labels) -> Spectrum:
    """Decompose the rows of a trial, whatever labels weigh, unless that was done when it was judged."""
    even = trial.head == "logistic" or np.ptp(labels.weights) == 0.0
    if trial.spectrum is None or not even:
        return spectrum_of_rows(rows.rows(trial.filter))
    if trial.head == "logistic":
        return trial.spectrum
    return replace(trial.spectrum, scale=trial.spectrum.scale / float(labels.weights[0]))


def _joined(one: Trial, other: Trial) -> Trial:
    """Put the penalties of two trials of a filter together."""
    parts = ("predicted", "scores", "errors", "penalties")
    together: dict[str, Any] = {
        name: np.concatenate([getattr(one, name), getattr(other, name)]) for name in parts
    }
    return replace(one, seconds=one.seconds + other.seconds, **together)


def hidden_logits(
    gram: Spectrum,
    labels: Labels,
    penalty: float,
    folds: Sequence[np.ndarray],
    crossed: np.ndarray | None = None,
) -> np.ndarray:
    """Return the logarithms of the distributions that a logistic head gives to labels it has not seen.

    The labels that it sees count for those of their class that it does not,
    """
    F, basis = _coordinates(gram, penalty)
    shown = np.ones((len(F), len(folds) + (crossed is not None)))
    for k, hidden in enumerate(folds):
        shown[hidden, k] = 0.0
        # no fold holds all labels of a class; a class without labels has none to count
        counts = labels.Y.sum(axis=0)
        shown[:, k] *= labels.Y @ (counts / np.maximum(counts - labels.Y[hidden].sum(axis=0), 1.0))
    W, b = solve_together(F, labels, penalty, shown, _COARSE)
    scores = -labels.Y
    for k, hidden in enumerate(folds):
        scores[hidden] = F[hidden] @ W[k] + b[k]
    if crossed is not None:
        scores = np.vstack([scores, crossed @ (basis @ W[-1]) + b[-1]])
    return np.asarray(log_softmax(scores, axis=1))


def fit_logistic(
    U: np.ndarray, labels: Labels, penalty: float, gram: Spectrum | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Fit softmax regression to labelled rows, in the space that they span."""
    F, basis = _coordinates(spectrum_of_rows(U) if gram is None else gram, penalty)
    W, b = solve_together(F, labels, penalty, np.ones((len(F), 1)), _FINE)
    return U.T @ (basis @ W[0]), b[0]


def _coordinates(gram: Spectrum, penalty: float) -> tuple[np.ndarray, np.ndarray]:
    """Write rows in an orthogonal basis, with unit mean square; give also what brings coefficients back."""
    # a direction of mean square e moves scores by e/λ at most
    kept = gram.values > _NEGLIGIBLE * penalty * len(gram.vectors)
    roots, Q = np.sqrt(gram.values[kept]), gram.vectors[:, kept]
    return np.ascontiguousarray(Q * roots), Q / (roots * gram.scale)


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
