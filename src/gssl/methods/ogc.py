"""OGC: optimized graph convolution, guided by labels (Alg. 1)."""

from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from scipy.sparse import csr_array, issparse

from gssl.graph import reached_nodes
from gssl.graph.mapped import take_rows
from gssl.methods.base import GraphClassifier, featured_nodes, iterate, last, report_progress
from gssl.methods.inputs import check_number, choose_anchors, feature_scale, generator
from gssl.methods.label_space import KnownRows, LabelSpaceEmbedding, lazy_powers
from gssl.methods.labels import UNLABELLED, nearest_distribution, one_hot
from gssl.operators import (
    Embedding,
    Filters,
    Loss,
    Mixture,
    NormalizedAdjacency,
    Pull,
    classification_loss,
    lazy_convolution,
    linear_step,
    mix,
    multiply,
    normalized_adjacency,
    residual,
    small_algebra,
    soft_labels,
    supervised_embedding,
    zeros,
)
from gssl.scale.execution import Execution, FiltersOf, Step, Task, current_execution

# a step this often halved is no step
_HALVINGS = 60
# an iteration that has not stopped by then is beyond what label space is good for
_LONG = 64
# labelled rows are kept for new labels if they are no more than this part of all
_KEPT = 0.1


@dataclass(frozen=True)
class _Labels:
    """The labels of a fit, and where they are."""

    labelled: np.ndarray
    Y: np.ndarray
    anchors: np.ndarray
    # positions of the anchors among the labelled nodes
    anchored: np.ndarray
    # nodes whose predictions tell when to stop
    watched: np.ndarray


@dataclass(frozen=True)
class _Steps:
    """What a fit leaves behind: the pull of every step, from which its embeddings can be computed again."""

    A_hat: NormalizedAdjacency
    beta: float
    known: KnownRows
    pulls: list[Pull] = field(default_factory=list)
    loss: list[float] = field(default_factory=list)
    agreement: list[float] = field(default_factory=list)

    @property
    def identity(self) -> tuple[Any, ...]:
        """What tells these embeddings from others of the same features and graph."""
        return self.beta, [(pull.nodes, pull.R, pull.W) for pull in self.pulls]

    def record(self, pull: Pull, facts: dict[str, float]) -> None:
        """Remember what a step has added to the embeddings, and the history."""
        self.pulls.append(pull)
        self.loss.append(facts["loss"])
        self.agreement.append(facts["agreement"])

    def replay(self, X: Any, filters: FiltersOf, columns: slice) -> Iterator[Any]:
        """Yield some columns of the embeddings after each step."""

        def step(U: Any, k: int) -> Any:
            U = mix(filters(k), U, Mixture.lazy(self.beta))
            self.pulls[k].columns(columns).add_to(U)
            return U

        return iterate(step, X, range(len(self.pulls)))

    def smoothing_losses(self, X: Any, filters: FiltersOf, columns: slice) -> Any:
        """Return tr(Uᵀ(I − Â)U) after each step, as one row, column by column."""
        losses = zeros(X, n_rows=len(self.pulls))
        for k, U in enumerate(self.replay(X, filters, columns)):
            losses[k] = (U * mix(filters(k), U, Mixture(smooth=-1.0, keep=1.0))).sum(0)
        return losses


