"""What every method asks of its inputs, asked in one place."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.utils.validation import validate_data

from gssl.graph import check_adjacency, check_finite, knn_graph
from gssl.graph.mapped import mapped_file
from gssl.graph.validate import refuse_mask
from gssl.methods._execution import Execution

N_NEIGHBORS = 10


@dataclass(frozen=True)
class FitInputs:
    """What a fitted model keeps of what it was given, without copies; a saved model is without.

    ``execution`` is how the fit ran, and how what is computed later for its nodes runs.
    """

    X: Any
    A: csr_array
    execution: Execution


def check_features(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Check features and give them back as CSR or a dense array of float32 or float64.

    ``reset`` is True in fit, where the number and names of the features are recorded.
    """
    refuse_mask(X, "X")
    if issparse(X):
        # before scikit-learn converts it: a conversion would follow wild indices
        check_finite(X)
    X = validate_data(
        estimator,
        X,
        reset=reset,
        accept_sparse="csr",
        dtype=(np.float64, np.float32),
        ensure_all_finite=False,
    )
    check_finite(X)
    if not issparse(X):
        # what is in a file stays there
        return X if mapped_file(X) is not None else np.ascontiguousarray(X)
    # a fresh object, which has no flags to lie, with every entry named once
    X = csr_array((X.data, X.indices, X.indptr), shape=X.shape)
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def check_optional_features(estimator: Any, X: Any, adjacency: Any, *, reset: bool) -> Any:
    """Check features like :func:`check_features`; a method that needs none with a graph may have None.

    Examples
    --------
    >>> import gssl
    >>> check_optional_features(gssl.LabelPropagation(), None, [[0, 1], [1, 0]], reset=True).shape
    (2, 0)
    """
    if X is None and not estimator._uses_features:
        if adjacency is None:
            raise ValueError("there is neither X nor adjacency: give a graph, or features to build one.")
        for name in ("n_features_in_", "feature_names_in_") if reset else ():
            estimator.__dict__.pop(name, None)  # of an earlier fit
        n = check_adjacency(adjacency, allow_empty=True).shape[0]
        return csr_array((n, 0), dtype=np.float64)
    return check_features(estimator, X, reset=reset)


def check_graph(adjacency: Any, X: Any, *, allow_empty: bool = False) -> csr_array:
    """Check a graph over the rows of X, or build a kNN graph from X where there is none."""
    if adjacency is None:
        return knn_graph(X, N_NEIGHBORS)
    return check_adjacency(adjacency, n_nodes=X.shape[0], allow_empty=allow_empty)


def check_number(
    estimator: Any,
    name: str,
    *,
    low: float,
    high: float = np.inf,
    whole: bool = False,
    open_ends: bool = False,
) -> None:
    """Refuse a parameter that is not a number between low and high."""
    value = getattr(estimator, name)
    kind = int | np.integer if whole else int | float | np.integer | np.floating
    inside = isinstance(value, kind) and not isinstance(value, bool)
    inside = (
        inside and bool(np.isfinite(value)) and (low < value < high if open_ends else low <= value <= high)
    )
    if not inside:
        number = "a whole number" if whole else "a number"
        between = f"from {low} to {high}" if np.isfinite(high) else f"from {low} on"
        if open_ends:
            between = f"between {low} and {high}, both excluded"
        raise ValueError(f"{type(estimator).__name__}: {name} must be {number} {between}, not {value!r}.")


def generator(random_state: Any) -> np.random.Generator:
    """Make a random generator from what scikit-learn calls a random state.

    Examples
    --------
    >>> generator(0).integers(10) == generator(0).integers(10)
    np.True_
    """
    if isinstance(random_state, np.random.RandomState):
        random_state = random_state.randint(np.iinfo(np.int32).max)
    return np.random.default_rng(random_state)
