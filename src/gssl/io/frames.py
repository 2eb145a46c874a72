"""pandas, polars and pyarrow tables, by way of narwhals."""

from typing import Any

import numpy as np

from gssl.io.edges import read_edges
from gssl.io.features import read_features
from gssl.io.labels import is_missing, read_labels
from gssl.io.problem import Problem, assemble


def from_frames(edges: Any, labels: Any = None, features: Any = None) -> Problem:
    """Bring together edges, labels and features that are data frames.

    Parameters
    ----------
    edges : pandas, polars or pyarrow table, or None
        Two columns of ids and perhaps a weight: see :func:`gssl.io.read_edges`.
    labels : the same, optional
        Id and label: see :func:`gssl.io.read_labels`.
    features : the same, optional
        Id and numbers, categories or lists: see :func:`gssl.io.read_features`.

    Returns
    -------
    Problem

    Examples
    --------
    >>> import pandas as pd
    >>> edges = pd.DataFrame({"src": ["007", "8"], "dst": ["8", "9"]})
    >>> problem = from_frames(edges, pd.DataFrame({"id": ["007"], "label": ["spy"]}))
    >>> problem.node_ids.tolist(), problem.y.tolist()
    (['007', '8', '9'], ['spy', None, None])
    """
    return assemble(
        None if edges is None else read_edges(edges),
        None if features is None else read_features(features),
        None if labels is None else read_labels(labels),
    )


def frame_columns(frame: Any) -> dict[str, Any]:
    """Give the columns of a data frame as arrays that DuckDB reads; text with None where there is none.

    Examples
    --------
    >>> import pandas as pd
    >>> frame_columns(pd.DataFrame({"id": ["007", None]}))
    {'id': array(['007', None], dtype=object)}
    """
    import narwhals as nw

    try:
        table = nw.from_native(frame, eager_only=True)
    except TypeError as error:
        raise TypeError(
            f"a table is a path, SQL, or a pandas, polars or pyarrow table, not {type(frame).__name__}."
        ) from error
    if not table.columns:
        raise ValueError("the table is empty: give at least one row.")
    return {str(name): _column(table.get_column(name)) for name in table.columns}


def _column(series: Any) -> np.ndarray:
    import narwhals as nw

    kind = series.dtype
    if kind.is_integer() and series.null_count():
        # as floats, large ids would lose digits
        return _objects([_text(value) for value in series.to_list()])
    if kind.is_numeric() or kind == nw.Boolean:
        values = series.to_numpy()
        return (
            values if values.dtype.kind in "biuf" else _objects([_text(value) for value in series.to_list()])
        )
    if isinstance(kind, nw.List | nw.Array):
        return _objects([None if value is None else list(value) for value in series.to_list()])
    values = series.to_list()
    if any(isinstance(value, list | tuple | np.ndarray) for value in values[:1]):
        return _objects([None if value is None else [float(x) for x in value] for value in values])
    return _objects([_text(value) for value in values])


def _text(value: Any) -> str | None:
    if is_missing(value):
        return None
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def _objects(values: list[Any]) -> np.ndarray:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array
