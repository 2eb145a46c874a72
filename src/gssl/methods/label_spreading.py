"""LabelSpreading: learning with local and global consistency (Zhou et al., 2004)."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.sparse import csr_array

from gssl.methods._base import iterate, last
from gssl.methods._distributions import one_hot
from gssl.methods._execution import InMemory
from gssl.methods._inputs import check_number
from gssl.methods._labels import UNLABELLED
from gssl.methods._together import PLAINLY, Keeping, settle_together
from gssl.methods.label_propagation import LabelPropagation
from gssl.operators.convolution import row_sums, scaled_weights


@dataclass(frozen=True)
class _Spread:
    F: np.ndarray
    settled: bool = False


class LabelSpreading(LabelPropagation):
    r"""Mix every node's own label with what its neighbours say; given labels may bend.

    .. math:: F \leftarrow \alpha D^{-1/2} A D^{-1/2} F + (1 - \alpha) Y

    The fixed point is :math:`(1 - \alpha)(I - \alpha D^{-1/2} A D^{-1/2})^{-1} Y`. Far from any label F is
    tiny, and only ratios within a row matter, so the iteration runs until every entry stands still in
    relation to itself. Features are used only to build a graph where none is given.

    Parameters
    ----------
    alpha : float, default=0.9
        The part that comes from the neighbours, in (0, 1).
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

    def __init__(self, alpha: float = 0.9, max_iter: int = 10000, tol: float = 1e-5) -> None:
        self.max_iter = max_iter
        self.tol = tol
        self.alpha = alpha

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
        """Spread the labels over the graph: see :meth:`gssl.LabelPropagation.fit`."""
        check_number(self, "alpha", low=0.0, high=1.0, open_ends=True)
        options = {"memory_budget": memory_budget, "client": client, "resume": resume}
        return super().fit(X, y, adjacency=adjacency, **options)

    def _fixed_point(
        self, A: csr_array, codes: np.ndarray, keeping: Keeping = PLAINLY
    ) -> tuple[np.ndarray, int]:
        degree = row_sums(A)
        scale = np.divide(1.0, np.sqrt(degree), out=np.zeros_like(degree), where=degree > 0)
        # only the weights are new: the links may be in files
        S = csr_array((scaled_weights(A, scale, np.float64), A.indices, A.indptr), shape=A.shape)
        labelled = np.flatnonzero(codes != UNLABELLED)
        Y = np.zeros((len(codes), len(self.classes_)))
        Y[labelled] = (1.0 - self.alpha) * one_hot(codes[labelled], len(self.classes_), Y.dtype)

        def move(S: csr_array, arrays: tuple[np.ndarray, ...]) -> tuple[tuple[np.ndarray, ...], bool]:
            # from (1 − α)Y on, every entry only grows: its growth bounds what is still to come
            before, given = arrays
            F = self.alpha * (S @ before) + given
            return (F, given), bool((self.tol * F >= F - before).all())

        if not isinstance(keeping.execution, InMemory):
            (F, _), n_iter, settled = settle_together(move, (Y, Y), S, keeping, self.max_iter)
            self._warn_unless(settled)
            return F, n_iter

        def step(state: _Spread, k: int) -> _Spread:
            (F, _), still = move(S, (state.F, Y))
            return _Spread(F, settled=still)

        n_iter, end = last(enumerate(iterate(step, _Spread(Y), range(self.max_iter)), start=1))
        self._warn_unless(end.settled)
        return end.F, n_iter
