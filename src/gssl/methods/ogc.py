"""OGC: optimized graph convolution, guided by labels (Alg. 1)."""

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from scipy.sparse import csr_array

from gssl.graph import reached_nodes
from gssl.methods.anchors import GuidingLabels
from gssl.methods.inputs import check_number, feature_scale, generator
from gssl.methods.label_space import LabelSpaceEmbedding, label_space_pays
from gssl.methods.neighbourhood import featured_nodes
from gssl.methods.ogc_history import Steps
from gssl.methods.ogc_prediction import OGCPrediction
from gssl.methods.priors import prior_shares
from gssl.methods.state import replaces_state
from gssl.methods.step_sizes import bounded_step, descending_step, scaled_steps
from gssl.methods.stored import COEF, Stored, transient
from gssl.operators import (
    Embedding,
    Filters,
    Loss,
    Pull,
    classification_loss,
    normalized_adjacency,
    residual,
    small_algebra,
    supervised_embedding,
)
from gssl.scale.execution import Execution, FinishedStep, current_execution
from gssl.scale.progress import report_progress


@dataclass(frozen=True)
class _State:
    """U, W and Z = UW after an iteration; the next product with U may overwrite Z."""

    U: Embedding
    W: np.ndarray
    Z: np.ndarray
    # step size of W, which may have been halved, and that of U in the first iteration
    eta_w: float
    eta_sup: float
    # classes of the watched nodes, and the fraction of them that the iteration did not change
    predicted: np.ndarray
    agreement: float = 0.0
    loss: float = np.inf

    @property
    def facts(self) -> dict[str, float]:
        """What a checkpoint stores besides W and the pull."""
        return {"eta_w": self.eta_w, "agreement": self.agreement, "loss": self.loss}


class OGC(OGCPrediction):
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
    _stored = (
        COEF,
        # computed on first use; models of earlier versions lack them and cannot predict
        Stored("_anchored", "bool", ("n",), optional=True),
        Stored("_anchor_scores", "float", ("k", "a", "c"), optional=True),
        Stored("_unseen_coef", "float", ("d", "c"), optional=True),
        *transient("_steps", "_replayed", "_smoothing"),
    )

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
    def fit(self, X: Any, y: Any = None, *, adjacency: Any = None, anchors: Any = None) -> Self:
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
        X, A, codes = self._start(X, y, adjacency)
        return self._learn(X, A, codes, anchors, execution)

    def _learn(self, X: Any, A: csr_array, codes: np.ndarray, anchors: Any, execution: Execution) -> Self:
        """Run Algorithm 1 on checked inputs, and predict every node."""
        self._forget()
        priors = prior_shares(self.priors, self.classes_, codes)
        rng, A_hat = generator(self.random_state), normalized_adjacency(A, X.dtype)
        labels = GuidingLabels.choose(codes, len(self.classes_), anchors, rng, X.dtype)
        checkpoint = execution.checkpoint(X, A_hat, labels.nodes, labels.Y, labels.anchors)
        self._steps = Steps(A_hat, self.beta)
        state = self._begin(X, labels, rng, checkpoint.past, execution)
        with small_algebra() if isinstance(state.U, LabelSpaceEmbedding) else nullcontext():
            for k in range(len(self._steps.pulls) + 1, self.max_iter + 1):
                if self._settled():
                    break
                state, pull = self._step(k, state, labels)
                self._steps.record(pull, state.facts)
                checkpoint.finish(FinishedStep(pull.R, state.W, state.facts))
                report_progress(k, self.max_iter)
        Z, self.coef_, self.n_iter_ = state.Z, state.W, len(self._steps.pulls)
        del state  # to free U
        labels.warn_unless_learnt(Z, X.shape[1])
        informed = featured_nodes(A, X)
        if not informed.all():
            informed = informed | reached_nodes(A, labels.anchors, checked=True)
        self._keep_parameters()
        return self._finish(self._distributions(Z), informed, priors)

    def _begin(
        self,
        X: Any,
        labels: GuidingLabels,
        rng: np.random.Generator,
        past: Sequence[FinishedStep],
        execution: Execution,
    ) -> _State:
        """Start from U = X and a random W, and repeat the iterations of a stopped run."""
        scale, d, c = feature_scale(X), X.shape[1], len(self.classes_)
        bound = 1.0 / (np.sqrt(d) * scale)
        W = rng.uniform(-bound, bound, size=(d, c)).astype(X.dtype)
        eta_w, eta_sup = scaled_steps(self.eta_w, self.eta_sup, scale, self.loss)
        filters = execution.place(Filters(self._steps.A_hat))
        U: Embedding
        if self.propagated_columns(X, self._fit_inputs.A, len(labels.nodes), c) < d:
            U = LabelSpaceEmbedding(X, filters, self.beta)
        else:
            U = execution.embedding(X, filters, labels.nodes)
        for step in past:
            pull = Pull(labels.anchors, step.pull, step.W)
            U, W, eta_w = U.step(self.beta, pull), step.W, step.facts["eta_w"]
            self._steps.record(pull, step.facts)
        Z = U @ W
        return _State(U, W, Z, eta_w, eta_sup, Z.argmax(axis=1)[labels.watched])

    def _step(self, k: int, state: _State, labels: GuidingLabels) -> tuple[_State, Pull]:
        """Take iteration k: W first, then U from the old U and the new W, as in the authors' scripts."""
        L, Y, at_anchors = labels.nodes, labels.Y, labels.anchored
        W, Z_L, eta_w = descending_step(state.U.rows(L), state.W, state.Z[L], Y, state.eta_w, self.loss)
        R = residual(Z_L[at_anchors], Y[at_anchors], self.loss)
        eta_sup = bounded_step(state.eta_sup * self.decay ** (k - 1), W)
        pull = supervised_embedding(R, W, eta_sup, labels.anchors)
        U = state.U.step(self.beta, pull)
        Z = U @ W
        predicted = Z.argmax(axis=1)[labels.watched]
        agreement = float((predicted == state.predicted).mean())
        loss = classification_loss(Z[L], Y, self.loss)
        return _State(U, W, Z, eta_w, state.eta_sup, predicted, agreement, loss), pull

    def _settled(self) -> bool:
        """Return whether more than ``patience`` iterations have agreed with the one before."""
        return sum(share > self.agreement for share in self._steps.agreement) > self.patience

    @replaces_state
    def update_labels(self, y: Any) -> Self:
        """Fit to other labels of the same nodes; the result is that of a new fit without ``anchors``.

        Features and graph are not checked again, and a graph of nearest neighbours is not rebuilt. Labels may
        be added, removed or of new classes.

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
        self._check_parameters()
        codes, inputs = self._restart(y), self._kept_inputs()
        return self._learn(inputs.X, inputs.A, codes, None, current_execution(self, resumes=False))

    def _check_parameters(self) -> None:
        if self.loss not in ("squared", "cross_entropy"):
            raise ValueError(f'OGC: loss must be "squared" or "cross_entropy", not {self.loss!r}.')
        for name in ("beta", "decay", "agreement"):
            check_number(self, name, low=0.0, high=1.0)
        for name in ("eta_sup", "eta_w"):
            check_number(self, name, low=0.0)
        check_number(self, "max_iter", low=1, whole=True)
        check_number(self, "patience", low=0, whole=True)

    def propagated_columns(self, X: Any, A: csr_array, n_labelled: int, n_classes: int) -> int:
        """Return one column per class in label space, otherwise one per feature."""
        pays = label_space_pays(X, A.nnz, n_classes, self.beta, self.max_iter)
        return n_classes if pays else int(X.shape[1])
