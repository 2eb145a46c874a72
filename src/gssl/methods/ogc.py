"""OGC: optimized graph convolution, guided by labels (Alg. 1)."""

import math
import warnings
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from gssl.graph import reached_nodes
from gssl.graph.mapped import take_rows
from gssl.graph.validate import warn_user
from gssl.methods.base import GraphClassifier, featured_nodes, iterate, last, replaces_state
from gssl.methods.heads import ridge
from gssl.methods.inputs import (
    FittedParameters,
    check_number,
    choose_anchors,
    feature_scale,
    generator,
    scale_features,
)
from gssl.methods.label_space import KnownRows, LabelSpaceEmbedding, lazy_powers
from gssl.methods.labels import UNLABELLED, decode_labels, nearest_distribution, one_hot
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
from gssl.operators.program import FiltersOf
from gssl.scale.execution import Execution, Step, Task, current_execution, report_progress

# after this many halvings, eta_w is treated as zero
_MAX_HALVINGS = 60
# with more iterations label space is not used, because its cost grows with the square of their number
_MAX_LABEL_SPACE_ITER = 64
# embeddings of labelled nodes are kept for update_labels up to this fraction of all nodes
_KEPT_FRACTION = 0.1
# if every node has a label, this fraction of each class is held out for the stopping rule
_HELD_FRACTION = 0.1
# predictor for graphs without the nodes of fit: mean number of hops, maximum number of rows, ridge penalty
_UNSEEN_HOPS, _UNSEEN_ROWS, _UNSEEN_PENALTY = 3, 4096, 1e-3
# warn if a smaller fraction of the labels is reproduced, though there are no more labels than features
_LEARNT_FRACTION = 0.8
# attributes computed on first use after a fit
_CACHED = ("_replayed", "_smoothing", "_anchored", "_anchor_scores", "_unseen_coef")


@dataclass(frozen=True)
class _Labels:
    """The labels of a fit, and its anchors: the labelled nodes whose embeddings are moved."""

    labelled: np.ndarray
    # one-hot, a row for each labelled node
    Y: np.ndarray
    anchors: np.ndarray
    # positions of the anchors in ``labelled``
    anchored: np.ndarray
    # nodes whose predictions decide when to stop
    watched: np.ndarray


@dataclass(frozen=True)
class _Steps:
    """The pull of every step of a fit, from which its embeddings can be replayed."""

    A_hat: NormalizedAdjacency
    beta: float
    # rows of U after the last step
    known: KnownRows
    pulls: list[Pull] = field(default_factory=list)
    loss: list[float] = field(default_factory=list)
    agreement: list[float] = field(default_factory=list)

    @property
    def identity(self) -> tuple[Any, ...]:
        """Everything the embeddings depend on besides features and graph."""
        return self.beta, [(pull.nodes, pull.R, pull.W) for pull in self.pulls]

    def record(self, pull: Pull, facts: dict[str, float]) -> None:
        """Append a step and its entries in the history."""
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
        """Return the diagonal of Uᵀ(I − Â)U after each step, one row per step."""
        losses = zeros(X, n_rows=len(self.pulls))
        for k, U in enumerate(self.replay(X, filters, columns)):
            losses[k] = (U * mix(filters(k), U, Mixture(smooth=-1.0, keep=1.0))).sum(0)
        return losses


