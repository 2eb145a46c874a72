"""Words in messages: values shown safely and briefly, and counts; texts that mean missing or numbers."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

# how spreadsheets and libraries write missing values; not "na" and "none", which may be words
MISSING = ("NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "NAN", "None", "NULL", "null", "NaT", "?")
# how a text writes a number
NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def is_missing(value: Any) -> bool:
    """Return whether a value of any library is missing: None, NaN, or pandas' NA and NaT."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, np.datetime64 | np.timedelta64):
        return bool(np.isnat(value))
    return isinstance(value, float | np.floating) and bool(np.isnan(value))


class ClassName(str):
    """The name of a class that is written like a missing value: the user wants it as a class (``--na``)."""

    __slots__ = ()


def is_missing_text(text: str) -> bool:
    """Return whether a text is empty, white space or a marker of a missing value, and no ClassName."""
    if isinstance(text, ClassName):
        return False
    text = text.strip()
    return not text or text in MISSING


def printable(text: str) -> str:
    r"""Escape control characters, so that texts from files can neither control the terminal nor break lines.

    Examples
    --------
    >>> print(printable("naïve \x1b[31m"))
    naïve \x1b[31m
    """
    return text if text.isprintable() else "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def shortened(text: object, limit: int = 40) -> str:
    """Return a text cut to ``limit`` characters."""
    text = str(text)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def elided(text: object, limit: int = 20) -> str:
    """Return a text on one line, cut in the middle to ``limit`` characters: names often differ at the end."""
    text = " ".join(str(text).split())
    head = limit // 3
    return text if len(text) <= limit else f"{text[:head]}…{text[len(text) - (limit - head - 1) :]}"


def quoted(value: object, limit: int = 40) -> str:
    r"""Return a value as Python writes it, shortened: how every message shows what it read from a file.

    Examples
    --------
    >>> print(quoted("a\x1b[31m"), quoted(3), quoted("long " * 20, 12))
    'a\x1b[31m' 3 'long long l…'
    """
    return repr(shortened(value, limit)) if isinstance(value, str) else shortened(repr(value), limit)


def listed(names: Iterable[object], limit: int = 5) -> str:
    """Return the first few names as text, each shortened, for an error or a note."""
    names = list(names)
    shown = min(limit, len(names))
    more = f" and {len(names) - shown:,} more" if len(names) > shown else ""
    return ", ".join(quoted(str(name)) for name in names[:shown]) + more


def listed_counts(counts: Mapping[str, int], limit: int = 5) -> str:
    """Return the first few names as text, each with its count."""
    some = ", ".join(f"{quoted(name)} ({counts[name]:,})" for name in list(counts)[:limit])
    return some + (f" and {len(counts) - limit:,} more" if len(counts) > limit else "")


def counted(number: int, what: str) -> str:
    """Return a number with its noun, such as "2 ids"."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def write_number(number: float, fine: float = 0.0) -> str:
    """Return a number with three digits, or more where a difference of ``fine`` would not show.

    Examples
    --------
    >>> [write_number(x) for x in (21853.4, 999.7, 0.012345, 2.0, -1.2345e-9)]
    ['21,853', '1,000', '0.0123', '2', '-1.23 × 10⁻⁹']
    >>> write_number(101.2345, fine=0.15)
    '101.23'
    """
    if not np.isfinite(number) or not number:
        return f"{number:g}"
    size = int(np.floor(np.log10(abs(number))))
    if not -5 < size < 15:
        digits, power = f"{number:.2e}".split("e")
        return f"{digits} × 10{str(int(power)).translate(_RAISED)}"
    enough = 1 - int(np.floor(np.log10(fine))) if fine else 0
    decimals = max(0, 2 - size, min(enough, 6 - size))
    text = f"{number:,.{decimals}f}"
    return text.rstrip("0").rstrip(".") if decimals else text


def write_size(n_bytes: int) -> str:
    """Format a number of bytes in a suitable unit: ``2.5 GB``."""
    units = ((10**12, "TB"), (10**9, "GB"), (10**6, "MB"))
    unit, name = next(((u, s) for u, s in units if n_bytes >= u), (10**3, "kB"))
    return f"{n_bytes / unit:.1f} {name}"


def reason(error: BaseException, limit: int = 300) -> str:
    """Return the message of an error on one line and shortened, because it may quote a file at length."""
    text = printable(" ".join(str(error).split())).rstrip(".")
    return shortened(text, limit) or type(error).__name__
