"""Compressed views of the features: at most a few hundred directions for any width of X."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from scipy.sparse import csr_array, eye_array, issparse

from gssl.graph.mapped import mapped_file, take_rows
from gssl.operators import dense, multiply
from gssl.scale.progress import note
from gssl.selection.features import Features, multiplied
from gssl.selection.node_order import column_keys, node_keys, random_waves, spread_nodes

# nested widths to try; the widest only for graphs with at least _LARGE nodes
WIDTHS = (64, 128, 256, 512)
_LARGE = 20_000
# up to this many features, directions are exact
_EXACT = 384
# extra directions and passes of the randomised decomposition
_EXTRA, _PASSES = 32, 1
# maximum and minimum number of rows to compute directions from, and of values in a dense sample of X
_ROWS, _FEWEST, _NUMBERS = 6_000, 1_000, 1 << 24
# with more nodes, links are not used as features
_MOST_LINKED = 30_000
# a large graph with at least _RARE sparse features gets a view that spans its labelled rows, up to this many
_RARE, _MOST_SPANNED = 4_096, 1_024
# a matrix with a smaller share of nonzeros is stored sparse
_SPARSE_BELOW = 0.1

# up to this many dense features, their products are features, too, if asked for
_MOST_MULTIPLIED = 16

Kind = Literal["unit", "raw", "standardized", "products", "links", "selves", "spanned"]


@dataclass(frozen=True, eq=False)
class View:
    """Features of one kind and ordered orthonormal directions; the first k are a view of width k.

    ``first`` is the width to try first.
    """

    kind: str
    features: Features
    axes: np.ndarray
    first: int = WIDTHS[1]

    @property
    def width(self) -> int:
        """The number of directions."""
        return int(self.axes.shape[1])

    @property
    def first_width(self) -> int:
        """The width to try first, at most ``width``."""
        return min(self.first, self.width)


def make_features(kind: str, X: Any, A: csr_array, n_links: int, scales: np.ndarray) -> Features:
    """Return the features of a kind; ``scales`` are means and standard deviations of columns."""
    if kind in ("links", "selves"):
        return _links(A, n_links, X.dtype, selves=kind == "selves")
    if kind == "unit":
        return Features.unit(X)
    if kind == "standardized":
        return Features.standardized(dense(X), scales)
    if kind == "products":
        return Features.products(dense(X), scales)
    return Features(X)


def by_density(X: Any) -> Any:
    """Return X sparse if few entries are nonzero, else dense; an array in a file stays there."""
    if mapped_file(X) is not None or not X.shape[1]:
        return X
    few = (X.nnz if issparse(X) else np.count_nonzero(X)) < _SPARSE_BELOW * X.shape[0] * X.shape[1]
    if issparse(X):
        return X if few else X.toarray()
    return csr_array(X) if few else X


class Views(Mapping[str, View]):
    """The views of some inputs by kind, compressed on demand; the first is tried with all filters."""

    def __init__(self, X: Any, A: csr_array, *, products: bool = False, selves: bool = False) -> None:
        self._X, self._A = X, A
        # whether products of columns, and links together with the nodes themselves, are asked for
        self.options = {"products": products, "selves": selves}
        # columns that only number the nodes say nothing about them
        named = _only_names(X)
        # the features without such columns, and a number for each that does not depend on their order
        self.own = csr_array((X.shape[0], 0), dtype=X.dtype) if named else X
        self.column_keys = column_keys(self.own, A)
        self.node_keys = node_keys(self.own, A, self.column_keys)
        self._nodes = _sample_rows(X, self.node_keys)
        self._made: dict[str, View] = {}
        self._kinds: list[Kind] = []
        rows = take_rows(X, self._nodes)
        if _varies(rows) and not named:
            lengths = _row_lengths(rows)
            self._kinds.append("unit")
            # skip raw rows if all are about equally long, or if a few long ones would dominate
            if 1e-3 * lengths.max() < np.ptp(lengths) < 1e6 * np.median(lengths):
                self._kinds.append("raw")
            if not issparse(X):
                self._kinds.append("standardized")
                if products and X.shape[1] <= _MOST_MULTIPLIED and mapped_file(X) is None:
                    self._kinds.append("products")
        if X.shape[0] <= _MOST_LINKED:
            self._kinds += ["links", "selves"] if selves else ["links"]

    def __len__(self) -> int:
        return len(self._kinds)

    def __iter__(self) -> Iterator[str]:
        return iter(self._kinds)

    def __contains__(self, kind: object) -> bool:
        # Mapping would compute the view
        return kind in self._kinds

    def __getitem__(self, kind: str) -> View:
        if kind not in self._made:
            self._made[kind] = self._make(kind)
        return self._made[kind]

    @property
    def dtype(self) -> Any:
        """The data type of X."""
        return self._X.dtype

    def wants_span(self, n_rows: int) -> bool:
        """Return whether to add a view that spans the labelled rows: many sparse features, few such rows."""
        return "unit" in self._kinds and has_few_rows_of_rare_features(self._X, n_rows)

    def with_span(self, rows: np.ndarray) -> "Views":
        """Return these views and ``spanned``: unit rows with directions that span the given rows.

        Ridge coefficients lie in the span of the filtered labelled rows, so this view loses no features.
        """
        views = Views.__new__(Views)
        views.__dict__ = {**self.__dict__, "_made": self._made.copy(), "_kinds": [*self._kinds, "spanned"]}
        values, vectors = np.linalg.eigh((rows @ rows.T).astype(np.float64))
        leading = _leading(values, vectors, len(rows), 1e-7)
        lengths = np.sqrt(values[::-1][: leading.shape[1]])
        axes = rows.T @ (leading / lengths).astype(rows.dtype)
        views._made["spanned"] = View("unit", self["unit"].features, axes, first=axes.shape[1])
        return views

    def scales(self, kind: str) -> np.ndarray:
        """Return the means and deviations of columns; of products, those of the factors come first."""
        if kind not in ("standardized", "products"):
            return np.empty(0)
        part = take_rows(self._X, self._nodes)
        scales = _column_scales(part)
        if kind == "products":
            scales = np.hstack([scales, _column_scales(multiplied(part, scales))])
        return scales

    def _make(self, kind: str) -> View:
        if kind not in self._kinds:
            raise KeyError(kind)
        X, scales = self._X, self.scales(kind)
        features = make_features(kind, X, self._A, X.shape[0], scales)
        if kind == "raw":
            # use the directions of unit rows
            return View(kind, features, self["unit"].axes)
        n_axes = WIDTHS[-1] if X.shape[0] >= _LARGE or self.options["selves"] else WIDTHS[-2]
        if kind in ("links", "selves"):
            linked = np.flatnonzero(np.diff(self._A.indptr))
            rows = features.rows(linked[spread_nodes(self.node_keys[linked], _ROWS)])
            # the columns are nodes
            axes = principal_axes(rows, n_axes, self.node_keys)
        else:
            axes = principal_axes(features.rows(self._nodes), n_axes, self.column_keys)
        return View(kind, features, axes.astype(features.dtype))


def _column_scales(part: np.ndarray) -> np.ndarray:
    """Return the means and deviations of columns, of shape (2, d); deviations of equal values are one."""
    largest = np.abs(part).max(axis=0)
    units = np.where(largest > 0, largest, 1)
    part = part / units  # squares may overflow or underflow
    deviations = part.std(axis=0, dtype=np.float64)
    deviations[deviations <= 1e-6] = 1.0
    return np.stack([part.mean(axis=0, dtype=np.float64), deviations]) * units


def _sample_rows(X: Any, keys: np.ndarray) -> np.ndarray:
    """Return the nodes to compute directions from."""
    most = _ROWS if issparse(X) else min(_ROWS, max(_FEWEST, _NUMBERS // max(1, X.shape[1])))
    return spread_nodes(keys, most)


def has_few_rows_of_rare_features(X: Any, n_rows: int) -> bool:
    """Return whether X is large, with many sparse features, and few of its rows are labelled."""
    n, d = X.shape
    return bool(issparse(X) and d >= _RARE and n >= _LARGE and n_rows <= _MOST_SPANNED)


def compress(X: Any, width: int) -> np.ndarray:
    """Project rows onto at most ``width`` leading directions."""
    columns = column_keys(X)
    rows = take_rows(X, _sample_rows(X, node_keys(X, columns=columns)))
    return np.asarray(multiply(X, principal_axes(rows, width, columns).astype(X.dtype)))


def reduce_features(problem: Any, width: int) -> Any:
    """Return a problem with features reduced to leading directions, and note how much these keep.

    Smoothing commutes with it: reducing before gives the same as reducing after.
    """
    X = problem.features
    Z = compress(X, width)
    if not Z.shape[1]:
        return problem  # all of them are zero
    kept = np.square(np.linalg.norm(Z) / np.linalg.norm(X.data if issparse(X) else X))
    note(
        f"features were reduced from {X.shape[1]:,} columns to {Z.shape[1]:,}, which keep {kept:.1%} of "
        "their sum of squares (SVD); --dimensions all keeps every column"
    )
    return replace(problem, features=Z, feature_names=())


def principal_axes(rows: Any, n_axes: int, keys: np.ndarray, *, exact: int = _EXACT) -> np.ndarray:
    r"""Return the leading right singular vectors of some rows, as columns.

    With more than ``exact`` features, uses a randomised decomposition, in which the random numbers of a
    column are a function of its key.
    """
    m, d = rows.shape
    n_axes = min(n_axes, m, d)
    largest = float(np.abs(rows.data if issparse(rows) else rows).max(initial=0.0)) if n_axes else 0.0
    if not largest:
        return np.zeros((d, 0), rows.dtype)
    rows = rows / largest  # squares may overflow or underflow
    if d <= exact:
        rows = rows.astype(np.float64)
        gram = rows.T @ rows
        values, vectors = np.linalg.eigh(gram.toarray() if issparse(gram) else gram)
        return _leading(values, vectors, n_axes, 1e-12)
    rows = rows.astype(np.float32)  # enough for approximate directions
    k = min(n_axes + _EXTRA, m, d)
    omega = random_waves(keys, k).astype(rows.dtype)
    Q = _orthonormal(rows @ omega)
    for _ in range(_PASSES):
        Q = _orthonormal(rows @ _orthonormal(rows.T @ Q))
    C = np.asarray(rows.T @ Q)
    values, vectors = np.linalg.eigh((C.T @ C).astype(np.float64))
    leading = _leading(values, vectors, n_axes, 1e-6)
    lengths = np.sqrt(np.maximum(values[::-1][: leading.shape[1]], np.finfo(np.float64).tiny))
    return np.asarray(C @ (leading / lengths).astype(C.dtype))


def _leading(values: np.ndarray, vectors: np.ndarray, n_axes: int, noise: float) -> np.ndarray:
    """Return the eigenvectors of the largest eigenvalues, without those that are rounding errors."""
    kept = min(n_axes, int((values > noise * values[-1]).sum()))
    return np.asarray(vectors[:, ::-1][:, :kept])


def _orthonormal(Q: Any) -> np.ndarray:
    """Orthonormalise columns using their Gram matrix."""
    Q = np.asarray(Q)
    values, vectors = np.linalg.eigh((Q.T @ Q).astype(np.float64))
    kept = values > max(values[-1], 0.0) * 1e-7
    return np.asarray(Q @ (vectors[:, kept] / np.sqrt(values[kept])).astype(Q.dtype))


def _links(A: csr_array, n_columns: int, dtype: Any, *, selves: bool = False) -> Features:
    """Return the links to the first nodes as features, with rows of unit length; with self-loops if asked."""
    links = csr_array((A.data.astype(dtype), A.indices, A.indptr), shape=A.shape)
    if selves:
        links = csr_array(links + eye_array(A.shape[0], dtype=dtype))
    return Features.unit(links[:, :n_columns] if n_columns < A.shape[1] else links)


def _varies(rows: Any) -> bool:
    """Return whether any two rows differ."""
    if not rows.shape[1]:
        return False
    spread = rows.max(axis=0) - rows.min(axis=0)
    return bool(spread.count_nonzero() if issparse(spread) else spread.any())


def _only_names(X: Any) -> bool:
    """Return whether X is a permutation matrix up to scaling, such as the identity."""
    if not issparse(X) or X.shape[0] != X.shape[1] or X.nnz != X.shape[0]:
        return False
    return bool((np.diff(X.indptr) == 1).all() and len(np.unique(X.indices)) == X.shape[0])


def _row_lengths(rows: Any) -> np.ndarray:
    """Return the lengths of rows in units of the largest entry, to avoid overflow and underflow."""
    largest = float(np.abs(rows.data if issparse(rows) else rows).max(initial=0.0))
    scaled = rows / (largest or 1.0)
    squares = scaled.multiply(scaled).sum(axis=1) if issparse(scaled) else np.square(scaled).sum(axis=1)
    return np.asarray(np.sqrt(np.asarray(squares, dtype=np.float64)))
