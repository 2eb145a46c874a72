"""Label propagation: labels spread along links, and given ones stay fixed; features are not used."""

from typing import Any, Self

import numpy as np
from scipy.sparse import csgraph, csr_array, diags_array
from sklearn.exceptions import ConvergenceWarning

from gssl.graph import reached_nodes
from gssl.graph.mapped import mapped_file
from gssl.graph.validate import warn_user
from gssl.methods.base import GraphClassifier
from gssl.methods.elimination import eliminate, thin_order
from gssl.methods.inputs import FittedParameters, check_number
from gssl.methods.labels import UNLABELLED, one_hot, rows_to_distributions
from gssl.methods.neighbourhood import EVERY, Nodes
from gssl.methods.recurrences import FLOOR, conjugate_steps, run_steps, symmetric_filters
from gssl.methods.state import replaces_state
from gssl.operators.convolution import row_sums
from gssl.scale.execution import Checkpoint, Execution, current_execution

# number of random combinations of the classes that, with their sum, determine the conjugate gradient steps
_SKETCHES = 2
# single precision is used if the tolerance is at least this, and the ratio between scores at most this
_SINGLE, _SPAN = 1e-6, 1e6


class LabelPropagation(FittedParameters, GraphClassifier):
    r"""Assign to every node the mean label distribution of its neighbours; given labels stay fixed.

    .. math:: F_U = (D_{UU} - A_{UU})^{-1} A_{UL} Y_L

    is the only function with :math:`F = D^{-1} A F` on unlabelled nodes. Conjugate gradients need far fewer
    steps to compute it than passing labels along one edge at a time. On graphs in which a label has far to go
    and elimination stays sparse, such as a long path, it is solved exactly instead. Step sizes are determined
    on a few random combinations of the classes; all classes then take the same steps, each in one pass over
    the graph, in single precision if ``tol`` is at least 1e-6. Features are only used to build a graph if
    none is given.

    Parameters
    ----------
    max_iter : int, default=10000
    tol : float, default=1e-6
        The iteration stops when the residual is at most this fraction of the initial one, and distributions
        sum to one within the square root of ``tol``.
    class_mass : bool, default=True
        Whether to scale classes so that each has the same share among all nodes as among the labels (class
        mass normalisation; Zhu, Ghahramani and Lafferty, 2003, Sect. 4, sum over unlabelled nodes alone):

        .. math:: F_{ic} \leftarrow \frac{q_c}{\sum_j F_{jc}} F_{ic}, \quad i \in U

        With few labels in a large graph the harmonic function is nearly constant, and one class may win at
        all nodes: on Pubmed with 60 labels, accuracy is 72 % with this scaling and 22 % without. False gives
        the harmonic function itself.

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

    uses_features = False
    runs_by_columns = True

    def __init__(self, max_iter: int = 10000, tol: float = 1e-6, class_mass: bool = True) -> None:
        self.max_iter = max_iter
        self.tol = tol
        self.class_mass = class_mass

    @replaces_state
    def fit(self, X: Any, y: Any = None, *, adjacency: Any = None) -> Self:
        """Propagate the labels over the graph.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d), or None
            Only used to build a graph if none is given; may be None otherwise.
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
        X, A, codes = self._start(X, y, adjacency)
        # reached_ is all true if there are no links, but then labels reach labelled nodes only
        reached = self.reached_ if A.nnz else codes != UNLABELLED
        P, self.n_iter_ = self._propagate(X, A, codes, reached, execution)
        self._keep_parameters()
        return self._finish(P, reached.copy())

    def _check_parameters(self) -> None:
        check_number(self, "max_iter", low=1, whole=True)
        check_number(self, "tol", low=0.0)

    def propagated_columns(self, X: Any, A: csr_array, n_labelled: int, n_classes: int) -> int:
        """Return one column per class."""
        return n_classes

    def _propagate(
        self, X: Any, A: csr_array, codes: np.ndarray, reached: np.ndarray, execution: Execution
    ) -> tuple[np.ndarray, int]:
        """Return distributions, and the number of steps."""
        F, n_iter = self._fixed_point(A, codes, reached, execution)
        P = rows_to_distributions(F.astype(X.dtype, copy=False))
        far = np.flatnonzero(reached & (F.max(axis=1) < FLOOR))
        # not if max_iter was too small: there was a warning, and labels may not have spread yet
        if len(far) and n_iter < self.max_iter:
            P[far] = P[nearest_nodes(A, far)]
        return P, n_iter

    def _fixed_point(
        self, A: csr_array, codes: np.ndarray, reached: np.ndarray, execution: Execution
    ) -> tuple[np.ndarray, int]:
        """Return F, and the number of steps."""
        labelled = codes != UNLABELLED
        given = one_hot(codes[labelled], len(self.classes_), np.float64)
        free = np.flatnonzero(reached & ~labelled)
        G, n_iter = np.empty((0, given.shape[1])), 1  # nothing to solve if all nodes have labels
        if len(free):
            G, n_iter = self._solve(A, codes, free, execution)
        if self.class_mass:
            G = normalize_class_mass(G, given)
        F = np.zeros((len(codes), given.shape[1]), G.dtype)
        F[labelled], F[free] = given, G
        return F, n_iter

    def _solve(
        self, A: csr_array, codes: np.ndarray, free: np.ndarray, execution: Execution
    ) -> tuple[np.ndarray, int]:
        """Return the harmonic function F on free nodes: G = D^½ F solves (I − S)G = D^-½ A_UL Y_L.

        On long, thin graphs F itself is found by elimination. Elsewhere, the residual behind weak links is
        small from the start, so convergence is also judged by row sums: those of a harmonic function are one.
        """
        labelled = np.flatnonzero(codes != UNLABELLED)
        rows = A[free].astype(np.float64)
        degrees = row_sums(rows)
        # factor from G to F; degrees are relative to the largest, so that G is at most one
        scale = np.sqrt(degrees.max() / degrees)
        Y = csr_array((np.ones(len(labelled)), (labelled, codes[labelled])), (len(codes), len(self.classes_)))
        pulls, links = csr_array(rows @ Y), csr_array(rows[:, free])
        order = thin_order(links, np.flatnonzero(np.diff(pulls.indptr)))
        near = np.sqrt(max(self.tol, np.finfo(np.float64).eps))
        if order is not None:
            F = eliminate(links, degrees, pulls, order)
            if F is not None and np.abs(F.sum(axis=1) - 1.0).max() <= near:
                return np.clip(F, 0.0, 1.0), 1
        B = csr_array(diags_array(scale / degrees.max()) @ pulls)
        signs = np.random.default_rng(0).choice([-1.0, 1.0], (B.shape[1], _SKETCHES))
        few = np.column_stack([B.sum(axis=1), B @ signs])
        checkpoint = execution.checkpoint(B, links)
        for dtype in precisions(self.tol, checkpoint, scale.max()):
            filters = symmetric_filters(links, dtype, degrees)
            steps, close = conjugate_steps(
                filters,
                few.astype(dtype),
                self.tol,
                self.max_iter,
                lambda G: bool(np.abs(scale * G[:, 0] - 1.0).max() <= near),
            )
            if close or dtype == np.float64:
                G = run_steps(filters, B.astype(dtype), steps, execution, checkpoint)
                G = np.multiply(G, scale[:, None].astype(dtype), out=writable(G))
                # rounding errors may be slightly negative; where weights differ too much, steps overflow
                lost = ~np.isfinite(G).all(axis=1)
                np.maximum(G, 0.0, out=G)
                G[lost] = 0.0
                if close and np.abs(G.sum(axis=1) - 1.0).max() <= 2.0 * near:
                    return G, len(steps)
        self._warn_unsettled(len(steps))
        return G, len(steps)

    def _warn_unsettled(self, n_iter: int) -> None:
        why = f"in {self.max_iter} iterations: raise max_iter."
        if n_iter < self.max_iter:
            why = "because some link weights are lost beside others in rounding: leave such links out."
        warn_user(f"{type(self).__name__} has not settled {why}", ConvergenceWarning)

    def _score_graph(self, X: Any, A: csr_array, nodes: Nodes = EVERY) -> tuple[np.ndarray, np.ndarray]:
        """Propagate the labels of fit over a graph whose first nodes are those of fit."""
        execution = current_execution(self, resumes=False)
        codes = self._grown_codes(A.shape[0])
        reached = reached_nodes(A, codes != UNLABELLED, checked=True)
        P, _ = self._as_fitted()._propagate(X, A, codes, reached, execution)
        return P[nodes], reached[nodes]


