"""Pure functions that run on workers; Dask keeps their values and can recompute them."""

import os
import sys
import tempfile
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
from scipy.sparse import issparse
from threadpoolctl import threadpool_limits

from gssl.files import explain_write_errors, open_regular, write_all
from gssl.graph.mapped import FileArray, mapped_file
from gssl.operators import Filters, set_threads
from gssl.scale import columns as products
from gssl.scale import slabs
from gssl.scale.columns import read_columns
from gssl.scale.memory import available_memory

_ARRAYS = ("indptr", "indices", "weights", "scale")


def run_on_one_thread(client_pid: int, function: Callable[..., Any], *arguments: Any) -> Any:
    """Run a function with one thread for kernels and BLAS, since a worker runs one task per thread."""
    if os.getpid() != client_pid:
        _use_one_thread()
    return function(*arguments)


@cache
def _use_one_thread() -> None:
    """Limit this worker process to one thread per task, permanently."""
    set_threads(1)
    threadpool_limits(1, user_api="blas")


def version() -> str:
    """Return the version of gssl in this process."""
    return str(sys.modules["gssl"].__version__)


def hold(value: Any) -> Any:
    """Return a value; as a task of its own, it is sent once, however many tasks use it."""
    return value


@dataclass(frozen=True)
class PackedFilters:
    """The matrices of one iteration, with some arrays given as files, which each process maps."""

    A_hat: Any
    N_hat: Any
    own: Any
    files: dict[str, FileArray]

    @classmethod
    def of(cls, filters: Filters, visible: Callable[[FileArray], bool]) -> "PackedFilters":
        """Replace arrays in files that workers can read by references to the files."""
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
        return cls(parts["A_hat"], parts["N_hat"], filters.own, files)

    def __reduce__(self) -> Any:
        # without mapped files: each process maps its own
        return PackedFilters, (self.A_hat, self.N_hat, self.own, self.files)

    def __call__(self, k: int) -> Filters:
        """Return the matrices, which are the same in every iteration."""
        return self.opened

    @cached_property
    def opened(self) -> Filters:
        """The matrices, with their files mapped."""
        matrices = {"A_hat": self.A_hat, "N_hat": self.N_hat}
        for key, file in self.files.items():
            name, array = key.split(".")
            matrices[name] = replace(matrices[name], **{array: file.open()})
        return Filters(matrices["A_hat"], matrices["N_hat"], self.own)


@dataclass(frozen=True)
class FileColumns:
    """Columns of features in a file that workers can read."""

    file: FileArray
    columns: slice

    def read(self) -> np.ndarray:
        """Read the columns into memory."""
        try:
            return np.asarray(read_columns(self.file.open(), self.columns))
        except FileNotFoundError as error:
            raise FileNotFoundError(
                f"{self.file.path} does not exist on a worker that joined later: start workers that can read "
                "the same files as the others, or load the features into memory."
            ) from error


def part_of(X: Any, columns: slice) -> Any:
    """Return columns to send with a task: a reference if X is a file that workers can read, else values."""
    return FileColumns(X, columns) if isinstance(X, FileArray) else read_columns(X, columns)


def hand_over(U: Any, path: Path | None) -> Any:
    """Write an array to a file for another process, and return a reference; U itself if that fails."""
    # sparse columns, and columns that are in a file anyway, are sent as they are
    if path is None or not isinstance(U, np.ndarray):
        return U
    try:
        with open_regular(path, "xb", buffering=0) as opened:
            write_all(opened, U)
    except OSError:  # a full disk, or a worker that does not see the folder
        path.unlink(missing_ok=True)
        return U
    return FileColumns(FileArray(path, 0, U.shape, U.dtype, "C"), slice(0, U.shape[1]))


def take_over(part: Any) -> Any:
    """Return an array that may have been handed over in a file, which is then deleted."""
    if not isinstance(part, FileColumns):
        return part
    U = part.read()
    part.file.path.unlink()
    return U


