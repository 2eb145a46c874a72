"""Checks of the inputs and parameters of every method."""

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from scipy.sparse import csr_array, eye_array, issparse
from sklearn.utils.validation import validate_data

from gssl.frames import backend_of, other_columns, prepare_frame
from gssl.graph import TypedAdjacency, check_adjacency, check_finite, knn_graph
from gssl.graph.adjacency import is_directed, read_adjacency, relations_of, union_of
from gssl.graph.mapped import BLOCK_BYTES, iterate_blocks, mapped_file, release_pages
from gssl.graph.validate import refuse_mask, warn_user
from gssl.methods.labels import UNLABELLED
from gssl.methods.stored import Stored, transient
from gssl.wording import listed, quoted

N_NEIGHBORS = 10
# largest depth of a filter: more hops change nothing, and a loaded model could ask for any number
MOST_HOPS = 10_000
# a link 2^100 times lighter or heavier than a self-loop is negligible or dominant in any precision
_WEIGHT_EXPONENT = 100


@dataclass(frozen=True)
class FitInputs:
    """Features and graph of fit, kept by reference; a saved model has none."""

    X: Any
    A: csr_array


class FittedParameters:
    """Predict with the parameters of fit: those that are set later belong to the next fit."""

    # a saved model has the parameters of fit as its parameters
    _stored: ClassVar[tuple[Stored, ...]] = transient("_fit_parameters")

    def _keep_parameters(self) -> None:
        """Keep the current parameters as those of fit."""
        estimator: Any = self
        self._fit_parameters = estimator.get_params(deep=False)

    def _as_fitted(self) -> Self:
        """Return this model with the parameters of its fit; it shares everything else."""
        kept = self.__dict__.get("_fit_parameters", {})
        if all(getattr(self, name) is value for name, value in kept.items()):
            return self
        # not copy(), which leaves out what a pickle leaves out
        fitted = object.__new__(type(self))
        fitted.__dict__ = {**self.__dict__, **kept}
        return fitted


