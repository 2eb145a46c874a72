"""Arrays written to ``.npy`` files from front to back, whose length is known at the end."""

from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.lib import format as npy


class GrowingArray:
    """A one-dimensional ``.npy`` file that parts are appended to.

    Parameters
    ----------
    path : Path
    dtype : type of the entries

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "a.npy"
    >>> with GrowingArray(file, np.int32) as array:
    ...     array.append(np.array([1, 2]))
    ...     array.append(np.array([3]))
    >>> np.load(file)
    array([1, 2, 3], dtype=int32)
    """

    def __init__(self, path: Path, dtype: Any) -> None:
        self.dtype = np.dtype(dtype)
        self.size = 0
        self._file = path.open("wb")
        self._write_header()

    def append(self, values: np.ndarray) -> None:
        """Write more entries behind those that are there."""
        np.ascontiguousarray(values, dtype=self.dtype).tofile(self._file)
        self.size += len(values)

    def _write_header(self) -> None:
        # NumPy leaves room in it for a length of any number of digits
        npy.write_array_header_1_0(
            self._file,
            {"descr": npy.dtype_to_descr(self.dtype), "fortran_order": False, "shape": (self.size,)},
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._file:
            self._file.seek(0)
            self._write_header()
