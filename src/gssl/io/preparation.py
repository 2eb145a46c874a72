"""Prepare feature columns for a method: fill missing cells and scale."""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, fields, replace
from itertools import count
from typing import Any

import numpy as np
from scipy.sparse import coo_array, csc_array, csr_array, hstack, issparse
from sklearn.utils.sparsefuncs import inplace_column_scale, mean_variance_axis

from gssl.graph.mapped import mapped_file, release_pages
from gssl.io.column_kinds import Encoding
from gssl.io.feature_blocks import column_slices, take_columns, to_array, to_file
from gssl.io.feature_reading import Features, read_features
from gssl.io.notations import NOTATIONS
from gssl.scale.progress import note
from gssl.wording import counted, listed, listed_counts, quoted

NORMALIZE = ("auto", "rows", "columns", "none")
# numbers with a smaller share of nonzeros are counts, such as word counts
_MOSTLY_ZEROS = 0.5
# columns with a smaller share of nonzeros are scaled but not centred, so that they stay sparse
_SPARSE = 0.1
# at least so many columns of both signs, whose deviations differ by a smaller factor, are on one scale
_EMBEDDING_WIDTH, _ONE_SCALE = 16, 5.0


@dataclass(frozen=True)
class Preparation:
    """How the columns of a feature table are filled and scaled; made by :meth:`fit`.

    Attributes
    ----------
    names, kinds : tuple of str
        The columns in order, each "number", "category" or "word".
    fill : tuple of float
        The median of each column, for its missing cells.
    marked : tuple of int
        The columns that get an indicator column, after all others, that is 1 where a cell is missing. Of
        columns with the same missing cells, only the first is marked.
    shift, scale : tuple of float
        Each number x becomes (x − shift) / scale.
    row_scaled : tuple of bool
        The columns that are divided, in each row, by the sum of their absolute values.
    notes : tuple of str
        How columns are scaled, in plain words.
    encoding : Encoding
        Which columns are categories or text, the weights of words, and the notation of numbers;
        ``read_features(new, encoding=…)`` reads a new table in the same way.

    Examples
    --------
    >>> from gssl.io import read_features
    >>> features = read_features("SELECT unnest(['a', 'b', 'c']) AS id, unnest([1.0, NULL, 3.0]) AS age")
    >>> preparation = Preparation.fit(features)
    >>> prepared = preparation.apply(features)
    >>> prepared.names, prepared.matrix.tolist()
    (('age', 'age=missing'), [[-1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    >>> preparation.notes
    ('the query: 1 column of measurements is standardised (mean 0, deviation 1).',)
    """

    names: tuple[str, ...]
    kinds: tuple[str, ...]
    fill: tuple[float, ...]
    marked: tuple[int, ...]
    shift: tuple[float, ...]
    scale: tuple[float, ...]
    row_scaled: tuple[bool, ...]
    notes: tuple[str, ...] = ()
    encoding: Encoding = field(default_factory=Encoding)

    @classmethod
    def fit(cls, features: Features, normalize: str = "auto") -> "Preparation":
        """Learn medians and scales from features.

        Parameters
        ----------
        features : Features
        normalize : {"auto", "rows", "columns", "none"}, default="auto"
            ``"rows"`` makes rows sum to one, ``"columns"`` standardises columns other than 0/1. With
            ``"auto"``, numbers that are mostly zeros and never negative, such as word counts, are scaled by
            rows; other numbers by columns, unless all are 0/1 or, like embeddings, on one scale already.
            Categories are not scaled.

        Returns
        -------
        Preparation
        """
        normalize = "rows" if normalize == "l1" else normalize
        if normalize not in NORMALIZE:
            raise ValueError(f"normalize is {normalize!r}: give one of {', '.join(NORMALIZE)}.")
        statistics = _Statistics.by_kind(features)
        d = features.matrix.shape[1]
        kinds = features.kinds or ("number",) * d
        shift, scale, row_scaled, notes = _scaling(statistics, np.array(kinds), normalize, features.name)
        return cls(
            features.names,
            tuple(kinds),
            tuple(statistics.median.tolist()),
            statistics.marked,
            tuple(shift.tolist()),
            tuple(scale.tolist()),
            tuple(row_scaled.tolist()),
            tuple(notes),
            features.encoding,
        )

    def apply(self, features: Features, *, strict: bool = False) -> Features:
        """Fill and scale features as in :meth:`fit`, with the same columns in the same order.

        Absent columns become zeros (categories, words and counts) or missing cells (other numbers), which
        ``strict`` makes an error. Columns that fit did not see are dropped. Notes report both.

        Parameters
        ----------
        features : Features
        strict : bool, default=False

        Returns
        -------
        Features
        """
        source, notes = self._align(features, strict)
        prepare = self._prepare_sparse if issparse(features.matrix) else self._prepare_dense
        matrix, missing = prepare(features.matrix, source)
        cells = {name: count for name, count in zip(self.names, missing, strict=True) if count}
        if cells:
            notes.append(
                f"{features.name}: filled {counted(int(sum(cells.values())), 'missing cell')} with the "
                f"median of the column: {listed_counts(cells)}."
            )
        names = (*self.names, *(f"{self.names[j]}=missing" for j in self.marked))
        kinds = (*self.kinds, *("category" for _ in self.marked))
        if features.parts:
            matrix = self._clear_absent(matrix, features)
        return replace(features, matrix=matrix, names=names, kinds=kinds, notes=[*features.notes, *notes])

    def _clear_absent(self, matrix: Any, features: Features) -> Any:
        """Return prepared features with zeros in the columns that a kind of nodes does not have."""
        columns = [*self.names, *(self.names[j] for j in self.marked)]
        entries = coo_array(matrix)
        part = np.repeat(np.arange(len(features.parts)), [one.n_rows for one in features.parts])
        has = np.array([[name in one.columns for name in columns] for one in features.parts], dtype=bool)
        kept = has[part[entries.row], entries.col]
        cleared = coo_array(
            (entries.data[kept], (entries.row[kept], entries.col[kept])), shape=matrix.shape
        ).tocsr()
        return cleared if issparse(matrix) else cleared.toarray()

    def to_json(self) -> str:
        """Return the preparation as JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> "Preparation":
        """Restore a preparation from the JSON of :meth:`to_json`."""
        try:
            data = json.loads(text)
            encoding = data.pop("encoding", None)
            values: dict[str, Any] = {name: tuple(value) for name, value in data.items()}
            preparation = cls(**values)
            lengths = {
                len(getattr(preparation, name))
                for name in ("names", "kinds", "fill", "shift", "scale", "row_scaled")
            }
            numbers = [*preparation.fill, *preparation.shift, *preparation.scale]
            right = len(lengths) == 1 and all(0 <= j < len(preparation.names) for j in preparation.marked)
            if not right or not np.isfinite(np.array(numbers, dtype=np.float64)).all():
                raise ValueError
            return replace(preparation, encoding=_read_encoding(encoding, preparation))
        except (KeyError, ValueError, TypeError, AttributeError, RecursionError) as error:
            raise ValueError(
                "the model does not say how its features were prepared: save it again."
            ) from error

    def _align(self, features: Features, strict: bool) -> tuple[np.ndarray, list[str]]:
        """Return the position of each column in the matrix, −1 where it is absent, and notes."""
        if features.names == self.names:
            return np.arange(len(self.names)), []
        position = {name: i for i, name in enumerate(features.names)}
        source = np.array([position.get(name, -1) for name in self.names], dtype=np.int64)
        measured = np.isnan(self._absent)
        zeros, unknown = (np.flatnonzero((source < 0) & mask).tolist() for mask in (~measured, measured))
        if (source < 0).all() or (strict and unknown):
            first = self.names[(unknown or zeros)[0]]
            raise ValueError(
                f"the model learned from {counted(len(unknown or zeros), 'feature')} that {features.name} "
                f"does not have, the first of them {quoted(first)}: give the same columns as in fit."
            )
        notes = []
        known = set(self.names)
        extra = [name for name in features.names if name not in known]
        if extra:
            notes.append(
                f"{features.name}: left out {counted(len(extra), 'feature')} that the model does not know: "
                f"{listed(extra)}."
            )
        if zeros:
            notes.append(
                f"{features.name}: {counted(len(zeros), 'feature')} of the model {_are(zeros)} absent and "
                f"taken as zero: {listed(self.names[j] for j in zeros)}."
            )
        if unknown:
            notes.append(
                f"{features.name}: {counted(len(unknown), 'column')} of the model {_are(unknown)} absent and "
                f"taken as missing: {listed(self.names[j] for j in unknown)}."
            )
        return source, notes

    @property
    def _absent(self) -> np.ndarray:
        """The cells of absent columns: missing if they are measurements, else zero."""
        measured = (np.array(self.kinds) == "number") & ~np.array(self.row_scaled, dtype=bool)
        return np.where(measured, np.nan, 0.0)

    def _prepare_dense(self, matrix: Any, source: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the prepared matrix and the number of missing cells of each column."""
        n, d = matrix.shape[0], len(self.names)
        row_scaled, absent = np.array(self.row_scaled, dtype=bool), self._absent
        marks, missing = np.zeros((n, len(self.marked)), np.float32), np.zeros(d, dtype=np.int64)

        def scaled_columns() -> Iterator[tuple[slice, np.ndarray]]:
            for part in column_slices(matrix, d):
                block = take_columns(matrix, source[part], absent[part])
                empty = np.isnan(block)
                missing[part] = np.count_nonzero(empty & (source[part] >= 0), axis=0)
                for k, j in enumerate(self.marked):
                    if part.start <= j < part.stop:
                        marks[:, k] = empty[:, j - part.start]
                np.copyto(block, self.fill[part], where=empty)
                block -= self.shift[part]
                block /= self.scale[part]
                yield part, block

        sums = np.zeros(n)
        if row_scaled.any():
            for part, block in scaled_columns():
                sums += np.abs(block[:, row_scaled[part]]).sum(axis=1)
        sums[sums == 0] = 1.0

        def pieces() -> Iterator[np.ndarray]:
            for part, block in scaled_columns():
                block[:, row_scaled[part]] /= sums[:, None]
                yield block
            yield marks

        to = to_array if mapped_file(matrix) is None else to_file
        return to(pieces(), n, d + len(self.marked)), missing

    def _prepare_sparse(self, matrix: Any, source: np.ndarray) -> tuple[csr_array, np.ndarray]:
        """Return the prepared matrix and the number of missing cells of each column."""
        X = csc_array(take_columns(matrix, source, self._absent), dtype=np.float32, copy=True)
        n, d = X.shape
        fill, shift, scale = (np.array(values) for values in (self.fill, self.shift, self.scale))
        column, empty = np.repeat(np.arange(d), np.diff(X.indptr)), np.isnan(X.data)
        missing = np.bincount(column[empty], minlength=d) * (source >= 0)
        marks = X[:, list(self.marked)]
        marks.data = np.isnan(marks.data).astype(np.float32)
        X.data[empty] = fill[column[empty]]
        inplace_column_scale(X, 1 / scale)
        if shift.any():
            X = csc_array(X - csc_array(np.ones((n, 1))) @ csr_array((shift / scale)[None, :]))
        inside = np.repeat(np.array(self.row_scaled, dtype=bool), np.diff(X.indptr))
        if inside.any():
            sums = np.bincount(X.indices[inside], np.abs(X.data[inside]), minlength=n)
            X.data[inside] /= sums[X.indices[inside]] + (sums[X.indices[inside]] == 0)
        Y = csr_array(hstack([X, marks], format="csr"), dtype=np.float32)
        Y.eliminate_zeros()
        Y.sort_indices()
        return Y, missing


