"""Where the slabs of a long run are between its steps: in memory where they fit, else in files."""

from pathlib import Path
from typing import Any

import numpy as np

from gssl.scale.columns import read_file
from gssl.scale.files import RunFolder
from gssl.scale.kept_slabs import forget_steps, read_slab, slab_name
from gssl.scale.plan import SlabPlan
from gssl.scale.source import ColumnSource


class SlabsInMemory:
    """All slabs, and one more for the slab that is written next.

    Parameters
    ----------
    X : ndarray or csr_array of shape (n, d)
        What the slabs begin with.
    plan : SlabPlan

    Examples
    --------
    >>> slabs = SlabsInMemory(np.eye(2), SlabPlan(2, 1))
    >>> slabs.keep(1, 1, np.array([[5.0], [6.0]]))
    >>> slabs.load(0).tolist(), slabs.load(1).tolist()
    ([[1.0], [0.0]], [[5.0], [6.0]])
    """

    def __init__(self, X: Any, plan: SlabPlan) -> None:
        self._X, self._slabs = X, plan.slabs
        self._source = ColumnSource(X, plan)
        self._held: dict[int, np.ndarray] = {}
        self._spare: np.ndarray | None = None

    def load(self, s: int) -> Any:
        """Give a slab as it is now."""
        return self._held[s] if s in self._held else self._source.read(s)

    def free(self, s: int) -> np.ndarray:
        """Give an array that the next state of a slab may be written to."""
        columns = self._slabs[s]
        shape = self._X.shape[0], columns.stop - columns.start
        spare, self._spare = self._spare, None
        return _shaped(spare, shape, self._X.dtype)

    def keep(self, s: int, step: int, U: np.ndarray) -> None:
        """Hold the state of a slab after a step; the one before is free."""
        self.hold(s, U)

    def hold(self, s: int, U: np.ndarray) -> None:
        """Hold a state that the next step of the same slab follows at once."""
        self._spare = self._held.get(s)
        self._held[s] = U

    def settle(self) -> None:
        """Know that every slab has done a step, and that it is written down."""

    def recall(self, s: int, step: int, folder: RunFolder) -> None:
        """Take a slab up from the files of a step."""
        self._held[s] = read_slab(folder, step, self._slabs[s], self.free(s))

    def snapshot(self, step: int, folder: RunFolder) -> None:
        """Put all slabs into files."""
        for s, U in self._held.items():
            folder.write_array(slab_name(self._slabs[s], step), U)
        forget_steps(folder, step)


class SlabsOnDisk:
    """One slab in memory, and the one that is written next; the others in files of a folder.

    In a folder to resume from, the files of a step stay until those of the next are all there.

    Parameters
    ----------
    X : ndarray or csr_array of shape (n, d)
    plan : SlabPlan
    folder : RunFolder

    Examples
    --------
    >>> slabs = SlabsOnDisk(np.eye(2), SlabPlan(2, 1), RunFolder())
    >>> slabs.keep(1, 1, np.array([[5.0], [6.0]]))
    >>> slabs.load(0).tolist(), slabs.load(1).tolist()
    ([[1.0], [0.0]], [[5.0], [6.0]])
    """

    def __init__(self, X: Any, plan: SlabPlan, folder: RunFolder) -> None:
        self._X, self._slabs, self._folder = X, plan.slabs, folder
        self._source = ColumnSource(X, plan)
        self._files: dict[int, Path] = {}
        self._old: list[Path] = []
        self._read: np.ndarray | None = None
        self._written: np.ndarray | None = None
        self._passing: tuple[int, np.ndarray] | None = None

    def load(self, s: int) -> Any:
        """Read a slab as it is now."""
        if self._passing is not None and self._passing[0] == s:
            return self._passing[1]
        if s not in self._files:
            return self._source.read(s)
        columns = self._slabs[s]
        shape = self._X.shape[0], columns.stop - columns.start
        self._read = _shaped(self._read, shape, self._X.dtype)
        read_file(self._files[s], self._read)
        return self._read

    def free(self, s: int) -> np.ndarray:
        """Give an array that the next state of a slab may be written to."""
        columns = self._slabs[s]
        shape = self._X.shape[0], columns.stop - columns.start
        self._written = _shaped(self._written, shape, self._X.dtype)
        return self._written

    def keep(self, s: int, step: int, U: np.ndarray) -> None:
        """Write the state of a slab after a step."""
        self._passing = None
        if not self._folder.durable:
            self._files[s] = self._folder.overwrite_array(f"slab-{s:04}.npy", U)
            return
        if s in self._files:
            self._old.append(self._files[s])
        self._files[s] = self._folder.write_array(slab_name(self._slabs[s], step), U)

    def hold(self, s: int, U: np.ndarray) -> None:
        """Hold a state that the next step of the same slab follows at once: it needs no file."""
        self._passing = s, U
        # it is where it would be if it had been read, and the next is written to the other array
        self._read, self._written = self._written, self._read

    def settle(self) -> None:
        """Forget the files of the step before the last, which is written down."""
        for path in self._old:
            path.unlink(missing_ok=True)
        self._old = []

    def recall(self, s: int, step: int, folder: RunFolder) -> None:
        """Take a slab up from the files of a step; it is cut out of them where they are of other slabs."""
        self._files[s] = folder.path / slab_name(self._slabs[s], step)
        if not self._files[s].exists():
            folder.write_array(self._files[s].name, read_slab(folder, step, self._slabs[s], self.free(s)))


def picked_rows(slabs: SlabsInMemory | SlabsOnDisk, s: int, nodes: np.ndarray) -> np.ndarray:
    """Give rows of a slab as a dense array.

    Examples
    --------
    >>> picked_rows(SlabsInMemory(np.eye(2), SlabPlan(2, 2)), 0, np.array([1]))
    array([[0., 1.]])
    """
    rows = slabs.load(s)[nodes]
    return np.asarray(rows if isinstance(rows, np.ndarray) else rows.toarray())


def _shaped(buffer: np.ndarray | None, shape: tuple[int, int], dtype: Any) -> np.ndarray:
    """Give an array of a shape, in a buffer where that is large enough."""
    size = shape[0] * shape[1]
    whole = buffer if buffer is None or buffer.base is None else buffer.base
    if whole is None or whole.size < size:
        return np.empty(shape, dtype)
    return np.asarray(whole.reshape(-1)[:size].reshape(shape))
