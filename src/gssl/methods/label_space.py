"""The embeddings of OGC, in two forms with the same arithmetic.

OGC's step asks three things of its embeddings U: the gradient U_Lᵀ R of the predictor, the scores U_L G that
a step along it changes, and the scores UW of all nodes after U has moved. So U may be kept
(:class:`DirectEmbedding`), or stay in factors (:class:`LabelSpaceEmbedding`).
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np
from scipy.sparse import csr_array, issparse
from scipy.special import gammaln, xlog1py, xlogy

from gssl.operators import Filters, Mixture, alike, fetch, mix, multiply

# rows that are copied at a time
_BLOCK = 4096
# nodes whose rows are found at a time, each with a column of its own
_COLUMNS = 64


Pulls = Sequence[tuple[np.ndarray, np.ndarray]]


class GuidedEmbedding(Protocol):
    """What OGC asks of its embeddings."""

    def start(self, W: np.ndarray) -> np.ndarray:
        """Give the scores XW of all nodes before the first step."""

    def pull_back(self, R: np.ndarray) -> np.ndarray:
        """Give the gradient U_Lᵀ R for a residual on the labelled rows."""

    def push(self, G: np.ndarray) -> np.ndarray:
        """Give U_L G, the scores of the labelled rows under a predictor G."""

    def advance(self, W: np.ndarray, eta_w: float, pull: np.ndarray) -> np.ndarray:
        """Move U ← lazy(U) − E pull Wᵀ (E: the anchors' rows) and give the scores UW of all nodes.

        They may be written over those of the step before. W is the predictor after the step of length
        ``eta_w`` along what was pushed last.
        """

    def rows(self, nodes: np.ndarray) -> np.ndarray:
        """Give rows of U as it is now."""

    def resume(self, pulls: Pulls, scores: np.ndarray) -> None:
        """Come to where steps have led that were taken elsewhere, by their pulls, predictors and scores."""


class DirectEmbedding:
    """U itself, in two buffers that take turns: arrays, or tensors if X is one."""

    def __init__(
        self, X: Any, filters: Filters, beta: float, labelled: np.ndarray, anchors: np.ndarray
    ) -> None:
        self.U = X
        self._spare: Any = None
        self._scores = np.empty((0, 0))
        self._X = X
        self._filters = filters
        self._lazy = Mixture.lazy(beta)
        self._labelled = labelled
        self._anchors = anchors

    def start(self, W: np.ndarray) -> np.ndarray:
        """Give XW, in the array that will hold the scores of every later step."""
        self._scores = fetch(multiply(self._X, W))
        return self._scores

    def pull_back(self, R: np.ndarray) -> np.ndarray:
        """Give U_Lᵀ R."""
        G = np.zeros((self.U.shape[1], R.shape[1]), R.dtype)
        for part in _parts(self._labelled):
            G += fetch(self.U[self._labelled[part]].T @ alike(R[part], self.U))
        return G

    def push(self, G: np.ndarray) -> np.ndarray:
        """Give U_L G."""
        scores = np.empty((len(self._labelled), G.shape[1]), G.dtype)
        for part in _parts(self._labelled):
            scores[part] = fetch(self.U[self._labelled[part]] @ alike(G, self.U))
        return scores

    def rows(self, nodes: np.ndarray) -> np.ndarray:
        """Give rows of U."""
        return fetch(self.U[nodes])

    def resume(self, pulls: Pulls, scores: np.ndarray) -> None:
        """Take the same steps again."""
        for pull, W in pulls:
            self.advance(W, 0.0, pull)

    def advance(self, W: np.ndarray, eta_w: float, pull: np.ndarray) -> np.ndarray:
        """Move U and give UW."""
        U = mix(self._filters, self.U, self._lazy, out=self._spare)
        for part in _parts(self._anchors):
            U[self._anchors[part]] -= alike(pull[part] @ W.T, U)
        self._spare = None if self.U is self._X else self.U
        self.U = U
        if isinstance(U, np.ndarray):
            return np.matmul(U, W, out=self._scores)
        self._scores = fetch(U @ alike(W, U))
        return self._scores


def _parts(nodes: np.ndarray) -> Iterator[slice]:
    """Cut nodes, which may be most of them, into parts whose rows are small enough to copy."""
    return (slice(start, start + _BLOCK) for start in range(0, len(nodes), _BLOCK))


class LabelSpaceEmbedding:
    r"""U in factors: after k steps, :math:`U = P^k X - \sum_t P^{k-1-t} E\, R_t W_t^\top`.

    P is the lazy convolution, E picks the anchors and :math:`R_t W_t^\top` is the pull of step t. Products
    with U then cost hops over c columns instead of d. The hops are taken with :math:`\hat A`, for
    :math:`P^k = \sum_j \binom kj \beta^j (1-\beta)^{k-j} \hat A^j` has few terms that count when β is small.
    """

    def __init__(
        self, X: Any, filters: Filters, beta: float, labelled: np.ndarray, anchors: np.ndarray
    ) -> None:
        self._X = X
        self._X_transposed = csr_array(X.T) if issparse(X) else X.T
        self._filters = filters
        self._beta = beta
        self._labelled = labelled
        self._anchors = anchors
        # of step t: R_t, and as columns t·c … (t+1)·c − 1 the predictor W_t
        self._pulls = np.empty((0, len(anchors), 0), X.dtype)
        self._predictors = np.empty((X.shape[1], 0), X.dtype)
        self._scores: np.ndarray | None = None
        self._pushed: np.ndarray | None = None
        self._weights = self._powers()

    def start(self, W: np.ndarray) -> np.ndarray:
        """Give the scores XW before the first step."""
        self._scores = multiply(self._X, W)
        return self._scores

    def resume(self, pulls: Pulls, scores: np.ndarray | None = None) -> None:
        """Come to where steps have led that were taken elsewhere; without scores, only to look."""
        self._scores = scores
        self._pulls = np.stack([pull for pull, _ in pulls])
        self._predictors = np.hstack([W for _, W in pulls])
        self._weights = self._powers()

    @property
    def n_hops(self) -> int:
        """How many hops a product with U takes."""
        return int(self._weights.shape[1]) - 1

    def pull_back(self, R: np.ndarray) -> np.ndarray:
        """Give U_Lᵀ R."""
        return self._transposed(self._labelled, R)

    def rows(self, nodes: np.ndarray) -> np.ndarray:
        """Give rows of U itself."""
        found = np.empty((len(nodes), self._X.shape[1]), self._X.dtype)
        for start in range(0, len(nodes), _COLUMNS):
            part = nodes[start : start + _COLUMNS]
            found[start : start + _COLUMNS] = self._transposed(part, np.eye(len(part), dtype=found.dtype)).T
        return found

    def _transposed(self, nodes: np.ndarray, R: np.ndarray) -> np.ndarray:
        """Give Uᵀ R for R on some nodes: hops of it, seen by X at the end and by the anchors on the way."""
        weights = self._weights
        B = np.zeros((self._filters.A_hat.shape[0], R.shape[1]), R.dtype)
        B[nodes] = R
        total = weights[-1, 0] * B
        after = np.empty_like(B)
        at_anchors = [B[self._anchors]]
        for weight in weights[-1, 1:]:
            hop, gathered = Mixture(smooth=1.0), Mixture(smooth=float(weight))
            B, after = mix(self._filters, B, hop, out=after, gathered=gathered, total=total), B
            at_anchors.append(B[self._anchors])
        G = multiply(self._X_transposed, total)
        if len(self._pulls):
            # row t of the weights is P^(k−1−t), the hops that the pull of step t has had
            seen = np.tensordot(weights[:-1], np.stack(at_anchors), axes=1)
            small = self._pulls.transpose(0, 2, 1) @ seen
            G -= self._predictors @ small.reshape(-1, R.shape[1])
        return np.asarray(G)

    def push(self, G: np.ndarray) -> np.ndarray:
        """Give U_L G, and keep UG for the step that follows."""
        self._pushed = self.scores(G)
        return np.asarray(self._pushed[self._labelled])

    def scores(self, G: np.ndarray) -> np.ndarray:
        """Give UG."""
        weights = self._weights
        XG = multiply(self._X, G)
        injected = np.zeros((weights.shape[1], len(self._anchors), G.shape[1]), G.dtype)
        if len(self._pulls):
            small = (self._predictors.T @ G).reshape(len(self._pulls), -1, G.shape[1])
            injected -= np.tensordot(weights[:-1].T, self._pulls @ small, axes=1)
        B = weights[-1, -1] * XG
        B[self._anchors] += injected[-1]
        after, part = np.empty_like(B), np.empty_like(B)
        for weight, at_anchors in zip(weights[-1, -2::-1], injected[-2::-1], strict=True):
            B, after = mix(self._filters, B, Mixture(smooth=1.0), out=after), B
            B += np.multiply(XG, weight, out=part)
            B[self._anchors] += at_anchors
        return np.asarray(B)

    def advance(self, W: np.ndarray, eta_w: float, pull: np.ndarray) -> np.ndarray:
        """Note the pull and give UW, which follows from the scores before it by a single hop."""
        scores = self._scores - eta_w * self._pushed  # type: ignore[operator]
        scores = np.asarray(mix(self._filters, scores, Mixture.lazy(self._beta)))
        scores[self._anchors] -= pull @ (W.T @ W)
        self._pulls = np.concatenate([self._pulls.reshape(-1, *pull.shape), pull[None]])
        self._predictors = np.hstack([self._predictors, W])
        self._scores = scores
        self._weights = self._powers()
        return scores

    def _powers(self) -> np.ndarray:
        """Give the coefficients of Âʲ in P^(k−1), …, P⁰ and, as the last row, P^k."""
        k = len(self._pulls)
        dtype = self._filters.A_hat.scale.dtype
        return lazy_powers(np.array([*range(k - 1, -1, -1), k]), self._beta, dtype)


def lazy_powers(powers: np.ndarray, beta: float, dtype: Any = np.float64) -> np.ndarray:
    r"""Give the coefficients of :math:`\hat A^j` in powers of the lazy convolution.

    .. math:: [\beta \hat A + (1 - \beta) I]^k = \sum_j \binom kj \beta^j (1 - \beta)^{k-j} \hat A^j

    The highest j, whose coefficients add up to less than rounding, are left out.

    Parameters
    ----------
    powers : int ndarray of shape (m,)
        The exponents k.
    beta : float
    dtype : float type, default=float64

    Returns
    -------
    ndarray of shape (m, J + 1)

    Examples
    --------
    >>> lazy_powers(np.array([0, 1, 2]), 0.5)
    array([[1.  , 0.  , 0.  ],
           [0.5 , 0.5 , 0.  ],
           [0.25, 0.5 , 0.25]])
    """
    k = np.asarray(powers)[:, None]
    j = np.arange(k.max() + 1)[None, :]
    inside = j <= k
    rest = np.where(inside, k - j, 0)
    logs = gammaln(k + 1) - gammaln(j + 1) - gammaln(rest + 1) + xlogy(j, beta) + xlog1py(rest, -beta)
    coefficients = np.where(inside, np.exp(logs), 0.0)
    tail = np.cumsum(coefficients[:, ::-1], axis=1)[:, ::-1].max(axis=0)
    return np.asarray(coefficients[:, tail > 4 * np.finfo(dtype).eps], dtype=dtype)


class KnownRows:
    """Embeddings of a few nodes, which do not change with the labels.

    Parameters
    ----------
    nodes : int ndarray of shape (m,)
        Each once.
    rows : ndarray of shape (m, d)

    Examples
    --------
    >>> known = KnownRows(np.array([7, 2]), np.array([[0.7], [0.2]]))
    >>> known.of(np.array([2, 5]), lambda nodes: nodes[:, None] / 10)
    array([[0.2],
           [0.5]])
    >>> known.missing(np.array([2, 5, 6]))
    array([6])
    """

    def __init__(self, nodes: np.ndarray, rows: np.ndarray) -> None:
        self._nodes = np.empty(0, dtype=np.int64)
        self._rows = rows[:0]
        self._add(nodes, rows)

    def missing(self, nodes: np.ndarray) -> np.ndarray:
        """Give those of the nodes that are not known yet."""
        return np.setdiff1d(nodes, self._nodes)

    def of(self, nodes: np.ndarray, embed: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """Give the rows of nodes; ``embed`` is asked for those that are missing, which are then known."""
        missing = self.missing(nodes)
        if len(missing):
            self._add(missing, embed(missing))
        return np.asarray(self._rows[np.searchsorted(self._nodes, nodes)])

    def _add(self, nodes: np.ndarray, rows: np.ndarray) -> None:
        nodes = np.concatenate([self._nodes, nodes])
        order = np.argsort(nodes)
        self._nodes = nodes[order]
        self._rows = np.concatenate([self._rows, rows])[order]
