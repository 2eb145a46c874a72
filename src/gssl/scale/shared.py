"""How features and graph get to a worker: by name where it sees the same files, else as they are, once."""

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gssl.graph import FileArray, file_of
from gssl.operators import Filters
from gssl.scale.columns import read_columns

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
                file = file_of(getattr(matrix, array, None))
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
    >>> FileColumns(file_of(np.load(path, mmap_mode="r")), slice(1, 2)).read()
    array([[0.],
           [1.]])
    """

    file: FileArray
    columns: slice

    def read(self) -> np.ndarray:
        """Read the columns into memory."""
        return np.asarray(read_columns(self.file.open(), self.columns))


def sees(file: FileArray, size: int, modified: int) -> bool:
    """Tell whether this process sees a file as another one does: by name, length and time of change.

    Examples
    --------
    >>> from pathlib import Path
    >>> sees(FileArray(Path("no such file"), 0, (1,), np.dtype("f4"), "C"), 4, 0)
    False
    """
    try:
        found = os.stat(file.path)  # noqa: PTH116 - a path of a memory map may be text
    except OSError:
        return False
    return (found.st_size, found.st_mtime_ns) == (size, modified)
