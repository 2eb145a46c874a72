"""OGC: optimized graph convolution, guided by labels (Alg. 1)."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.sparse import csr_array

from gssl.graph import reached_nodes
from gssl.methods._base import GraphClassifier, featured_nodes, iterate, last
from gssl.methods._distributions import nearest_distribution, one_hot
from gssl.methods._inputs import check_number, dense, generator
from gssl.methods._labels import UNLABELLED
from gssl.methods._selection import choose_anchors
from gssl.operators import (
    Loss,
    classification_loss,
    lazy_convolution,
    linear_step,
    normalized_adjacency,
    smoothing_loss,
    soft_labels,
    supervised_embedding,
)


@dataclass(frozen=True)
class _Problem:
    """What stays the same over the iterations: graph, labels and where they are."""

    A_hat: csr_array
    labelled: np.ndarray
    Y: np.ndarray
    anchors: np.ndarray
    Y_anchors: np.ndarray
    watched: np.ndarray
    eta_sup: float


@dataclass(frozen=True)
class _State:
    """What changes: embeddings, predictor, and how often the predictions have stood still."""

    U: np.ndarray
    W: np.ndarray
    eta_w: float
    chosen: np.ndarray
    agreement: float = 0.0
    calm: int = 0
    settled: bool = False


# a step this often halved is no step
_HALVINGS = 60


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
    history_ : dict of ndarray of shape (n_iter_,)
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
        X, A, codes = self._start(X, y, adjacency)
        rng = generator(self.random_state)
        scale = _feature_scale(X)
        problem = self._problem(X, A, codes, choose_anchors(anchors, codes, rng), scale)
        bound = 1.0 / (np.sqrt(X.shape[1]) * scale)
        W = rng.uniform(-bound, bound, size=(X.shape[1], len(self.classes_))).astype(X.dtype)
        U = dense(X)
        eta_w = self._gain() * self.eta_w / scale**2
        state = _State(U, W, eta_w, (U[problem.watched] @ W).argmax(axis=1))

        records = []
        states = iterate(lambda state, k: self._step(problem, state, k), state, self.max_iter)
        for state in states:
            records.append(self._losses(problem, state))
        self.embedding_, self.coef_, self.n_iter_ = state.U, state.W, len(records)
        self.history_ = {name: np.array([record[name] for record in records]) for name in records[0]}
        informed = featured_nodes(A, X) | reached_nodes(A, problem.anchors)
        return self._finish(self._distributions(state.U), informed, A)

    def _check_parameters(self) -> None:
        if self.loss not in ("squared", "cross_entropy"):
            raise ValueError(f'OGC: loss must be "squared" or "cross_entropy", not {self.loss!r}.')
        for name in ("beta", "decay", "tol"):
            check_number(self, name, low=0.0, high=1.0)
        for name in ("eta_sup", "eta_w"):
            check_number(self, name, low=0.0)
        check_number(self, "max_iter", low=1, whole=True)
        check_number(self, "patience", low=0, whole=True)

    def _problem(
        self, X: Any, A: csr_array, codes: np.ndarray, anchors: np.ndarray, scale: float
    ) -> _Problem:
        labelled = np.flatnonzero(codes != UNLABELLED)
        unlabelled = np.flatnonzero(codes == UNLABELLED)
        Y = one_hot(codes[labelled], len(self.classes_), X.dtype)
        return _Problem(
            A_hat=normalized_adjacency(A).astype(X.dtype),
            labelled=labelled,
            Y=Y,
            anchors=anchors,
            Y_anchors=Y[np.searchsorted(labelled, anchors)],
            # where every node has a label, their own predictions tell when to stop
            watched=unlabelled if len(unlabelled) else labelled,
            eta_sup=self._gain() * self.eta_sup * scale**2,
        )

    def _step(self, problem: _Problem, state: _State, k: int) -> _State:
        """Do one W step, then move U by its old value and the new W (the order of the authors' scripts)."""
        U = state.U
        W, eta_w = self._predictor_step(U[problem.labelled], state.W, problem.Y, state.eta_w)
        eta_sup = problem.eta_sup * self.decay ** (k - 1)
        pull = supervised_embedding(U[problem.anchors], W, problem.Y_anchors, eta_sup, self.loss)
        U = lazy_convolution(problem.A_hat, U, self.beta)
        U[problem.anchors] += pull

        chosen = (U[problem.watched] @ W).argmax(axis=1)
        agreement = float((chosen == state.chosen).mean())
        calm = state.calm + (agreement > self.tol)
        return _State(U, W, eta_w, chosen, agreement, calm, settled=calm > self.patience)

    def _predictor_step(
        self, U: np.ndarray, W: np.ndarray, Y: np.ndarray, eta_w: float
    ) -> tuple[np.ndarray, float]:
        """Step W downhill; give it with the step length that did not overshoot."""
        # rounding at the optimum is no overshoot
        limit = classification_loss(U, W, Y, self.loss) * (1.0 + 1e-6)
        for _ in range(_HALVINGS):
            W_next = linear_step(U, W, Y, eta_w, self.loss)
            if classification_loss(U, W_next, Y, self.loss) <= limit:
                return W_next, eta_w
            eta_w /= 2.0
        return W, eta_w

    def _gain(self) -> float:
        """Give the factor of the published squared loss, a sum without the appendix's ½."""
        return 2.0 if self.loss == "squared" else 1.0

    def _losses(self, problem: _Problem, state: _State) -> dict[str, float]:
        return {
            "classification_loss": classification_loss(
                state.U[problem.labelled], state.W, problem.Y, self.loss
            ),
            "smoothing_loss": smoothing_loss(problem.A_hat, state.U),
            "agreement": state.agreement,
        }

    def _distributions(self, U: np.ndarray) -> np.ndarray:
        Z = soft_labels(U, self.coef_, self.loss)
        return nearest_distribution(Z) if self.loss == "squared" else Z

    def _score_graph(self, X: Any, A: csr_array) -> tuple[np.ndarray, np.ndarray]:
        """Smooth the new graph as often as in fit; it has no labels that could guide the embeddings."""
        A_hat = normalized_adjacency(A).astype(X.dtype)
        smooth = iterate(lambda U, k: lazy_convolution(A_hat, U, self.beta), dense(X), self.n_iter_)
        return self._distributions(last(smooth)), featured_nodes(A, X)


def _feature_scale(X: Any) -> float:
    """Give the mean absolute row sum of the rows that have any feature."""
    sums = abs(X).sum(axis=1)
    if not sums.any():
        return 1.0
    scale = float(sums[sums > 0].mean(dtype=np.float64))
    limits = np.finfo(X.dtype)
    if not np.sqrt(limits.tiny * X.shape[1]) < scale < np.sqrt(limits.max / X.shape[0]):
        raise ValueError(
            f"OGC: features of the size {scale:.1e} leave the range of {X.dtype} when squared: scale X, for "
            "instance to rows that sum to one."
        )
    return scale
