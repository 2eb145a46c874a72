"""AutoClassifier: a hundred models tried on the labels that exist, the near-best averaged."""

from dataclasses import replace
from time import perf_counter
from typing import Any, Self

import numpy as np
from scipy.sparse import csr_array

from gssl.evaluation.holdout import label_folds
from gssl.methods import OGC, LabelPropagation, LabelSpreading
from gssl.methods.inputs import check_number
from gssl.methods.labels import UNLABELLED
from gssl.scale.execution import Execution, current_execution, without_resume
from gssl.selection.averaged import AveragedClassifier, SelectionInputs
from gssl.selection.candidates import candidate_filters
from gssl.selection.graph_features import operators
from gssl.selection.labelled_rows import LabelledRows
from gssl.selection.rivals import FOLDS, clear_winner, hide_from_ogc, judge_rivals, judge_spreading
from gssl.selection.search import choose_scaling, try_all, try_logistic
from gssl.selection.trial import Leaderboard, explain, near_best, nested_average, ordered, tabulate_trials

# the parts that come from neighbours, where there are no features
ALPHAS = (0.5, 0.9, 0.99)
# what is said where a model of its own beats the average
_BETTER = {
    "LabelSpreading": " Labels alone, spread over the graph, do better by {:.1f} points, so LabelSpreading "
    "predicts instead.",
    "OGC": " Features that labels guide on their way over the graph do better by {:.1f} points, so OGC "
    "predicts instead.",
}


