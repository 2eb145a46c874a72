"""Data frames of pandas, polars and pyarrow as arrays that DuckDB reads, with texts as in a CSV file."""

from collections import Counter
from dataclasses import dataclass
from datetime import time, timedelta
from typing import Any

import numpy as np

from gssl.frames import backend_of
from gssl.wording import is_missing, listed, quoted


@dataclass(frozen=True)
class NamedFrame:
    """A data frame with a name for messages, and notes about it."""

    frame: Any
    name: str = "the table"
    notes: tuple[str, ...] = ()


def frame_columns(source: NamedFrame) -> tuple[dict[str, np.ndarray], list[str]]:
    """Return the columns of a data frame as arrays, in which missing text is None, and notes."""
    import narwhals as nw

    _refuse_equal_names(source)
    try:
        table: Any = nw.from_native(source.frame)
    except TypeError as error:
        kind = type(source.frame).__name__
        raise TypeError(
            f"a table is a path, SQL, or a pandas, polars or pyarrow table, not {kind}."
        ) from error
    if isinstance(table, nw.LazyFrame):
        table = table.collect()
    if not table.columns:
        raise ValueError(f"{source.name} is empty: give at least one row.")
    columns = {str(name): table.get_column(name) for name in table.columns}
    durations = [name for name, column in columns.items() if column.dtype == nw.Duration]
    notes = [*source.notes]
    if durations:
        notes.append(f"{source.name}: durations are read as days in {listed(durations)}.")
    return {name: _to_array(column) for name, column in columns.items()}, notes


def _refuse_equal_names(source: NamedFrame) -> None:
    """Raise if two columns of a pandas or pyarrow table have the same name; polars does not allow it."""
    names = {"pandas": "columns", "pyarrow": "column_names"}.get(backend_of(source.frame) or "")
    counts = Counter(str(name) for name in getattr(source.frame, names or "", ()))
    twice = [name for name, count in counts.items() if count > 1]
    if twice:
        raise ValueError(f"{source.name} has more than one column named {quoted(twice[0])}: rename them.")


def _to_array(series: Any) -> np.ndarray:
    import narwhals as nw

    # integers with missing values become text, because large ones would lose digits as floats
    gaps = series.dtype.is_integer() and series.null_count()
    if not gaps and (series.dtype.is_numeric() or series.dtype == nw.Boolean):
        values = series.to_numpy()
        if values.dtype.kind in "biuf":
            # DuckDB does not take the negative strides of a reversed frame
            return np.ascontiguousarray(values)
    cells = series.to_list()
    if series.dtype == nw.Duration:
        return np.array([np.nan if is_missing(cell) else cell / timedelta(days=1) for cell in cells])
    first = next((cell for cell in cells if not is_missing(cell)), None)
    if isinstance(series.dtype, nw.List | nw.Array):
        cells = [None if cell is None else list(cell) for cell in cells]
    elif isinstance(first, list | tuple | np.ndarray):
        cells = [None if is_missing(cell) else [float(x) for x in cell] for cell in cells]
    else:
        days = series.dtype == nw.Datetime and all(is_missing(cell) or _is_day(cell) for cell in cells)
        cells = [_to_text(cell.date() if days and not is_missing(cell) else cell) for cell in cells]
    return np.fromiter(cells, dtype=object)


def _is_day(cell: Any) -> bool:
    return bool(cell.tzinfo is None and cell.time() == time.min)


def _to_text(value: Any) -> str | None:
    if is_missing(value):
        return None
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
