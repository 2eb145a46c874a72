"""OGC: optimized graph convolution, guided by labels (Alg. 1)."""

from contextlib import nullcontext
from functools import cached_property
from typing import Any, Self

import numpy as np
from scipy.sparse import csr_array, issparse

from gssl.graph import reached_nodes
from gssl.graph.mapped import take_rows
from gssl.methods._base import iterate, last
from gssl.methods._classifier import GraphClassifier, featured_nodes
from gssl.methods._distributions import nearest_distribution, one_hot
from gssl.methods._execution import BUFFERS, check_backend, choose_execution, holding, open_journal
from gssl.methods._feature_scale import feature_scale
from gssl.methods._guided import GuidedEmbedding, LabelSpaceEmbedding, lazy_powers
from gssl.methods._inputs import check_number, generator
from gssl.methods._known_rows import KnownRows
from gssl.methods._labels import UNLABELLED
from gssl.methods._ogc_iteration import Iteration, Problem, State
from gssl.methods._ogc_replay import Replay
from gssl.methods._selection import choose_anchors
from gssl.operators import (
    Filters,
    Loss,
    Mixture,
    NormalizedAdjacency,
    mix,
    multiply,
    normalized_adjacency,
    residual,
    small_algebra,
    soft_labels,
)

# an iteration that has not stopped by then is beyond what label space is good for
_LONG = 64
# labelled rows are kept for new labels if they are no more than this part of all
_KEPT = 0.1


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
    tol : float, default=0.995
        Two iterations agree if more than this part of the unlabelled nodes keep their class.
    patience : int, default=2
        The iteration stops after more than this many agreements.
    random_state : int, Generator, RandomState or None, default=None
        Draws the first W, uniform in ±1/√d, and the anchors where they are a fraction.
    priors : None, "labels", "uniform", dict or array-like of shape (c,), default=None
        The shares of the classes among the nodes that are predicted, if not those among the labels: the
        distributions, not the iteration, are corrected by the ratio of the two.
    backend : {"numba", "torch"}, default="numba"
        What passes over the graph; "torch" needs ``pip install gssl[torch]`` and gives the same numbers, up
        to rounding.
    device : str or torch.device, optional
        Where torch computes; a GPU if there is one, else the CPU, if None.

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

    def __init__(
        self,
        beta: float = 0.1,
        eta_sup: float = 1e-3,
        eta_w: float = 0.5,
        decay: float = 0.9,
        loss: Loss = "squared",
        max_iter: int = 64,
        tol: float = 0.995,
        patience: int = 2,
        random_state: Any = None,
        priors: Any = None,
        backend: str = "numba",
        device: Any = None,
    ) -> None:
        self.beta = beta
        self.eta_sup = eta_sup
        self.eta_w = eta_w
        self.decay = decay
        self.loss = loss
        self.max_iter = max_iter
        self.tol = tol
        self.patience = patience
        self.random_state = random_state
        self.priors = priors
        self.backend = backend
        self.device = device

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        adjacency: Any = None,
        anchors: Any = None,
        memory_budget: Any = None,
        client: Any = None,
        resume: Any = None,
    ) -> Self:
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
        memory_budget : number or str, optional
            How much memory the fit may take beside what is there already, such as ``"4GB"``: columns pass
            through it in slabs, and what does not fit stays on disk (see docs/scale.md).
        client : dask.distributed.Client, optional
            A cluster whose workers share the columns.
        resume : path, optional
            A folder that keeps finished work, so that a run that was stopped goes on where it was.

        Returns
        -------
        self
        """
        self._check_parameters()
        execution = choose_execution(self, memory_budget=memory_budget, client=client, resume=resume)
        for name in ("_replayed", "_smoothing"):
            self.__dict__.pop(name, None)  # of an earlier fit, and made again where that is asked for
        with self._unless_refused():
            return self._learn(*self._start(X, y, adjacency, execution), anchors)

    def _learn(self, X: Any, A: csr_array, codes: np.ndarray, anchors: Any) -> Self:
        """Fit embeddings and predictor to inputs that are checked."""
        rng = generator(self.random_state)
        scale = feature_scale(X)
        anchors_ = choose_anchors(anchors, codes, rng)
        problem = self._problem(codes, anchors_, X.dtype, scale)
        informed = featured_nodes(A, X)
        if not informed.all():
            informed = informed | reached_nodes(A, anchors_, checked=True)
        A_hat = normalized_adjacency(A, X.dtype)
        bound = 1.0 / (np.sqrt(X.shape[1]) * scale)
        W = rng.uniform(-bound, bound, size=(X.shape[1], len(self.classes_))).astype(X.dtype)
        known = KnownRows(np.empty(0, dtype=np.int64), np.empty((0, X.shape[1]), X.dtype))
        self._fit = Replay(A_hat, Mixture.lazy(self.beta), anchors_, known)
        state = self._run(problem, W, self._rules.gain * self.eta_w / scale**2)
        self.coef_, self.n_iter_ = state.W, len(self._fit.pulls)
        return self._finish(self._distributions(state.scores), informed)

    def _run(self, problem: Problem, W: np.ndarray, eta_w: float) -> State:
        """Iterate from the predictor W on; the embeddings and their memory end with it."""
        X, A_hat, execution = self._fit_inputs.X, self._fit.A_hat, self._fit_inputs.execution
        factored = self._label_space_pays(X, len(A_hat.indices), len(self.classes_))
        filters = execution.filters(Filters(A_hat))
        form: Any = LabelSpaceEmbedding if factored else execution.guided
        embedding: GuidedEmbedding = form(X, filters, self.beta, problem.labelled, problem.anchors)
        journal = open_journal(execution, X, A_hat, problem.labelled, problem.Y, problem.anchors)
        scores = embedding.start(W)
        for step in journal.past:
            self._fit.note(step)
        if journal.past:
            scores = journal.scores()
            embedding.resume(self._fit.pulls, scores)
        rules = self._rules
        state = rules.first(problem, W, eta_w, scores, journal.past)
        ks = range(self.max_iter + 1 if state.settled else len(journal.past) + 1, self.max_iter + 1)
        steps = iterate(lambda state, k: rules.step(problem, embedding, state, k), state, ks)
        with small_algebra() if factored else nullcontext():
            for state in steps:
                step = rules.finished(problem, state)
                self._fit.note(step)
                journal.finish(step, state.scores)
        if not factored and len(problem.labelled) <= _KEPT * len(state.scores):
            self._fit.known.of(problem.labelled, embedding.rows)
        return state

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
        with self._unless_refused():
            return self._relearn(self._restart(y))

    def _relearn(self, codes: np.ndarray) -> Self:
        """Fit the predictor alone to labels."""
        X = self._fit_inputs.X
        labelled = np.flatnonzero(codes != UNLABELLED)
        Y = one_hot(codes[labelled], len(self.classes_), X.dtype)
        rows, scores = self._products(len(self._fit.known.missing(labelled)))
        U_L = self._fit.known.of(labelled, rows)
        W, Z = np.zeros((U_L.shape[1], Y.shape[1]), U_L.dtype), np.zeros_like(Y)
        eta_w = self._rules.gain * self.eta_w / feature_scale(X) ** 2
        for _ in range(self.n_iter_):
            G = U_L.T @ residual(Z, Y, self.loss)
            eta_w, Z = self._rules.downhill(Z, U_L @ G, Y, eta_w)
            W -= eta_w * G
        self.coef_ = W
        return self._finish(self._distributions(scores(W)), self.informed_)

    def _products(self, n_rows: int) -> tuple[Any, Any]:
        """Give functions for rows of U and for UW: by its factors, unless U itself is there or cheaper."""
        X, fit = self._fit_inputs.X, self._fit
        # the embeddings are those of fit, whatever parameters have been set since
        filters = self._fit_inputs.execution.filters(Filters(fit.A_hat))
        factors = LabelSpaceEmbedding(X, filters, fit.lazy.smooth, fit.anchors, fit.anchors)
        factors.resume(fit.pulls)
        columns = n_rows + len(self.classes_)
        if "_replayed" in self.__dict__ or factors.n_hops * columns > self.n_iter_ * X.shape[1]:
            return lambda nodes: take_rows(self.embedding_, nodes), lambda W: self.embedding_ @ W
        return factors.rows, factors.scores

    @property
    def embedding_(self) -> np.ndarray:
        """U after the last iteration."""
        return np.asarray(self._replayed)

    @property
    def history_(self) -> dict[str, np.ndarray]:
        """Losses and agreement after each iteration."""
        return {
            "classification_loss": np.array(self._fit.loss),
            "smoothing_loss": self._smoothing,
            "agreement": np.array(self._fit.agreement),
        }

    @cached_property
    def _replayed(self) -> np.ndarray:
        """The embeddings, which predictions do not need and fit leaves out."""
        inputs, fit = self._kept_inputs(), self._fit
        filters = Filters(fit.A_hat)
        # X, the embeddings before a step, and those after it
        task = holding(3, lambda X, *more: last(fit.replay(X, *more)), "embedding", *fit.identity)
        return inputs.execution.run(task, inputs.X, lambda k: filters)

    @cached_property
    def _smoothing(self) -> np.ndarray:
        """The smoothing loss of the embeddings after each iteration."""
        inputs, fit = self._kept_inputs(), self._fit
        filters = Filters(fit.A_hat)
        task = holding(BUFFERS, lambda X, *more: fit.smoothing_losses(X, *more), "smoothing", *fit.identity)
        by_column = inputs.execution.run(task, inputs.X, lambda k: filters)
        return np.asarray(by_column.sum(axis=1, dtype=np.float64))

    @property
    def _rules(self) -> Iteration:
        return Iteration(self.loss, self.decay, self.tol, self.patience)

    def _check_parameters(self) -> None:
        if self.loss not in ("squared", "cross_entropy"):
            raise ValueError(f'OGC: loss must be "squared" or "cross_entropy", not {self.loss!r}.')
        check_backend(self)
        for name in ("beta", "decay", "tol"):
            check_number(self, name, low=0.0, high=1.0)
        for name in ("eta_sup", "eta_w"):
            check_number(self, name, low=0.0)
        check_number(self, "max_iter", low=1, whole=True)
        check_number(self, "patience", low=0, whole=True)

    def _problem(self, codes: np.ndarray, anchors: np.ndarray, dtype: Any, scale: float) -> Problem:
        labelled = np.flatnonzero(codes != UNLABELLED)
        unlabelled = np.flatnonzero(codes == UNLABELLED)
        return Problem(
            labelled=labelled,
            Y=one_hot(codes[labelled], len(self.classes_), dtype),
            anchors=anchors,
            anchored=np.searchsorted(labelled, anchors),
            # where every node has a label, their own predictions tell when to stop
            watched=unlabelled if len(unlabelled) else labelled,
            eta_sup=self._rules.gain * self.eta_sup * scale**2,
        )

    def _columns(self, X: Any, A: csr_array, n_labelled: int, n_classes: int) -> int:
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
        filters, lazy = choose_execution(self).filters(Filters(A_hat)), Mixture.lazy(self.beta)
        # smoothing acts on rows and W on columns: scores may be smoothed instead of embeddings
        scores = multiply(X, self.coef_.astype(X.dtype))
        scores = last(iterate(lambda Z, k: mix(filters, Z, lazy), scores, range(self.n_iter_)))
        return self._distributions(scores)
