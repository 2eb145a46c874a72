"""Write requirements.lock: the versions of constraints.txt with the hashes of their files.

``python scripts/lock.py`` asks pip's package index (or ``--index``) and prints what it does not offer;
``--check`` asks nothing, and says whether the lock still has the versions of constraints.txt.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urldefrag
from urllib.request import urlopen

ROOT = Path(__file__).parents[1]
CONSTRAINTS, LOCK = ROOT / "constraints.txt", ROOT / "requirements.lock"
HEADER = """\
# Written by scripts/lock.py from constraints.txt: for each version, the hashes of its source archive and of
# its wheels for CPython 3.11 to 3.14 on Linux, macOS and Windows.
"""
PYTHONS = re.compile(r"cp31[1-4]$|(py2\.)?py3$")
SYSTEMS = re.compile(r"any$|manylinux.*_(x86_64|aarch64)$|macosx.*_(x86_64|arm64|universal2)$|win_amd64$")


class Pin(NamedTuple):
    name: str
    version: str
    marker: str

    @property
    def line(self) -> str:
        return f"{self.name}=={self.version}" + (f" ; {self.marker}" if self.marker else "")


def read_pins(text: str) -> list[Pin]:
    """Return the pins in a file of constraints or in a lock."""
    lines = (re.split(r"\s*(?:\\$|#|--hash)", line)[0].strip() for line in text.splitlines())
    parts = (re.fullmatch(r"([\w.-]+)==([\w.]+)(?:\s*;\s*(.+))?", line) for line in lines)
    return [Pin(part[1], part[2], part[3] or "") for part in parts if part]


def fits(file: str) -> bool:
    """Whether the file is a source archive, or a wheel for a Python and a system that the tests know."""
    if not file.endswith(".whl"):
        return file.endswith((".tar.gz", ".zip"))
    python, abi, system = file.removesuffix(".whl").rsplit("-", 3)[1:]
    known = PYTHONS.match(python) or abi == "abi3"
    # wheels whose ABI ends in t are for Python without a global lock
    return bool(known and not abi.endswith("t") and SYSTEMS.match(system))


def is_of(file: str, pin: Pin) -> bool:
    """Whether the file belongs to this version of this package."""
    name = re.sub(r"[-_.]+", "[-_.]+", pin.name)
    return bool(re.match(rf"{name}-{re.escape(pin.version)}(-|\.tar\.gz$|\.zip$)", file, re.IGNORECASE))


class Links(HTMLParser):
    """The SHA-256 of every file on a page of an index, by the name of the file (PEP 503)."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.hashes: dict[str, str] = {}
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        address, fragment = urldefrag(dict(attrs).get("href") or "")
        if tag == "a" and fragment.startswith("sha256="):
            self.hashes[address.rsplit("/", 1)[-1].replace("%2B", "+")] = fragment.removeprefix("sha256=")


def hashes_of(pin: Pin, index: str) -> list[str]:
    """Return the hashes of the files of a version, in order."""
    name = re.sub(r"[-_.]+", "-", pin.name).lower()
    with urlopen(f"{index.rstrip('/')}/{name}/", timeout=60) as answer:
        found = Links(answer.read().decode()).hashes
    return sorted({found[file] for file in found if is_of(file, pin) and fits(file)})


def locked(pins: list[Pin], index: str, missing: list[str]) -> Iterator[str]:
    """Yield the entry of each pin, and list those without a file."""
    for pin in pins:
        hashes = hashes_of(pin, index)
        if not hashes:
            missing.append(pin.line)
            continue
        yield " \\\n".join([pin.line, *(f"    --hash=sha256:{each}" for each in hashes)]) + "\n"


def pip_says(*arguments: str) -> str:
    """Return what pip prints, nothing if it fails."""
    command = [sys.executable, "-m", "pip", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def index_of_pip() -> str:
    """Return the address of the index that pip asks: a setting, or its default."""
    default = re.search(r"\(default\s+(https://[^\s)]+)\)", pip_says("install", "--help"))
    set_by_user = os.environ.get("PIP_INDEX_URL") or pip_says("config", "get", "global.index-url")
    return set_by_user or (default[1] if default else "")


def write_lock(pins: list[Pin], index: str) -> list[str]:
    """Write the lock, and return the versions that the index does not offer."""
    missing: list[str] = []
    LOCK.write_text(HEADER + "".join(locked(pins, index, missing)), encoding="utf-8")
    return missing


def differences(pins: list[Pin]) -> list[str]:
    """Return the versions that are in only one of constraints.txt and the lock."""
    return sorted(pin.line for pin in set(pins) ^ set(read_pins(LOCK.read_text(encoding="utf-8"))))


def main() -> int:
    """Write or check the lock; the exit status is 1 if a version is missing."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare the versions, without an index")
    parser.add_argument("--index", help="the address of a package index (PEP 503), if not pip's")
    told = parser.parse_args()
    pins = read_pins(CONSTRAINTS.read_text(encoding="utf-8"))
    missing = differences(pins) if told.check else write_lock(pins, told.index or index_of_pip())
    sys.stdout.write("".join(f"missing: {line}\n" for line in missing))
    return bool(missing)


if __name__ == "__main__":
    sys.exit(main())
