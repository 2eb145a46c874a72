"""Label space: products with U, and single rows of U, without computing all of U.

A filter F acts on rows and a predictor W on columns, so (FX)W = F(XW): the scores of c classes need passes
over the graph with c columns instead of d. With the transposed filter, m rows of U need m columns.
"""

from typing import Any

import numpy as np
from scipy.fft import dct
from scipy.sparse import csr_array, issparse

from gssl.operators import Filters, Mixture, Program, Pull, Step, add_scaled, mix, multiply
from gssl.operators.embedding import TransposedRows
from gssl.operators.program import AtNodes, State, is_small

# with more iterations label space is not used, because its cost grows with the square of their number
_MOST_ITERATIONS = 64
# sparse terms of the recurrence: their maximum number, and the maximum cost of one as a fraction of the links
_MOST_TERMS, _SPARSE = 8, 0.5
# passes over a multiple of this many columns fill vectors and cache lines; narrower ones have their own loops
_LANES = 16


class LabelSpaceEmbedding:
    r"""U in factored form: after k steps, :math:`U = P^k X + \sum_t P^{k-1-t} E\, R_t W_t^\top`."""

    def __init__(self, X: Any, filters: Filters, beta: float) -> None:
        self._X = X
        self._X_transposed = csr_array(X.T) if issparse(X) else X.T
        self._filters = filters
        self._beta = beta
        self._pulls: list[Pull] = []
        # the transposed W of all steps, stacked, with spare capacity; and the number of steps in it
        self._stack, self._stacked = np.empty((0, X.shape[1]), X.dtype), 0
        # the last W, its product UW, and the number of steps at that time
        self._last: tuple[np.ndarray, np.ndarray, int] | None = None
        # nodes, and the first terms of the recurrence for them
        self._first: tuple[np.ndarray, list[csr_array]] | None = None
        self._weights = self._powers()

    def rows(self, nodes: np.ndarray) -> "LabelSpaceRows":
        """Return some rows of U, for products that do not compute them."""
        return LabelSpaceRows(self, nodes)

    def step(self, beta: float, pull: Pull | None) -> "LabelSpaceEmbedding":
        """Take one more step, by recording its pull."""
        if beta != self._beta or pull is None:
            raise ValueError("label space is for steps of one beta, each with a pull.")
        self._pulls.append(pull)
        self._weights = self._powers()
        return self

    def __matmul__(self, W: np.ndarray) -> np.ndarray:
        """Return UW, by a single hop if the last product had the same W and U has taken one step since."""
        k = len(self._pulls)
        if self._last is None or self._last[0] is not W or self._last[2] not in (k, k - 1):
            Z = self._product(W)
        elif self._last[2] == k:
            Z = self._last[1]
        else:
            pull = self._pulls[-1]
            Z = np.asarray(mix(self._filters, self._last[1], Mixture.lazy(self._beta)))
            Z[pull.nodes, : W.shape[1]] += pull.R @ (pull.W.T @ W)
        self._last = W, Z, k
        return np.asarray(Z[:, : W.shape[1]])

    def transposed_times(self, nodes: np.ndarray, R: np.ndarray) -> np.ndarray:
        """Return UᵀR, where R has a row for each of ``nodes`` and is zero elsewhere."""
        weights, anchors, c = self._weights, self._anchors, R.shape[1]
        R = _padded(R)
        terms = self._first_terms(nodes, R.dtype)[: weights.shape[1]]
        B = multiply(terms[-1], R)
        before = multiply(terms[-2], R) if len(terms) > 1 else None
        total = np.zeros_like(B)
        if len(terms) > 1:
            parts = zip(weights[-1], terms[:-1], strict=False)
            total = multiply(csr_array(sum(weight * term for weight, term in parts)), R)
        at_anchors = [multiply(term[anchors], R) for term in terms]
        begin = len(terms) - 1, State(B, before, total)
        for state in chebyshev(weights[-1]).states(B, self._filters_of, after=begin):
            B = state.U
            at_anchors.append(B[anchors])
        add_scaled(total, weights[-1, -1], B)
        G = multiply(self._X_transposed, total)[:, :c]
        if self._pulls:
            # row t of the weights is P^(k−1−t), which was applied to the pull of step t
            seen = np.tensordot(weights[:-1], np.stack(at_anchors)[:, :, :c], axes=1)
            small = self._stacked_pulls().transpose(0, 2, 1) @ seen
            G = G + self._predictors().T @ small.reshape(-1, c)
        return np.asarray(G)

    def _product(self, G: np.ndarray) -> np.ndarray:
        """Return UG, padded with zero columns, by the transposed program, which is Clenshaw's recurrence."""
        weights, anchors = self._weights, self._anchors
        G = _padded(G)
        XG = multiply(self._X, G)
        injected = np.zeros((weights.shape[1], len(anchors), G.shape[1]), G.dtype)
        if self._pulls:
            small = (self._predictors() @ G).reshape(len(self._pulls), -1, G.shape[1])
            injected += np.tensordot(weights[:-1].T, self._stacked_pulls() @ small, axes=1)
        B = weights[-1, -1] * XG
        B[anchors] += injected[-1]
        program, begin = chebyshev(weights[-1]).transpose(), (0, State(B, None, None))
        pulled = [AtNodes(anchors, rows) for rows in injected[-2::-1]]
        for state in program.states(XG, self._filters_of, pulled.__getitem__, after=begin):
            B = state.U
        return np.asarray(B)

    def _filters_of(self, graph: Any) -> Filters:
        return self._filters

    def _first_terms(self, nodes: np.ndarray, dtype: Any) -> list[csr_array]:
        """Return the first T_j(Â)E, while they are cheap and sparse; E has a unit column for each node."""
        if self._first is None or self._first[0] is not nodes:
            n, m = self._filters.A_hat.shape[0], len(nodes)
            terms = [csr_array((np.ones(m, dtype), (nodes, np.arange(m))), shape=(n, m))]
            if is_small(self._filters):
                A_hat = self._filters.A_hat.tocsr()
                degrees, most = np.diff(A_hat.indptr), _SPARSE * A_hat.nnz
                while len(terms) < _MOST_TERMS and degrees @ np.diff(terms[-1].indptr) <= most:
                    after = A_hat @ terms[-1]
                    terms.append(csr_array(2 * after - terms[-2] if len(terms) > 1 else after))
            self._first = nodes, terms
        return self._first[1]

    @property
    def _anchors(self) -> np.ndarray:
        return self._pulls[0].nodes if self._pulls else np.empty(0, dtype=np.int64)

    def _stacked_pulls(self) -> np.ndarray:
        return np.stack([pull.R for pull in self._pulls])

    def _predictors(self) -> np.ndarray:
        """Return the transposed W of all steps, stacked; only new ones are copied."""
        c = self._pulls[0].W.shape[1]
        done, wanted = self._stacked, len(self._pulls)
        if wanted * c > len(self._stack):
            larger = np.empty((max(wanted, 2 * done) * c, self._stack.shape[1]), self._stack.dtype)
            larger[: done * c] = self._stack[: done * c]
            self._stack = larger
        for t in range(done, wanted):
            self._stack[t * c : (t + 1) * c] = self._pulls[t].W.T
        self._stacked = wanted
        return self._stack[: wanted * c]

    def _powers(self) -> np.ndarray:
        """Return the coefficients of T_j(Â) in P^(k−1), …, P⁰ and, as the last row, P^k."""
        k = len(self._pulls)
        dtype = self._filters.A_hat.scale.dtype
        return lazy_powers(np.array([*range(k - 1, -1, -1), k]), self._beta, dtype)