def prepare_features(
    features: Features,
    normalize: str = "auto",
    preparation: Preparation | None = None,
    *,
    strict: bool = False,
) -> tuple[Features, Preparation]:
    """Fill and scale features, by a given preparation or by one that is fitted to them."""
    if preparation is None:
        preparation = Preparation.fit(features, normalize)
        features = replace(features, notes=[*features.notes, *preparation.notes])
    return preparation.apply(features, strict=strict), preparation


def prepare_frame(frame: Any, kept: str | None) -> tuple[Any, str]:
    """Return the features of a data frame with a row for each node, and their preparation as JSON.

    All columns are features. ``kept`` is the preparation of an earlier frame, to be repeated.
    """
    import narwhals as nw

    from gssl.io.data_frames import NamedFrame

    known = None if kept is None else Preparation.from_json(kept)
    table: Any = nw.from_native(frame).lazy().collect()
    names = [str(name) for name in table.columns]
    absent = [] if known is None else sorted(known.encoding.columns - {*names})
    if absent:
        raise ValueError(
            f"X has no column {quoted(absent[0])}, which it had in fit: give the same columns as there."
        )
    id = next(name for name in map("row{}".format, count()) if name not in names)
    numbered = NamedFrame(table.with_row_index(id).to_native(), "X")
    encoding = None if known is None else known.encoding
    features, made = prepare_features(
        read_features(numbered, id=id, columns=names, encoding=encoding), preparation=known
    )
    note(*features.notes)
    return features.matrix, made.to_json()


