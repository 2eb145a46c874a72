"""AutoClassifier: try many small models on the given labels, and average the near-best."""

from functools import cached_property
from time import perf_counter
from typing import Any, Self

import numpy as np
from scipy.sparse import csr_array
from scipy.special import softmax

from gssl.graph import GraphWarning
from gssl.graph.adjacency import relations_of, union_of
from gssl.graph.validate import without_warnings
from gssl.methods.base import GraphClassifier
from gssl.methods.label_sets import UNKNOWN, has_sets, is_label_sets, read_label_sets, refuse_label_sets
from gssl.methods.labels import UNLABELLED, class_weights, one_hot
from gssl.methods.neighbourhood import EVERY, Nodes
from gssl.methods.priors import prior_shares
from gssl.methods.state import reads_state, replaces_state
from gssl.methods.stored import Stored, transient
from gssl.operators import small_algebra
from gssl.scale.execution import Execution, current_execution, part_of_run, without_resume
from gssl.scale.memory import available_memory
from gssl.selection.auto_model import AutoModel
from gssl.selection.auto_sets import AutoLabelSets
from gssl.selection.model_search import averaged, pool_trees, select_models, tree_inputs
from gssl.selection.node_order import keys_with_labels
from gssl.selection.pool import floored_log, log_linear
from gssl.selection.relations import tree_walks
from gssl.selection.trees import Trees, one_thread
from gssl.selection.trial import Labels
from gssl.selection.wording import explain
from gssl.wording import write_size

# matrices of labels × classes that the comparison holds, as measured
_COPIES = 180