def normalize_class_mass(F: np.ndarray, given: np.ndarray) -> np.ndarray:
    r"""Scale the columns of F to the class shares among the labels, in place where possible.

    .. math:: F_{ic} \leftarrow \frac{q_c}{\sum_j F_{jc}} F_{ic}

    Sums include labelled nodes, so that little changes if only a few nodes are unlabelled.
    """
    mass = F.sum(axis=0, dtype=np.float64) + given.sum(axis=0)
    factor = np.divide(given.mean(axis=0), mass, out=np.zeros_like(mass), where=mass > 0)
    if (factor > 1.0 / FLOOR).any():  # a class with hardly any mass
        F = F.astype(np.float64)
    F *= factor.astype(F.dtype)
    return F


def writable(F: np.ndarray) -> np.ndarray | None:
    """Return F if it may be overwritten, None if it is read-only or memory-mapped."""
    return F if F.flags.writeable and mapped_file(F) is None else None


def nearest_nodes(A: csr_array, far: np.ndarray) -> np.ndarray:
    """Return, for each of the ``far`` nodes, the nearest node that is not one of them, in hops."""
    m, outside = len(far), np.ones(A.shape[0], dtype=bool)
    outside[far] = False
    rows = A[far]
    row = np.repeat(np.arange(m), np.diff(rows.indptr))
    leaves = outside[rows.indices]
    border, first = np.unique(row[leaves], return_index=True)
    entry = np.zeros(m, dtype=np.int64)
    entry[border] = rows.indices[leaves][first]
    # an additional node, linked to the border, from which a single search reaches all
    inner = rows[:, far]
    indptr = np.append(inner.indptr, inner.indptr[-1] + len(border))
    indices = np.append(inner.indices, border)
    links = csr_array((np.ones(len(indices)), indices, indptr), shape=(m + 1, m + 1))
    _, parent = csgraph.breadth_first_order(links, m, directed=True)
    root = np.where(parent[:m] == m, np.arange(m), parent[:m])
    while (root != root[root]).any():
        root = root[root]
    return np.asarray(entry[root])


def precisions(tol: float, checkpoint: Checkpoint, span: float = 1.0) -> tuple[Any, ...]:
    """Return the float types to try in this order; a run that resumes in double precision stays in it."""
    single = tol >= _SINGLE and span <= _SPAN
    if checkpoint.past and checkpoint.past[-1].pull.dtype == np.float64:
        single = False
    return (np.float32, np.float64) if single else (np.float64,)