def check_features(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Check features and return them as CSR or a dense array of float32 or float64.

    ``reset`` is True in fit, where the number and names of the features are recorded. A data frame with
    columns other than numbers is prepared as :func:`gssl.read` does.
    """
    refuse_mask(X, "X")
    X = _prepare_frame(estimator, X, reset=reset)
    if issparse(X):
        # before scikit-learn converts it, which would read out-of-bounds indices
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
        # a memory-mapped X stays in its file
        return X if mapped_file(X) is not None else np.ascontiguousarray(X)
    # a new object, because cached flags of X may be wrong
    X = csr_array((X.data, X.indices, X.indptr), shape=X.shape)
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def _prepare_frame(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Return the features of a data frame with columns other than numbers; fit keeps how they are made."""
    if reset:
        # from an earlier fit
        estimator.__dict__.pop("preparation_", None)
    kept = estimator.__dict__.get("preparation_")
    others = other_columns(X)
    if not others and (kept is None or backend_of(X) is None):
        return X
    if kept is None and not reset:
        raise ValueError(
            f"column {others[0]!r} of X does not hold numbers, but X of fit did: give the same columns as in "
            "fit."
        )
    X, preparation = prepare_frame(X, kept)
    if reset:
        estimator.preparation_ = preparation
    return X


def check_optional_features(estimator: Any, X: Any, adjacency: Any, *, reset: bool) -> Any:
    """Check features as :func:`check_features` does; without features, return the identity matrix."""
    if X is not None:
        return check_features(estimator, X, reset=reset)
    if adjacency is None:
        raise ValueError("there is neither X nor adjacency: give a graph, or features to build one.")
    # without warnings, which come when the graph is checked
    n = read_adjacency(adjacency, directed=estimator.directed, allow_empty=True)[0].shape[0]
    if estimator.uses_features:
        if reset:
            warn_user("there are no features (X is None): the identity matrix takes their place.")
        elif estimator.n_features_in_ != n:
            raise ValueError(
                f"{type(estimator).__name__} was fitted to {estimator.n_features_in_} features: give X."
            )
        return check_features(estimator, eye_array(n, format="csr"), reset=reset)
    for name in ("n_features_in_", "feature_names_in_") if reset else ():
        estimator.__dict__.pop(name, None)  # from an earlier fit
    return csr_array((n, 0), dtype=np.float64)


def check_graph(
    estimator: Any, adjacency: Any, X: Any, *, reset: bool, allow_empty: bool = False, build: bool = True
) -> csr_array:
    """Check a graph over the rows of X; if there is none, build a kNN graph, or return one without links.

    ``reset`` is True in fit, which says if the estimator does not tell the relations of a graph apart. Other
    calls use the parameters of fit.
    """
    if not reset and isinstance(estimator, FittedParameters):
        estimator = estimator._as_fitted()
    if adjacency is None:
        return knn_graph(X, N_NEIGHBORS) if build else csr_array((X.shape[0], X.shape[0]), dtype=X.dtype)
    shape: tuple[int, ...] = getattr(adjacency, "shape", ())
    if len(shape) == 2 and shape[0] == X.shape[0] < shape[1]:
        # the shape that scikit-learn's cross-validation produces
        raise ValueError(
            f"the adjacency has {shape[0]} rows but {shape[1]} columns, as if rows had been left out for "
            "cross-validation, which cuts a graph apart: hide labels instead, by "
            "gssl.selection.search(estimator, grid, X, y, adjacency=)."
        )
    options: Any = {"directed": estimator.directed, "allow_empty": allow_empty}
    A = check_adjacency(adjacency, n_nodes=X.shape[0], **options)
    relations = relations_of(A)
    if reset and len(relations) == 1 and not any(map(is_directed, relations.values())):
        # one kind of links without directions is the graph itself
        A, relations = union_of(A), {}
    if relations and not estimator.tells_relations:
        if reset:
            warn_user(_merged(estimator, list(relations)))
        A, relations = union_of(A), {}
    scaled = scale_weights(union_of(A))
    return TypedAdjacency.of(scaled, relations) if relations else scaled


def _merged(estimator: Any, names: list[str]) -> str:
    kind = type(estimator).__name__
    if len(names) == 1:
        return f"{kind} ignores the directions of links; AutoClassifier and AutoRegressor can use them."
    return (
        f"{kind} uses the union of {len(names)} relations ({listed(names)}); `relation_weight` sets their "
        "weights. AutoClassifier and AutoRegressor tell relations apart."
    )


def scale_weights(A: csr_array) -> csr_array:
    """Scale weights by a power of two if the largest is outside 2^±100, so that they fit into float32.

    Beside self-loops of weight one, such links are negligible or dominant, so predictions do not change.
    """
    data = A.data[:1] if A.data.strides == (0,) else A.data  # a graph in files may broadcast a single weight
    exponent = int(np.frexp(data.max(initial=0.0))[1]) if data.size else 0
    release_pages(data)
    missing = min(max(exponent, -_WEIGHT_EXPONENT), _WEIGHT_EXPONENT) - exponent
    if not missing:
        return A
    if mapped_file(A.data) is not None:
        raise ValueError(
            f"link weights of a size near {2.0**exponent:.0e} leave the range of float32, and those in a "
            "file are not copied: scale the weights, for instance to a mean of one."
        )
    return csr_array((np.ldexp(A.data, missing), A.indices, A.indptr), shape=A.shape)


def check_number(
    estimator: Any,
    name: str,
    *,
    low: float,
    high: float = np.inf,
    whole: bool = False,
    open_ends: bool = False,
) -> None:
    """Check that a parameter is a number from ``low`` to ``high``; ``open_ends`` excludes both."""
    value = getattr(estimator, name)
    kind = int | np.integer if whole else int | float | np.integer | np.floating
    inside = isinstance(value, kind) and not isinstance(value, bool)
    # NumPy does not support integers beyond 64 bits
    inside = inside and (abs(value) < 2**63 if isinstance(value, int) else bool(np.isfinite(value)))
    inside = inside and bool(low < value < high if open_ends else low <= value <= high)
    if not inside:
        number = "a whole number" if whole else "a number"
        between = f"from {low} to {high}" if np.isfinite(high) else f"from {low} on"
        if open_ends:
            between = f"between {low} and {high}, both excluded"
        raise ValueError(f"{type(estimator).__name__}: {name} must be {number} {between}, not {value!r}.")


def generator(random_state: Any) -> np.random.Generator:
    """Return a random generator for a ``random_state`` of scikit-learn."""
    if isinstance(random_state, np.random.RandomState):
        random_state = random_state.randint(np.iinfo(np.int32).max)
    return np.random.default_rng(random_state)


def select_nodes(selection: Any, n_nodes: int, name: str) -> np.ndarray:
    """Return the node indices of a mask or a list of indices, in the order of the list."""
    chosen = np.asarray(selection)
    if chosen.size == 0:
        chosen = chosen.astype(np.int64)
    if chosen.dtype == bool:
        if chosen.shape != (n_nodes,):
            raise ValueError(
                f"{name} is a mask of shape {chosen.shape}, but there are {n_nodes} nodes: give one entry "
                "per node."
            )
        chosen = np.flatnonzero(chosen)
    if chosen.ndim != 1 or chosen.dtype.kind not in "iu":
        raise ValueError(f"{name} must be a boolean mask over the nodes or an array of node indices.")
    wild = chosen[(chosen < 0) | (chosen >= n_nodes)]
    if len(wild):
        raise ValueError(f"{name} names node {wild[0]}, but the nodes are numbered 0 to {n_nodes - 1}.")
    return chosen


def ids_of_fit(model: Any, problem: Any) -> np.ndarray | None:
    """Return the ids of the nodes of a fit, None without a problem; raise if it is not that of the fit."""
    if problem is None:
        return None
    ids, n = np.asarray(problem.node_ids, dtype=object), len(model.fit_codes)
    if len(ids) != n:
        raise ValueError(
            f"the problem has {len(ids):,} nodes and the model was fitted to {n:,}: give the problem of fit."
        )
    if not has_graph_of_fit(model, problem.adjacency):
        raise ValueError("the problem has its nodes in another order than fit had them: give that of fit.")
    return ids


def has_graph_of_fit(model: Any, A: Any) -> bool:
    """Return whether a graph may be that of fit: its nodes have the same numbers of links, in order."""
    inputs = getattr(model, "_fit_inputs", None)
    # a copied model does not hold its graph
    return inputs is None or np.array_equal(np.diff(inputs.A.indptr), np.diff(A.indptr))


def find_nodes(nodes: Any, ids: np.ndarray | None) -> Any:
    """Return the numbers of nodes given by their ids; numbers and masks stay as they are."""
    given = np.atleast_1d(np.asarray(nodes, dtype=object if isinstance(nodes, str) else None))
    if not len(given) or not all(isinstance(node, str) for node in given.ravel()):
        return given if np.ndim(nodes) == 0 else nodes
    if ids is None:
        raise ValueError("nodes are given by their ids: give the problem of fit, too, or node numbers.")
    numbers = {node: k for k, node in enumerate(ids)}
    unknown = next((node for node in given if node not in numbers), None)
    if unknown is not None:
        raise ValueError(f"there is no node {quoted(str(unknown))}: give ids as they are in the tables.")
    return np.array([numbers[node] for node in given], dtype=np.int64)


def select_labelled(selection: Any, codes: np.ndarray, name: str) -> np.ndarray:
    """Return the sorted node indices of a mask or a list of indices, all of which must be labelled."""
    chosen = select_nodes(selection, len(codes), name)
    unlabelled = chosen[codes[chosen] == UNLABELLED]
    if len(unlabelled):
        raise ValueError(f"{name} names node {unlabelled[0]}, which has no label in y.")
    return np.unique(chosen)


class FeatureSizeError(ValueError):
    """Squares of the features overflow or underflow."""


def safe_exponent(X: Any) -> int:
    """Return k such that squares of 2ᵏX neither overflow nor underflow; 0 if those of X do not."""
    largest = 0.0
    for rows, columns in () if not min(X.shape) else iterate_blocks(X):
        part = X.data if issparse(X) else X[rows, columns]
        largest = max(largest, float(part.max(initial=0.0)), -float(part.min(initial=0.0)))
    limits, (n, d) = np.finfo(X.dtype), X.shape
    low, high = float(np.sqrt(limits.tiny) / limits.eps), float(np.sqrt(limits.max / max(1, n))) / max(1, d)
    return 0 if not largest or low < largest < high else -int(np.frexp(largest)[1])


def scale_features(X: Any, exponent: int) -> Any:
    """Return 2ᵏX; raise if X is memory-mapped and k is not 0."""
    if not exponent:
        return X
    if mapped_file(X) is not None:
        raise FeatureSizeError(
            f"features of a size near {2.0**-exponent:.0e} leave the range of {X.dtype} when squared, and "
            "those in a file are not copied: scale X, for instance to rows that sum to one."
        )
    if issparse(X):
        return csr_array((np.ldexp(X.data, exponent), X.indices, X.indptr), shape=X.shape)
    return np.ldexp(X, exponent)


def feature_scale(X: Any, block_bytes: int = BLOCK_BYTES) -> float:
    """Return the mean absolute row sum over nonzero rows, 1 if there are none."""
    # by blocks, because the absolute values of a dense X would take as much memory as X
    d = X.shape[1]
    sums = np.zeros(X.shape[0], X.dtype)
    for rows, columns in iterate_blocks(X, block_bytes):
        for start in range(rows.start, rows.stop, 1024):
            part = slice(start, min(start + 1024, rows.stop))
            # compare both ends: the last block of columns also stops at d
            sums[part] += abs(X[part] if columns == slice(0, d) else X[part, columns]).sum(axis=1)
    if not sums.any():
        return 1.0
    scale = float(sums[sums > 0].mean(dtype=np.float64))
    limits = np.finfo(X.dtype)
    if not np.sqrt(limits.tiny * d) < scale < np.sqrt(limits.max / X.shape[0]):
        raise FeatureSizeError(
            f"OGC: features of the size {scale:.1e} leave the range of {X.dtype} when squared: scale X, for "
            "instance to rows that sum to one."
        )
    return scale