class AutoClassifier(AveragedClassifier):
    r"""Try many graph filters on the labels at hand, and average those that are about as good as the best.

    Every filter here is linear, and features do not depend on labels, so what a model says about a label
    that it has not seen is known in closed form (:func:`gssl.selection.leave_one_out`): no label is set
    aside for validation. One run over the graph serves all polynomial filters at once, and their average is
    one polynomial with matrix coefficients,

    .. math:: Z = \sum_k T^k X M_k ,

    for T the smoothing operator, the one without self-loops, and inverse convolution fed with the graph
    itself, which is of use where neighbours differ. The best filters are tried with softmax regression, too,
    judged on folds of labels; where it is among the near-best, its distributions are averaged with those of
    the ridges. :class:`gssl.LabelSpreading` and :class:`gssl.OGC` are models of their own: one that beats the
    average by two standard errors on hidden labels predicts in its place.

    Parameters
    ----------
    depth : int, default=16
        The most hops of any filter; less where the labelled rows of all powers would not fit in memory.
    class_weight : None, "balanced" or dict, default=None
        Whether each label counts the same, or each class, or a class as much as is said.
    priors : None, "labels", "uniform", dict or array-like of shape (c,), default=None
        The shares of the classes among the nodes that are predicted, if not those among the labels (weighted
        as ``class_weight`` says): distributions are corrected by the ratio of the two.
    time_budget : float, optional
        Seconds after which nothing new is tried. What is tried then depends on the machine.

    Attributes
    ----------
    transduction_ : ndarray of shape (n,)
        A class for every node.
    label_distributions_ : ndarray of shape (n, c)
    leaderboard_ : Leaderboard
        The models that were tried, with estimated score and standard error. Where both labels and features
        are more than a few hundred, those that a part of the labels has singled out.
    explain_ : str
        What the graph adds, and what predicts.
    coef_ : ndarray of shape (t, d, c)
        The coefficients M of the ridges, if any of them is averaged.
    logistic_coef_, logistic_intercept_ : ndarray of shape (t, d, c), ndarray of shape (c,)
        The same of the logistic heads, and what is added to their scores.
    propagation_ : LabelSpreading, LabelPropagation or OGC
        What predicts instead, where labels alone are all there is, or where they or :class:`gssl.OGC` do
        clearly better than the average on labels that were hidden from them.
    reached_ : bool ndarray of shape (n,)
        Whether a label is in the node's component.
    n_iter_ : int
        The most hops.
    classes_ : ndarray of shape (c,)
    n_features_in_ : int

    Examples
    --------
    >>> import gssl
    >>> data = gssl.datasets.load("cora")
    >>> model = gssl.AutoClassifier(depth=4)
    >>> model = model.fit(data.features, data.mask_labels("default"), adjacency=data.adjacency)
    >>> model.explain_[:15]
    'The graph adds '
    """

    def __init__(
        self,
        depth: int = 16,
        class_weight: Any = None,
        priors: Any = None,
        time_budget: Any = None,
    ) -> None:
        self.depth = depth
        self.class_weight = class_weight
        self.priors = priors
        self.time_budget = time_budget

    def fit(self, X: Any, y: Any, *, adjacency: Any = None) -> Self:
        """Choose models by leave-one-out and predict every node.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d), or None
            Used as given or with rows of length one, whichever does better on the labels. None where there
            is a graph and nothing else: labels are then spread over it.
        y : array-like of shape (n,)
            Labels; −1, None or NaN where there is none.
        adjacency : array-like or sparse matrix of shape (n, n), optional
            Built from the nearest neighbours in X if None.

        Returns
        -------
        self
        """
        self._check_parameters()
        execution = current_execution(self)
        if execution.resume is not None and self.time_budget is not None:
            raise ValueError(
                "AutoClassifier: what a time_budget leaves out depends on the clock, and resume repeats what "
                "was done: give either."
            )
        with self._rollback_on_error():
            self._forget()  # an earlier fit: this one may do without features
            X, A, codes = self._start(X, y, adjacency)
            execution.checkpoint(X, A, codes)  # refuses the folder of other inputs
            self._fit_inputs = SelectionInputs(X, A, {})
            return self._choose(execution)

    def update_labels(self, y: Any) -> Self:
        """Choose anew by other labels of the same nodes: but for rounding, the result is that of a fit.

        Features and graph are not checked again and a graph of nearest neighbours is not built again. What
        the filters give to a node does not depend on labels, so nothing is propagated but one column for each
        labelled node that had no label before, those of a few models in the metric of all nodes, and the
        scores of the classes; as long as what is kept of the old nodes fits in memory.

        Parameters
        ----------
        y : array-like of shape (n,)
            All labels, old and new; −1, None or NaN where there is none.

        Returns
        -------
        self

        Examples
        --------
        >>> import gssl
        >>> data = gssl.datasets.load("karate")
        >>> y = data.mask_labels("default")
        >>> model = gssl.AutoClassifier(depth=2).fit(data.features, y, adjacency=data.adjacency)
        >>> y[1] = data.labels[1]
        >>> model.update_labels(y).transduction_[1] == data.labels[1]
        np.True_
        """
        with self._rollback_on_error(), without_resume():
            self._restart(y)
            return self._choose(current_execution(self))

    def _choose(self, execution: Execution) -> Self:
        """Choose models for the inputs and labels that are kept, and predict every node."""
        X, A, codes = self._fit_inputs.X, self._fit_inputs.A, self._fit_codes
        deadline = perf_counter() + (np.inf if self.time_budget is None else self.time_budget)
        self._forget()
        self._read_priors(None)  # to refuse them before the work
        if not X.shape[1]:
            return self._fit_labels_alone(A, codes, execution)
        labelled = np.flatnonzero(codes != UNLABELLED)
        labels = self._weigh(codes[labelled])
        self.n_iter_ = self._fitting_depth(X, len(labelled))
        known = self._fit_inputs.known
        self._unit_rows, rows, lost = choose_scaling(
            self._fit_inputs, labelled, labels, self.n_iter_, known, deadline, execution
        )
        trials = try_all(rows, candidate_filters(self.n_iter_), labels, deadline)
        trials += try_logistic(rows, trials, labels, deadline)
        chosen = near_best(trials, labels)
        self._leave_one_out = nested_average(trials, labels)
        self._take(rows, chosen, labels)
        self._fit_inputs.keep({self._unit_rows: rows.tables, **lost})
        self.leaderboard_ = tabulate_trials(trials, chosen, labels)
        self.explain_ = explain(trials, chosen, self._leave_one_out, labels)
        self._consider_rivals(rows, codes, deadline)
        scores, informed = self._score_fit(X, A, rows)
        return self._finish(scores, informed, self._class_weights() if self.uses_features else None)

    def _check_parameters(self) -> None:
        check_number(self, "depth", low=1, whole=True)
        if self.time_budget is not None:
            check_number(self, "time_budget", low=0.0)

    def _fit_labels_alone(self, A: csr_array, codes: np.ndarray, execution: Execution) -> Self:
        """Spread labels over the graph in the way that does best on hidden labels."""
        hop = operators(A, np.float64)["hop"]
        models = [LabelSpreading(spread=alpha) for alpha in ALPHAS]
        self.n_iter_ = self.depth
        entries = [
            judge_spreading(model.spread, hop, codes, self._weigh, execution=execution) for model in models
        ]
        if entries[0] is None:
            # no class has two labels: nothing can be hidden, and nothing compared
            self._let_predict(LabelPropagation(), A, codes, None)
            self.leaderboard_ = Leaderboard([])
            self.explain_ = (
                "There are no features and no class has two labels, so nothing could be compared: "
                "LabelPropagation spreads labels over the graph."
            )
            return self._finish(*self._score_graph(csr_array((len(codes), 0)), A))
        judged = [judged for judged in entries if judged is not None]
        best = max(range(len(judged)), key=lambda k: judged[k][0].score)
        entry = judged[best][0]
        self._let_predict(models[best], A, codes, judged[best][1])
        self.leaderboard_ = ordered(replace(e, chosen=e is entry) for e, _ in judged)
        self.explain_ = (
            f"There are no features: LabelSpreading spreads labels over the graph, and "
            f"{100 * entry.score:.1f} ± {100 * entry.standard_error:.1f} % of hidden labels are right."
        )
        return self._finish(*self._score_graph(csr_array((len(codes), 0)), A))

    def _consider_rivals(self, rows: LabelledRows, codes: np.ndarray, deadline: float) -> None:
        """Let a model of its own predict where it clearly beats the average, which is rare."""
        ours = np.zeros(len(codes), dtype=bool)
        ours[rows.nodes] = self._leave_one_out.argmax(axis=1) == codes[rows.nodes]
        # OGC cannot weigh classes
        X = self._fit_inputs.X if self.class_weight is None else None
        rivals = judge_rivals(rows, X, codes, ours, self._weigh, deadline)
        won = clear_winner(rivals, codes, ours)
        board = [replace(entry, chosen=entry.chosen and won is None) for entry in self.leaderboard_]
        board += [replace(r.entry, chosen=won is not None and r is won[0]) for r in rivals]
        self.leaderboard_ = ordered(board)
        if won is None:
            return
        (rival, gain), hidden = won, won[0].hidden
        if isinstance(rival.model, OGC):
            # one fold has judged it; what it keeps is said about all labels
            folds = label_folds(codes, FOLDS, random_state=0)
            hidden = hide_from_ogc(X, rows.A, codes, folds)
        self._forget()
        self._let_predict(rival.model, rows.A, codes, hidden)
        self.explain_ += _BETTER[rival.entry.model].format(100 * gain.difference)