def _read(part: Any) -> Any:
    return part.read() if isinstance(part, FileColumns) else part


def embed(job: list[Any], part: Any, columns: slice, folder: Path | None = None) -> Any:
    """Run a task on a slab of columns; ``job`` has the task and its filters.

    The result is handed over in ``folder`` if there is one; None if this worker does not see the columns.
    """
    task, filters = job
    try:
        U = _read(part)
    except FileNotFoundError:
        if folder is None:
            raise
        return None
    result = np.asarray(task(U, filters, columns))
    return hand_over(result, None if folder is None else folder / f"result-{uuid4().hex}")


class FileSlab:
    """A slab in a local file of its worker; pickled by content, and removed with its last reference."""

    def __init__(self, U: np.ndarray) -> None:
        handle, name = tempfile.mkstemp(prefix="gssl-slab-", dir=_local_directory())
        self._path, self._shape, self._dtype = Path(name), U.shape, U.dtype
        weakref.finalize(self, self._path.unlink, missing_ok=True)
        with explain_write_errors(self._path), os.fdopen(handle, "wb", buffering=0) as opened:
            write_all(opened, U)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.memmap(self._path, self._dtype, "r", shape=self._shape)

    def __reduce__(self) -> Any:
        return FileSlab, (np.array(self),)

    def __sizeof__(self) -> int:
        # Dask schedules tasks near their largest inputs
        return int(np.prod(self._shape)) * self._dtype.itemsize


def _local_directory() -> str | None:
    """Return the local folder of the current worker, or None for the default temporary folder."""
    from distributed import get_worker

    try:
        return str(get_worker().local_directory)
    except ValueError:
        return None


def load(part: Any, in_file: bool, after: Any = None) -> Any:
    """Return the initial slab of U, dense columns of X; ``after`` is only a dependency."""
    U = _read(part)
    return _kept(np.asarray(U.toarray() if issparse(U) else U), in_file)


def advance(
    U: Any, graph: PackedFilters, steps: Sequence[slabs.LazyStep], columns: slice, in_file: bool
) -> Any:
    """Return a slab after some steps of lazy convolution."""
    U = np.asarray(U)
    own = [(beta, pull and pull.columns(columns)) for beta, pull in steps]
    buffers = slabs.Buffers(U.shape[0], U.shape[1], U.dtype)
    return _kept(slabs.advance(U, graph.opened, own, buffers), in_file)


def _kept(U: np.ndarray, in_file: bool) -> Any:
    return FileSlab(U) if in_file else U


def pick(U: Any, nodes: np.ndarray) -> np.ndarray:
    """Return rows of a slab."""
    return slabs.pick_rows(np.asarray(U), nodes)


def add_product(U: Any, W: np.ndarray, total: np.ndarray | None) -> np.ndarray:
    """Return ``total`` plus the product of a slab, in double precision."""
    U = np.asarray(U)
    scores = np.zeros((len(U), W.shape[1])) if total is None else total.copy()
    products.add_product(scores, U, W)
    return scores


def memory_share(n_beside: int) -> int:
    """Return the memory a worker may use: half of its share of free memory, at most half of its limit."""
    from distributed import get_worker

    free = available_memory() // 2 // max(1, n_beside)
    try:
        limit = get_worker().memory_manager.memory_limit
    except (ValueError, AttributeError):  # not on a worker, or on one that does not monitor memory
        return free
    return min(free, int(limit) // 2) if limit else free


def sees(path: str, size: int, modified: int) -> bool:
    """Return whether a file exists here with the same size and modification time."""
    try:
        facts = Path(path).stat()
    except OSError:
        return False
    return (facts.st_size, facts.st_mtime_ns) == (size, modified)


def network() -> str:
    """Return an identifier of this process's machine and network namespace, or "" if unknown."""
    try:
        machine = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii")
        return f"{machine.strip()} {Path('/proc/self/ns/net').stat().st_ino}"
    except OSError:
        return ""
