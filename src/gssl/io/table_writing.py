"""Write columns atomically as CSV, TSV, Parquet or JSON lines."""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gssl.io.atomic import check_writable, whole_file
from gssl.io.dialect import needs_guard
from gssl.io.table_reading import (
    connect,
    database_reason,
    find_files,
    interruptible,
    is_query,
    sql_name,
    sql_string,
)
from gssl.wording import counted

_FORMATS = {
    ".csv": "FORMAT csv, HEADER true, DELIMITER ','",
    ".tsv": "FORMAT csv, HEADER true, DELIMITER '\t'",
    ".parquet": "FORMAT parquet, COMPRESSION zstd",
    ".jsonl": "FORMAT json",
}
TABLES = tuple(_FORMATS)


def write_columns(path: str | Path, columns: Mapping[str, Any], decimals: int | None = 4) -> list[str]:
    """Write columns of equal length as a table, in the format of the suffix.

    In CSV and TSV, a text that a spreadsheet would run as a formula is prefixed with an apostrophe: one that
    begins with ``=``, ``@``, tab or carriage return, or with ``+`` or ``-`` and is not a number. So is such a
    text behind apostrophes, because :func:`gssl.io.open_table` removes one of them again from text files.
    Parquet and JSON lines keep every text unchanged.

    Parameters
    ----------
    path : path ending in .csv, .tsv, .parquet or .jsonl
    columns : mapping of str to array
        Numbers, booleans, or text as objects.
    decimals : int or None, default=4
        Of floats in CSV and TSV; None writes as many as needed to restore the same number.

    Returns
    -------
    list of str
        Notes about changed texts.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "a.csv"
    >>> write_columns(file, {"id": ["007", "=cmd()"], "score": np.array([0.5, 1.0])})
    ['1 text that a spreadsheet would run as a formula has an apostrophe in front, which gssl removes when it
    reads it; Parquet needs none.']
    >>> print(file.read_text())
    id,score
    007,0.5000
    '=cmd(),1.0000
    """
    check_suffix(path, TABLES)
    suffix = Path(path).suffix.lower()
    arrays, notes = [_array(values) for values in columns.values()], []
    if suffix in (".csv", ".tsv"):
        changed = sum(_guard(array) for array in arrays if array.dtype == object)
        if changed:
            have, them = ("has", "it") if changed == 1 else ("have", "them")
            notes.append(
                f"{counted(changed, 'text')} that a spreadsheet would run as a formula {have} an apostrophe "
                f"in front, which gssl removes when it reads {them}; Parquet needs none."
            )
    else:
        decimals = None
    _copy(path, dict(zip(columns, arrays, strict=True)), decimals, _FORMATS[suffix])
    return notes


def check_suffix(path: str | Path, suffixes: Sequence[str]) -> None:
    """Raise if a path has none of the given suffixes."""
    if Path(path).suffix.lower() not in suffixes:
        raise ValueError(f"{path} must end in {', '.join(suffixes[:-1])} or {suffixes[-1]}: rename it.")


def refuse_overwrite(out: str | Path, inputs: Iterable[Any]) -> None:
    """Raise if an output would overwrite an input.

    None and data frames are skipped; the files of a query are those it names in quotation marks.
    """
    target = Path(out).expanduser()
    for source in inputs:
        if any(_is_same(target, file) for file in _files_of(source)):
            raise ValueError(f"{out} is an input: choose another name for the output.")


def check_outputs(
    out: Path, sources: Sequence[str | None], *others: Path | None, formats: Sequence[str] = TABLES
) -> None:
    """Raise, before anything is read, if an output cannot be written or would overwrite an input.

    The suffix of ``out`` must be one of the formats.
    """
    check_suffix(out, formats)
    taken: set[Path] = set()
    for target in (out, *others):
        if target is None:
            continue
        refuse_overwrite(target, sources)
        check_writable(target)
        if target.resolve() in taken:
            raise ValueError(f"{target} is the path of two outputs: choose different ones.")
        taken.add(target.resolve())


def _files_of(source: Any) -> list[Path]:
    if not isinstance(source, str | Path):
        return []
    names = re.findall(r"""'([^']+)'|"([^"]+)\"""", str(source)) if is_query(source) else [(str(source), "")]
    files = []
    for pair in names:
        try:
            files += find_files("".join(pair))
        except (OSError, ValueError):
            continue
    return files


def _is_same(target: Path, file: Path) -> bool:
    if target.exists() and file.exists():
        # also through links, hard or symbolic
        return target.samefile(file)
    return target.resolve() == file.resolve()


def _copy(path: str | Path, arrays: dict[str, np.ndarray], decimals: int | None, style: str) -> None:
    import duckdb

    connection = connect()
    # by number, because DuckDB takes names that differ only in case, such as of two classes, for one
    connection.register("columns", {f"c{i}": array for i, array in enumerate(arrays.values())})
    cells = [_cell(f"c{i}", array, decimals) for i, array in enumerate(arrays.values())]
    select = ", ".join(f"{cell} AS {sql_name(name)}" for cell, name in zip(cells, arrays, strict=True))
    try:
        with whole_file(path) as part, interruptible():
            target = sql_string(str(part))
            connection.execute(
                f"COPY (SELECT {select} FROM columns) TO {target} ({style}, USE_TMP_FILE false)"
            )
    except duckdb.Error as error:
        reason = database_reason(str(error)).replace(str(part), str(path))
        raise OSError(f"{path} cannot be written: {reason}; choose another place.") from error


def _array(values: Any) -> np.ndarray:
    array = np.asarray(values)
    # a copy, because _guard changes it; objects, because NumPy drops trailing NULs of text
    return np.array(array, dtype=object) if array.dtype.kind in "UO" else array


def _guard(array: np.ndarray) -> int:
    """Put an apostrophe before texts that need a guard, and return their number."""
    positions = [i for i, text in enumerate(array) if isinstance(text, str) and needs_guard(text)]
    for i in positions:
        array[i] = f"'{array[i]}"
    return len(positions)


def _cell(name: str, array: np.ndarray, decimals: int | None) -> str:
    if array.dtype.kind == "f" and decimals is not None:
        return f"printf('%.{decimals}f', {name})"
    return name
