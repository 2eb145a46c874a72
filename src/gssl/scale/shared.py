"""How features and graph get to a worker: by name where it sees the same files, else as they are, once."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
from scipy.sparse import issparse

from gssl.graph.mapped import FileArray, mapped_file
from gssl.operators import Filters
from gssl.scale.columns import read_columns
from gssl.scale.files import ColumnFile, RunFolder

Visible = Callable[[FileArray], bool]
_ARRAYS = ("indptr", "indices", "weights", "scale")


@dataclass(frozen=True)
class SharedFilters:
    """The matrices of one iteration, some of their arrays by the name of a file.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> from gssl.operators import normalized_adjacency
    >>> filters = Filters(normalized_adjacency(csr_array([[0.0, 1.0], [1.0, 0.0]])))
    >>> SharedFilters.of(filters, lambda file: True).open().A_hat.scale.round(3)
    array([0.707, 0.707])
    """

    A_hat: Any
    N_hat: Any
    files: dict[str, FileArray]

    @classmethod
    def of(cls, filters: Filters, visible: Visible) -> "SharedFilters":
        """Take arrays out that lie in files which the workers see."""
        files: dict[str, FileArray] = {}
        parts = {}
        for name in ("A_hat", "N_hat"):
            matrix = getattr(filters, name)
            for array in _ARRAYS if hasattr(matrix, "scale") else ():
                file = mapped_file(getattr(matrix, array, None))
                if file is not None and visible(file):
                    files[f"{name}.{array}"] = file
                    matrix = replace(matrix, **{array: np.empty(0, file.dtype)})
            parts[name] = matrix
        return cls(parts["A_hat"], parts["N_hat"], files)

    def open(self) -> Filters:
        """Give the matrices, mapping the files."""
        matrices = {"A_hat": self.A_hat, "N_hat": self.N_hat}
        for place, file in self.files.items():
            name, array = place.split(".")
            matrices[name] = replace(matrices[name], **{array: file.open()})
        return Filters(matrices["A_hat"], matrices["N_hat"])


@dataclass(frozen=True)
class FileColumns:
    """Columns of features in a file that a worker sees.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> path = Path(tempfile.mkdtemp()) / "x.npy"
    >>> np.save(path, np.eye(2))
    >>> FileColumns(mapped_file(np.load(path, mmap_mode="r")), slice(1, 2)).read()
    array([[0.],
           [1.]])
    """

    file: FileArray
    columns: slice

    def read(self) -> np.ndarray:
        """Read the columns into memory."""
        return np.asarray(read_columns(self.file.open(), self.columns))


class ArrivedColumns:
    """Columns that come in pieces, in a file of whoever receives them, one column after the other.

    Parameters
    ----------
    shape : (int, int)
    dtype : float type

    Examples
    --------
    >>> arrived = ArrivedColumns((1, 2), np.float64)
    >>> arrived.write(slice(1, 2), np.array([[5.0]]))
    >>> arrived.whole
    False
    >>> arrived.write(slice(0, 1), np.array([[4.0]]))
    >>> arrived.whole, arrived.open().tolist()
    (True, [[4.0, 5.0]])
    """

    def __init__(self, shape: tuple[int, int], dtype: Any) -> None:
        self._file = ColumnFile(RunFolder(), "columns.npy", shape, dtype)
        self._here: set[int] = set()

    @property
    def whole(self) -> bool:
        """Whether all columns have come."""
        return len(self._here) == self._file.shape[1]

    def write(self, columns: slice, part: Any) -> None:
        """Take some columns in."""
        self._file.write(columns, part.toarray() if issparse(part) else part)
        self._here |= set(range(columns.start, columns.stop))

    def open(self) -> np.ndarray:
        """Map them."""
        return self._file.open()


class ShareColumns:
    """A share of the columns of X, wherever they are, as an X of its own.

    Parameters
    ----------
    columns : FileColumns, ArrivedColumns, ndarray or csr_array of shape (n, w)

    Examples
    --------
    >>> share = ShareColumns(np.arange(6.0).reshape(2, 3))
    >>> share.shape, share[:, slice(1, 2)].tolist()
    ((2, 3), [[1.0], [4.0]])
    """

    def __init__(self, columns: Any) -> None:
        self._first = 0
        if isinstance(columns, FileColumns):
            self._X: Any = columns.file.open()
            self._first, stop = columns.columns.start, columns.columns.stop
        else:
            self._X = columns.open() if isinstance(columns, ArrivedColumns) else columns
            stop = self._X.shape[1]
        self.shape = self._X.shape[0], stop - self._first
        self.dtype = self._X.dtype

    def __getitem__(self, key: tuple[slice, slice]) -> np.ndarray:
        """Give all rows of some columns, dense."""
        if self._X is None:
            raise ValueError("the features of a share are asked for after its first step.")
        start, stop, _ = key[1].indices(self.shape[1])
        part = read_columns(self._X, slice(self._first + start, self._first + stop))
        return np.asarray(part.toarray() if issparse(part) else part)

    def forget(self) -> None:
        """Let go of the features, once U has moved away from them."""
        self._X = None


def sees(path: str, size: int, modified: int) -> bool:
    """Tell whether this process sees a file as another one does: by name, length and time of change.

    Examples
    --------
    >>> sees("no such file", 4, 0)
    False
    """
    try:
        found = Path(path).stat()
    except OSError:
        return False
    return (found.st_size, found.st_mtime_ns) == (size, modified)


def network() -> str:
    """Name the network that this process is in: of a running machine, or of a container on it; "" if unknown.

    Examples
    --------
    >>> network() == network()
    True
    """
    try:
        machine = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii")
        return f"{machine.strip()} {Path('/proc/self/ns/net').stat().st_ino}"
    except OSError:
        return ""


def touch(folder: str) -> str:
    """Leave an empty file in a folder and give its name; one that is nowhere if the folder is not there.

    Examples
    --------
    >>> touch("no such folder")
    'none'
    """
    name = f".seen-{uuid4().hex}"
    try:
        (Path(folder) / name).touch()
    except OSError:
        return "none"
    return name


def sweep(folder: Path) -> None:
    """Remove what :func:`touch` has left.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = touch(str(folder))
    >>> sweep(folder)
    >>> list(folder.iterdir())
    []
    """
    for path in folder.glob(".seen-*"):
        path.unlink(missing_ok=True)
