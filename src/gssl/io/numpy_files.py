"""NumPy files, whose headers are checked before memory is allocated.

``np.load`` trusts the header: if it claims 10¹² numbers, memory for them is allocated before the file turns
out to be short. Here the sizes in the header, in the archive's directory and of the file must agree first.
Nothing is unpickled, and nothing is unpacked to disk. Errors give the reason, but not the path.
"""

import math
import os
import zipfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray
from scipy.sparse import csr_array

from gssl.files import open_regular
from gssl.wording import quoted, reason

# largest compression ratio of deflate
_MOST_SHRUNK = 1032
# largest compression ratio of a file that unpacks to more than a gigabyte
_LARGE = 1 << 30
_BOMB = 200
_AT_ONCE = 1 << 20
# maximum number of rows or columns of an empty array
_LONGEST_EMPTY = 1 << 31


def map_npy(path: Path, *, follows: bool = True) -> NDArray[Any]:
    """Memory-map one array, read-only; ``follows`` tells whether the path may be a link."""
    with _explained(), path.open("rb") if follows else open_regular(path) as stream:
        shape, column_order, dtype = _header(stream, os.fstat(stream.fileno()).st_size)
        order: Any = "F" if column_order else "C"
        if not math.prod(shape):
            # an empty array cannot be mapped, and a graph may have no edges
            nothing = np.empty(shape, dtype, order)
            nothing.flags.writeable = False
            return nothing
        return np.memmap(stream, dtype, "r", stream.tell(), shape, order)


def npz_shapes(path: Path) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the arrays in an .npz file without reading them."""
    shapes = {}
    with _explained(), zipfile.ZipFile(path) as archive:
        for name, member in _members(archive).items():
            with archive.open(member) as stream:
                shapes[name] = _header(stream, member.file_size)[0]
    return shapes


def read_npz(path: Path, names: Collection[str] | None = None) -> dict[str, NDArray[Any]]:
    """Read arrays of an .npz file; if ``names`` are given, skip all others."""
    arrays = {}
    with _explained(), zipfile.ZipFile(path) as archive:
        members = _members(archive)
        wanted = {name: member for name, member in members.items() if names is None or name in names}
        _refuse_bombs(list(wanted.values()), path.stat().st_size)
        for name, member in wanted.items():
            with archive.open(member) as stream:
                arrays[name] = _read(stream, member.file_size)
    return arrays


def csr_from_parts(
    data: NDArray[Any], indices: NDArray[Any], indptr: NDArray[Any], shape: tuple[int, int]
) -> csr_array:
    """Build a CSR matrix from parts read from a file, each checked before SciPy relies on it."""
    n_rows, n_columns = shape
    if any(part.ndim != 1 for part in (data, indices, indptr)) or data.dtype.kind not in "biuf":
        raise ValueError("the parts of the sparse matrix are not lists of numbers")
    if indices.dtype.kind not in "iu" or indptr.dtype.kind not in "iu":
        raise ValueError("the positions in the sparse matrix are not whole numbers")
    if indptr.size != n_rows + 1 or indptr[0] != 0 or (indptr[1:] < indptr[:-1]).any():
        raise ValueError(f"the row pointers of the sparse matrix do not fit its {n_rows} rows")
    if not indptr[-1] == indices.size == data.size:
        raise ValueError(f"the sparse matrix has {data.size} values but its row pointers end at {indptr[-1]}")
    if indices.size and not 0 <= indices.min() <= indices.max() < n_columns:
        raise ValueError(f"the sparse matrix has a column index outside its {n_columns} columns")
    if not np.isfinite(data).all():
        raise ValueError("the sparse matrix holds NaN or infinity")
    matrix = csr_array((data, indices, indptr), shape=shape)
    matrix.sum_duplicates()
    return matrix


@contextmanager
def _explained() -> Iterator[None]:
    """Convert any error, as damaged files can raise, to a ValueError with its message."""
    try:
        yield
    except Exception as error:
        raise ValueError(reason(error)) from error


def _members(archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    """Return the arrays by name; everything else in the archive is ignored."""
    members: dict[str, zipfile.ZipInfo] = {}
    for member in archive.infolist():
        if not member.filename.endswith(".npy"):
            continue
        name = member.filename.removesuffix(".npy")
        if name in members:
            raise ValueError(f"it holds the array {quoted(name, 80)} twice")
        members[name] = member
    return members


def _refuse_bombs(members: list[zipfile.ZipInfo], n_bytes: int) -> None:
    unpacked = sum(member.file_size for member in members)
    if unpacked > _MOST_SHRUNK * n_bytes + _AT_ONCE:
        raise ValueError(f"it claims to unpack to {unpacked:,} bytes, more than {n_bytes:,} bytes can hold")
    if unpacked > _LARGE and unpacked > _BOMB * n_bytes:
        raise ValueError(
            f"it unpacks from {n_bytes:,} bytes to {unpacked:,}, like a file made to fill the memory; "
            "if it is yours, write it with np.savez, which does not compress"
        )


def _header(stream: IO[bytes], n_bytes: int) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Read a header and compare it with the size of the file."""
    version = npy.read_magic(stream)
    if version not in ((1, 0), (2, 0)):
        raise ValueError(f"version {version} of the format is not supported")
    read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    shape, column_order, dtype = read(stream)
    if dtype.names is not None:
        raise ValueError("records are not read: store each field as an array")
    if dtype.hasobject:
        raise ValueError("Object arrays, which may run code, are not read")
    if any(type(size) is not int or size < 0 for size in shape):
        raise ValueError("a size in its shape is not a whole number of at least 0")
    count = math.prod(shape)
    if stream.tell() + count * dtype.itemsize != n_bytes:
        raise ValueError("the size in its header is not that of the file")
    # a header may claim any number of entries of zero bytes, or of rows without columns
    if (count and not dtype.itemsize) or math.prod(size for size in shape if size) > max(
        count, _LONGEST_EMPTY
    ):
        raise ValueError("its header declares more entries than the file has bytes")
    return shape, column_order, dtype


def _read(stream: IO[bytes], n_bytes: int) -> NDArray[Any]:
    shape, column_order, dtype = _header(stream, n_bytes)
    array = np.empty(math.prod(shape), dtype)
    raw = array.view(np.uint8) if array.nbytes else np.empty(0, np.uint8)
    at = 0
    while at < raw.size:
        piece = stream.read(min(raw.size - at, _AT_ONCE))
        if not piece:
            raise EOFError("the file ends early")
        raw[at : at + len(piece)] = np.frombuffer(piece, np.uint8)
        at += len(piece)
    # zipfile verifies the checksum only at the end of the stream
    if stream.read(1):
        raise ValueError("the file continues after its array")
    return array.reshape(shape, order="F" if column_order else "C")
