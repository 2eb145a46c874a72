"""Prepare feature columns for a method: fill missing cells and scale."""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from itertools import chain
from typing import Any

import numpy as np
from scipy.sparse import csc_array, csr_array, hstack, issparse

from gssl.graph.mapped import mapped_file, release_pages
from gssl.io.column_kinds import Encoding
from gssl.io.feature_blocks import to_file
from gssl.io.feature_reading import Features
from gssl.io.notations import NOTATIONS
from gssl.wording import counted, listed, listed_counts, quoted

NORMALIZE = ("auto", "rows", "columns", "none")
# numbers with a smaller share of nonzeros are counts, such as word counts
_MOSTLY_ZEROS = 0.5
# columns with a smaller share of nonzeros are scaled but not centred, so that they stay sparse
_SPARSE = 0.1
# at least so many columns of both signs, whose deviations differ by a smaller factor, are on one scale
_EMBEDDING_WIDTH, _ONE_SCALE = 16, 5.0
# bytes of dense columns to process at a time
_BLOCK_BYTES = 1 << 24


@dataclass(frozen=True)
class Preparation:
    """How the columns of a feature table are filled and scaled; made by :meth:`fit`.

    Attributes
    ----------
    names, kinds : tuple of str
        The columns in order, each "number", "category" or "word".
    fill : tuple of float
        The value for missing cells of each column: the median or, if no cell was missing in :meth:`fit`, the
        mean, or 0 for mostly zero columns.
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
        statistics = _Statistics.of(features.matrix)
        d = features.matrix.shape[1]
        kinds = features.kinds or ("number",) * d
        shift, scale, row_scaled, notes = _scaling(statistics, np.array(kinds), normalize, features.name)
        return cls(
            features.names,
            tuple(kinds),
            tuple(statistics.fill.tolist()),
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
        apply = self._sparse if issparse(features.matrix) else self._dense
        matrix, missing = apply(features.matrix, source)
        cells = {name: count for name, count in zip(self.names, missing, strict=True) if count}
        if cells:
            notes.append(
                f"{features.name}: filled {counted(int(sum(cells.values())), 'missing cell')} with the "
                f"median of the column: {listed_counts(cells)}."
            )
        names = (*self.names, *(f"{self.names[j]}=missing" for j in self.marked))
        kinds = (*self.kinds, *("category" for _ in self.marked))
        return replace(features, matrix=matrix, names=names, kinds=kinds, notes=[*features.notes, *notes])

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
        """Return the position of each column in the matrix (−1 for zeros, −2 for missing cells) and notes."""
        if features.names == self.names:
            return np.arange(len(self.names)), []
        position = {name: i for i, name in enumerate(features.names)}
        source = np.array([position.get(name, -1) for name in self.names], dtype=np.int64)
        absent = np.array([kind == "number" for kind in self.kinds]) & ~np.array(self.row_scaled, dtype=bool)
        source[(source < 0) & absent] = -2
        zeros, unknown = (np.flatnonzero(source == code).tolist() for code in (-1, -2))
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

    def _dense(self, matrix: Any, source: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        n, d, extra = matrix.shape[0], len(self.names), len(self.marked)
        row_scaled, marked = np.array(self.row_scaled, dtype=bool), np.array(self.marked, dtype=np.int64)
        masks = np.zeros((n, extra), dtype=np.float32)
        missing = np.zeros(d, dtype=np.int64)
        sums = np.zeros(n)

        def blocks() -> Iterator[tuple[slice, np.ndarray]]:
            for part in _column_slices(n, d):
                block, mask = self._block(matrix, source, part)
                missing[part] = np.count_nonzero(mask, axis=0) * (source[part] != -2)
                first, last = np.searchsorted(marked, (part.start, part.stop))
                masks[:, first:last] = mask[:, marked[first:last] - part.start]
                yield part, block
                release_pages(matrix)

        if row_scaled.any():
            for part, block in blocks():
                sums += np.abs(block[:, row_scaled[part]]).sum(axis=1, dtype=np.float64)
        sums[sums == 0] = 1.0

        def scaled() -> Iterator[tuple[slice, np.ndarray]]:
            for part, block in blocks():
                block[:, row_scaled[part]] /= sums[:, None]
                yield part, block

        if mapped_file(matrix) is not None:
            return to_file(chain((block for _, block in scaled()), [masks]), n, d + extra), missing
        result = np.empty((n, d + extra), dtype=np.float32)
        for part, block in scaled():
            result[:, part] = block
        result[:, d:] = masks
        return result, missing

    def _block(self, matrix: Any, source: np.ndarray, part: slice) -> tuple[np.ndarray, np.ndarray]:
        """Return some columns, filled, shifted and scaled, and a mask of their missing cells."""
        positions = source[part]
        block = np.zeros((matrix.shape[0], len(positions)), dtype=np.float64)
        there = positions >= 0
        taken = positions[there]
        together = len(taken) and np.array_equal(taken, np.arange(taken[0], taken[0] + len(taken)))
        block[:, there] = matrix[:, taken[0] : taken[-1] + 1] if together else matrix[:, taken]
        block[:, positions == -2] = np.nan
        mask = np.isnan(block)
        fill, shift, scale = (np.array(values[part]) for values in (self.fill, self.shift, self.scale))
        if mask.any():
            block = np.where(mask, fill, block)
        return (block - shift) / scale, mask

    def _sparse(self, matrix: Any, source: np.ndarray) -> tuple[csr_array, np.ndarray]:
        n, d = matrix.shape[0], len(self.names)
        X = csc_array(matrix, dtype=np.float32, copy=True)
        if not np.array_equal(source, np.arange(X.shape[1])):
            gap = csc_array(
                np.full((n, 1), np.nan, dtype=np.float32) if (source == -2).any() else np.zeros((n, 1))
            )
            X = hstack([X, csc_array((n, 1), dtype=np.float32), gap], format="csc")
            X = csc_array(X[:, np.where(source < 0, X.shape[1] - 2 - (source + 1), source)])
        column = np.repeat(np.arange(d), np.diff(X.indptr))
        empty = np.isnan(X.data)
        missing = np.bincount(column[empty], minlength=d) * (source != -2)
        masks = [
            csc_array(
                (empty[part].astype(np.float32), (X.indices[part], np.zeros(part.stop - part.start, int))),
                (n, 1),
            )
            for part in (slice(X.indptr[j], X.indptr[j + 1]) for j in self.marked)
        ]
        fill, shift, scale = (np.array(values) for values in (self.fill, self.shift, self.scale))
        X.data[empty] = fill[column[empty]]
        X.data /= scale[column].astype(np.float32)
        moved = np.flatnonzero(shift)
        if len(moved):
            values = np.repeat(-shift[moved] / scale[moved], n).astype(np.float32)
            entries = (values, (np.tile(np.arange(n), len(moved)), np.repeat(moved, n)))
            X = csc_array(X + csc_array(entries, shape=(n, d)))
            column = np.repeat(np.arange(d), np.diff(X.indptr))
        inside = np.array(self.row_scaled, dtype=bool)[column]
        if inside.any():
            sums = np.bincount(X.indices[inside], np.abs(X.data[inside]), minlength=n)
            sums[sums == 0] = 1.0
            X.data[inside] /= sums[X.indices[inside]]
        Y = csr_array(hstack([X, *masks], format="csr")) if masks else csr_array(X)
        Y.eliminate_zeros()
        Y.sort_indices()
        return Y.astype(np.float32), missing


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
    """Statistics of the cells of each column that are not missing, and the value that fills the others."""

    nonzero: np.ndarray
    negative: np.ndarray
    # whether there is a number other than 0 and 1
    varied: np.ndarray
    mean: np.ndarray
    deviation: np.ndarray
    fill: np.ndarray
    marked: tuple[int, ...]

    @classmethod
    def of(cls, matrix: Any) -> "_Statistics":
        """Compute the statistics of a dense or sparse matrix, a few columns at a time."""
        n, d = matrix.shape
        moments = np.zeros((6, d))
        masks: dict[bytes, int] = {}
        by_columns = csc_array(matrix) if issparse(matrix) else matrix
        for part in _column_slices(n, d):
            if issparse(by_columns):
                cut = slice(by_columns.indptr[part.start], by_columns.indptr[part.stop])
                moments[:, part] = _sparse_moments(by_columns, part, cut)
                holes = np.flatnonzero(np.isnan(by_columns.data[cut])) + cut.start
                gaps = np.unique(np.searchsorted(by_columns.indptr, holes, "right") - 1).tolist()
            else:
                block = np.asarray(by_columns[:, part], dtype=np.float64)
                empty = np.isnan(block)
                gaps = (np.flatnonzero(empty.any(axis=0)) + part.start).tolist()
                moments[:, part] = _dense_moments(block, empty)
                release_pages(matrix)
            for j in gaps:
                values = by_columns[:, [j]].toarray().ravel() if issparse(by_columns) else by_columns[:, j]
                empty = np.isnan(values)
                moments[5, j] = np.nan_to_num(np.median(values[~empty])) if not empty.all() else 0.0
                masks.setdefault(np.packbits(empty).tobytes(), int(j))
        nonzero, negative, varied, mean, deviation, fill = moments
        return cls(nonzero, negative > 0, varied > 0, mean, deviation, fill, tuple(sorted(masks.values())))


def _dense_moments(block: np.ndarray, empty: np.ndarray) -> np.ndarray:
    count = np.maximum((~empty).sum(axis=0), 1)
    filled = np.where(empty, 0.0, block) if empty.any() else block
    mean, share = filled.sum(axis=0) / count, (filled != 0).sum(axis=0) / count
    spread = np.where(empty, 0.0, block - mean) if empty.any() else block - mean
    deviation = np.sqrt((spread**2).sum(axis=0) / count)
    negative, varied = (filled < 0).any(axis=0), ((filled != 0) & (filled != 1)).any(axis=0)
    return np.array([share, negative, varied, mean, deviation, np.where(share < _MOSTLY_ZEROS, 0.0, mean)])


def _sparse_moments(X: Any, part: slice, cut: slice) -> np.ndarray:
    d, n = part.stop - part.start, X.shape[0]
    data = X.data[cut].astype(np.float64)
    column = np.repeat(np.arange(d), np.diff(X.indptr[part.start : part.stop + 1]))
    empty = np.isnan(data)
    count = np.maximum(n - np.bincount(column[empty], minlength=d), 1)
    data, column = data[~empty], column[~empty]
    total, squares, nonzero, negative, varied = (
        np.bincount(column, values, minlength=d)
        for values in (data, data**2, data != 0, data < 0, (data != 0) & (data != 1))
    )
    mean, share = total / count, nonzero / count
    deviation = np.sqrt(np.maximum(squares / count - mean**2, 0.0))
    return np.array([share, negative, varied, mean, deviation, np.where(share < _MOSTLY_ZEROS, 0.0, mean)])


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


def _column_slices(n: int, d: int) -> Iterator[slice]:
    step = max(1, _BLOCK_BYTES // max(1, 8 * n))
    for start in range(0, d, step):
        yield slice(start, min(start + step, d))
