"""How messages show names and numbers, safely and briefly; texts that mean missing or numbers."""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

# how spreadsheets and libraries write missing values; not "na" and "none", which may be words
MISSING = ("NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "NAN", "None", "NULL", "null", "NaT", "?")
# how a text writes a number
NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
# normal deviations between which nine tenths lie
_NINE_TENTHS = 1.645
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


def write_number(number: float, fine: float = 0.0, digits: int = 3) -> str:
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
        text, power = f"{number:.{digits - 1}e}".split("e")
        return f"{text} × 10{str(int(power)).translate(_RAISED)}"
    enough = 1 - int(np.floor(np.log10(fine))) if fine else 0
    decimals = max(0, digits - 1 - size, min(enough, 6 - size))
    text = f"{number:,.{decimals}f}"
    return text.rstrip("0").rstrip(".") if decimals else text


def write_signed(number: float) -> str:
    """Return a number with its sign and two digits."""
    return f"{'−' if number < 0 else '+'}{write_number(abs(number), digits=2)}"


def write_fixed(number: float, digits: int = 0) -> str:
    """Return a number with so many digits after the point, and never "-0"."""
    text = f"{abs(number):,.{digits}f}"
    return f"−{text}" if number < 0 and float(text.replace(",", "")) else text


def write_share(share: float | None, digits: int = 0) -> str:
    """Return a share in percent; 0 and 100 % mean none and all.

    Examples
    --------
    >>> [write_share(share, 1) for share in (0.857, 1.0, 0.9999, 0.0001, None)]
    ['85.7 %', '100 %', 'over 99.9 %', 'under 0.1 %', '–']
    """
    if share is None:
        return "–"
    text, unit = f"{100 * share:.{digits}f}", 10.0**-digits
    if float(text) in (0.0, 100.0):
        if 0.0 < share < 1.0:
            return f"under {unit:g} %" if share < 0.5 else f"over {100 - unit:g} %"
        text = f"{float(text):g}"
    return f"{text} %"


def write_probability(p: float) -> str:
    """Return an estimated probability in percent, which is never 0 or 100 %."""
    return write_share(min(max(p, 1e-9), 1.0 - 1e-9))


def write_rough(number: float) -> str:
    """Return a number of things with two digits."""
    unit = 10 ** max(0, len(str(int(number))) - 2)
    return f"{round(number / unit) * unit:,}"


def write_range(low: float, high: float, write: Callable[[float], str] = write_number) -> str:
    """Return an interval, whose unit is written once.

    Examples
    --------
    >>> write_range(0.932, 1.0, write_share), write_range(1, np.inf), write_range(5, 5)
    ('93 to 100 %', '1 or more', '5')
    """
    if np.isinf(high):
        return f"{write(low)} or more"
    first, last = write(low), write(high)
    if first == last:
        return first
    plain = not last.startswith(("over ", "under "))
    return f"{first.removesuffix(' %') if plain else first} to {last}"


def estimate_interval(value: float, error: float, most: float = np.inf) -> tuple[float, float]:
    """Return the interval that holds the truth in nine of ten cases, by a standard error."""
    return value - _NINE_TENTHS * error, min(value + _NINE_TENTHS * error, most)


def write_estimate(value: float, error: float, digits: int, unit: str = "", most: float = np.inf) -> str:
    """Return an estimate and its interval of 90 %, by a standard error.

    Examples
    --------
    >>> write_estimate(35.02, 4.3, 1, " points"), write_estimate(0.96, 0.05, 2, most=1.0)
    ('35.0 points (27.9 to 42.1)', '0.96 (0.88 to 1.00)')
    """

    def write(number: float) -> str:
        return write_fixed(number, digits)

    interval = write_range(*estimate_interval(value, error, most), write)
    return f"{write(value)}{unit}" + (f" ({interval})" if interval != write(value) else "")


def write_duration(seconds: float) -> str:
    """Format a duration in a suitable unit: ``1.7 minutes``."""
    if seconds < 90:
        return f"{seconds:.1f} seconds"
    return f"{seconds / 60:.1f} minutes" if seconds < 5400 else f"{seconds / 3600:.1f} hours"


def write_size(n_bytes: int) -> str:
    """Format a number of bytes in a suitable unit: ``2.5 GB``."""
    units = ((10**12, "TB"), (10**9, "GB"), (10**6, "MB"))
    unit, name = next(((u, s) for u, s in units if n_bytes >= u), (10**3, "kB"))
    return f"{n_bytes / unit:.1f} {name}"


def reason(error: BaseException, limit: int = 300) -> str:
    """Return the message of an error on one line and shortened, because it may quote a file at length."""
    text = printable(" ".join(str(error).split())).rstrip(".")
    return shortened(text, limit) or type(error).__name__
