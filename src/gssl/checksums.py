"""CRC-32 checksums of JSON objects, arrays and files: damage on disk is found, not forgery."""

import json
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from gssl.files import open_regular

# the field of a sealed object that holds the checksums of other data
CHECKSUMS = "checksums"
_SEAL = len(b', "crc": "00000000"}')
_BLOCK = 1 << 20


def seal(content: bytes) -> bytes:
    """Add the checksum of a JSON object to it as its last field."""
    return content[:-1] + b', "crc": "%08x"}' % zlib.crc32(content)


def unseal(content: bytes) -> bytes | None:
    """Return an object without its checksum; None if it has none, or another."""
    inner = content[:-_SEAL] + b"}"
    return inner if seal(inner) == content else None


def read_sealed(content: bytes) -> Any:
    """Parse JSON that is sealed, or was written before there were checksums; raise ValueError if damaged.

    An object with checksums of other data was sealed when it was written.
    """
    inner = unseal(content)
    data = json.loads(content if inner is None else inner)
    if inner is None and isinstance(data, dict) and not data.keys().isdisjoint({CHECKSUMS, "crc"}):
        raise ValueError("its checksum does not match.")
    return data


def array_checksum(array: np.ndarray) -> str:
    """Return the checksum of the type, shape and numbers of an array in C order."""
    start = zlib.crc32(f"{array.dtype.str} {array.shape}".encode())
    return f"{zlib.crc32(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data, start):08x}"


def file_checksum(path: Path) -> str:
    """Return the checksum of the bytes of a file."""
    value = 0
    with open_regular(path) as opened:
        while block := opened.read(_BLOCK):
            value = zlib.crc32(block, value)
    return f"{value:08x}"