class OGC(FittedParameters, GraphClassifier):
    r"""Smooth embeddings over the graph while labels guide them (Sect. 4.1, Alg. 1).

    Every iteration takes one gradient step of the linear predictor W on the labelled nodes, then moves
    the embeddings by lazy graph convolution and, on the anchors, by supervised embedding (Eq. 6):

    .. math:: U \leftarrow [\beta \hat A + (1 - \beta) I]\, U - \eta_{sup} S (Z - Y) W^\top

    The iteration stops by itself when predictions no longer change, so no validation set is needed.

    ``predict`` repeats the steps of fit, pulls included, on a graph whose first nodes are those of fit, so on
    the graph of fit it returns ``transduction_``. On other graphs it uses a second predictor: ridge
    regression of the scores of fit on features smoothed over three hops, fitted when it is first needed.

    Parameters
    ----------
    beta : float, default=0.1
        Moving probability of the lazy convolution.
    eta_sup : float, default=1e-3
        Step size of the supervised embedding. Both step sizes and the initial W are in units of the feature
        scale (the mean absolute row sum, which is one for rows that sum to one), so multiplying all features
        by a constant does not change predictions. A step size that would diverge is replaced by the inverse
        of the loss's Lipschitz constant.
    eta_w : float, default=0.5
        Step size of the linear predictor. If a step would raise the classification loss, the step size is
        halved until it does not, and stays halved.
    decay : float, default=0.9
        Factor of ``eta_sup`` after each iteration.
    loss : {"squared", "cross_entropy"}, default="squared"
        The published settings are for the squared loss, which is summed without the factor ½, so that both
        of its gradients are twice those of :mod:`gssl.operators`.
    max_iter : int, default=64
    agreement : float, default=0.995
        Two consecutive iterations agree if more than this fraction of the unlabelled nodes keep their class.
        If every node has a label, a tenth of each class, drawn by ``random_state``, is held out for this.
    patience : int, default=2
        The iteration stops after more than this many agreements.
    random_state : int, Generator, RandomState or None, default=None
        Draws the initial W, uniform in ±1/√d, and the anchors if they are given as a fraction.
    priors : None, "labels", "uniform", dict or array-like of shape (c,), default=None
        Expected class shares among the predicted nodes, if they differ from those among the labels.
        Distributions are corrected by the ratio of the two; the iteration is not affected.

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

    @replaces_state
    def fit(self, X: Any, y: Any, *, adjacency: Any = None, anchors: Any = None) -> Self:
        """Learn embeddings and predictor together, and a distribution for every node.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
            Used as given; the published settings are for rows that sum to one (``data.normalized()``).
        y : array-like of shape (n,)
            Labels; −1, None or NaN where there is none.
        adjacency : array-like or sparse matrix of shape (n, n), optional
            Built from the nearest neighbours in X if None.
        anchors : None, float, bool mask or indices, optional
            The labelled nodes whose embeddings the labels move ("less is more", Sect. 5.1): all of them if
            None, a random fraction of each class, or the given nodes. W is always fitted on all labels.

        Returns
        -------
        self
        """
        self._check_parameters()
        execution = current_execution(self)
        self._forget(_CACHED)
        X, A, codes = self._start(X, y, adjacency)
        rng, scale = generator(self.random_state), feature_scale(X)
        if anchors is None and not (codes == UNLABELLED).any():
            codes = _hold_out(codes, rng)
        labels = self._labels(codes, choose_anchors(anchors, codes, rng), X.dtype)
        A_hat = normalized_adjacency(A, X.dtype)
        bound = 1.0 / (np.sqrt(X.shape[1]) * scale)
        W = rng.uniform(-bound, bound, size=(X.shape[1], len(self.classes_))).astype(X.dtype)
        self._steps = _Steps(A_hat, self.beta, KnownRows.empty(X))
        Z = self._learn(X, A_hat, labels, W, scale, execution)
        _warn_unless_learnt(Z[labels.labelled], codes[labels.labelled], X.shape[1])
        informed = featured_nodes(A, X)
        if not informed.all():
            informed = informed | reached_nodes(A, labels.anchors, checked=True)
        self._keep_parameters()
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
        """Run Algorithm 1 and return the scores of all nodes; the embeddings are freed on return."""
        labelled, Y, anchors, anchored = labels.labelled, labels.Y, labels.anchors, labels.anchored
        # not scale**2: pow is not always correctly rounded, so its last bit could depend on the unit
        eta_w = self._gradient_factor * self.eta_w / (scale * scale)
        eta_sup = self._gradient_factor * self.eta_sup * (scale * scale)
        checkpoint = execution.checkpoint(X, A_hat, labelled, Y, anchors)
        U, in_label_space = self._embedding(X, A_hat, labelled, execution)
        for step in checkpoint.past:
            pull = Pull(anchors, step.pull, step.W)
            U, W, eta_w = lazy_convolution(A_hat, U, self.beta, pull), step.W, step.facts["eta_w"]
            self._steps.record(pull, step.facts)
        Z = U @ W
        chosen = Z.argmax(axis=1)[labels.watched]
        with small_algebra() if in_label_space else nullcontext():
            for k in range(len(checkpoint.past) + 1, self.max_iter + 1):
                if self._has_settled():
                    break
                # W first, then U from the old U and the new W, as in the authors' scripts
                W, Z_L, eta_w = self._descend(U.rows(labelled), W, Z[labelled], Y, eta_w)
                R = residual(Z_L[anchored], Y[anchored], self.loss)
                pull = supervised_embedding(R, W, _safe_step(eta_sup * self.decay ** (k - 1), W), anchors)
                U = lazy_convolution(A_hat, U, self.beta, pull)
                Z = U @ W

                before, chosen = chosen, Z.argmax(axis=1)[labels.watched]
                loss = classification_loss(Z[labelled], Y, self.loss)
                facts = {"eta_w": eta_w, "agreement": float((chosen == before).mean()), "loss": loss}
                self._steps.record(pull, facts)
                checkpoint.finish(Step(pull.R, W, facts))
                report_progress(k, self.max_iter)
        self.coef_, self.n_iter_ = W, len(self._steps.pulls)
        if not in_label_space and len(labelled) <= _KEPT_FRACTION * len(Z):
            self._steps.known.get(labelled, lambda nodes: np.asarray(U.rows(nodes)))
        return Z

    def _descend(
        self, U_L: Any, W: np.ndarray, Z_L: np.ndarray, Y: np.ndarray, eta_w: float
    ) -> tuple[np.ndarray, np.ndarray, float]:
        """Take one step of W that does not raise the loss; return W, its labelled scores, and eta_w."""
        R = residual(Z_L, Y, self.loss)
        # tolerate rounding errors at the optimum
        limit = classification_loss(Z_L, Y, self.loss) * (1.0 + 1e-6)
        for _ in range(_MAX_HALVINGS):
            W_next = linear_step(U_L, W, R, eta_w)
            Z_next = U_L @ W_next
            if classification_loss(Z_next, Y, self.loss) <= limit:
                return W_next, Z_next, eta_w
            eta_w /= 2.0
        return W, Z_L, 0.0

    def _has_settled(self) -> bool:
        """Return whether more than ``patience`` iterations have agreed with the one before."""
        return sum(share > self.agreement for share in self._steps.agreement) > self.patience

    def _embedding(
        self, X: Any, A_hat: NormalizedAdjacency, labelled: np.ndarray, execution: Execution
    ) -> tuple[Embedding, bool]:
        """Return U in label space or dense, whichever is cheaper, and whether it is in label space."""
        filters = execution.place(Filters(A_hat))
        if self._label_space_pays(X, len(A_hat.indices), len(self.classes_)):
            return LabelSpaceEmbedding(X, filters, self.beta), True
        return execution.embedding(X, filters, labelled), False

    @replaces_state
    def update_labels(self, y: Any) -> Self:
        r"""Refit the predictor to new labels of the same nodes, without changing the embeddings.

        The embeddings, ``history_`` and ``n_iter_`` stay those of fit. W is learned from zero, with the
        parameters of fit and as many steps, on the embeddings of all nodes that have a label in y. So the
        result does not depend on earlier updates, and is close to that of a fit to y with the anchors of the
        first fit. Labels may be added, removed or of new classes.

        One column is propagated for each class, and one for each labelled node whose embedding is not cached.
        Embeddings are cached by earlier updates, and by fit unless it worked in label space or more than a
        tenth of all nodes had labels. For hundreds of new labels a new fit may be cheaper.

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
        codes, X, known = self._restart(y), self._fit_inputs.X, self._steps.known
        labels = self._labels(codes, np.empty(0, dtype=np.int64), X.dtype)
        rows, scores = self._products(len(known.missing(labels.labelled)))
        U_L = known.get(labels.labelled, rows)
        W, Z_L = np.zeros((U_L.shape[1], labels.Y.shape[1]), U_L.dtype), np.zeros_like(labels.Y)
        scale = feature_scale(X)
        fitted = self._as_fitted()
        eta_w = fitted._gradient_factor * fitted.eta_w / (scale * scale)
        for _ in range(self.n_iter_):
            W, Z_L, eta_w = fitted._descend(U_L, W, Z_L, labels.Y, eta_w)
        self.coef_ = W
        self._forget(("_anchor_scores", "_unseen_coef"))
        return self._finish(fitted._distributions(scores(W)), self.informed_)

    def _products(self, n_rows: int) -> tuple[Any, Any]:
        """Return functions nodes → rows of U and W → UW, by label space or by U, whichever is cheaper."""
        X, steps = self._fit_inputs.X, self._steps
        # with the beta of fit, which set_params may have changed since
        filters = current_execution(self, resumes=False).place(Filters(steps.A_hat))
        U = LabelSpaceEmbedding(X, filters, steps.beta, steps.pulls)
        columns = n_rows + len(self.classes_)
        if "_replayed" in self.__dict__ or U.n_hops * columns > self.n_iter_ * X.shape[1]:
            return lambda nodes: take_rows(self.embedding_, nodes), lambda W: self.embedding_ @ W
        return lambda nodes: np.asarray(U.rows(nodes)), lambda W: U @ W

    @cached_property
    def _steps(self) -> _Steps:
        """The steps of fit; a loaded model that holds its inputs fits again to know them."""
        inputs = self._kept_inputs()
        # X was scaled by a power of two if its squares would have overflowed
        X = scale_features(inputs.X, -self._feature_exponent)
        y = decode_labels(self.classes_, self._fit_codes)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the first fit has issued them
            again = clone(self).fit(X, y, adjacency=inputs.A)
        if not np.allclose(again.coef_, self.coef_, rtol=1e-3, atol=1e-5 * np.abs(self.coef_).max()):
            raise ValueError(
                "the fit of this loaded OGC cannot be repeated, because it had anchors, updated labels or no "
                "random_state: fit it again."
            )
        steps: _Steps = again._steps
        return steps

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
        """U after the last iteration, computed on first use because predictions do not need it."""
        X, steps = self._kept_inputs().X, self._steps
        # three buffers: X, and U before and after a step
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
    def _gradient_factor(self) -> float:
        """The factor of both gradients: 2 for the published squared loss, which has no factor ½."""
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
        watched = np.flatnonzero(codes == UNLABELLED)
        if not len(watched):
            watched = np.setdiff1d(labelled, anchors) if 0 < len(anchors) < len(labelled) else labelled
        return _Labels(
            labelled=labelled,
            Y=one_hot(codes[labelled], len(self.classes_), dtype),
            anchors=anchors,
            anchored=np.searchsorted(labelled, anchors),
            watched=watched,
        )

    def propagated_columns(self, X: Any, A: csr_array, n_labelled: int, n_classes: int) -> int:
        """Return one column per class in label space, otherwise one per feature."""
        return n_classes if self._label_space_pays(X, A.nnz, n_classes) else int(X.shape[1])

    def _label_space_pays(self, X: Any, n_links: int, n_classes: int) -> bool:
        """Compare the cost of an iteration: one hop over d columns, or several over c columns.

        In label space, an iteration needs two products with U, whose number of hops grows with the iterations
        done; the estimate is for half of ``max_iter``.
        """
        if self.max_iter > _MAX_LABEL_SPACE_ITER:
            return False
        n, d = X.shape
        hop = n_links + n
        size = X.nnz if issparse(X) else X.size
        hops = 2 * lazy_powers(np.array([self.max_iter // 2]), self.beta, X.dtype).shape[1]
        return bool((hop * hops + 2 * size) * n_classes < hop * d)

    def _distributions(self, scores: np.ndarray) -> np.ndarray:
        Z = soft_labels(scores, self.loss)
        return nearest_distribution(Z) if self.loss == "squared" else np.asarray(Z)

    def _score_graph(self, X: Any, A: csr_array) -> tuple[np.ndarray, np.ndarray]:
        every = np.arange(X.shape[0])
        return self._score_part(X, normalized_adjacency(A, X.dtype), every), featured_nodes(A, X)

    def _reach(self) -> int:
        return max(self.n_iter_, self._unseen_steps) if self._as_fitted().beta else 0

    def _score_part(self, X: Any, A_hat: NormalizedAdjacency, nodes: np.ndarray) -> np.ndarray:
        """Repeat the steps of fit if the graph begins with its nodes, otherwise use the second predictor."""
        filters, fitted = current_execution(self, resumes=False).place(Filters(A_hat)), self._as_fitted()
        lazy = Mixture.lazy(fitted.beta)
        grown = self._begins_with_fit(X)
        W = self.coef_ if grown else self._unseen_coef
        # the convolution acts on rows and W on columns, so convolve the narrower scores
        scores = multiply(X if len(nodes) == X.shape[0] else X[nodes], W.astype(X.dtype))
        if not grown:
            smooth = iterate(lambda Z, k: mix(filters, Z, lazy), scores, range(self._unseen_steps))
            return fitted._distributions(last(smooth))
        anchors = np.flatnonzero(self._anchored)
        rows = np.flatnonzero(np.isin(nodes, anchors))
        places = np.searchsorted(anchors, nodes[rows])

        def step(Z: Any, k: int) -> Any:
            Z = np.asarray(mix(filters, Z, lazy))
            Z[rows] += self._anchor_scores[k, places]
            return Z

        return fitted._distributions(last(iterate(step, scores, range(1, self.n_iter_ + 1))))

    @property
    def _unseen_steps(self) -> int:
        fitted = self._as_fitted()
        return min(math.ceil(_UNSEEN_HOPS / fitted.beta), fitted.max_iter) if fitted.beta else 1

    def _begins_with_fit(self, X: Any) -> bool:
        """Return whether the anchors of fit are at the same positions, judged by their scores XW."""
        if X.shape[0] < len(self._anchored):
            return False
        known = self._anchor_scores[0]
        found = _row_scores(X, np.flatnonzero(self._anchored), self.coef_)
        return bool((np.abs(found - known) <= 1e-3 * np.abs(known).max(initial=0.0)).all())

    @cached_property
    def _anchored(self) -> np.ndarray:
        """A mask of the anchors among the nodes of fit."""
        anchored = np.zeros(self._kept_inputs().X.shape[0], dtype=bool)
        anchored[self._steps.pulls[0].nodes] = True
        return anchored

    @cached_property
    def _anchor_scores(self) -> np.ndarray:
        """The scores XW of the anchors, followed by what the pull of each step adds to them."""
        X, pulls, W = self._kept_inputs().X, self._steps.pulls, self.coef_
        first = _row_scores(X, pulls[0].nodes, W)
        return np.stack([first, *(pull.R @ (pull.W.T @ W) for pull in pulls)])

    @cached_property
    def _unseen_coef(self) -> np.ndarray:
        """The predictor for graphs without the nodes of fit, fitted to the scores of at most 4,096 nodes."""
        X, lazy = self._kept_inputs().X, Mixture.lazy(self._steps.beta)
        n, steps = X.shape[0], range(self._unseen_steps)
        nodes = np.unique(np.linspace(0, n - 1, num=min(n, _UNSEEN_ROWS), dtype=np.int64))

        def smoothed_rows(X: Any, filters: FiltersOf, columns: slice) -> Any:
            return last(iterate(lambda U, k: mix(filters(k), U, lazy), X, steps))[nodes]

        task = Task(smoothed_rows, ("smoothed rows", len(steps), self._steps.beta), buffers=3)
        scores = self._products(0)[1](self.coef_)
        return ridge(self._replay(task, X), np.asarray(scores)[nodes], _UNSEEN_PENALTY)

    def _forget(self, names: tuple[str, ...]) -> None:
        for name in names:
            self.__dict__.pop(name, None)


def _safe_step(eta_sup: float, W: np.ndarray) -> float:
    """Return ``eta_sup``, or 1/‖W‖² if it is 2/‖W‖² or more and could raise the loss.

    ‖W‖² is the Lipschitz constant of the gradient (UW − Y)Wᵀ, and twice that of the cross-entropy's.
    """
    # scaled by a power of two, so that the unit of the features does not change the rounding
    unit = 2.0 ** int(np.frexp(np.abs(W).max(initial=0.0))[1])
    V = W / unit
    curvature = unit**2 * float(np.linalg.norm(V.T @ V, 2))
    return eta_sup if eta_sup * curvature < 2.0 else 1.0 / curvature


def _row_scores(X: Any, nodes: np.ndarray, W: np.ndarray) -> np.ndarray:
    rows = take_rows(X, nodes)
    return np.asarray(multiply(rows, W.astype(X.dtype)))


def _hold_out(codes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Hide the labels of a tenth of each class, rounded down."""
    held = codes.copy()
    for code in range(codes.max() + 1):
        members = np.flatnonzero(codes == code)
        held[rng.choice(members, size=int(_HELD_FRACTION * len(members)), replace=False)] = UNLABELLED
    return held


def _warn_unless_learnt(Z: np.ndarray, codes: np.ndarray, d: int) -> None:
    """Warn if scores miss many of the labels that they were fitted to; W can fit any d labels."""
    m, right = len(codes), int((Z.argmax(axis=1) == codes).sum())
    counts = np.bincount(codes)
    if len(counts) > 1 and (right <= counts.max() or (m <= d and right < _LEARNT_FRACTION * m)):
        warn_user(
            f"OGC has learnt only {right} of its {m} labels: scale X to rows that sum to one "
            "(data.normalized()), give more labels, or use EmbeddingClassifier(GGCM()).",
            ConvergenceWarning,
        )
