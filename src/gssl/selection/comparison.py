"""The comparison of models on hidden answers of any kind: tables of filtered rows, trials, their average."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.sparse import csr_array

from gssl.graph.facts import closure
from gssl.scale.execution import Execution
from gssl.selection.candidates import default_candidates
from gssl.selection.ensemble import Ensemble, FittedEnsemble, Targets
from gssl.selection.filtered_rows import FilteredRows, product_limit
from gssl.selection.hidden_labels import HiddenAnswers
from gssl.selection.trial import MOST_EVALUATED, Member, Trial, near_best, try_all, untried
from gssl.selection.views import Views

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
            return try_all(self.tables, self._positions, hidden.labels, self.deadline)
        part = hidden.labels.sample(MOST_EVALUATED)
        few, tables = hidden.nodes[part], self.tables
        sampled = FilteredRows(tables.views, tables.A, tables.dtype, few, tables.depth, tables.execution)
        trials = try_all(sampled, np.arange(len(part)), hidden.labels.part(part), self.deadline)
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
