"""Detect the layout of a delimited text file, and copy a file that DuckDB would misread."""

import csv
import gzip
import re
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gssl.wording import MISSING, NUMBER, quoted

# bytes to inspect; more if they hold fewer than three lines, as with very many columns
_SAMPLE_BYTES = 1 << 16
_LARGEST_SAMPLE = 1 << 26
_SAMPLE_ROWS = 50
# bytes to search at a time
_CHUNK = 1 << 20
# cells that mark the first line as a header; single letters only if they do not recur
_NAMES = {
    *("source", "target", "src", "dst", "from", "to", "weight", "u", "v", "head", "tail"),
    *("source_id", "target_id", "from_id", "to_id", "fromnodeid", "tonodeid", "feature", "value", "y"),
    *("id", "node", "node_id", "nodeid", "name", "key", "label", "labels", "class"),
}
# first bytes of files that are not text, and what to do
_SPREADSHEET = "is a spreadsheet or an archive, not text: export the sheet as CSV (UTF-8) and name that file"
_NOT_TEXT = {
    b"PK\x03\x04": _SPREADSHEET,
    b"\xd0\xcf\x11\xe0": _SPREADSHEET,
    b"PAR1": "is a Parquet file: let its name end in .parquet",
    b"\x1f\x8b": "is a gzip file: let its name end in .gz",
    b"\xff\xfe": "is UTF-16 text: save it as UTF-8",
    b"\xfe\xff": "is UTF-16 text: save it as UTF-8",
}
# a text that a spreadsheet would run as a formula, unless it is a number, after any apostrophes
_FORMULA = re.compile(r"'*[=+\-@\t\r]")
_GUARDED = (b"'=", b"'+", b"'-", b"'@", b"'\t", b"'\r")
_COMMENT = re.compile(r"#[ \t]|%|#$")
# white space other than line ends, in UTF-8
_SPACES = (b" ", b"\t", b"\xc2\xa0", b"\xe3\x80\x80")


@dataclass(frozen=True)
class Dialect:
    """The layout of one delimited text file."""

    delimiter: str
    # number of leading lines to skip: comments, empty lines and sizes of Matrix Market
    skip: int
    header: bool
    # column1, column2 … without a header
    names: tuple[str, ...]
    # whether the detection of the header is certain
    sure: bool
    first: tuple[str, ...]


@dataclass(frozen=True)
class Oddities:
    """Irregularities found in a whole text file."""

    # some lines end in CRLF, others in LF
    mixed_line_ends: bool = False
    # lines that begin with # or %, which may be comments
    comments: bool = False
    # white space beside separators
    spaces: bool = False
    # apostrophes before characters that begin formulas
    guards: bool = False


def sniff_dialect(path: Path, header: bool | None = None) -> Dialect:
    """Detect the layout of a text file, possibly gzipped, from its first rows."""
    lines = _first_lines(path)
    matrix_market = bool(lines) and lines[0].startswith("%%MatrixMarket")
    data = next((line for line in lines if line.strip() and line[0] not in "#%"), None)
    skip = 0
    while skip < len(lines) and (not lines[skip].strip() or _is_comment(lines[skip], data, path)):
        skip += 1
    if matrix_market and skip < len(lines):
        # the line of matrix sizes
        skip += 1
    lines = lines[skip:]
    first = next((line for line in lines if line.strip()), None)
    if first is None:
        raise ValueError(f"{path} is empty: give a table with at least one row.")
    delimiter = _delimiter(first, path)
    rows = list(_rows(lines, delimiter))
    if not rows:
        raise ValueError(f"{path} opens a quotation mark that is never closed: repair the line.")
    head, body = rows[0], rows[1 : _SAMPLE_ROWS + 1]
    sure = True
    if matrix_market:
        header = False
    elif header is None:
        header, sure = _is_header(head, body)
    names = tuple(f"column{i}" for i in range(1, len(head) + 1))
    if header:
        names = (head[0].removeprefix("#"), *head[1:])
        _check_names(names, path)
    return Dialect(delimiter, skip, header, names, sure, tuple(head))


