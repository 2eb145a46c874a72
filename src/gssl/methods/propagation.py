"""Label propagation and label spreading, and the iterations that they are solved by."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from scipy.sparse import csr_array, diags_array
from sklearn.exceptions import ConvergenceWarning

from gssl.graph import reached_nodes
from gssl.graph.validate import warn_user
from gssl.methods.base import GraphClassifier, iterate, last
from gssl.methods.inputs import check_number
from gssl.methods.labels import UNLABELLED, one_hot, rows_to_distributions
from gssl.operators import Filters
from gssl.operators.convolution import row_sums, scaled_weights
from gssl.scale.execution import Execution, FiltersOf, Step, Task, current_execution

# the arrays of a state, each with a column for every class
Arrays = tuple[np.ndarray, ...]
# takes the matrix and the arrays of a state; returns the next arrays and whether they stand still
Move = Callable[[Any, Arrays], tuple[Arrays, bool]]
# iterations between two states that a run keeps to resume from
_CHECKPOINT = 64


class LabelPropagation(GraphClassifier):
    r"""Return every node the mean label distribution of its neighbours; given labels stay.

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

    uses_features = False
    runs_by_columns = True

    def __init__(self, max_iter: int = 10000, tol: float = 1e-6, class_mass: bool = False) -> None:
        self.max_iter = max_iter
        self.tol = tol
        self.class_mass = class_mass

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
        self._check_parameters()
        execution = current_execution(self)
        X, A, codes = self._start(X, y, adjacency)
        F, self.n_iter_ = self._fixed_point(A, codes, execution)
        return self._finish(*self._distributions(F, X.dtype))

    def _check_parameters(self) -> None:
        check_number(self, "max_iter", low=1, whole=True)
        check_number(self, "tol", low=0.0)

    def propagated_columns(self, X: Any, A: csr_array, n_labelled: int, n_classes: int) -> int:
        """Return one column per class."""
        return n_classes

    def _distributions(self, F: np.ndarray, dtype: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return distributions, and at which nodes a label has arrived."""
        return rows_to_distributions(F).astype(dtype), np.asarray(F.any(axis=1))

    def _fixed_point(self, A: csr_array, codes: np.ndarray, execution: Execution) -> tuple[np.ndarray, int]:
        """Return F in double precision, for labels that come from far away, and the number of iterations."""
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
        G, n_iter = self._solve(csr_array(S), scale * (A[free] @ F), scale, execution)
        # rounding may leave the simplex by a hair
        F[free] = np.maximum(scale * G, 0.0)
        if self.class_mass:
            F[free] = normalize_class_mass(F[free], F[labelled].mean(axis=0))
        return F, n_iter

    def _solve(
        self, S: csr_array, B: np.ndarray, scale: np.ndarray, execution: Execution
    ) -> tuple[np.ndarray, int]:
        """Solve (I − S) G = B, all columns side by side.

        Behind weak links a residual is small from the start. But the rows of a harmonic function sum to one,
        which tells for every node how much is still to come.
        """
        near = np.sqrt(max(self.tol, np.finfo(np.float64).eps))

        def complete(arrays: Arrays) -> bool:
            return bool(np.abs(scale[:, 0] * arrays[0].sum(axis=1) - 1.0).max() <= near)

        size = np.square(B).sum(axis=0)
        start = (np.zeros_like(B), B, B, size[None], np.square(self.tol) * size[None])
        (G, *_), n_iter, settled = iterate_by_slabs(_descend, start, S, execution, self.max_iter, complete)
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
        execution = current_execution(self, resumes=False)
        F, _ = self._fixed_point(A, self._grown_codes(A.shape[0]), execution)
        return self._distributions(F, X.dtype)


class LabelSpreading(LabelPropagation):
    r"""Mix every node's own label with what its neighbours say; given labels may bend.

    .. math:: F \leftarrow \alpha D^{-1/2} A D^{-1/2} F + (1 - \alpha) Y

    The fixed point is :math:`(1 - \alpha)(I - \alpha D^{-1/2} A D^{-1/2})^{-1} Y`. Far from any label F is
    tiny, and only ratios within a row matter, so the iteration runs until every entry stands still in
    relation to itself. Features are used only to build a graph where none is given.

    Parameters
    ----------
    spread : float, default=0.9
        The part α that comes from the neighbours, in (0, 1).
    max_iter : int, default=10000
    tol : float, default=1e-5
        The iteration stops when no entry of F moves by more than this part of itself.

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
    >>> model = gssl.LabelSpreading().fit(data.features, y, adjacency=data.adjacency)
    >>> float((model.transduction_ == data.labels).mean()) > 0.9
    True
    """

    def __init__(self, spread: float = 0.9, max_iter: int = 10000, tol: float = 1e-5) -> None:
        self.max_iter = max_iter
        self.tol = tol
        self.spread = spread

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number(self, "spread", low=0.0, high=1.0, open_ends=True)

    def _fixed_point(self, A: csr_array, codes: np.ndarray, execution: Execution) -> tuple[np.ndarray, int]:
        degree = row_sums(A)
        scale = np.divide(1.0, np.sqrt(degree), out=np.zeros_like(degree), where=degree > 0)
        # only the weights are new: the links may be in files
        S = csr_array((scaled_weights(A, scale, np.float64), A.indices, A.indptr), shape=A.shape)
        labelled = np.flatnonzero(codes != UNLABELLED)
        Y = np.zeros((len(codes), len(self.classes_)))
        Y[labelled] = (1.0 - self.spread) * one_hot(codes[labelled], len(self.classes_), Y.dtype)
        alpha, tol = self.spread, self.tol

        def move(S: csr_array, arrays: Arrays) -> tuple[Arrays, bool]:
            # from (1 − α)Y on, every entry only grows: its growth bounds what is still to come
            before, given = arrays
            F = alpha * (S @ before) + given
            return (F, given), bool((tol * F >= F - before).all())

        (F, _), n_iter, settled = iterate_by_slabs(move, (Y, Y), S, execution, self.max_iter)
        self._warn_unless(settled)
        return F, n_iter


def normalize_class_mass(F: np.ndarray, shares: np.ndarray) -> np.ndarray:
    r"""Scale the columns of F so that their sums are in given proportions.

    .. math:: F_{ic} \leftarrow \frac{q_c}{\sum_j F_{jc}} F_{ic}
    """
    mass = F.sum(axis=0)
    return np.asarray(F * np.divide(shares, mass, out=np.zeros_like(mass), where=mass > 0))


@dataclass(frozen=True)
class _Spread:
    F: np.ndarray
    settled: bool = False


@dataclass(frozen=True)
class _State:
    arrays: Arrays
    done: int
    still: bool
    settled: bool


def iterate_by_slabs(
    step: Move,
    start: Arrays,
    matrix: Any,
    execution: Execution,
    max_iter: int,
    accept: Callable[[Arrays], bool] = lambda arrays: True,
) -> tuple[Arrays, int, bool]:
    """Iterate until all columns stand still after the same step, however they are cut into slabs.

    Every slab runs until its own columns stand still, then all go on to where the slowest is; ``accept``
    decides on all columns together. Return the arrays, the number of steps, and whether it settled.
    """
    cuts = np.cumsum([len(array) for array in start])
    # two rows more: the steps done, and whether the columns stand still
    columns = np.concatenate([*start, np.zeros((2, start[0].shape[1]))])
    filters = Filters(matrix)
    # with nothing to resume from there is nothing to stop for
    stretch = max_iter if execution.resume is None else _CHECKPOINT
    checkpoint = execution.checkpoint(columns, matrix)
    columns = checkpoint.scores() if checkpoint.past else columns
    saved = int(columns[cuts[-1]].max(initial=0))
    goal, limit = 0, min(max_iter, saved + stretch)
    while True:
        task = Task(_slab_task(step, cuts, goal, limit), ("iterate_by_slabs", goal, limit))
        columns = execution.map_columns(task, columns, lambda k: filters)
        done = columns[cuts[-1]]
        if (done != done.max()).any():
            goal = int(done.max())
            continue
        n_iter, still = int(done[0]), bool(columns[cuts[-1] + 1].all())
        if n_iter - saved >= stretch:
            nothing = np.zeros((1, 1))
            checkpoint.finish(Step(nothing, nothing, {"n_iter": n_iter}), columns)
            saved = n_iter
        arrays = tuple(np.array(part) for part in np.split(columns, cuts)[:-1])
        settled = still and accept(arrays)
        if settled or n_iter >= max_iter:
            return arrays, n_iter, settled
        # what was not accepted takes a single step
        goal, limit = (n_iter + 1, n_iter + 1) if still else (0, min(max_iter, n_iter + stretch))


def _slab_task(step: Move, cuts: np.ndarray, goal: int, max_iter: int) -> Any:
    """Return the task of a slab: go on until its columns stand still, at least as far as the slowest slab."""

    def task(columns: np.ndarray, filters: FiltersOf, _: slice) -> np.ndarray:
        *arrays, (done, still) = np.split(np.asarray(columns), cuts)
        begin = _State(tuple(arrays), int(done[0]), bool(still.all()), False)

        def move(state: _State, k: int) -> _State:
            following, stands = step(filters(1).A_hat, state.arrays)
            return _State(following, k + 1, stands, settled=stands and k + 1 >= goal)

        state = begin
        if begin.done < max_iter and not (begin.still and begin.done >= goal):
            state = last(iterate(move, begin, range(begin.done, max_iter)))
        width = columns.shape[1]
        facts = np.array([[state.done] * width, [float(state.still)] * width])
        return np.concatenate([*state.arrays, facts])

    return task


@dataclass(frozen=True)
class Descent:
    """Where conjugate gradients stand: solution, residual, direction, squared residual of each column."""

    solution: np.ndarray
    residual: np.ndarray
    direction: np.ndarray
    size: np.ndarray
    settled: bool = False


def conjugate_gradients(
    image: Callable[[np.ndarray], np.ndarray],
    B: np.ndarray,
    tol: float,
    max_iter: int,
    accept: Callable[[np.ndarray], bool] = lambda solution: True,
) -> tuple[np.ndarray, int, bool]:
    """Solve M G = B for a symmetric positive M that is only known by its products, all columns side by side.

    A column is solved when its residual has fallen to ``tol`` times its start; ``accept`` has the last word.
    Return the solution, the number of iterations and whether every column is solved.
    """
    size = np.square(B).sum(axis=0)
    goal = np.square(tol) * size

    def step(state: Descent, k: int) -> Descent:
        moved = descend(image, state)
        small = bool((moved.size <= goal).all())
        return replace(moved, settled=small and accept(moved.solution))

    start = Descent(np.zeros_like(B), B, B, size)
    n_iter, end = last(enumerate(iterate(step, start, range(max_iter)), start=1))
    return end.solution, n_iter, end.settled


def descend(image: Callable[[np.ndarray], np.ndarray], state: Descent) -> Descent:
    """Take one step of conjugate gradients."""
    moved = image(state.direction)
    length = _divide(state.size, (state.direction * moved).sum(axis=0))
    R = state.residual - length * moved
    size = np.square(R).sum(axis=0)
    direction = R + _divide(size, state.size) * state.direction
    return Descent(state.solution + length * state.direction, R, direction, size)


def _descend(S: csr_array, arrays: Arrays) -> tuple[Arrays, bool]:
    """Take a step of conjugate gradients on (I − S) G = B."""
    solution, residual, direction, size, goal = arrays
    state = descend(lambda V: V - S @ V, Descent(solution, residual, direction, size[0]))
    moved = state.solution, state.residual, state.direction, state.size[None], goal
    return moved, bool((state.size <= goal[0]).all())


def _divide(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Divide, and give zero where the divisor is: a column that is solved needs no further step."""
    return np.asarray(np.divide(a, b, out=np.zeros_like(a), where=b > 0))