def _read_encoding(data: Any, preparation: Preparation) -> Encoding:
    """Restore an encoding from JSON; that of an older model is what the names of its features say."""
    if data is None:
        pairs = list(zip(preparation.names, preparation.kinds, strict=True))
        texts = {name.partition(":")[0]: dict[str, float]() for name, kind in pairs if kind == "word"}
        columns = (name.partition("=")[0] for name, kind in pairs if kind == "category")
        return Encoding(tuple(dict.fromkeys(columns)), texts)
    # older models lack the notations
    categories, texts, numbers = data["categories"], data["words"], data.get("numbers", {})
    names = [*categories, *(word for weights in texts.values() for word in weights)]
    weights = np.array([weight for one in texts.values() for weight in one.values()], dtype=np.float64)
    if not all(isinstance(name, str) for name in names) or not np.isfinite(weights).all():
        raise ValueError
    if not all(form in NOTATIONS for form in numbers.values()):
        raise ValueError
    return Encoding(tuple(categories), texts, numbers)


def _are(columns: list[int]) -> str:
    return "is" if len(columns) == 1 else "are"


@dataclass(frozen=True)
class _Statistics:
    """Statistics of the cells of each column that are not missing."""

    # share of nonzeros
    nonzero: np.ndarray
    negative: np.ndarray
    # whether there is a number other than 0 and 1
    varied: np.ndarray
    mean: np.ndarray
    deviation: np.ndarray
    median: np.ndarray
    # the first of the columns that have the same missing cells, if there are any
    marked: tuple[int, ...]

    @classmethod
    def by_kind(cls, features: Features) -> "_Statistics":
        """Compute the statistics of features, those of a column from the kinds of nodes that have it."""
        if not features.parts:
            return cls.of(features.matrix)
        has = np.array([[name in one.columns for name in features.names] for one in features.parts])
        patterns, group = np.unique(has, axis=1, return_inverse=True)
        d = len(features.names)
        names = [one.name for one in fields(cls) if one.name != "marked"]
        joined = {name: np.zeros(d) for name in names}
        marked: list[int] = []
        for k, pattern in enumerate(patterns.T):
            rows = np.flatnonzero(np.repeat(pattern, [one.n_rows for one in features.parts]))
            columns = np.flatnonzero(group.ravel() == k)
            of_group = cls.of(features.matrix[rows][:, columns])
            marked += columns[list(of_group.marked)].tolist()
            for name in names:
                joined[name][columns] = getattr(of_group, name)
        flags = {name: joined[name] > 0 for name in ("negative", "varied")}
        return cls(**{**joined, **flags}, marked=tuple(sorted(marked)))

    @classmethod
    def of(cls, matrix: Any) -> "_Statistics":
        """Compute the statistics of a dense or sparse matrix, a few columns at a time if it is dense."""
        by_columns = csc_array(matrix) if issparse(matrix) else matrix
        moments = _sparse_moments(by_columns) if issparse(matrix) else _dense_moments(matrix)
        gaps, nonzero, negative, varied, mean, deviation = moments
        median, masks = np.zeros(len(mean)), dict[bytes, int]()
        # the median of mostly zeros is zero
        for j in np.flatnonzero((gaps > 0) | (nonzero >= _MOSTLY_ZEROS)).tolist():
            values = by_columns[:, [j]].toarray().ravel() if issparse(matrix) else by_columns[:, j]
            if gaps[j]:
                empty = np.isnan(values)
                masks.setdefault(np.packbits(empty).tobytes(), j)
                values = values[~empty]
            median[j] = np.median(values) if len(values) else 0.0
            release_pages(matrix)
        return cls(nonzero, negative > 0, varied > 0, mean, deviation, median, tuple(masks.values()))