def find_oddities(path: Path, dialect: Dialect) -> Oddities:
    """Search a text file, after its leading comments, for lines DuckDB would misread and for white space."""
    crlf = lf = comments = spaces = guards = False
    separator = dialect.delimiter.encode()
    beside = (separator, b"\n", b"\r", b'"')
    kinds = [space for space in _SPACES if space != separator]
    before = b""
    with open_plain(path) as stream:
        for _ in range(dialect.skip):
            stream.readline()
        while chunk := stream.read(_CHUNK):
            data = before + chunk
            # search single bytes first, which is fastest
            if b"\r" in data:
                pairs = data.count(b"\r\n")
                crlf = crlf or pairs > 0
                lf = lf or data.count(b"\n", len(before)) > pairs
            else:
                lf = lf or b"\n" in chunk
            comments = comments or any(mark in data and b"\n" + mark in data for mark in (b"#", b"%"))
            guards = guards or (b"'" in data and any(pair in data for pair in _GUARDED))
            if not spaces:
                there = [space for space in kinds if space[:1] in data and space in data]
                spaces = any(
                    space + mark in data or mark + space in data for space in there for mark in beside
                )
                if separator == b" ":
                    spaces = spaces or any(run in data for run in (b"  ", b"\n ", b" \n", b" \r"))
            before = data[-4:]
    spaces = spaces or any(before.endswith(space) for space in kinds)
    return Oddities(crlf and lf, comments, spaces, guards)


def needs_guard(text: str) -> bool:
    """Return whether a text is a formula, or one behind apostrophes, which reading would take for guards."""
    return _FORMULA.match(text) is not None and not NUMBER.fullmatch(text.lstrip("'"))


def unguarded_sql(sql: str) -> str:
    """Return the SQL that removes the apostrophe which is written before texts that need a guard."""
    formula = f"'{_FORMULA.pattern}".replace("'", "''")
    number = f"'+{NUMBER.pattern}".replace("'", "''")
    guarded = f"regexp_matches({sql}, '^{formula}') AND NOT regexp_full_match({sql}, '{number}')"
    return f"CASE WHEN {guarded} THEN substr({sql}, 2) ELSE {sql} END"


def copy_lines(path: Path, target: Path, dialect: Dialect, runs: bool) -> str:
    """Copy a text file with rows that end in LF and comments as empty lines; return its separator.

    With ``runs``, cells are separated by runs of white space, which become tabs. Lines keep their numbers.
    """
    width, inside = len(dialect.names), False
    with open_plain(path) as stream, target.open("wb") as copy:
        for number, line in enumerate(stream):
            content = line.rstrip(b"\r\n")
            if not inside and content[:1] in (b"#", b"%") and number >= dialect.skip:
                text = content.decode("utf-8", "replace")
                cells = len(content.split() if runs else next(_rows([text], dialect.delimiter)))
                content = content if cells == width else b""
            # a line end inside quotation marks belongs to the cell
            inside ^= content.count(b'"') % 2 == 1
            copy.write(b"\t".join(content.split()) if runs else content)
            copy.write(line[len(line.rstrip(b"\r\n")) :] if inside else b"\n")
    return "\t" if runs else dialect.delimiter


def _is_comment(line: str, data: str | None, path: Path) -> bool:
    """Return whether a leading line is a comment; ``data`` is the first line without a # or % mark."""
    if _COMMENT.match(line):
        return True
    if not line.startswith("#") or data is None:
        return False
    delimiter = _delimiter(data, path)
    cells, wanted = (len(next(_rows([text], delimiter), [])) for text in (line, data))
    # a comment may happen to have as many words as a row has cells
    return cells != wanted or delimiter == " "


def _rows(lines: Iterable[str], delimiter: str) -> Iterator[list[str]]:
    """Split lines into cells without surrounding white space; skip empty lines."""
    if delimiter == " ":
        lines = (" ".join(line.split()) for line in lines)
    try:
        for row in csv.reader(lines, delimiter=delimiter, skipinitialspace=True):
            if row and not (len(row) == 1 and not row[0].strip()):
                yield [cell.strip() for cell in row]
    except csv.Error:
        # a cell exceeds the limit of Python's parser; the rows so far suffice
        return


@contextmanager
def open_plain(path: Path) -> Iterator[Any]:
    """Open a text file for reading bytes, decompressed if its suffix is .gz."""
    try:
        with gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb") as stream:
            yield stream
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(f"{path} is not a whole gzip file: pack it again.") from error


