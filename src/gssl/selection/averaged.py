"""How the average of many linear models is kept, and how it predicts."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.special import softmax

from gssl.graph import GraphWarning
from gssl.methods.base import GraphClassifier, featured_nodes
from gssl.methods.inputs import FitInputs
from gssl.methods.labels import UNLABELLED, class_weights, nearest_distribution, one_hot
from gssl.scale.execution import IN_MEMORY, part_of_run
from gssl.selection.features import Features
from gssl.selection.filters import candidate_filters
from gssl.selection.finalists import FILTERS
from gssl.selection.label_space import label_space_pays
from gssl.selection.labelled_rows import OTHERS, KnownTables, LabelledRows
from gssl.selection.polynomial import ROOM, average, polynomial_scores
from gssl.selection.scaling import SCALING_DEPTH
from gssl.selection.search import CLUSTERED, FINALISTS, SCREEN
from gssl.selection.spreading import Hidden
from gssl.selection.trial import PENALTIES, Chosen, Labels

# the rows of all filters at the labelled nodes take no more numbers than this
_MOST_NUMBERS = 500_000_000
# and of those no more than this are kept for labels that may never come
_MOST_KEPT = 50_000_000


@dataclass(frozen=True)
class SelectionInputs(FitInputs):
    """What a fit leaves behind for other labels: also the rows it needed, by whether they were scaled."""

    known: dict[bool, KnownTables]

    def keep(self, tables: dict[bool, KnownTables]) -> None:
        """Keep rows for the next labels, if they are not too many."""
        self.known.clear()
        if sum(known.size for known in tables.values()) <= _MOST_KEPT:
            self.known.update(tables)

    def __getstate__(self) -> dict[str, Any]:
        # they can be made again
        return {**self.__dict__, "known": {}}


class AveragedClassifier(GraphClassifier):
    r"""Ridges and logistic heads on polynomial filters, or a model of its own where that does better.

    .. math:: P = (1 - s)\, \mathrm{proj}\Big(\sum_k T^k X M_k\Big)
              + s\, \mathrm{softmax}\Big(\sum_k T^k X M'_k + b'\Big)

    with s the part of the averaged models that are logistic: scores of different heads are of different
    scales, their distributions are not.
    """

    runs_by_columns = True
    depth: int
    class_weight: Any
    _fit_inputs: SelectionInputs
    coef_: np.ndarray
    logistic_coef_: np.ndarray
    logistic_intercept_: np.ndarray
    _shares: np.ndarray
    propagation_: GraphClassifier

    def _forget(self) -> None:
        """Drop what predicts."""
        for name in (
            *("coef_", "logistic_coef_", "logistic_intercept_", "_shares"),
            *("propagation_", "_leave_one_out"),
        ):
            self.__dict__.pop(name, None)

    def _take(self, rows: LabelledRows, chosen: Chosen, labels: Labels) -> None:
        """Fit what is averaged to all labels."""
        ridges = [pair for pair in chosen if pair[0].head == "ridge"]
        logistic = [pair for pair in chosen if pair[0].head == "logistic"]
        self._shares = np.array([len(ridges), len(logistic)]) / len(chosen)
        if ridges:
            self.coef_, _ = average(rows, ridges, labels, self.n_iter_)
        if logistic:
            found = average(rows, logistic, labels, self.n_iter_)
            self.logistic_coef_, self.logistic_intercept_ = found

    @property
    def _uses_features(self) -> bool:
        """Whether features are needed to predict; fit itself takes either."""
        if hasattr(self, "propagation_"):
            return self.propagation_._uses_features
        return hasattr(self, "coef_") or hasattr(self, "logistic_coef_")

    def _class_weights(self) -> np.ndarray:
        return class_weights(self.class_weight, self.classes_, self._fit_codes[self._fit_codes != UNLABELLED])

    def _weigh(self, codes: np.ndarray) -> Labels:
        # by all labels, of which codes may be some
        return Labels(one_hot(codes, len(self.classes_), np.float64), self._class_weights()[codes])

    def _fitting_depth(self, X: Any, n_labelled: int) -> int:
        room = _MOST_NUMBERS // max(1, n_labelled * X.shape[1]) - 1 - OTHERS
        return int(min(self.depth, max(SCALING_DEPTH, room)))

    def _let_predict(
        self,
        model: GraphClassifier,
        A: csr_array,
        codes: np.ndarray,
        hidden: Hidden | None,
    ) -> None:
        """Make a model of its own predict, and keep what it said about hidden labels."""
        with warnings.catch_warnings():
            # told once, by this fit
            warnings.simplefilter("ignore", GraphWarning)
            X = self._fit_inputs.X if model._uses_features else None
            with part_of_run("predicts"):
                self.propagation_ = model.fit(X, codes, adjacency=A)
        labelled = np.flatnonzero(codes != UNLABELLED)
        self._leave_one_out = np.full((len(labelled), len(self.classes_)), 1.0 / len(self.classes_))
        if hidden is not None:
            nodes, P = hidden
            self._leave_one_out[np.searchsorted(labelled, nodes)] = P

    def _distributions_without(self, hidden: np.ndarray) -> np.ndarray:
        """Look up what was said about labels when the models were tried, each without the label itself."""
        places = np.searchsorted(np.flatnonzero(self._fit_codes != UNLABELLED), hidden)
        return self._with_priors(nearest_distribution(self._leave_one_out[places]))

    def _columns(self, X: Any, A: csr_array, n_labelled: int, n_classes: int) -> int:
        if X is None or not X.shape[1]:
            return n_classes
        n, d = X.shape
        depth = self._fitting_depth(X, n_labelled)
        carried = n_labelled if label_space_pays(X, A, n_labelled, depth) else d
        # the labelled rows of all powers, and what models in double precision said about the labels, with as
        # much again while they are judged
        tables = (depth + 1 + OTHERS) * n_labelled * d
        n_trials = len(candidate_filters(depth)) if n_labelled <= SCREEN else FINALISTS + CLUSTERED + FILTERS
        said = 2 * 2 * (n_trials + 1) * len(PENALTIES) * n_labelled * n_classes
        # per node; the estimate counts three of what is carried
        return int(carried + (tables + said) / (3 * max(1, n)))

    def _score_fit(self, X: Any, A: csr_array, rows: LabelledRows) -> tuple[np.ndarray, np.ndarray]:
        """Score the nodes of fit, where labels may have guided what predicts."""
        if hasattr(self, "propagation_") and self._uses_features:
            return self.propagation_.label_distributions_, self.propagation_.informed_
        return self._score_graph(X, A, rows)

    def _score_graph(
        self, X: Any, A: csr_array, rows: LabelledRows | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Score all nodes; what was made of this graph and these features in fit is taken from there."""
        if hasattr(self, "propagation_"):
            P, informed = self.propagation_._score_graph(X, A)
            return P, informed
        if rows is not None:
            scaled, apply, execution = rows.features, rows.operators, rows.execution
        else:
            scaled, apply, execution = (Features.unit(X) if self._unit_rows else X), None, IN_MEMORY
        heads = [name for name in ("coef_", "logistic_coef_") if hasattr(self, name)]
        # both heads side by side: one pass over the graph
        M = np.concatenate([getattr(self, name) for name in heads], axis=2)
        room = ROOM if execution.budget is None else min(ROOM, execution.budget // 4)
        scores = np.hsplit(polynomial_scores(M, scaled, A, self.n_iter_, apply, room), len(heads))
        P = np.zeros_like(scores[0])
        for name, Z in zip(heads, scores, strict=True):
            if name == "coef_":
                P += self._shares[0] * nearest_distribution(Z)
            else:
                P += self._shares[1] * softmax(Z + self.logistic_intercept_, axis=1)
        return P, featured_nodes(A, X)