class AutoClassifier(AutoModel, GraphClassifier):
    r"""Try many graph filters on the given labels, and average those that are about as good as the best.

    Features are compressed once, to at most a few hundred directions. A model is ridge regression on the
    first k of these directions, filtered over the graph. Its prediction for a label without that label is
    known in closed form (:func:`gssl.selection.leave_one_out`), so no labels are set aside for validation.
    The average of the near-best models is one polynomial with matrix coefficients,

    .. math:: P = \mathrm{softmax}\Big( \sum_k T^k X M_k + b \Big),

    where T is the smoothing operator, the one without self-loops, or inverse convolution of the graph itself,
    which helps if neighbours tend to differ; GGC and GGCM add one term each. The average is self-trained: its
    predictions for unlabelled nodes, smoothed over the graph and weighted by confidence, become additional
    targets unless this clearly lowers the accuracy on hidden labels. :class:`gssl.LabelSpreading` predicts
    instead if it is clearly better on hidden labels, and is averaged in if few labels follow the links only.
    With many labels, boosted trees on the features and labels of neighbours are pooled with the result where
    that clearly helps. In all these cases, and if links are used as features, ``predict`` needs a graph that
    begins with the nodes of fit.

    Parameters
    ----------
    depth : int, default=16
        The maximum number of hops of a filter.
    class_weight : None, "balanced" or dict, default=None
        Equal weight for every label (None) or every class ("balanced"), or the weight of each class (dict).
    priors : None, "labels", "uniform", dict or array-like of shape (c,), default=None
        Expected class shares among the predicted nodes, if they differ from those among the labels (weighted
        by ``class_weight``). Distributions are corrected by the ratio of the two.
    directed : bool or "auto", default=False
        Whether links have directions: entry (u, v) of the adjacency is a link from u to v. Filters in both
        directions are then tried beside undirected ones, and kept where hidden labels gain. "auto" if a
        matrix is not symmetric. A problem that was read with directions keeps them in any case.
    time_budget : float, optional
        Seconds after which no new model is tried. The result then depends on the machine.

    Attributes
    ----------
    transduction_ : ndarray of shape (n,)
        A class for every node.
    label_distributions_ : ndarray of shape (n, c)
        Calibrated on hidden labels. They vary by at most 1e-5 with the number of BLAS threads.
    leaderboard_ : Leaderboard
        The models that were tried, with estimated score and standard error. With more than 1000 labels, they
        are estimated from a stratified sample.
    explain_ : str
        The accuracy on hidden labels, what the graph adds, and which models predict.
    label_sets_ : AutoLabelSets
        The model of several labels per node, if y has them. ``label_distributions_`` then has the probability
        of each label, ``transduction_`` 0 or 1 for each, and ``classes_`` names them.
    self_training_ : bool
        Whether predictions for unlabelled nodes were used as targets.
    coef_, unit_coef_, standardized_coef_ : ndarray of shape (t, d, c)
        The coefficients M for rows as given, rows of unit length and standardised columns, if such a model is
        part of the average: one matrix for each operator and power.
    link_coef_ : ndarray of shape (t, n, c)
        The same for links as features.
    intercept_ : ndarray of shape (c,)
    propagation_ : LabelSpreading or LabelPropagation
        The model that predicts instead of the average, or together with it if labels are few.
    tree_pool_ : ndarray of shape (3,)
        The weights of the average and of boosted trees in the log-linear pool that predicts, and the rounds
        of the trees, if these clearly improve the likelihood of hidden labels.
    spread_power_ : ndarray of shape (1,)
        The power that calibrates label spreading where it predicts alone.
    reached_ : bool ndarray of shape (n,)
        Whether a label is in the node's component.
    n_iter_ : int
        The maximum number of hops.
    classes_ : ndarray of shape (c,)
    n_features_in_ : int

    Examples
    --------
    >>> import gssl
    >>> data = gssl.datasets.load("cora")
    >>> model = gssl.AutoClassifier(depth=4)
    >>> model = model.fit(data.features, data.mask_labels("default"), adjacency=data.adjacency)
    >>> "The graph adds" in model.explain_
    True
    """

    propagation_: GraphClassifier
    _held_out_scores: np.ndarray
    _stored = (
        Stored("propagation_", "model", optional=True),
        Stored("self_training_", "flag", optional=True),
        Stored("_held_out_scores", "distribution", ("m", "c")),
        Stored("spread_power_", "float", ("power",), optional=True),
        Stored("tree_pool_", "float", ("pool",), optional=True),
        # stored alone, in place of this model
        *transient("label_sets_"),
    )

    def __init__(
        self,
        depth: int = 16,
        class_weight: Any = None,
        priors: Any = None,
        directed: Any = False,
        time_budget: Any = None,
    ) -> None:
        self.depth = depth
        self.directed = directed
        self.class_weight = class_weight
        self.priors = priors
        self.time_budget = time_budget

    @replaces_state
    def fit(self, X: Any, y: Any = None, *, adjacency: Any = None) -> Self:
        """Choose models by leave-one-out and predict every node.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n, d), or None
            Used as given, with rows of unit length, or with standardised columns, whichever does better on
            the labels. None if there is only a graph. A data frame with columns other than numbers is filled,
            encoded and scaled as :func:`gssl.read` does; ``preparation_`` keeps how, for new frames.
        y : array-like of shape (n,) or (n, q), or list of sets
            Labels; −1, None or NaN where there is none. For several labels per node, a matrix of 0 and 1 with
            NaN in unknown rows or cells, or a set of labels, or None, for every node.
        adjacency : array-like or sparse matrix of shape (n, n), or mapping of str to such, optional
            A mapping has a matrix for each kind of links, such as ``{"cites": A, "wrote": B}``. Built from
            the nearest neighbours in X if None.

        Returns
        -------
        self
        """
        self._check_parameters()
        self._forget()
        if is_label_sets(y):
            return self._fit_sets(X, y, adjacency)
        execution = current_execution(self)
        if execution.resume is not None and self.time_budget is not None:
            raise ValueError("AutoClassifier: time_budget cannot be combined with resume: leave out one.")
        X, A, codes = self._start(X, y, adjacency)
        # raises if the folder belongs to other inputs
        execution.checkpoint(X, A, *relations_of(A).items(), codes)
        return self._choose(execution)

    @replaces_state
    def update_labels(self, y: Any) -> Self:
        """Choose models again for other labels of the same nodes; the result is that of a new fit.

        Features and graph are not checked again, a graph of nearest neighbours is not rebuilt, and features
        are not compressed again.

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
        self._check_parameters()
        if is_label_sets(y) != hasattr(self, "label_sets_"):
            raise ValueError("update_labels cannot change between one class and several labels: call fit.")
        with without_resume():
            if hasattr(self, "label_sets_"):
                return self.around(self.label_sets_.snapshot().update_labels(y))
            self._restart(y)
            return self._choose(current_execution(self))

    def _fit_sets(self, X: Any, y: Any, adjacency: Any) -> Self:
        """Fit to several labels per node."""
        if self.class_weight is not None or self.priors is not None:
            raise ValueError("class_weight and priors are for one class per node: leave them out.")
        if current_execution(self).resume is not None and self.time_budget is not None:
            raise ValueError("AutoClassifier: time_budget cannot be combined with resume: leave out one.")
        return self.around(
            AutoLabelSets(self.depth, self.directed, self.time_budget).fit(X, y, adjacency=adjacency)
        )

    def around(self, inner: AutoLabelSets) -> Self:
        """Take over a model of several labels per node."""
        taken = ("classes_", "reached_", "informed_", "explain_", "leaderboard_", "n_iter_", "_fit_codes")
        optional = (
            "_fit_inputs",
            "_fit_features",
            "_feature_exponent",
            "n_features_in_",
            "feature_names_in_",
            "preparation_",
            "relation_operators_",
            "tree_walks_",
        )
        held = vars(inner)
        self.__dict__ |= {name: held[name] for name in (*taken, *optional) if name in held}
        self.label_sets_, self._priors, self._unweighed = inner, None, None
        self.label_distributions_ = inner.probabilities_
        self.transduction_ = inner.decide(inner.probabilities_).astype(np.int64)
        self._keep_parameters()
        return self

    def _choose(self, execution: Execution) -> Self:
        """Choose models for the stored inputs and labels, and predict every node."""
        inputs, codes = self._fit_inputs, self._fit_codes
        deadline = perf_counter() + (np.inf if self.time_budget is None else self.time_budget)
        self._forget()
        prior_shares(self.priors, self.classes_, codes)  # to raise early if they are invalid
        self.n_iter_ = self.depth
        weights = self._class_weights()
        _check_memory(int(np.count_nonzero(codes != UNLABELLED)), len(self.classes_))
        with small_algebra():
            selection = select_models(inputs.views, inputs.A, codes, weights, self.depth, execution, deadline)
            if perf_counter() <= deadline:
                selection = pool_trees(selection, inputs.views, inputs.A, codes)
            if selection.average is not None:
                self._keep_average(selection.average)
                self.self_training_ = selection.facts.taught
        # in the precision of a saved model, so that a loaded one says the same
        self._held_out_scores = selection.held_out.astype(np.float32)
        self.leaderboard_ = selection.leaderboard
        self.explain_ = explain(selection, self.classes_)
        spread = None
        if selection.spreading is not None:
            self._spread_labels(selection.spreading)
            self.spread_power_ = np.array([selection.spread_power])
            spread = self.propagation_.label_distributions_, self.propagation_.informed_
        if selection.trees is not None:
            pool = selection.trees.pool
            self.tree_pool_ = np.array([pool.a, pool.b, selection.trees.rounds])
            self._keep_walks(tree_walks(selection.facts.relation_gains))
        P, informed = self._distributions(selection.logits, spread, inputs.X, inputs.A)
        self._keep_parameters()
        # label spreading does not use class weights
        used = None if selection.logits is None else weights
        return self._finish(P, informed, prior_shares(self.priors, self.classes_, codes, used))

    def _spread_labels(self, model: GraphClassifier) -> None:
        """Fit a label spreading model to all labels."""
        # this fit has already issued these warnings
        with without_warnings(GraphWarning), part_of_run("predicts"):
            self.propagation_ = model.fit(None, self._fit_codes, adjacency=union_of(self._fit_inputs.A))

    @property
    def has_trees(self) -> bool:
        """Whether boosted trees are part of the pool."""
        return hasattr(self, "tree_pool_")

    def _forget(self) -> None:
        """Drop everything that an earlier fit predicts with."""
        self._drop("propagation_", "_held_out_scores", "spread_power_", "tree_pool_", "label_sets_")
        self.self_training_ = False

    @property
    def _n_columns(self) -> int:
        return len(self.classes_)

    def _labels(self) -> Labels:
        """Return the labels of fit with their weights and keys."""
        inputs, labelled = self._kept_inputs(), np.flatnonzero(self._fit_codes != UNLABELLED)
        truth = self._fit_codes[labelled]
        keys = keys_with_labels(inputs.views.node_keys, inputs.A, self._fit_codes)
        Y = one_hot(truth, len(self.classes_), np.float64)
        return Labels(Y, self._as_fitted()._class_weights()[truth], keys[labelled])

    @property
    def uses_features(self) -> bool:
        """Whether prediction needs features; fit works with or without them."""
        return self.label_sets_.uses_features if hasattr(self, "label_sets_") else super().uses_features

    def _class_counts(self) -> dict[str, list[Any]]:
        if not hasattr(self, "label_sets_"):
            return super()._class_counts()
        given, predicted = (self.label_sets_.fit_cells == 1).sum(axis=0), self.transduction_.sum(axis=0)
        names = [str(name) for name in self.classes_]
        return {"label": names, "given": given.tolist(), "predicted": predicted.tolist()}

    @property
    def fit_answers(self) -> np.ndarray:
        """The label of every node in fit, or its labels, None where there was none."""
        return self.label_sets_.fit_answers if hasattr(self, "label_sets_") else super().fit_answers

    def transduction(self, *, abstain: float | None = None) -> np.ndarray:
        """Return a class for every node of fit, or none where the model is not sure enough."""
        if abstain is not None:
            refuse_label_sets(self, "abstain")
        return super().transduction(abstain=abstain)

    def predict_proba(self, X: Any, *, adjacency: Any = None, nodes: Any = None) -> np.ndarray:
        """Return probabilities for nodes that were not seen in fit.

        A distribution over the classes, as for other classifiers; for several labels per node, a column with
        the probability of each label. Parameters are those of ``predict_proba`` of all classifiers.
        """
        if hasattr(self, "label_sets_"):
            return self.label_sets_.predict_proba(X, adjacency=adjacency, nodes=nodes)
        return super().predict_proba(X, adjacency=adjacency, nodes=nodes)

    def predict(
        self, X: Any, *, adjacency: Any = None, nodes: Any = None, abstain: float | None = None
    ) -> np.ndarray:
        """Return a class for nodes that were not seen in fit; 0 or 1 for each of several labels."""
        if not hasattr(self, "label_sets_"):
            return super().predict(X, adjacency=adjacency, nodes=nodes, abstain=abstain)
        if abstain is not None:
            refuse_label_sets(self, "abstain")
        return self.label_sets_.predict(X, adjacency=adjacency, nodes=nodes)

    def score(self, X: Any, y: Any, sample_weight: Any = None, *, adjacency: Any = None) -> float:
        """Return the accuracy on labelled nodes; of several labels per node, all must be right."""
        if not hasattr(self, "label_sets_"):
            return super().score(X, y, sample_weight, adjacency=adjacency)
        names, given = read_label_sets(y, learns=False)
        place = {name: k for k, name in enumerate(self.classes_.tolist())}
        strange = [name for name in names.tolist() if name not in place]
        if strange:
            raise ValueError(f"y has the label {strange[0]!r}, which is none of {self.classes_.tolist()}.")
        known = (given != UNKNOWN).any(axis=1)
        # a set says of every label whether a node has it
        cells = np.where(known[:, None], 0 if has_sets(y) else UNKNOWN, UNKNOWN) * np.ones(
            len(place), dtype=int
        )
        cells[:, [place[name] for name in names.tolist()]] = given
        right = (self.predict(X, adjacency=adjacency) == cells) | (cells == UNKNOWN)
        weights = None if sample_weight is None else np.asarray(sample_weight)[known]
        return float(np.average(right.all(axis=1)[known], weights=weights))

    @property
    def knows_nodes(self) -> bool:
        """Whether prediction uses links to the nodes of fit, or their labels."""
        if hasattr(self, "label_sets_"):
            return self.label_sets_.knows_nodes
        labels = hasattr(self, "propagation_") or hasattr(self, "tree_pool_")
        return labels or "links" in self._kinds() or not self.uses_features

    def _class_weights(self) -> np.ndarray:
        return class_weights(self.class_weight, self.classes_, self._fit_codes[self._fit_codes != UNLABELLED])

    @reads_state
    def distributions_without(self, hidden: np.ndarray, *, with_priors: bool = True) -> np.ndarray:
        """Look up the stored distributions of hidden labels."""
        refuse_label_sets(self, "distributions_without")
        stored = self._held_out_scores[np.searchsorted(np.flatnonzero(self._fit_codes != UNLABELLED), hidden)]
        P = stored.astype(np.float64)
        return self._with_priors(P) if with_priors else P

    def _score_graph(self, X: Any, A: csr_array, nodes: Nodes = EVERY) -> tuple[np.ndarray, np.ndarray]:
        P, informed = self._score_all(X, A)
        return P[nodes], informed[nodes]

    def _score_all(self, X: Any, A: csr_array) -> tuple[np.ndarray, np.ndarray]:
        spread = self.propagation_._score_graph(X, A) if hasattr(self, "propagation_") else None
        return self._distributions(self._linear_scores(X, A) if self._kinds() else None, spread, X, A)

    def _distributions(
        self, logits: np.ndarray | None, spread: tuple[np.ndarray, np.ndarray] | None, X: Any, A: csr_array
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return distributions and a mask of informed nodes from the average, label spreading or both."""
        if logits is None:
            if spread is None:
                raise ValueError("AutoClassifier has nothing to predict with: fit it.")
            power = getattr(self, "spread_power_", np.ones(1))
            return self._with_trees(softmax(power * floored_log(spread[0]), axis=1), X, A), spread[1]
        P = softmax(logits, axis=1)
        informed = self._informed_by_features(X, A)
        if spread is not None:
            P, informed = averaged(P, *spread), informed | spread[1]
        return self._with_trees(P, X, A), informed

    def _with_trees(self, P: np.ndarray, X: Any, A: csr_array) -> np.ndarray:
        """Pool distributions with those of boosted trees, if there are any."""
        if not hasattr(self, "tree_pool_"):
            return P
        self._grown_codes(A.shape[0])  # raises if the graph lacks nodes of fit
        a, b, _ = self.tree_pool_
        with one_thread():
            return log_linear(P, self._trees.of_graph(X, A), a, b).astype(P.dtype)

    @cached_property
    def _trees(self) -> Trees:
        """The boosted trees, which a loaded model fits again."""
        inputs = self._kept_inputs()
        labels = self._labels()
        return tree_inputs(inputs.views, inputs.A, self._fit_codes, labels, self._walks).fit_rounds(
            int(self.tree_pool_[2])
        )


def _check_memory(n_labels: int, n_classes: int) -> None:
    """Raise if the held-out scores of all labels by all models would not fit into memory."""
    needed, free = _COPIES * 8 * n_labels * n_classes, available_memory()
    if needed > free:
        raise ValueError(
            f"AutoClassifier compares models by the scores of {n_labels:,} labels in {n_classes:,} classes, "
            f"which take about {write_size(needed)}, and {write_size(free)} are free: group rare classes, or "
            'use EmbeddingClassifier(GGCM(), head="ridge").'
        )