def _first_lines(path: Path) -> list[str]:
    sample = b""
    with open_plain(path) as stream:
        while part := stream.read(_SAMPLE_BYTES):
            sample += part
            if len(sample) >= _LARGEST_SAMPLE or max(sample.count(b"\n"), sample.count(b"\r")) > 2:
                break
        cut = bool(part) and bool(stream.read(1))
    for start, what in _NOT_TEXT.items():
        if sample.startswith(start):
            raise ValueError(f"{path} {what}.")
    try:
        text = sample.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        # the sample may end inside a character
        if not (cut and error.start >= len(sample) - 3):
            line = sample[: error.start].count(b"\n") + 1
            raise ValueError(f"{path}, line {line} is not UTF-8 text: save the file as UTF-8.") from error
        text = sample[: error.start].decode("utf-8-sig")
    # not splitlines, which also splits at characters such as U+2028 and form feeds; line ends may be in cells
    lines = re.split(r"(?<=\n)|(?<=\r)(?!\n)" if "\r" in text else r"(?<=\n)", text)
    # drop the last line of a sample, which is incomplete, unless it is the only one
    return lines[:-1] if cut and len(lines) > 1 else lines


def _delimiter(line: str, path: Path) -> str:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if ".tsv" in suffixes:
        return "\t"
    unquoted = re.sub(r'"[^"]*"', "", line)
    candidates = [",", ";", "\t", "|"] if ".csv" in suffixes else ["\t", ",", ";", "|"]
    counts = [unquoted.count(candidate) for candidate in candidates]
    if "\t" in unquoted.strip() and ".csv" not in suffixes:
        return "\t"
    best = max(counts)
    if best:
        return candidates[counts.index(best)]
    # white space separates cells only where nothing else does
    return " " if " " in unquoted.strip() else ","


def _is_header(head: list[str], body: list[list[str]]) -> tuple[bool, bool]:
    """Return whether the first row is a header, and whether that is certain."""
    if NUMBER.fullmatch(head[0]):
        return False, True
    known = [cell for cell in head if cell.lower() in _NAMES]
    # pandas writes its index as a column without a name
    indexed = not head[0] and all(head[1:]) and all(NUMBER.fullmatch(row[0]) for row in body)
    if any(len(name) > 1 for name in known) or (indexed and body):
        return True, True
    numbers = [cell for cell in head[1:] if NUMBER.fullmatch(cell)]
    if numbers:
        counting = [[str(i + start) for i in range(len(numbers))] for start in (0, 1)]
        return numbers in counting, False
    columns = [[row[j] for row in body if j < len(row)] for j in range(len(head))]
    for name, column in zip(head, columns, strict=True):
        cells = [cell for cell in column if cell and cell not in MISSING]
        if name and cells and all(NUMBER.fullmatch(cell) for cell in cells):
            return True, True
    if _cells_recur(head, columns) or _same_shape(head, columns):
        return False, False
    return True, bool(known)


def _cells_recur(head: list[str], columns: list[list[str]]) -> bool:
    """Return whether a cell occurs again in its column, or as the other end of an edge."""
    ends = {cell for column in columns[:2] for cell in column}
    return any(
        cell and (cell in ends if j < 2 else cell in column)
        for j, (cell, column) in enumerate(zip(head, columns, strict=True))
    )


def _same_shape(head: list[str], columns: list[list[str]]) -> bool:
    """Return whether an id with digits, such as P12, has the pattern of all cells below, at least three."""
    for cell, column in list(zip(head, columns, strict=True))[:2]:
        shape = re.sub(r"\d+", "0", cell)
        if shape != cell and len(column) > 2 and all(re.sub(r"\d+", "0", other) == shape for other in column):
            return True
    return False


def _check_names(names: tuple[str, ...], path: Path) -> None:
    seen: set[str] = set()
    for number, name in enumerate(names, start=1):
        # the first column may be a row index written by pandas, without a name
        if not name and number > 1:
            raise ValueError(f"{path}: column {number} has no name; give it one in the first line.")
        if name in seen:
            raise ValueError(f"{path} has two columns named {quoted(name)}: rename one of them.")
        seen.add(name)
