"""AutoRegressor: a number and an interval for every node, by models that are chosen on the known numbers."""

from functools import cached_property
from time import perf_counter
from typing import Any, ClassVar, Self

import numpy as np
from scipy.sparse import csr_array

from gssl.graph import reached_nodes
from gssl.graph.adjacency import relations_of
from gssl.methods.inputs import check_number
from gssl.methods.labels import UNLABELLED
from gssl.methods.neighbourhood import EVERY, Nodes
from gssl.methods.regressor import GraphRegressor
from gssl.methods.state import replaces_state
from gssl.methods.stored import Stored
from gssl.operators import small_algebra
from gssl.scale.execution import Execution, current_execution, without_resume
from gssl.selection.auto_model import AutoModel
from gssl.selection.intervals import Intervals, difficulty_columns
from gssl.selection.node_order import scattered_folds
from gssl.selection.number_search import (
    FoldTrees,
    HiddenNumbers,
    NumberScale,
    deal_numbers,
    fit_trees,
    mean_factor,
    number_inputs,
    prefers_logarithms,
    select_for_numbers,
)
from gssl.selection.residuals import relation_field, residual_field
from gssl.selection.trial import Labels
from gssl.selection.wording import explain_numbers

_SCALES = ("auto", "linear", "log")
# folds of errors that are hidden from each other
_FOLDS = 10


