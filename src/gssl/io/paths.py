"""Which files a source means, and which of them an output may not touch."""

import re
from collections.abc import Iterable
from glob import glob, has_magic
from pathlib import Path
from typing import Any


def is_query(source: Any) -> bool:
    """Tell an SQL query from a path.

    Examples
    --------
    >>> is_query("SELECT * FROM 'edges.csv'"), is_query("selected.csv")
    (True, False)
    """
    return isinstance(source, str) and bool(re.match(r"\s*\(?\s*(select|with)\s", source, re.I))


def find_files(source: str | Path) -> list[Path]:
    """List the files that a path or a glob means, in order.

    Parameters
    ----------
    source : path
        With ``*``, ``?``, ``[…]`` or ``**`` it is a glob, unless a file of that very name is there.

    Returns
    -------
    list of Path

    Examples
    --------
    >>> find_files("no such file.csv")
    Traceback (most recent call last):
    FileNotFoundError: no such file.csv is not there: check its name and folder.
    """
    text = str(source)
    if not text.strip():
        raise ValueError("a table has no name: give a file, a glob or a query.")
    if re.match(r"\w+://", text):
        raise ValueError(f"{text} is not on this machine: download it and name the file.")
    path = Path(text).expanduser()
    if path.is_file():
        return [path]
    if path.is_dir():
        raise ValueError(f"{text} is a folder: name a file, or files by {text.rstrip('/')}/*.csv.")
    if has_magic(text):
        files = sorted(Path(name) for name in glob(str(path), recursive=True) if Path(name).is_file())  # noqa: PTH207
        if not files:
            raise FileNotFoundError(f"no file matches {text}: check its name and folder.")
        return files
    if path.exists():
        raise ValueError(f"{text} is no plain file, and tables are read more than once: save it as a file.")
    raise FileNotFoundError(f"{text} is not there: check its name and folder.")


def refuse_overwrite(out: str | Path, inputs: Iterable[Any]) -> None:
    """Raise an error if an output would replace a file that is read.

    Parameters
    ----------
    out : path
        What is going to be written.
    inputs : iterable
        Sources as the readers take them: paths, globs, queries; None and tables are skipped. A query reads
        what it names in quotation marks.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "a.csv"
    >>> _ = file.write_text("id,label")
    >>> refuse_overwrite(file.parent / "b.csv", [file])
    >>> refuse_overwrite(file, [file.parent / "*.csv"])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: ...a.csv is an input: choose another name for the output.
    """
    target = Path(out).expanduser()
    for source in inputs:
        if any(_is_same(target, file) for file in _files_of(source)):
            raise ValueError(f"{out} is an input: choose another name for the output.")


def _files_of(source: Any) -> list[Path]:
    if not isinstance(source, str | Path):
        return []
    named = re.findall(r"""'([^']+)'|"([^"]+)\"""", str(source)) if is_query(source) else [(str(source), "")]
    files = []
    for pair in named:
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
