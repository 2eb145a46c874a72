"""Linear classifiers on embeddings: softmax regression and ridge regression."""

from abc import ABCMeta, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from gssl.graph.validate import warn_user
from gssl.methods.inputs import (
    FeatureSizeError,
    FittedParameters,
    check_features,
    check_number,
    safe_exponent,
    scale_features,
)
from gssl.methods.labels import UNLABELLED, class_weights, encode_labels, nearest_distribution, one_hot
from gssl.methods.ridge import ridge
from gssl.methods.softmax import softmax_regression
from gssl.methods.stored import COEF, INPUT, N_ITER, Stored
from gssl.operators import dense, multiply, small_algebra


class LinearHead(FittedParameters, ClassifierMixin, BaseEstimator, metaclass=ABCMeta):
    """Predict distributions by a linear function of embeddings.

    A fitted head consists of ``coef_`` of shape (d, c) and ``intercept_`` of shape (c,), so scores can also
    be computed elsewhere, as in label space.
    """

    class_weight: Any
    coef_: np.ndarray
    intercept_: np.ndarray
    _stored: ClassVar[tuple[Stored, ...]] = (*INPUT, COEF, Stored("intercept_", "float", ("c",)))

    @abstractmethod
    def _check_parameters(self) -> None:
        """Check the parameters of the head; called by fit, and when a saved model is loaded."""

    @abstractmethod
    def distributions(self, scores: np.ndarray) -> np.ndarray:
        """Turn scores UW + b into distributions over ``classes_``."""

    def predict_proba(self, U: Any) -> np.ndarray:
        """Return a distribution over ``classes_`` for each row."""
        check_is_fitted(self)
        U = check_features(self, U, reset=False)
        return self.distributions(multiply(U, self.coef_) + self.intercept_)

    def _start(self, U: Any, y: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the labelled rows, their class codes, and their weights, which sum to one.

        Rows are multiplied by 2ᵏ if their squares would overflow or underflow: see ``_finish``.
        """
        U = dense(check_features(self, U, reset=True))
        self.classes_, codes = encode_labels(y)
        check_consistent_length(U, codes)
        U, codes = U[codes != UNLABELLED], codes[codes != UNLABELLED]
        self._exponent = safe_exponent(U)
        U = scale_features(U, self._exponent)
        w = class_weights(self.class_weight, self.classes_, codes)[codes]
        return U, codes, w / w.sum()

    def _finish(self, W: np.ndarray, b: np.ndarray) -> Self:
        """Convert a predictor of scaled rows to one of the given rows, and store it."""
        with np.errstate(over="ignore"):
            self.coef_, self.intercept_ = np.ldexp(W, self.__dict__.pop("_exponent")), b
        if not np.isfinite(self.coef_).all():
            raise FeatureSizeError(
                f"{type(self).__name__}: features are too small for a predictor in {W.dtype}: scale X."
            )
        self._keep_parameters()
        return self

    def predict(self, U: Any) -> np.ndarray:
        """Return the most probable class of each row."""
        check_is_fitted(self)
        return np.asarray(self.classes_[self.predict_proba(U).argmax(axis=1)])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class LogisticHead(LinearHead):
    r"""Softmax regression, solved to convergence.

    .. math:: \min_{W, b} \sum_i -w_i \log \mathrm{softmax}(U_i W + b)_{y_i}
              + \frac{\lambda s}{2} \|W\|^2, \qquad s = \sum_i w_i \|U_i\|^2, \qquad \sum_i w_i = 1

    The penalty is in units of the mean squared row norm s, so the scale of the features does not matter.

    Parameters
    ----------
    penalty : float, default=1e-3
        λ.
    tol : float, default=1e-6
    max_iter : int, default=1000
    class_weight : None, "balanced" or dict, default=None
        Weight of the rows of each class, w up to a common factor: doubling it is the same as duplicating the
        rows. ``"balanced"`` gives all classes the same total weight.

    Examples
    --------
    >>> import numpy as np
    >>> U, y = np.array([[1.0, 0.0], [0.0, 1.0]]), ["a", "b"]
    >>> LogisticHead().fit(U, y).predict(U).tolist()
    ['a', 'b']
    """

    _stored = (N_ITER,)

    def __init__(
        self, penalty: float = 1e-3, tol: float = 1e-6, max_iter: int = 1000, class_weight: Any = None
    ) -> None:
        self.penalty = penalty
        self.tol = tol
        self.max_iter = max_iter
        self.class_weight = class_weight

    def fit(self, U: Any, y: Any) -> Self:
        """Fit W and b to labelled rows."""
        self._check_parameters()
        U, codes, w = self._start(U, y)
        # scale rows to unit mean square, so that λ needs no scaling
        scale = 1.0 / max(np.sqrt(_mean_square(U, w)), np.finfo(U.dtype).tiny)
        with small_algebra():
            F, expand = _row_space(U.astype(np.float64) * scale)
            W, b, self.n_iter_ = self._solve(F, one_hot(codes, len(self.classes_), F.dtype), w)
            W = expand(W)
        return self._finish((scale * W).astype(U.dtype), b.astype(U.dtype))

    def _check_parameters(self) -> None:
        check_number(self, "penalty", low=0.0, high=np.inf, open_ends=True)
        check_number(self, "tol", low=0.0)
        check_number(self, "max_iter", low=1, whole=True)

    def _solve(self, F: np.ndarray, Y: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
        """Minimise in coordinates scaled to a curvature of about one; return W, b and the iterations."""
        # root of the Hessian's diagonal, with ¼ as a bound for the softmax; the columns of F are orthogonal
        curvature = np.sqrt((w[:, None] * np.square(F)).sum(axis=0) / 4.0 + self.penalty)
        rows = with_ones(F / curvature)
        penalties = np.append(self.penalty / np.square(curvature), 0.0)  # none on the intercept
        options = {"maxiter": self.max_iter, "gtol": self.tol, "ftol": 0.0, "maxcor": 20}
        fit = softmax_regression(rows, Y, w, penalties, **options)
        if fit.nit >= self.max_iter:
            warn_user(
                f"LogisticHead has not settled in {self.max_iter} iterations: raise max_iter.",
                ConvergenceWarning,
            )
        V = fit.x.reshape(len(penalties), -1)
        return V[:-1] / curvature[:, None], V[-1], max(1, int(fit.nit))

    def distributions(self, scores: np.ndarray) -> np.ndarray:
        """Return the softmax of scores."""
        return np.asarray(softmax(scores, axis=1))


class RidgeHead(LinearHead):
    r"""Least squares on one-hot labels with a ridge penalty, in closed form, without intercept.

    .. math:: W = U^\top (U U^\top + \lambda s m I)^{-1} Y, \qquad s = \frac1m \sum_i \|U_i\|^2

    With class weights, row i of U and of Y is first multiplied by :math:`\sqrt{w_i}`, where w has mean one.
    Without intercept and centring, it is clearly better if there are few labels.

    Parameters
    ----------
    penalty : float, default=0.01
        λ, in units of the mean squared row norm s.
    class_weight : None, "balanced" or dict, default=None
        See :class:`gssl.LogisticHead`.

    Examples
    --------
    >>> import numpy as np
    >>> U, y = np.array([[1.0, 0.0], [0.0, 1.0]]), ["a", "b"]
    >>> RidgeHead(penalty=1.0).fit(U, y).coef_.round(3)
    array([[0.333, 0.   ],
           [0.   , 0.333]])
    """

    def __init__(self, penalty: float = 0.01, class_weight: Any = None) -> None:
        self.penalty = penalty
        self.class_weight = class_weight

    def fit(self, U: Any, y: Any) -> Self:
        """Solve for W on labelled rows."""
        self._check_parameters()
        U, codes, w = self._start(U, y)
        Y = one_hot(codes, len(self.classes_), U.dtype)
        W = ridge(U, Y, self.penalty, None if self.class_weight is None else w * len(U))
        return self._finish(W.astype(U.dtype), np.zeros(len(self.classes_), U.dtype))

    def _check_parameters(self) -> None:
        check_number(self, "penalty", low=0.0, high=np.inf, open_ends=True)

    def distributions(self, scores: np.ndarray) -> np.ndarray:
        """Return the distribution nearest to the scores."""
        return nearest_distribution(scores)


def _row_space(U: np.ndarray) -> tuple[np.ndarray, Callable[[np.ndarray], np.ndarray]]:
    """Factor U into F Bᵀ with orthonormal columns in B and orthogonal ones in F; return F and W → BW.

    A penalised predictor lies in the row space of U, so it can be computed in this basis.
    """
    m, d = U.shape
    squares, Q = np.linalg.eigh(U @ U.T if m < d else U.T @ U)
    kept = squares > squares[-1] * len(squares) * np.finfo(U.dtype).eps
    squares, Q = squares[kept], Q[:, kept]
    if m < d:
        return Q * np.sqrt(squares), lambda W: U.T @ (Q / np.sqrt(squares) @ W)
    return U @ Q, lambda W: Q @ W


def _mean_square(U: np.ndarray, w: np.ndarray) -> float:
    return float(w @ np.square(U).sum(axis=1))


def with_ones(U: np.ndarray) -> np.ndarray:
    """Append a column of ones."""
    return np.hstack([U, np.ones((len(U), 1), dtype=U.dtype)])
