"""The comparison of models on hidden answers of any kind: tables of filtered rows, trials, their average."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from time import perf_counter

import numpy as np
from scipy.sparse import csr_array

from gssl.graph.facts import closure
from gssl.scale.execution import Execution
from gssl.scale.progress import report_progress, watching
from gssl.selection.candidates import Filter, candidates, centred, default_candidates
from gssl.selection.ensemble import Ensemble, FittedEnsemble, Targets
from gssl.selection.filtered_rows import FilteredRows, product_limit
from gssl.selection.hidden_labels import HiddenAnswers
from gssl.selection.relations import RelationGain, try_relations
from gssl.selection.trial import Labels, Member, Trial, near_best, try_filter, untried
from gssl.selection.views import WIDTHS, Views

# maximum number of labels to evaluate candidates on
MOST_EVALUATED = 1000
# number of filters of the first view to try with other views, and of trials to repeat with other widths
_SHORTLIST = 4
_FINALISTS = 3
# filters to try with other views in any case
_ALWAYS = ("no graph", "two-hop")
# where the features of neighbours are less similar, what all nodes have in common hides what sets them apart
_ROUGH = 0.025
# neighbours whose features are at least so similar make a graph smooth
_SMOOTH = 0.15
# least closure of a graph in which labels are spread although its features are not smooth
_CLOSED = 1.3

# with more answers, candidates are tried on tables of a sample: those of all would take gigabytes
_MANY = 5_000


class Comparison:
    """The tables of one search, and the steps that read them."""

    def __init__(
        self,
        views: Views,
        A: csr_array,
        hidden: HiddenAnswers,
        depth: int,
        execution: Execution,
        deadline: float,
        sample: np.ndarray,
    ) -> None:
        self.hidden, self.deadline = hidden, deadline
        nodes = np.union1d(sample, hidden.nodes)
        self.tables = FilteredRows(views, A, views.dtype, nodes, depth, execution)
        if views.wants_span(len(hidden.nodes)):
            self.tables.span(hidden.nodes)
        self._positions = np.searchsorted(nodes, hidden.nodes)
        self.teachers = np.searchsorted(nodes, sample)
        self.relation_gains: list[RelationGain] = []

    @property
    def is_smooth(self) -> bool:
        """Whether neighbours have similar features; without features, nothing speaks against it."""
        alone = all(kind == "links" for kind in self.tables.views)
        return alone or self.tables.smoothness >= _SMOOTH

    @property
    def has_communities(self) -> bool:
        """Whether neighbours of a node are often linked, as where labels follow links."""
        return closure(self.tables.A, self.tables.nodes) >= _CLOSED

    def compare(self) -> tuple[list[Trial], list[Trial]]:
        """Return all trials, and what to average: the near-best, and the usual ones if labels are few."""
        tables, labels = self.tables, self.hidden.labels
        if not self.hidden.few:
            trials = self._try_all()
            return trials, near_best(trials)
        kind, filters = next(iter(tables.views)), default_candidates(tables.depth, smooth=self.is_smooth)
        untested = [untried(tables, kind, f, self._positions, labels) for f in filters]
        if not self.hidden.folds:
            return untested, untested
        trials = self._try_all()
        return trials, [*untested, *near_best(trials)[: len(untested)]]

    def _try_all(self) -> list[Trial]:
        """Try all filters; of many answers, only the rows of a sample are made."""
        hidden = self.hidden
        if len(hidden.nodes) <= _MANY:
            answers = self.tables, self._positions, hidden.labels
            trials, self.relation_gains = try_all(*answers, self.deadline)
            return trials
        part = hidden.labels.sample(MOST_EVALUATED)
        few, tables = hidden.nodes[part], self.tables
        sampled = FilteredRows(tables.views, tables.A, tables.dtype, few, tables.depth, tables.execution)
        answers = sampled, np.arange(len(part)), hidden.labels.part(part)
        trials, self.relation_gains = try_all(*answers, self.deadline)
        return [replace(trial, evaluated=part[trial.evaluated]) for trial in trials]

    def ensemble(self, members: Sequence[Member]) -> Ensemble:
        """Return the average of some members."""
        return Ensemble(self.tables, members, product_limit(self.tables.execution))

    def fitted(self, members: Sequence[Member]) -> FittedEnsemble:
        """Return the average of some members, fitted to all answers."""
        return FittedEnsemble(self.ensemble(members), self.targets(), self.hidden.labels, 1.0)

    def targets(self, fold: np.ndarray | None = None, members: Sequence[Member] = ()) -> Targets:
        """Return the labels except those of a fold; softmax maps are refitted without them, too."""
        hidden, labels = self.hidden, self.hidden.labels
        fold = hidden.nodes[:0] if fold is None else fold
        shown = ~np.isin(hidden.nodes, fold)
        maps = [member.map_without(hidden.positions(fold), labels) for member in members] or None
        return Targets(self._positions[shown], labels.Y[shown], labels.weights[shown], maps)


def try_all(
    tables: FilteredRows, positions: np.ndarray, labels: Labels, deadline: float = np.inf
) -> tuple[list[Trial], list[RelationGain]]:
    """Try all filters of the first view, then the best of them with other kinds of features and widths.

    Links are tried as features only if the best filter is not a smooth one. Returns the trials, the best
    first, and what each relation adds.
    """
    part = labels.sample(MOST_EVALUATED)
    positions, labels = positions[part], labels.part(part)

    def run(steps: Sequence[tuple[str, Filter, int]], first: bool = False) -> list[Trial]:
        done = {(trial.kind, trial.filter, trial.width) for trial in trials}
        new = [step for step in dict.fromkeys(steps) if step not in done]
        made = _run(tables, new, positions, labels, deadline, first)
        tried = [replace(trial, evaluated=part) for trial in made]
        trials.extend(tried)
        trials.sort(key=lambda trial: trial.loss)
        return tried

    trials: list[Trial] = []
    first_kind, *others = tables.views
    width = tables.views[first_kind].first_width
    filters = candidates(tables.depth)
    if tables.smoothness < _ROUGH:
        filters = [centred(f) for f in filters]
    run([(first_kind, f, width) for f in filters], first=True)
    gains: list[RelationGain] = []
    own = next((trial for trial in trials if not trial.filter.uses_graph), None)
    if tables.of_relations and own is not None:

        def try_filters(filters: Sequence[Filter], width: int) -> list[Trial]:
            return run([(first_kind, f, width) for f in filters])

        _, gains = try_relations(tables, own, trials[0], try_filters)
    kinds = [kind for kind in others if kind != "links" or trials[0].filter.surprise]
    # an operator of its own needs passes over the graph that no other filter shares
    shared = [trial.filter for trial in trials if trial is trials[0] or not trial.filter.is_own_operator]
    filters = shared[:_SHORTLIST] + [f for f in shared[_SHORTLIST:] if f.model in _ALWAYS]
    if perf_counter() <= deadline:
        run([(kind, f, tables.views[kind].first_width) for kind in kinds for f in filters])

    def run_best(width: int) -> None:
        best = trials[:_FINALISTS]
        run([(trial.kind, trial.filter, min(width, tables.views[trial.kind].width)) for trial in best])

    narrow, middle, *wider = WIDTHS
    run_best(narrow)
    for width, before in zip(wider, (middle, *wider), strict=False):
        # only if the next smaller one is the best so far
        if trials[0].width == before:
            run_best(width)
    return trials, gains


def _run(
    tables: FilteredRows,
    steps: Sequence[tuple[str, Filter, int]],
    positions: np.ndarray,
    labels: Labels,
    deadline: float,
    first: bool = False,
) -> Iterator[Trial]:
    """Yield the trials of some steps until the deadline, but at least the very first."""
    for k, (kind, filter_, width) in enumerate(steps):
        if perf_counter() > deadline and not (first and k == 0):
            return
        # the progress bar counts models, not their hops
        with watching(lambda done, total: None):
            if deadline == np.inf:
                tables.prepare(kind, [f for of, f, _ in steps[k:] if of == kind], width)
            trial = try_filter(tables, kind, filter_, width, positions, labels)
        report_progress(k + 1, len(steps))
        yield trial
