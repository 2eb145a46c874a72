"""What a task gives for each slab, put side by side: in memory, in a file, or in a folder to resume from."""

from pathlib import Path
from typing import Any

import numpy as np

from gssl.scale.files import ColumnFile, RunFolder
from gssl.scale.journal import FinishedColumns
from gssl.scale.plan import SlabPlan


class Results:
    """The columns of a result, which has as many as the input and any number of rows.

    Parameters
    ----------
    plan : SlabPlan
    dtype : float type
        Of a result without columns.
    most : int
        Bytes that may be held in memory; a larger result is a file that is mapped.

    Examples
    --------
    >>> results = Results(SlabPlan(2, 1), np.float64, most=100)
    >>> results.put(1, np.array([[5.0]]))
    >>> results.put(0, np.array([[4.0]]))
    >>> results.give()
    array([[4., 5.]])
    """

    def __init__(self, plan: SlabPlan, dtype: Any, most: int) -> None:
        self.plan = plan
        self.todo = list(range(len(plan.slabs)))
        self._dtype, self._most = dtype, most
        self._kept: Any = None

    def put(self, s: int, part: np.ndarray) -> None:
        """Keep what a task gave for a slab."""
        if len(self.plan.slabs) == 1:
            self._kept = part
            return
        shape = len(part), self.plan.n_columns
        if self._kept is None:
            small = shape[0] * shape[1] * part.itemsize <= self._most
            self._kept = (
                np.empty(shape, part.dtype)
                if small
                else ColumnFile(RunFolder(), "embedding.npy", shape, part.dtype)
            )
        if isinstance(self._kept, ColumnFile):
            self._kept.write(self.plan.slabs[s], part)
        else:
            self._kept[:, self.plan.slabs[s]] = part

    def give(self) -> np.ndarray:
        """Give the whole result."""
        if self._kept is None:  # there are no columns
            return np.empty((0, 0), self._dtype)
        return self._kept.open() if isinstance(self._kept, ColumnFile) else np.asarray(self._kept)


class LastingResults:
    """The same in a folder to resume from: columns count when they are on the disk.

    Parameters
    ----------
    folder : RunFolder
    identity : str
        Of the inputs.
    plan : SlabPlan
        It may be another than that of an earlier run: slabs that were done in part are done again.
    most : int
        Bytes of a result that is read into memory at the end.

    Examples
    --------
    >>> folder = RunFolder()
    >>> results = LastingResults(folder, "abc", SlabPlan(2, 1), most=100)
    >>> results.put(1, np.array([[5.0]]))
    >>> again = LastingResults(folder, "abc", SlabPlan(2, 1), most=100)
    >>> again.todo, LastingResults(folder, "abc", SlabPlan(2, 2), most=100).todo
    ([0], [0])
    >>> again.put(0, np.array([[4.0]]))
    >>> again.give()
    array([[4., 5.]])
    """

    def __init__(self, folder: RunFolder, identity: str, plan: SlabPlan, most: int) -> None:
        self._folder, self._most = folder, most
        self._finished = FinishedColumns(folder, identity)
        self.plan = plan
        self.todo = [s for s, columns in enumerate(plan.slabs) if not self._finished.has(columns)]
        self._file: ColumnFile | None = None
        path = folder.path / "embedding.npy"
        shape = self._finished.n_rows, plan.n_columns
        if self._finished.ranges and not _is_left(path, shape, self._finished.dtype):
            raise ValueError(
                f"{path} is not what the finished slabs of this run have left: remove {folder.path} to begin "
                "anew."
            )

    def put(self, s: int, part: np.ndarray) -> None:
        """Write what a task gave for a slab, then that it is done."""
        self._open(len(part), part.dtype).write(self.plan.slabs[s], part)
        self._finished.finish(self.plan.slabs[s], len(part), part.dtype.str)

    def give(self) -> np.ndarray:
        """Give the whole result."""
        file = self._open(self._finished.n_rows, self._finished.dtype)
        whole = file.open()
        return np.array(whole) if whole.nbytes <= self._most else whole

    def _open(self, n_rows: int, dtype: Any) -> ColumnFile:
        if self._file is None:
            self._file = ColumnFile(self._folder, "embedding.npy", (n_rows, self.plan.n_columns), dtype)
        return self._file


def _is_left(path: Path, shape: tuple[int, int], dtype: str) -> bool:
    """Tell whether a file is the one that finished slabs were written to."""
    if not path.is_file() or not all(shape):
        return path.is_file()
    try:
        left = np.load(path, mmap_mode="r", allow_pickle=False)
    except Exception:  # a damaged file can raise anything
        return False
    return isinstance(left, np.ndarray) and (left.shape, left.dtype.str) == (shape, dtype)
