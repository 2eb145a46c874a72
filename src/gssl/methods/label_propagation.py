"""LabelPropagation: harmonic functions on a graph (Zhu et al., 2003)."""

import warnings
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.sparse import csr_array, diags_array
from sklearn.exceptions import ConvergenceWarning

from gssl.methods._base import GraphClassifier, iterate, last
from gssl.methods._distributions import one_hot, rows_to_distributions
from gssl.methods._labels import UNLABELLED


@dataclass(frozen=True)
class _State:
    F: np.ndarray
    settled: bool = False


class LabelPropagation(GraphClassifier):
    r"""Give every node the mean label distribution of its neighbours; given labels stay.

    .. math:: F \leftarrow D^{-1} A F, \qquad F_L \leftarrow Y_L

    Features are used only to build a graph where none is given.

    Parameters
    ----------
    max_iter : int, default=1000
    tol : float, default=1e-4
        The iteration stops when no entry of F moves by more.

    Attributes
    ----------
    transduction_ : ndarray of shape (n,)
        A class for every node.
    label_distributions_ : ndarray of shape (n, c)
    reached_ : bool ndarray of shape (n,)
        Whether a label is in the node's component. Where it is not, the distribution is uniform.
    n_iter_ : int
    classes_ : ndarray of shape (c,)
    n_features_in_ : int

    Examples
    --------
    >>> import gssl
    >>> data = gssl.datasets.load("karate")
    >>> y = data.mask_labels("default")
    >>> model = gssl.LabelPropagation().fit(data.features, y, adjacency=data.adjacency)
    >>> float((model.transduction_ == data.labels).mean()) > 0.9
    True
    """

    _uses_features = False

    def __init__(self, max_iter: int = 1000, tol: float = 1e-4) -> None:
        self.max_iter = max_iter
        self.tol = tol

    def fit(self, X: Any, y: Any, *, adjacency: Any = None) -> Self:
        """Propagate the labels over the graph.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d), or None
            Only used where there is no graph, and may be None where there is one.
        y : array-like of shape (n,)
            Labels; −1, None or NaN where there is none.
        adjacency : array-like or sparse matrix of shape (n, n), optional
            Built from the nearest neighbours in X if None.

        Returns
        -------
        self
        """
        X, A, codes = self._start(X, y, adjacency)
        F, self.n_iter_ = self._propagate(A, codes)
        return self._finish(F, A, X)

    def _propagate(self, A: csr_array, codes: np.ndarray) -> tuple[np.ndarray, int]:
        """Iterate to the fixed point; give it as distributions, with the number of iterations."""
        Y = np.zeros((len(codes), len(self.classes_)), dtype=A.dtype)
        labelled = np.flatnonzero(codes != UNLABELLED)
        Y[labelled] = one_hot(codes[labelled], len(self.classes_), A.dtype)
        update = self._update(A, Y, labelled)

        def step(state: _State, k: int) -> _State:
            F = update(state.F)
            return _State(F, settled=bool(np.abs(F - state.F).max() <= self.tol))

        n_iter, state = last(enumerate(iterate(step, _State(Y), self.max_iter), start=1))
        if not state.settled:
            warnings.warn(
                f"{type(self).__name__} has not settled after {n_iter} iterations: raise max_iter or tol.",
                ConvergenceWarning,
                stacklevel=3,
            )
        return rows_to_distributions(state.F), n_iter

    def _update(self, A: csr_array, Y: np.ndarray, labelled: np.ndarray) -> Any:
        degree = A.sum(axis=1)
        mean = diags_array(np.divide(1.0, degree, out=np.zeros_like(degree), where=degree > 0)) @ A

        def update(F: np.ndarray) -> np.ndarray:
            F = mean @ F
            F[labelled] = Y[labelled]
            return F

        return update

    def _score_graph(self, X: Any, A: csr_array) -> np.ndarray:
        """Propagate the labels of fit over a graph that has grown: its first nodes are those of fit."""
        n_new = A.shape[0] - len(self._fit_codes)
        if n_new < 0:
            raise ValueError(
                f"{type(self).__name__} learns nothing but labels of nodes, so a graph to predict must begin "
                f"with the {len(self._fit_codes)} nodes of fit, but this one has only {A.shape[0]} nodes."
            )
        codes = np.concatenate([self._fit_codes, np.full(n_new, UNLABELLED)])
        return self._propagate(A, codes)[0]
