"""Detect the layout of a delimited text file: separator, header, column names."""

import csv
import gzip
import re
import zlib
from dataclasses import dataclass
from pathlib import Path

# the part of a file that is inspected
_SAMPLE_BYTES = 1 << 16
_SAMPLE_ROWS = 50
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
# cells of the first line that mark it as a header
_NAMES = {
    *("source", "target", "src", "dst", "from", "to", "weight", "u", "v", "head", "tail"),
    *("id", "node", "node_id", "nodeid", "name", "key", "label", "class", "feature", "value", "y"),
}


@dataclass(frozen=True)
class Dialect:
    """The layout of one delimited text file.

    ``skip`` is the number of leading comment lines; without a header, columns are named ``column1``,
    ``column2`` …; ``sure`` is whether the cells make it clear that the first line is a header or is not.
    """

    delimiter: str
    skip: int
    header: bool
    names: tuple[str, ...]
    sure: bool


def sniff_dialect(path: Path) -> Dialect:
    r"""Detect the layout of a text file, possibly gzipped, from its first rows.

    The first line is a header unless its first cell is a number, or the numbers in later cells are not a
    count 0, 1, 2 … or 1, 2, 3 …. Leading lines that begin with ``# ``, ``#\t`` or ``%`` are comments.
    """
    lines = _first_lines(path)
    skip = 0
    while skip < len(lines) and re.match(r"#[ \t]|%|#$", lines[skip]):
        skip += 1
    lines = lines[skip:]
    first = next((line for line in lines if line.strip()), None)
    if first is None:
        raise ValueError(f"{path} is empty: give a table with at least one row.")
    delimiter = _delimiter(first, path)
    rows = [row for row in csv.reader(lines, delimiter=delimiter) if row]
    head, body = rows[0], rows[1 : _SAMPLE_ROWS + 1]
    header, sure = _is_header(head, body)
    names = tuple(head) if header else tuple(f"column{i}" for i in range(1, len(head) + 1))
    if header:
        _check_names(names, path)
    return Dialect(delimiter, skip, header, names, sure)


def _first_lines(path: Path) -> list[str]:
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as stream:
            sample = stream.read(_SAMPLE_BYTES)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(f"{path} is not a whole gzip file ({error}): pack it again.") from error
    if sample[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise ValueError(f"{path} is UTF-16 text: save it as UTF-8.")
    cut = len(sample) == _SAMPLE_BYTES
    try:
        text = sample.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        # the sample may end inside a character
        if not (cut and error.start >= len(sample) - 3):
            line = sample[: error.start].count(b"\n") + 1
            raise ValueError(f"{path}, line {line} is not UTF-8 text: save the file as UTF-8.") from error
        text = sample[: error.start].decode("utf-8-sig")
    lines = text.splitlines(keepends=True) if "\r" in text else text.split("\n")
    # drop the last line of a sample, which is incomplete, unless it is the only one
    return lines[:-1] if cut and len(lines) > 1 else lines


def _delimiter(line: str, path: Path) -> str:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if ".tsv" in suffixes:
        return "\t"
    unquoted = re.sub(r'"[^"]*"', "", line)
    candidates = [",", ";", "\t", "|"] if ".csv" in suffixes else ["\t", ",", ";", "|", " "]
    counts = [unquoted.count(candidate) for candidate in candidates]
    if "\t" in candidates and unquoted.count("\t") and ".csv" not in suffixes:
        return "\t"
    best = max(counts)
    return candidates[counts.index(best)] if best else ","


def _is_header(head: list[str], body: list[list[str]]) -> tuple[bool, bool]:
    """Return whether the first row is a header, and whether that is certain."""
    if NUMBER.fullmatch(head[0].strip()):
        return False, True
    if any(cell.strip().lower() in _NAMES for cell in head):
        return True, True
    numbers = [cell.strip() for cell in head[1:] if NUMBER.fullmatch(cell.strip())]
    if numbers:
        counting = [[str(i + start) for i in range(len(numbers))] for start in (0, 1)]
        return numbers in counting, False
    for j in range(len(head)):
        cells = [row[j].strip() for row in body if j < len(row) and row[j].strip()]
        if cells and all(NUMBER.fullmatch(cell) for cell in cells):
            return True, True
    return True, False


def _check_names(names: tuple[str, ...], path: Path) -> None:
    seen: set[str] = set()
    for place, name in enumerate(names, start=1):
        # the first column may be a row index written by pandas, without a name
        if not name.strip() and place > 1:
            raise ValueError(f"{path}: column {place} has no name; give it one in the first line.")
        if name in seen:
            raise ValueError(f"{path} has two columns named {name!r}: rename one of them.")
        seen.add(name)
