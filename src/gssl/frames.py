"""Results that are tables: data frames of any library, and HTML in a notebook."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from html import escape
from importlib.util import find_spec
from typing import Any, Literal

Backend = Literal["pandas", "polars", "pyarrow"]
BACKENDS: tuple[Backend, ...] = ("pandas", "polars", "pyarrow")
# rows of a table that a notebook shows
_SHOWN = 20
# of a frame and how an earlier one was prepared, as JSON: features, and how they were prepared
Prepare = Callable[[Any, str | None], tuple[Any, str]]
_prepare: list[Prepare] = []


class Tabular(ABC):
    """A result with columns that converts to data frames, and shows as a table in a notebook."""

    @abstractmethod
    def to_dict(self) -> dict[str, list[Any]]:
        """Return a dict of column names to lists."""

    def to_frame(self, backend: Backend = "pandas") -> Any:
        """Return a pandas or polars data frame, or a pyarrow table.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, default="pandas"
        """
        return make_frame(self.to_dict(), backend)

    def to_pandas(self) -> Any:
        """Return a pandas data frame."""
        return self.to_frame("pandas")

    def to_polars(self) -> Any:
        """Return a polars data frame."""
        return self.to_frame("polars")

    def to_arrow(self) -> Any:
        """Return a pyarrow table."""
        return self.to_frame("pyarrow")

    def _repr_html_(self) -> str:
        return html_table(self.to_dict())


def installed_backend() -> Backend | None:
    """Return the first library of data frames that is installed, None if there is none."""
    return next((name for name in BACKENDS if find_spec(name) is not None), None)


def make_frame(columns: dict[str, Any], backend: Backend) -> Any:
    """Return a data frame of a library."""
    import narwhals as nw

    if backend not in BACKENDS:
        raise ValueError(f"{backend!r} is not a library of data frames: choose one of {', '.join(BACKENDS)}.")
    try:
        return nw.from_dict(columns, backend=backend).to_native()
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(f"{backend} is not installed: pip install {backend}.") from error


def backend_of(*sources: Any) -> Backend | None:
    """Return the library of the first data frame among some sources, None if there is none."""
    for source in sources:
        library = type(source).__module__.partition(".")[0]
        if library in BACKENDS:
            return next(name for name in BACKENDS if name == library)
    return None


def other_columns(source: Any) -> list[str]:
    """Return the columns of a data frame that are not numbers; of Python objects, those with a text."""
    if backend_of(source) is None or not hasattr(type(source), "columns"):
        return []
    import narwhals as nw

    try:
        table: Any = nw.from_native(source)
    except (TypeError, nw.exceptions.DuplicateError):
        return []
    if isinstance(table, nw.LazyFrame):
        return [name for name, kind in table.collect_schema().items() if not _is_numeric(kind)]
    return [str(column.name) for column in table.iter_columns() if _is_other(column)]


def _is_numeric(kind: Any) -> bool:
    import narwhals as nw

    return bool(kind.is_numeric() or kind == nw.Boolean)


def _is_other(column: Any) -> bool:
    import narwhals as nw

    if _is_numeric(column.dtype):
        return False
    # scikit-learn takes objects and categories that are numbers
    mixed = column.dtype in (nw.Object, nw.Categorical, nw.Enum, nw.Unknown)
    return not mixed or any(isinstance(value, str) for value in column.to_list())


def register_preparation(prepare: Prepare) -> None:
    """Set what makes features of data frames; methods cannot import it, for they come before tables."""
    _prepare[:] = [prepare]


def prepare_frame(frame: Any, preparation: str | None) -> tuple[Any, str]:
    """Return the features of a data frame, and how they were prepared, as JSON."""
    return _prepare[0](frame, preparation)


def html_table(columns: dict[str, list[Any]], most: int = _SHOWN) -> str:
    """Return the first rows of a table as HTML, with all texts escaped; empty columns are left out."""
    n = len(next(iter(columns.values()), []))
    shown = {name: values[:most] for name, values in columns.items() if any(v is not None for v in values)}
    heads = "".join(f"<th>{escape(str(name))}</th>" for name in shown)
    rows = ["".join(_cell(values[k]) for values in shown.values()) for k in range(min(n, most))]
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    more = f"<p>… and {n - most:,} more rows</p>" if n > most else ""
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>{more}"


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return f"<td>{'yes' if value else ''}</td>"
    if isinstance(value, float | int):
        number = (
            f"{value:,}"
            if isinstance(value, int)
            else f"{value:.3f}"
            if abs(value) < 1e3
            else f"{value:,.0f}"
        )
        return f'<td style="text-align: right">{number}</td>'
    return f'<td style="text-align: left">{escape("" if value is None else str(value))}</td>'