class OGC(GraphClassifier):
    r"""Smooth embeddings over the graph while labels guide them (Sect. 4.1, Alg. 1).

    Every iteration takes one gradient step of the linear predictor W on the labelled nodes, then moves
    the embeddings by lazy graph convolution and, on the anchors, by supervised embedding (Eq. 6):

    .. math:: U \leftarrow [\beta \hat A + (1 - \beta) I]\, U - \eta_{sup} S (Z - Y) W^\top

    The iteration stops by itself when predictions no longer change, so no validation set is needed.

    Parameters
    ----------
    beta : float, default=0.1
        Moving probability of the lazy convolution.
    eta_sup : float, default=1e-3
        Step of the supervised embedding. Both steps, and the first W, are in units of the feature scale
        (the mean absolute row sum, which is one for rows that sum to one), so scaling all features by a
        number changes no prediction.
    eta_w : float, default=0.5
        Step of the linear predictor. A step that raises the classification loss is halved until it does
        not, and stays halved.
    decay : float, default=0.9
        What ``eta_sup`` is multiplied by after each iteration.
    loss : {"squared", "cross_entropy"}, default="squared"
        The published settings belong to the squared loss, summed without the factor ½, so that both of
        its gradients are twice those of :mod:`gssl.operators`.
    max_iter : int, default=64
    agreement : float, default=0.995
        Two iterations agree if more than this part of the unlabelled nodes keep their class.
    patience : int, default=2
        The iteration stops after more than this many agreements.
    random_state : int, Generator, RandomState or None, default=None
        Draws the first W, uniform in ±1/√d, and the anchors where they are a fraction.
    priors : None, "labels", "uniform", dict or array-like of shape (c,), default=None
        The shares of the classes among the nodes that are predicted, if not those among the labels: the
        distributions, not the iteration, are corrected by the ratio of the two.

    Attributes
    ----------
    transduction_ : ndarray of shape (n,)
        A class for every node.
    label_distributions_ : ndarray of shape (n, c)
        The distribution nearest to the soft labels Z.
    reached_ : bool ndarray of shape (n,)
        Whether a label is in the node's component.
    embedding_, coef_ : ndarray of shape (n, d), ndarray of shape (d, c)
        U and W after the last iteration.
    history_ : dict of ndarray
        ``classification_loss``, ``smoothing_loss`` and ``agreement`` after each iteration.
    n_iter_ : int
    classes_ : ndarray of shape (c,)
    n_features_in_ : int

    Examples
    --------
    >>> import gssl
    >>> data = gssl.datasets.load("karate")
    >>> y = data.mask_labels("default")
    >>> model = gssl.OGC(random_state=0).fit(data.features, y, adjacency=data.adjacency)
    >>> float((model.transduction_ == data.labels).mean()) > 0.9
    True
    """

    runs_by_columns = True
    runs_on_torch: ClassVar[bool] = True

    def __init__(
        self,
        beta: float = 0.1,
        eta_sup: float = 1e-3,
        eta_w: float = 0.5,
        decay: float = 0.9,
        loss: Loss = "squared",
        max_iter: int = 64,
        agreement: float = 0.995,
        patience: int = 2,
        random_state: Any = None,
        priors: Any = None,
    ) -> None:
        self.beta = beta
        self.eta_sup = eta_sup
        self.eta_w = eta_w
        self.decay = decay
        self.loss = loss
        self.max_iter = max_iter
        self.agreement = agreement
        self.patience = patience
        self.random_state = random_state
        self.priors = priors

    def fit(self, X: Any, y: Any, *, adjacency: Any = None, anchors: Any = None) -> Self:
        """Learn embeddings and predictor together, and a distribution for every node.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            Used as given; the published settings belong to rows that sum to one (``data.normalized()``).
        y : array-like of shape (n,)
            Labels; −1, None or NaN where there is none.
        adjacency : array-like or sparse matrix of shape (n, n), optional
            Built from the nearest neighbours in X if None.
        anchors : None, float, bool mask or indices, optional
            The labelled nodes whose embeddings the labels may move ("less is more", Sect. 5.1): all of
            them, a random fraction of each class, or the ones named. W is fitted on all labels anyway.

        Returns
        -------
        self
        """
        self._check_parameters()
        execution = current_execution(self)
        for name in ("_replayed", "_smoothing"):
            self.__dict__.pop(name, None)  # of an earlier fit, and made again where that is asked for
        with self._rollback_on_error():
            X, A, codes = self._start(X, y, adjacency)
            rng, scale = generator(self.random_state), feature_scale(X)
            labels = self._labels(codes, choose_anchors(anchors, codes, rng), X.dtype)
            A_hat = normalized_adjacency(A, X.dtype)
            bound = 1.0 / (np.sqrt(X.shape[1]) * scale)
            W = rng.uniform(-bound, bound, size=(X.shape[1], len(self.classes_))).astype(X.dtype)
            self._steps = _Steps(A_hat, self.beta, KnownRows.none(X))
            Z = self._learn(X, A_hat, labels, W, scale, execution)
            informed = featured_nodes(A, X)
            if not informed.all():
                informed = informed | reached_nodes(A, labels.anchors, checked=True)
            return self._finish(self._distributions(Z), informed)

    def _learn(
        self,
        X: Any,
        A_hat: NormalizedAdjacency,
        labels: _Labels,
        W: np.ndarray,
        scale: float,
        execution: Execution,
    ) -> np.ndarray:
        """Run Algorithm 1 and return the scores of all nodes; the embeddings and their memory end with it."""
        labelled, Y, anchors, anchored = labels.labelled, labels.Y, labels.anchors, labels.anchored
        eta_w, eta_sup = self._gain * self.eta_w / scale**2, self._gain * self.eta_sup * scale**2
        checkpoint = execution.checkpoint(X, A_hat, labelled, Y, anchors)
        U, in_label_space = self._embedding(X, A_hat, labelled, execution)
        Z = U @ W
        for step in checkpoint.past:
            pull = Pull(anchors, step.pull, step.W)
            U, W, eta_w = lazy_convolution(A_hat, U, self.beta, pull), step.W, step.facts["eta_w"]
            self._steps.record(pull, step.facts)
        Z = checkpoint.scores() if checkpoint.past else Z
        chosen = Z[labels.watched].argmax(axis=1)
        with small_algebra() if in_label_space else nullcontext():
            for k in range(len(checkpoint.past) + 1, self.max_iter + 1):
                if self._has_settled():
                    break
                # one step of W, then one of U by its old value and the new W, as in the authors' scripts
                W, Z_L, eta_w = self._descend(U.rows(labelled), W, Z[labelled], Y, eta_w)
                R = residual(Z_L[anchored], Y[anchored], self.loss)
                pull = supervised_embedding(R, W, eta_sup * self.decay ** (k - 1), anchors)
                U = lazy_convolution(A_hat, U, self.beta, pull)
                Z = U @ W

                before, chosen = chosen, Z[labels.watched].argmax(axis=1)
                loss = classification_loss(Z[labelled], Y, self.loss)
                facts = {"eta_w": eta_w, "agreement": float((chosen == before).mean()), "loss": loss}
                self._steps.record(pull, facts)
                checkpoint.finish(Step(pull.R, W, facts), Z)
                report_progress(k, self.max_iter)
        self.coef_, self.n_iter_ = W, len(self._steps.pulls)
        if not in_label_space and len(labelled) <= _KEPT * len(Z):
            self._steps.known.of(labelled, lambda nodes: np.asarray(U.rows(nodes)))
        return Z

    def _descend(
        self, U_L: Any, W: np.ndarray, Z_L: np.ndarray, Y: np.ndarray, eta_w: float
    ) -> tuple[np.ndarray, np.ndarray, float]:
        """Take one step of W that does not raise the loss; return W, the labelled scores, and its length."""
        R = residual(Z_L, Y, self.loss)
        # rounding at the optimum is no overshoot
        limit = classification_loss(Z_L, Y, self.loss) * (1.0 + 1e-6)
        for _ in range(_HALVINGS):
            W_next = linear_step(U_L, W, R, eta_w)
            Z_next = U_L @ W_next
            if classification_loss(Z_next, Y, self.loss) <= limit:
                return W_next, Z_next, eta_w
            eta_w /= 2.0
        return W, Z_L, 0.0

    def _has_settled(self) -> bool:
        """Return whether predictions have agreed more often than ``patience`` allows."""
        return sum(share > self.agreement for share in self._steps.agreement) > self.patience

    def _embedding(
        self, X: Any, A_hat: NormalizedAdjacency, labelled: np.ndarray, execution: Execution
    ) -> tuple[Embedding, bool]:
        """Return U in the cheaper form, its factors or itself, and whether it is in factors."""
        filters = execution.place(Filters(A_hat))
        if self._label_space_pays(X, len(A_hat.indices), len(self.classes_)):
            return LabelSpaceEmbedding(X, filters, self.beta), True
        return execution.embedding(X, filters, labelled), False

    def update_labels(self, y: Any) -> Self:
        r"""Fit the predictor to other labels of the same nodes, on the embeddings as they are.

        The embeddings stay what the labels of fit have made of them (so do ``embedding_``, ``history_`` and
        ``n_iter_``), and W is learned anew: as many steps as in fit, from zero, on the rows of all nodes that
        have a label in y. So the result is the same whatever labels came in between, and close to that of a
        fit to y whose anchors are those of the first. Labels may be added, taken away or of new classes.

        Nothing is propagated but one column for each labelled node whose row is not known yet and one for
        each class; rows are known from the fit, unless it worked in label space or more than a tenth of all
        nodes had labels, and from earlier updates. For hundreds of new labels a new fit may be cheaper.

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
        >>> model = gssl.OGC(random_state=0).fit(data.features, y, adjacency=data.adjacency)
        >>> y[1] = data.labels[1]
        >>> model.update_labels(y).transduction_[1] == data.labels[1]
        np.True_
        """
        with self._rollback_on_error():
            return self._relearn(self._restart(y))

    def _relearn(self, codes: np.ndarray) -> Self:
        """Fit the predictor alone to labels."""
        X = self._fit_inputs.X
        labels = self._labels(codes, np.empty(0, dtype=np.int64), X.dtype)
        rows, scores = self._products(len(self._steps.known.missing(labels.labelled)))
        U_L = self._steps.known.of(labels.labelled, rows)
        W, Z_L = np.zeros((U_L.shape[1], labels.Y.shape[1]), U_L.dtype), np.zeros_like(labels.Y)
        eta_w = self._gain * self.eta_w / feature_scale(X) ** 2
        for _ in range(self.n_iter_):
            W, Z_L, eta_w = self._descend(U_L, W, Z_L, labels.Y, eta_w)
        self.coef_ = W
        return self._finish(self._distributions(scores(W)), self.informed_)

    def _products(self, n_rows: int) -> tuple[Any, Any]:
        """Return functions for rows of U and for UW: by its factors, unless U itself is there or cheaper."""
        X, steps = self._fit_inputs.X, self._steps
        # the embeddings are those of fit, whatever parameters have been set since
        filters = current_execution(self, resumes=False).place(Filters(steps.A_hat))
        factors = LabelSpaceEmbedding(X, filters, steps.beta, steps.pulls)
        columns = n_rows + len(self.classes_)
        if "_replayed" in self.__dict__ or factors.n_hops * columns > self.n_iter_ * X.shape[1]:
            return lambda nodes: take_rows(self.embedding_, nodes), lambda W: self.embedding_ @ W
        return lambda nodes: np.asarray(factors.rows(nodes)), lambda W: factors @ W

    @property
    def embedding_(self) -> np.ndarray:
        """U after the last iteration."""
        return np.asarray(self._replayed)

    @property
    def history_(self) -> dict[str, np.ndarray]:
        """Losses and agreement after each iteration."""
        return {
            "classification_loss": np.array(self._steps.loss),
            "smoothing_loss": self._smoothing,
            "agreement": np.array(self._steps.agreement),
        }

    @cached_property
    def _replayed(self) -> np.ndarray:
        """The embeddings, which predictions do not need and fit leaves out."""
        X, steps = self._kept_inputs().X, self._steps
        # X, the embeddings before a step, and those after it
        task = Task(lambda X, *more: last(steps.replay(X, *more)), ("embedding", *steps.identity), buffers=3)
        return self._replay(task, X)

    @cached_property
    def _smoothing(self) -> np.ndarray:
        """The smoothing loss of the embeddings after each iteration."""
        X, steps = self._kept_inputs().X, self._steps
        by_column = self._replay(Task(steps.smoothing_losses, ("smoothing", *steps.identity)), X)
        return np.asarray(by_column.sum(axis=1, dtype=np.float64))

    def _replay(self, task: Task, X: Any) -> np.ndarray:
        filters = Filters(self._steps.A_hat)
        return current_execution(self, resumes=False).map_columns(task, X, lambda k: filters)

    @property
    def _gain(self) -> float:
        """The factor of the published squared loss, a sum without the appendix's ½."""
        return 2.0 if self.loss == "squared" else 1.0

    def _check_parameters(self) -> None:
        if self.loss not in ("squared", "cross_entropy"):
            raise ValueError(f'OGC: loss must be "squared" or "cross_entropy", not {self.loss!r}.')
        for name in ("beta", "decay", "agreement"):
            check_number(self, name, low=0.0, high=1.0)
        for name in ("eta_sup", "eta_w"):
            check_number(self, name, low=0.0)
        check_number(self, "max_iter", low=1, whole=True)
        check_number(self, "patience", low=0, whole=True)

    def _labels(self, codes: np.ndarray, anchors: np.ndarray, dtype: Any) -> _Labels:
        labelled = np.flatnonzero(codes != UNLABELLED)
        unlabelled = np.flatnonzero(codes == UNLABELLED)
        return _Labels(
            labelled=labelled,
            Y=one_hot(codes[labelled], len(self.classes_), dtype),
            anchors=anchors,
            anchored=np.searchsorted(labelled, anchors),
            # where every node has a label, their own predictions tell when to stop
            watched=unlabelled if len(unlabelled) else labelled,
        )

    def propagated_columns(self, X: Any, A: csr_array, n_labelled: int, n_classes: int) -> int:
        """Return one column per class in label space, otherwise one per feature."""
        return n_classes if self._label_space_pays(X, A.nnz, n_classes) else int(X.shape[1])

    def _label_space_pays(self, X: Any, n_links: int, n_classes: int) -> bool:
        """Compare a hop over d columns with the hops over c that half the iterations need, there and back."""
        n, d = X.shape
        hop = n_links + n
        size = X.nnz if issparse(X) else X.size
        hops = 2 * lazy_powers(np.array([min(self.max_iter, _LONG) // 2]), self.beta, X.dtype).shape[1]
        return self.max_iter <= _LONG and bool((hop * hops + 2 * size) * n_classes < hop * d)

    def _distributions(self, scores: np.ndarray) -> np.ndarray:
        Z = soft_labels(scores, self.loss)
        return nearest_distribution(Z) if self.loss == "squared" else np.asarray(Z)

    def _score_graph(self, X: Any, A: csr_array) -> tuple[np.ndarray, np.ndarray]:
        return self._score_part(X, normalized_adjacency(A, X.dtype)), featured_nodes(A, X)

    def _reach(self) -> int:
        return self.n_iter_ if self.beta else 0

    def _score_part(self, X: Any, A_hat: NormalizedAdjacency) -> np.ndarray:
        """Smooth the new graph as often as in fit; it has no labels that could guide the embeddings."""
        filters = current_execution(self, resumes=False).place(Filters(A_hat))
        # smoothing acts on rows and W on columns: scores may be smoothed instead of embeddings
        scores = multiply(X, self.coef_.astype(X.dtype))
        lazy = Mixture.lazy(self.beta)
        scores = last(iterate(lambda Z, k: mix(filters, Z, lazy), scores, range(self.n_iter_)))
        return self._distributions(scores)
