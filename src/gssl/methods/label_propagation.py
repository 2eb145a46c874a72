"""LabelPropagation: harmonic functions on a graph (Zhu et al., 2003)."""

from typing import Any, Self

import numpy as np
from scipy.sparse import csr_array, diags_array
from sklearn.exceptions import ConvergenceWarning

from gssl.graph import reached_nodes
from gssl.graph.validate import warn_user
from gssl.methods._classifier import GraphClassifier
from gssl.methods._descent import Descent, conjugate_gradients, descend
from gssl.methods._distributions import one_hot, rows_to_distributions
from gssl.methods._execution import InMemory, choose_execution, open_journal
from gssl.methods._inputs import check_number
from gssl.methods._labels import UNLABELLED
from gssl.methods._together import PLAINLY, Keeping, settle_together


class LabelPropagation(GraphClassifier):
    r"""Give every node the mean label distribution of its neighbours; given labels stay.

    .. math:: F_U = (D_{UU} - A_{UU})^{-1} A_{UL} Y_L

    is the only function with :math:`F = D^{-1} A F` on unlabelled nodes. It is solved by conjugate
    gradients, which need far fewer steps than passing labels along one edge at a time. Features are used
    only to build a graph where none is given.

    Parameters
    ----------
    max_iter : int, default=10000
    tol : float, default=1e-6
        The iteration stops when the residual has fallen to this part of its start, and the distributions sum
        to one but for its square root.
    class_mass : bool, default=False
        Whether to scale classes so that each has as much of the unlabelled nodes as it has of the labels
        (class mass normalisation, Sect. 4 of the same paper):

        .. math:: F_{ic} \leftarrow \frac{q_c}{\sum_{j \in U} F_{jc}} F_{ic}, \quad i \in U

        With few labels in a large graph the harmonic function is nearly the same number everywhere, and one
        class may take all nodes: on Pubmed with 60 labels this makes the difference between 22 % and 72 %.

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

    def __init__(self, max_iter: int = 10000, tol: float = 1e-6, class_mass: bool = False) -> None:
        self.max_iter = max_iter
        self.tol = tol
        self.class_mass = class_mass

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        adjacency: Any = None,
        memory_budget: Any = None,
        client: Any = None,
        resume: Any = None,
    ) -> Self:
        """Propagate the labels over the graph.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d), or None
            Only used where there is no graph, and may be None where there is one.
        y : array-like of shape (n,)
            Labels; −1, None or NaN where there is none.
        adjacency : array-like or sparse matrix of shape (n, n), optional
            Built from the nearest neighbours in X if None.
        memory_budget : number or str, optional
            How much memory the fit may take beside what is there already, such as ``"4GB"``: classes pass
            through it in slabs of columns.
        client : dask.distributed.Client, optional
            A cluster whose workers share the columns.
        resume : path, optional
            A folder to which the state of all columns is written every 64 iterations, so that a run that was
            stopped goes on from there.

        Returns
        -------
        self
        """
        check_number(self, "max_iter", low=1, whole=True)
        check_number(self, "tol", low=0.0)
        execution: Any = choose_execution(self, memory_budget=memory_budget, client=client, resume=resume)
        X, A, codes = self._start(X, y, adjacency, execution)
        journal = open_journal(execution, A, codes)
        if resume is not None:
            # the journal keeps the state of all columns, so slabs of it need not be kept
            budget = execution.budget if memory_budget is None and client is None else memory_budget
            execution = choose_execution(self, memory_budget=budget, client=client)
        F, self.n_iter_ = self._fixed_point(A, codes, Keeping(execution, journal))
        return self._finish(*self._distributions(F, X.dtype))

    def _columns(self, X: Any, A: csr_array, n_labelled: int, n_classes: int) -> int:
        return n_classes

    def _distributions(self, F: np.ndarray, dtype: Any) -> tuple[np.ndarray, np.ndarray]:
        """Give distributions, and at which nodes a label has arrived."""
        return rows_to_distributions(F).astype(dtype), np.asarray(F.any(axis=1))

    def _fixed_point(
        self, A: csr_array, codes: np.ndarray, keeping: Keeping = PLAINLY
    ) -> tuple[np.ndarray, int]:
        """Give F in double precision, for labels that come from far away, and the number of iterations."""
        A = A.astype(np.float64, copy=False)
        labelled = codes != UNLABELLED
        F = np.zeros((len(codes), len(self.classes_)))
        F[labelled] = one_hot(codes[labelled], len(self.classes_), F.dtype)
        free = np.flatnonzero(reached_nodes(A, labelled, checked=True) & ~labelled)
        if not len(free):
            return F, 1  # a look was enough
        # symmetric scaling by D^-½ keeps the system symmetric and is Jacobi's preconditioner
        scale = 1.0 / np.sqrt(A.sum(axis=1)[free])[:, None]
        S = diags_array(scale[:, 0]) @ A[free][:, free] @ diags_array(scale[:, 0])
        G, n_iter = self._solve(csr_array(S), scale * (A[free] @ F), scale, keeping)
        # rounding may leave the simplex by a hair
        F[free] = np.maximum(scale * G, 0.0)
        if self.class_mass:
            F[free] = normalize_class_mass(F[free], F[labelled].mean(axis=0))
        return F, n_iter

    def _solve(
        self, S: csr_array, B: np.ndarray, scale: np.ndarray, keeping: Keeping
    ) -> tuple[np.ndarray, int]:
        """Solve (I − S) G = B, all columns side by side.

        Behind weak links, or among weights far smaller than others, a residual is small from the start. But
        the rows of a harmonic function sum to one, which tells for every node how much is still to come.
        """
        near = np.sqrt(max(self.tol, np.finfo(np.float64).eps))

        def complete(G: np.ndarray) -> bool:
            return bool(np.abs(scale[:, 0] * G.sum(axis=1) - 1.0).max() <= near)

        if isinstance(keeping.execution, InMemory):
            G, n_iter, settled = conjugate_gradients(
                lambda V: V - S @ V, B, self.tol, self.max_iter, complete
            )
        else:
            size = np.square(B).sum(axis=0)
            arrays: tuple[np.ndarray, ...] = (
                np.zeros_like(B),
                B,
                B,
                size[None],
                np.square(self.tol) * size[None],
            )
            (G, *_), n_iter, settled = settle_together(
                _descend, arrays, S, keeping, self.max_iter, lambda arrays: complete(arrays[0])
            )
        self._warn_unless(settled)
        return G, n_iter

    def _warn_unless(self, settled: bool) -> None:
        if not settled:
            warn_user(
                f"{type(self).__name__} has not settled in {self.max_iter} iterations: raise max_iter.",
                ConvergenceWarning,
            )

    def _score_graph(self, X: Any, A: csr_array) -> tuple[np.ndarray, np.ndarray]:
        """Propagate the labels of fit over a graph that has grown: its first nodes are those of fit."""
        F, _ = self._fixed_point(A, self._grown_codes(A.shape[0]))
        return self._distributions(F, X.dtype)


def _descend(S: csr_array, arrays: tuple[np.ndarray, ...]) -> tuple[tuple[np.ndarray, ...], bool]:
    """Take a step of conjugate gradients on (I − S) G = B."""
    solution, residual, direction, size, goal = arrays
    state = descend(lambda V: V - S @ V, Descent(solution, residual, direction, size[0]))
    moved = state.solution, state.residual, state.direction, state.size[None], goal
    return moved, bool((state.size <= goal[0]).all())


def normalize_class_mass(F: np.ndarray, shares: np.ndarray) -> np.ndarray:
    r"""Scale the columns of F so that their sums are in given proportions.

    .. math:: F_{ic} \leftarrow \frac{q_c}{\sum_j F_{jc}} F_{ic}

    Parameters
    ----------
    F : ndarray of shape (m, c)
        Not negative.
    shares : ndarray of shape (c,)
        The q. A class that no node has anything of stays at zero.

    Returns
    -------
    ndarray of shape (m, c)

    Examples
    --------
    >>> normalize_class_mass(np.array([[0.9, 0.1], [0.8, 0.2]]), np.array([0.5, 0.5])).round(3)
    array([[0.265, 0.167],
           [0.235, 0.333]])
    """
    mass = F.sum(axis=0)
    return np.asarray(F * np.divide(shares, mass, out=np.zeros_like(mass), where=mass > 0))