def _dense_moments(matrix: Any) -> np.ndarray:
    """Return missing cells, share of nonzeros, negative and varied numbers, mean, deviation of columns."""
    moments = np.zeros((6, matrix.shape[1]))
    for part in column_slices(matrix):
        block = np.asarray(matrix[:, part], dtype=np.float64)
        empty = np.isnan(block)
        count = np.maximum((~empty).sum(axis=0), 1)
        filled = np.where(empty, 0.0, block)
        mean = filled.sum(axis=0) / count
        deviation = np.sqrt((np.where(empty, 0.0, block - mean) ** 2).sum(axis=0) / count)
        counts = ((filled != 0), (filled < 0), (filled != 0) & (filled != 1))
        nonzero, negative, varied = (mask.sum(axis=0) for mask in counts)
        moments[:, part] = empty.sum(axis=0), nonzero / count, negative, varied, mean, deviation
    return moments


def _sparse_moments(X: csc_array) -> np.ndarray:
    """Return the same as :func:`_dense_moments`."""
    n, d = X.shape
    column = np.repeat(np.arange(d), np.diff(X.indptr))
    empty = np.isnan(X.data)
    other = ~empty & (X.data != 0)
    gaps, nonzero, negative, varied = (
        np.bincount(column[mask], minlength=d) for mask in (empty, other, X.data < 0, other & (X.data != 1))
    )
    mean, variance = mean_variance_axis(X, axis=0)
    share = nonzero / np.maximum(n - gaps, 1)
    return np.array([gaps, share, negative, varied, np.nan_to_num(mean), np.sqrt(np.nan_to_num(variance))])