def chebyshev(weights: np.ndarray) -> Program:
    r"""Return :math:`\sum_j w_j T_j(\hat A)` by :math:`T_1 = \hat A, T_{j+1} = 2 \hat A T_j - T_{j-1}`."""
    gathers = [Mixture(keep=float(weight)) for weight in weights[:-1]]
    steps = [
        Step(Mixture(smooth=2.0 if j else 1.0), gather=gather, past=-1.0 if j else 0.0)
        for j, gather in enumerate(gathers)
    ]
    return Program(steps, end=float(weights[-1]))


def _padded(G: np.ndarray) -> np.ndarray:
    """Pad a matrix with zero columns to a width that passes handle fast."""
    missing = -G.shape[1] % _LANES if G.shape[1] > _LANES else 0
    return np.pad(G, ((0, 0), (0, missing))) if missing else G


class LabelSpaceRows:
    """Some rows of U, for products that do not compute them."""

    def __init__(self, U: LabelSpaceEmbedding, nodes: np.ndarray) -> None:
        self._U, self._nodes = U, nodes

    @property
    def T(self) -> TransposedRows:
        """The transpose."""
        return TransposedRows(self)

    def transposed_times(self, R: np.ndarray) -> np.ndarray:
        """Return the product of the transpose with R."""
        return self._U.transposed_times(self._nodes, R)

    def __matmul__(self, W: np.ndarray) -> np.ndarray:
        return np.asarray((self._U @ W)[self._nodes])


def lazy_powers(powers: np.ndarray, beta: float, dtype: Any = np.float64) -> np.ndarray:
    r"""Return the coefficients of :math:`T_j(\hat A)` in some powers of the lazy convolution, one row each.

    .. math:: [\beta \hat A + (1 - \beta) I]^k = \sum_j w_{kj} T_j(\hat A)

    Chebyshev polynomials need fewer terms than powers of Â, because all eigenvalues of Â are in [−1, 1].
    The tail is cut off where its coefficients sum to less than rounding errors.
    """
    k = np.asarray(powers)[:, None]
    n_nodes = int(k.max()) + 1
    nodes = np.cos(np.pi * (np.arange(n_nodes) + 0.5) / n_nodes)
    # a polynomial of degree below n_nodes is determined by its values at n_nodes points
    coefficients = dct((beta * nodes + (1.0 - beta)) ** k, axis=1) / n_nodes
    coefficients[:, 0] /= 2.0
    tail = np.cumsum(np.abs(coefficients[:, ::-1]), axis=1)[:, ::-1].max(axis=0)
    return np.asarray(coefficients[:, tail > 4 * np.finfo(dtype).eps], dtype=dtype)


def label_space_pays(X: Any, n_links: int, n_classes: int, beta: float, max_iter: int) -> bool:
    """Compare the cost of an iteration of OGC: one hop over d columns, or several over c columns.

    In label space, an iteration needs two products with U, whose number of hops grows with the iterations
    done; the estimate is for half of ``max_iter``.
    """
    if max_iter > _MOST_ITERATIONS:
        return False
    n, d = X.shape
    product = chebyshev(lazy_powers(np.array([max_iter // 2]), beta, X.dtype)[0])
    size = X.nnz if issparse(X) else X.size
    in_label_space = 2 * (product.cost(n, n_links, n_classes) + size * n_classes)
    return bool(in_label_space < Program([Step(Mixture.lazy(beta))]).cost(n, n_links, d))