class AutoRegressor(AutoModel, GraphRegressor):
    r"""Predict a number for every node, with an interval, from features, a graph and some known numbers.

    As in :class:`gssl.AutoClassifier`, features are compressed once, and graph filters with a ridge are
    compared by closed-form leave-one-out; the near-best are averaged. What they miss at the known nodes is
    propagated over the graph as a Gaussian field,

    .. math:: \hat y_U = f(X)_U - G_{UU}^{-1} G_{UL}\, e_L, \qquad
              G = \tfrac1\omega I + I - D^{-1/2} A D^{-1/2},

    with leave-one-out residuals e and the reach ω that predicts hidden residuals best, or none. Boosted trees
    on the features and known numbers of neighbours are treated in the same way, and both halves are averaged
    with the weight that is best on hidden numbers.

    Parameters
    ----------
    interval : float, default=0.9
        The share of numbers that should lie within ``intervals_``.
    scale : {"auto", "linear", "log"}, default="auto"
        Whether to predict logarithms. "auto" does if all numbers are positive and hidden ones are more likely
        this way, with squared errors that are not larger.
    depth : int, default=16
        The maximum number of hops of a filter.
    directed : bool or "auto", default=False
        Whether links have directions: entry (u, v) of the adjacency is a link from u to v. Filters in both
        directions are then tried beside undirected ones, and kept where hidden numbers gain. "auto" if a
        matrix is not symmetric. A problem that was read with directions keeps them in any case.
    time_budget : float, optional
        Seconds after which no new model is tried. The result then depends on the machine.

    Attributes
    ----------
    transduction_ : ndarray of shape (n,)
        The number predicted for every node; for a known node, the prediction without its own number.
    intervals_ : ndarray of shape (n, 2)
        The limits between which a number lies with the probability ``interval``.
    reached_ : bool ndarray of shape (n,)
        Whether a known number is in the node's component.
    explain_ : str
        R² and the typical error on hidden numbers, what the graph adds, and which models predict.
    leaderboard_ : Leaderboard
        The models that were tried; scores are R².
    held_out_ : ndarray of shape (m,)
        The predictions for the m known numbers, each without its own number.
    n_iter_ : int
        The maximum number of hops.
    n_features_in_ : int

    Examples
    --------
    >>> import gssl
    >>> data = gssl.datasets.load("karate")
    >>> y = np.arange(34.0)
    >>> y[::3] = np.nan
    >>> model = gssl.AutoRegressor(depth=2).fit(None, y, adjacency=data.adjacency)
    >>> model.transduction_.shape, model.intervals_.shape
    ((34,), (34, 2))
    """

    _views: ClassVar[dict[str, bool]] = {"products": True}
    held_out_: np.ndarray
    _held_out_errors: np.ndarray
    _number_scale: np.ndarray
    # the relation over which residuals are propagated; all links if empty
    _field_of: str = ""
    _stored = (
        Stored("held_out_", "float", ("m",)),
        Stored("_number_scale", "float", ("3",)),
        Stored("_factor", "float", ("1",)),
        Stored("_held_out_errors", "float", ("m",)),
        Stored("_linear_residuals", "float", ("m",)),
        Stored("_tree_residuals", "float", ("m",), optional=True),
        # the reach of both halves, the weight of trees, and their rounds
        Stored("_pool", "float", ("4",)),
        Stored("_field_of", "text", optional=True),
        Stored("_interval_columns", "float", ("3", "i")),
        Stored("_interval_scale", "float", ("4",)),
    )

    def __init__(
        self,
        interval: float = 0.9,
        scale: str = "auto",
        depth: int = 16,
        directed: Any = False,
        time_budget: Any = None,
    ) -> None:
        self.interval = interval
        self.scale = scale
        self.depth = depth
        self.directed = directed
        self.time_budget = time_budget

    @replaces_state
    def fit(self, X: Any, y: Any = None, *, adjacency: Any = None) -> Self:
        """Choose models by leave-one-out and predict every node.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n, d), or None
            None if there is only a graph. A data frame is prepared as :func:`gssl.read` does.
        y : array-like of shape (n,)
            Numbers; None or NaN where unknown.
        adjacency : array-like or sparse matrix of shape (n, n), or mapping of str to such, optional
            A mapping has a matrix for each kind of links. Built from the nearest neighbours in X if None.

        Returns
        -------
        self
        """
        self._check_parameters()
        execution = current_execution(self)
        if execution.resume is not None and self.time_budget is not None:
            raise ValueError("AutoRegressor: time_budget cannot be combined with resume: leave out one.")
        self._drop(
            "_tree_residuals", "_pool", "_interval_scale"
        )  # _start asks uses_features, which would answer for an earlier fit
        X, A, codes = self._start(X, y, adjacency)
        # raises if the folder belongs to other inputs
        execution.checkpoint(X, A, *relations_of(A).items(), codes)
        return self._choose(execution)

    @replaces_state
    def update_labels(self, y: Any) -> Self:
        """Choose models again for other numbers of the same nodes; the result is that of a new fit.

        Parameters
        ----------
        y : array-like of shape (n,)
            All numbers, old and new; None or NaN where unknown.

        Returns
        -------
        self
        """
        self._check_parameters()
        with without_resume():
            self._restart(y)
            return self._choose(current_execution(self))

    def _choose(self, execution: Execution) -> Self:
        """Choose models for the stored inputs and numbers, and predict every node."""
        inputs, least = self._fit_inputs, self._known_values.min()
        if self.scale == "log" and least <= 0:
            raise ValueError(f"scale is log, but y holds {least:g}: only positive numbers have logarithms.")
        deadline = perf_counter() + (np.inf if self.time_budget is None else self.time_budget)
        self._drop("_tree_residuals", "_pool", "_interval_scale")
        self.n_iter_ = self.depth
        with small_algebra():
            log = self.scale == "log"
            if self.scale == "auto" and (self._known_values > 0).all():
                log = prefers_logarithms(inputs.views, inputs.A, self.fit_values, self.depth)
            scale = NumberScale.of(self._known_values, log=log)
            self._number_scale = np.array([float(scale.log), scale.centre, scale.spread])
            values = self._values()
            selection = select_for_numbers(inputs.views, inputs.A, values, self.depth, execution, deadline)
            if selection.average is not None:
                self._keep_average(selection.average)
        self.leaderboard_ = selection.leaderboard
        linear, boosted = selection.linear.residuals, selection.boosted
        self._linear_residuals = linear.e
        self._field_of = selection.linear.field_of
        reaches = [linear.reach, 0.0]
        if boosted is not None and selection.trees is not None:
            self._tree_residuals, reaches[1] = boosted.residuals.e, boosted.residuals.reach
            self._trees = selection.trees
            self._keep_walks(list(selection.trees.models[0].walks))
        rounds = 0 if selection.trees is None else selection.trees.rounds
        self._pool = np.array([*reaches, selection.weight, float(rounds)])
        nodes = selection.hidden.nodes
        self._held_out_errors = np.abs(selection.hidden.labels.Y[:, 0] - selection.held_out)
        values, gap, self.informed_ = self._values_of(inputs.X, inputs.A)
        values[nodes], gap[nodes] = selection.held_out, selection.gap
        errors = self._held_out_errors
        D = difficulty_columns(values, gap, inputs.A, nodes, errors)
        # errors nearby without a node's own would give its own away: those of its fold are left out, too
        for part in scattered_folds(selection.hidden.labels.keys, _FOLDS):
            fold, shown = nodes[part], np.setdiff1d(np.arange(len(nodes)), part)
            if len(shown):
                D[fold] = difficulty_columns(values, gap, inputs.A, nodes[shown], errors[shown])[fold]
        intervals = Intervals.fit(D[nodes], errors, self.interval)
        self._interval_columns, self._interval_scale = intervals.columns, intervals.scale
        self._factor = np.ones(1)
        if scale.log:
            medians = scale.numbers(selection.held_out)
            self._factor[0] = mean_factor(self._known_values, medians)
        answers = self._with_limits(values, intervals.widths(D))
        self._keep_parameters()
        self.held_out_ = answers[nodes, 0]
        self.transduction_, self.intervals_ = answers[:, 0], answers[:, 1:]
        self.explain_ = explain_numbers(
            selection, self._known_values, self.held_out_, self.intervals_[nodes], self
        )
        return self

    @property
    def relations_used(self) -> list[str]:
        """The relations that the model tells apart, in filters, trees or the propagation of residuals."""
        field = [self._field_of] if self._field_of else []
        return list(dict.fromkeys([*super().relations_used, *field]))

    def field(self, A: csr_array) -> csr_array:
        """Return the operator of the field over which residuals are propagated."""
        return relation_field(A, self._field_of)

    @property
    def held_out_errors(self) -> np.ndarray:
        """By how much predictions miss the known numbers, or logarithms, in deviations of all of them."""
        return self._held_out_errors

    @property
    def number_scale(self) -> NumberScale:
        """How numbers are standardised."""
        log, centre, spread = self._number_scale
        return NumberScale(bool(log), float(centre), float(spread))

    @property
    def has_trees(self) -> bool:
        """Whether boosted trees are part of the pool."""
        return bool(getattr(self, "_pool", np.zeros(4))[2])

    @property
    def _n_columns(self) -> int:
        return 1

    def _values(self) -> np.ndarray:
        """Return the standardised numbers of fit, NaN where unknown."""
        values = np.full(len(self._fit_codes), np.nan)
        values[self._fit_codes != UNLABELLED] = self.number_scale.values(self._known_values)
        return values

    def _hidden(self) -> HiddenNumbers:
        inputs = self._kept_inputs()
        return deal_numbers(self._values(), inputs.views, inputs.A)

    def _labels(self) -> Labels:
        return self._hidden().labels

    @property
    def knows_nodes(self) -> bool:
        """Whether prediction uses links to the nodes of fit, or their numbers."""
        # widths of intervals may depend on errors nearby
        parts = [getattr(self, name, np.zeros(1)) for name in ("_pool", "_interval_scale")]
        uses = parts[0].any() or parts[1][0] > 0
        return bool(uses) or "links" in self._kinds() or not self.uses_features

    @cached_property
    def _trees(self) -> FoldTrees:
        """The boosted trees, which a loaded model fits again."""
        if not self.has_trees:
            raise AttributeError("this AutoRegressor has no trees.")
        inputs, hidden = self._kept_inputs(), self._hidden()
        linear = self._linear_values(inputs.X, inputs.A)
        linear[hidden.nodes] = hidden.labels.Y[:, 0] - self._linear_residuals
        trees = fit_trees(
            number_inputs(inputs.views, inputs.A, self._values(), hidden.labels, linear, self._walks),
            hidden,
            int(self._pool[3]),
        )
        assert trees is not None
        return trees

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number(self, "interval", low=0.0, high=1.0, open_ends=True)
        if self.scale not in _SCALES:
            raise ValueError(f"scale must be {', '.join(_SCALES)}, not {self.scale!r}.")

    def _score_graph(self, X: Any, A: csr_array, nodes: Nodes = EVERY) -> tuple[np.ndarray, np.ndarray]:
        values, gap, informed = self._values_of(X, A)
        if self.knows_nodes:
            # as in fit, the prediction for a known node is the one without its own number
            known = np.flatnonzero(self._fit_codes != UNLABELLED)
            values[known] = self.number_scale.values(self.held_out_ / self._factor[0])
        widths = np.full(len(values), self._interval_scale[1])
        if self._interval_scale[0]:
            known = np.flatnonzero(self._fit_codes != UNLABELLED)
            D = difficulty_columns(values, gap, A, known, self._held_out_errors)
            widths = Intervals(self._interval_columns, self._interval_scale).widths(D)
        return self._with_limits(values, widths)[nodes], informed[nodes]

    def _values_of(self, X: Any, A: csr_array) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return standardised values, by how much both halves differ, and a mask of informed nodes."""
        linear, spread, change = self._value_parts(X, A)
        n, weight = A.shape[0], self._pool[2]
        informed = self._informed_by_features(X, A) if self._kinds() else np.zeros(n, dtype=bool)
        if self.knows_nodes:
            informed |= reached_nodes(A, self._grown_codes(n) != UNLABELLED, checked=True)
        gap = np.abs(change) / weight if weight else change
        return linear + spread + change, gap, informed

    def _value_parts(self, X: Any, A: csr_array) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the parts of standardised values: filters, their residuals, and how trees change both."""
        linear = self._linear_values(X, A)
        spread, change = np.zeros_like(linear), np.zeros_like(linear)
        near, far, weight, _ = self._pool
        if self.knows_nodes:
            known = np.flatnonzero(self._grown_codes(A.shape[0]) != UNLABELLED)
            S = self.field(A)
            spread = residual_field(S, known, self._linear_residuals, near)
            if weight:
                boosted = self._trees.values(X, A, linear)
                boosted += residual_field(S, known, self._tree_residuals, far)
                change = weight * (boosted - linear - spread)
        return linear, spread, change

    def _linear_values(self, X: Any, A: csr_array) -> np.ndarray:
        """Return the standardised values of the average for all nodes of a graph."""
        if not self._kinds():
            return np.zeros(A.shape[0])
        return self._linear_scores(X, A)[:, 0].astype(np.float64)

    def _with_limits(self, values: np.ndarray, widths: np.ndarray) -> np.ndarray:
        """Return the numbers of standardised values, and their limits."""
        numbers = self.number_scale.numbers
        limits = (numbers(each) for each in (values - widths, values + widths))
        # of logarithms, the prediction is the mean of a number, and not its median
        return np.column_stack([self._factor[0] * numbers(values), *limits])
