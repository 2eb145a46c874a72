"""CorrectAndSmooth: a predictor without a graph, followed by two propagations (Huang et al., 2021)."""

from typing import Any, Self

import numpy as np
from scipy.sparse import csr_array, diags_array
from sklearn.base import clone

from gssl.graph import reached_nodes
from gssl.graph.mapped import nonzero_rows
from gssl.methods.base import GraphClassifier
from gssl.methods.heads import LogisticHead
from gssl.methods.inputs import MOST_HOPS, FittedParameters, check_number
from gssl.methods.iteration import iterate, last
from gssl.methods.labels import UNLABELLED, nearest_distribution, one_hot, rows_to_distributions
from gssl.methods.neighbourhood import EVERY, Nodes
from gssl.methods.state import replaces_state
from gssl.methods.stored import Stored
from gssl.operators import multiply


class CorrectAndSmooth(FittedParameters, GraphClassifier):
    r"""Predict from features alone, propagate the errors at labelled nodes, then propagate the predictions.

    With :math:`S = D^{-1/2} A D^{-1/2}`, Z the distributions of a base predictor and E = Y − Z at labelled
    nodes and 0 elsewhere, *correct* spreads the errors and adds them,

    .. math:: E^{(t+1)} = (1 - \alpha_1) E + \alpha_1 S E^{(t)}, \qquad
              Z_i \leftarrow Z_i + \sigma E^{(K)}_i / \|E^{(K)}_i\|_1

    where σ is the mean of :math:`\|E_i\|_1` over labelled nodes (autoscale). If ``scale`` is a number s
    (FDiff-scale), errors at labelled nodes stay fixed, all other nodes take the mean of their neighbours,
    :math:`E^{(t+1)} = D^{-1} A E^{(t)}`, and :math:`s E^{(K)}` is added. Rows are then projected onto the
    simplex. *Smooth* starts from G, which is Y at labelled nodes and the corrected Z elsewhere:

    .. math:: G^{(t+1)} = (1 - \alpha_2) G + \alpha_2 S G^{(t)}

    Parameters
    ----------
    base : classifier with ``predict_proba``, optional
        Fitted to labelled rows of X; ``LogisticHead()`` if None.
    scale : "auto" or float, default=1.0
        Autoscale, or the s of FDiff-scale; 0 leaves the predictions uncorrected.
    alpha_correct : float, default=0.9
        α₁, the fraction of the errors that comes from the neighbours; not used by FDiff-scale.
    alpha_smooth : float, default=0.9
        α₂, the fraction of the predictions that comes from the neighbours.
    depth : int, default=50
        K, the number of steps in each propagation.

    Attributes
    ----------
    base_ : the fitted base
    transduction_ : ndarray of shape (n,)
        A class for every node; given labels may change.
    label_distributions_ : ndarray of shape (n, c)
    reached_ : bool ndarray of shape (n,)
        Whether a label is in the node's component.
    n_iter_ : int
    classes_ : ndarray of shape (c,)
    n_features_in_ : int

    Examples
    --------
    >>> import gssl
    >>> data = gssl.datasets.load("karate")
    >>> y = data.mask_labels("default")
    >>> model = gssl.CorrectAndSmooth().fit(data.features, y, adjacency=data.adjacency)
    >>> float((model.transduction_ == data.labels).mean()) > 0.9
    True
    """

    knows_nodes = True
    _stored = (Stored("base_", "model"),)

    def __init__(
        self,
        base: Any = None,
        scale: Any = 1.0,
        alpha_correct: float = 0.9,
        alpha_smooth: float = 0.9,
        depth: int = 50,
    ) -> None:
        self.base = base
        self.scale = scale
        self.alpha_correct = alpha_correct
        self.alpha_smooth = alpha_smooth
        self.depth = depth

    @replaces_state
    def fit(self, X: Any, y: Any = None, *, adjacency: Any = None) -> Self:
        """Fit the base, correct and smooth.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d)
        y : array-like of shape (n,)
            Labels; −1, None or NaN where there is none.
        adjacency : array-like or sparse matrix of shape (n, n), optional
            Built from the nearest neighbours in X if None.

        Returns
        -------
        self
        """
        self._check_parameters()
        base = LogisticHead() if self.base is None else self.base
        X, A, codes = self._start(X, y, adjacency)
        labelled = np.flatnonzero(codes != UNLABELLED)
        self.base_ = clone(base).fit(X[labelled], codes[labelled])
        self.n_iter_ = self.depth
        self._keep_parameters()
        return self._finish(*self._propagate(X, A, codes))

    def _check_parameters(self) -> None:
        if not isinstance(self.scale, str) or self.scale != "auto":
            check_number(self, "scale", low=0.0)
        for name in ("alpha_correct", "alpha_smooth"):
            check_number(self, name, low=0.0, high=1.0)
        check_number(self, "depth", low=1, high=MOST_HOPS, whole=True)
        base = self.base
        if base is not None and (isinstance(base, type) or not hasattr(base, "predict_proba")):
            raise ValueError(f"base must be a classifier with predict_proba, not {base!r}.")

    def _propagate(self, X: Any, A: csr_array, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return distributions, and a mask of the informed nodes."""
        labelled = np.flatnonzero(codes != UNLABELLED)
        Y = one_hot(codes[labelled], len(self.classes_), np.float64)
        # in double precision: errors are small far from labels, and their proportions matter
        G = np.asarray(self.base_.predict_proba(X), dtype=np.float64)
        A = A.astype(np.float64)
        degree = A.sum(axis=1)
        # degrees divided by powers of four, because the inverse of a tiny degree would be infinite
        half = (np.frexp(degree)[1] + 1) // 2
        degree = np.ldexp(degree, -2 * half)
        inverse = np.divide(1.0, degree, out=np.zeros_like(degree), where=degree > 0)
        root = diags_array(np.sqrt(inverse))
        own, other = np.repeat(half, np.diff(A.indptr)), half[A.indices]
        S = csr_array(root @ _scaled(A, -own - other) @ root)
        if self.scale == "auto":
            G += self._autoscaled(S, labelled, Y - G[labelled], len(codes))
        elif self.scale > 0:
            mean = csr_array(diags_array(inverse) @ _scaled(A, -2 * own))
            G += self.scale * self._kept(mean, labelled, Y - G[labelled], len(codes))
        G = nearest_distribution(G)
        G[labelled] = Y
        P = rows_to_distributions(self._spread(S, G, self.alpha_smooth))
        informed = nonzero_rows(X)
        informed[labelled] = True
        return P.astype(X.dtype), informed if informed.all() else reached_nodes(A, informed, checked=True)

    def _spread(self, S: csr_array, G: np.ndarray, alpha: float) -> np.ndarray:
        """Take K steps of F ← (1 − α)G + αSF from F = G."""
        kept = (1.0 - alpha) * G
        return last(iterate(lambda F, k: kept + alpha * multiply(S, F), G, range(self.depth)))

    def _autoscaled(self, S: csr_array, labelled: np.ndarray, errors: np.ndarray, n: int) -> np.ndarray:
        """Spread errors, and scale all rows to the mean size of the errors at labelled nodes."""
        E = np.zeros((n, errors.shape[1]))
        E[labelled] = errors
        E = self._spread(S, E, self.alpha_correct)
        size = np.abs(E).sum(axis=1, keepdims=True)
        mean_size = np.abs(errors).sum() / len(errors)
        # rows that no error has reached stay zero
        return np.asarray(mean_size * np.divide(E, size, out=np.zeros_like(E), where=size > 0))

    def _kept(self, mean: csr_array, labelled: np.ndarray, errors: np.ndarray, n: int) -> np.ndarray:
        """Replace the errors of unlabelled nodes by the mean over their neighbours, K times."""
        E = np.zeros((n, errors.shape[1]))
        E[labelled] = errors

        def step(E: np.ndarray, k: int) -> np.ndarray:
            E = multiply(mean, E)
            E[labelled] = errors
            return E

        return last(iterate(step, E, range(self.depth)))

    def propagated_columns(self, X: Any, A: csr_array, n_labelled: int, n_classes: int) -> int:
        """Return two columns per class: errors and distributions."""
        return 2 * n_classes

    def _score_graph(self, X: Any, A: csr_array, nodes: Nodes = EVERY) -> tuple[np.ndarray, np.ndarray]:
        """Propagate over a graph whose first nodes are those of fit, with their labels."""
        P, informed = self._as_fitted()._propagate(X, A, self._grown_codes(A.shape[0]))
        return P[nodes], informed[nodes]


def _scaled(A: csr_array, exponents: np.ndarray) -> csr_array:
    """Multiply every stored weight by a power of two."""
    return csr_array((np.ldexp(A.data, exponents), A.indices, A.indptr), shape=A.shape)
