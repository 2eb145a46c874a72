"""Columns of features slab by slab: where rows lie one after the other in a file, sorted by slabs once."""

from typing import Any

import numpy as np

from gssl.graph.mapped import mapped_file
from gssl.scale.columns import raw_bytes, read_columns, read_file, read_rows
from gssl.scale.files import RunFolder
from gssl.scale.plan import SlabPlan

# a file is read as a whole for a slab of its columns: so often is as cheap as sorting it
_FEW = 3


class ColumnSource:
    """The slabs of X, each in memory when it is asked for.

    Pages of a file hold whole rows, so a slab of columns costs a pass over all of it. With more than a few
    slabs, one pass sorts the file into one for each slab, in a temporary folder.

    Parameters
    ----------
    X : ndarray, memmap or csr_array of shape (n, d)
    plan : SlabPlan

    Examples
    --------
    >>> ColumnSource(np.arange(6.0).reshape(2, 3), SlabPlan(3, 2)).read(1)
    array([[2.],
           [5.]])
    """

    def __init__(self, X: Any, plan: SlabPlan) -> None:
        self._X, self._slabs = X, plan.slabs
        file = mapped_file(X)
        self._sorts = file is not None and file.order == "C" and len(self._slabs) > _FEW
        self._folder: RunFolder | None = None

    def read(self, s: int) -> Any:
        """Give a slab."""
        columns = self._slabs[s]
        if not self._sorts:
            return read_columns(self._X, columns)
        if self._folder is None:
            self._folder = self._sorted()
        wanted = np.empty((self._X.shape[0], columns.stop - columns.start), self._X.dtype)
        read_file(self._folder.path / f"columns-{s:04}.npy", wanted)
        return wanted

    def _sorted(self) -> RunFolder:
        """Write a file for each slab, in one pass over X."""
        folder = RunFolder()
        n = self._X.shape[0]
        paths = [folder.path / f"columns-{s:04}.npy" for s in range(len(self._slabs))]
        descr = np.lib.format.dtype_to_descr(self._X.dtype)
        with folder.explained(folder.path):
            for path, columns in zip(paths, self._slabs, strict=True):
                shape = n, columns.stop - columns.start
                with path.open("wb") as opened:
                    header = {"descr": descr, "fortran_order": False, "shape": shape}
                    np.lib.format.write_array_header_1_0(opened, header)
            for rows in read_rows(self._X):
                for path, columns in zip(paths, self._slabs, strict=True):
                    # opened again for each block, for there may be more slabs than a process may have files
                    with path.open("ab", buffering=0) as opened:
                        view = raw_bytes(np.ascontiguousarray(rows[:, columns]))
                        while len(view):
                            view = view[opened.write(view) :]
        return folder