def _scaling(
    statistics: _Statistics, kinds: np.ndarray, normalize: str, name: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[str]]:
    """Return shift, scale, a mask of the columns scaled by rows, and notes."""
    d = len(kinds)
    numbers, words = kinds == "number", kinds == "word"
    by_row, by_column, notes = np.zeros(d, dtype=bool), np.zeros(d, dtype=bool), list[str]()
    if normalize == "rows":
        by_row[:] = True
    elif normalize == "columns":
        by_column = statistics.varied.copy()
    elif normalize == "auto":
        by_row = words.copy()
        negative = statistics.negative[numbers].any()
        if not numbers.any():
            pass
        elif not negative and statistics.nonzero[numbers].mean() < _MOSTLY_ZEROS:
            by_row |= numbers
        elif not statistics.varied[numbers].any():
            notes.append(f"{name}: {counted(int(numbers.sum()), 'column')} of 0 and 1 kept as given.")
        elif negative and _on_one_scale(statistics.deviation[numbers]):
            notes.append(f"{name}: {counted(int(numbers.sum()), 'column')} on one scale kept as given.")
        else:
            by_column = numbers & statistics.varied
    if by_row.any():
        what = "feature" if normalize == "rows" else "word count"
        notes.append(f"{name}: rows of {counted(int(by_row.sum()), what)} are scaled to sum to one.")
    scaled = by_column & (statistics.deviation > 0)
    if by_column.any():
        are = "is" if by_column.sum() == 1 else "are"
        columns = f"{counted(int(by_column.sum()), 'column')} of measurements {are} standardised"
        notes.append(f"{name}: {columns} (mean 0, deviation 1).")
    shift = np.where(by_column & (statistics.nonzero >= _SPARSE), statistics.mean, 0.0)
    return shift, np.where(scaled, statistics.deviation, 1.0), by_row, notes


def _on_one_scale(deviations: np.ndarray) -> bool:
    low, high = np.quantile(deviations, [0.1, 0.9])
    return len(deviations) >= _EMBEDDING_WIDTH and bool(high < _ONE_SCALE * low)
