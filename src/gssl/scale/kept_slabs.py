"""Slabs of OGC's embeddings in a folder to resume from: files named by their columns and their step.

So a run that goes on with another budget cuts its slabs out of files that were written at another width.
"""

import re
from pathlib import Path
from typing import Any

import numpy as np

from gssl.graph.mapped import mapped_file
from gssl.scale.columns import read_columns, read_file
from gssl.scale.files import RunFolder
from gssl.scale.identity import identity
from gssl.scale.plan import SlabPlan

_NAME = re.compile(r"slab-(\d+)-(\d+)\.(\d+)\.npy")


def slab_name(columns: slice, step: int) -> str:
    """Name the file of some columns after a step.

    Examples
    --------
    >>> slab_name(slice(0, 16), 3)
    'slab-000000-000016.000003.npy'
    """
    return f"slab-{columns.start:06}-{columns.stop:06}.{step:06}.npy"


def last_whole_step(folder: RunFolder, n_columns: int, at_most: int) -> int:
    """Give the last step of which every column is in a file; 0 where there is none.

    Examples
    --------
    >>> folder = RunFolder()
    >>> _ = folder.write_array(slab_name(slice(0, 2), 3), np.eye(2))
    >>> last_whole_step(folder, 2, at_most=5), last_whole_step(folder, 3, at_most=5)
    (3, 0)
    """
    steps: dict[int, set[int]] = {}
    for _, columns, step in _files(folder):
        steps.setdefault(step, set()).update(range(columns.start, columns.stop))
    whole = (step for step, there in steps.items() if len(there) == n_columns and step <= at_most)
    return max(whole, default=0)


def read_slab(folder: RunFolder, step: int, columns: slice, into: np.ndarray) -> np.ndarray:
    """Read columns after a step, out of the file of just these or of the files that have some of them.

    Parameters
    ----------
    folder : RunFolder
    step : int
    columns : slice
    into : ndarray of shape (n, w)

    Returns
    -------
    ndarray of shape (n, w)
        ``into``.

    Examples
    --------
    >>> folder = RunFolder()
    >>> _ = folder.write_array(slab_name(slice(0, 2), 3), np.array([[1.0, 2.0]]))
    >>> _ = folder.write_array(slab_name(slice(2, 4), 3), np.array([[3.0, 4.0]]))
    >>> read_slab(folder, 3, slice(1, 3), np.empty((1, 2)))
    array([[2., 3.]])
    """
    exact = folder.path / slab_name(columns, step)
    if exact.exists():
        read_file(exact, into)
        return into
    missing = set(range(columns.start, columns.stop))
    for path, there, of_step in _files(folder):
        start, stop = max(columns.start, there.start), min(columns.stop, there.stop)
        if of_step == step and start < stop:
            kept = _opened(path, (len(into), there.stop - there.start), into.dtype)
            part = read_columns(kept, slice(start - there.start, stop - there.start))
            into[:, start - columns.start : stop - columns.start] = part
            missing.difference_update(range(start, stop))
    if missing:
        raise ValueError(
            f"{folder.path} lacks column {min(missing)} of step {step}: remove it and run again."
        )
    return into


def forget_steps(folder: RunFolder, but: int, plan: SlabPlan | None = None) -> None:
    """Remove the files of all steps but one and, of that one, those of slabs that are not in a plan.

    Examples
    --------
    >>> folder = RunFolder()
    >>> _ = folder.write_array(slab_name(slice(0, 2), 3), np.eye(2))
    >>> forget_steps(folder, but=3)
    >>> [path.name for path in folder.path.iterdir()]
    ['slab-000000-000002.000003.npy']
    >>> forget_steps(folder, but=3, plan=SlabPlan(2, 1))
    >>> list(folder.path.iterdir())
    []
    """
    for path, columns, step in _files(folder):
        if step != but or (plan is not None and columns not in plan.slabs):
            path.unlink(missing_ok=True)


def begin_steps(folder: RunFolder, *first: Any) -> None:
    """Make a folder that of a run with this first step: what another one has left in it is removed.

    Parameters
    ----------
    folder : RunFolder
    *first : ndarray
        What the first step was taken with, which nothing but chance may tell from that of another run.

    Examples
    --------
    >>> folder = RunFolder()
    >>> begin_steps(folder, np.eye(2))
    >>> _ = folder.write_array(slab_name(slice(0, 2), 3), np.eye(2))
    >>> begin_steps(folder, np.eye(2))
    >>> last_whole_step(folder, 2, at_most=5)
    3
    >>> begin_steps(folder, np.ones((2, 2)))
    >>> last_whole_step(folder, 2, at_most=5)
    0
    """
    known = {"first": identity(first)}
    if folder.read_json("steps.json") != known:
        forget_steps(folder, but=0)
        folder.write_json("steps.json", known)


def _opened(path: Path, shape: tuple[int, int], dtype: Any) -> np.ndarray:
    """Map the file of a slab, if it is what a run has written."""
    kept: Any = None
    try:
        kept = np.load(path, mmap_mode="r", allow_pickle=False)
    except Exception:  # a damaged file can raise anything
        kept = None
    if (
        not isinstance(kept, np.ndarray)
        or mapped_file(kept) is None
        or (kept.shape, kept.dtype) != (shape, dtype)
    ):
        raise ValueError(f"{path} is not the array that this run has written: remove it and run again.")
    return np.asanyarray(kept)


def _files(folder: RunFolder) -> list[tuple[Path, slice, int]]:
    """List the files with their columns and steps."""
    found = ((path, _NAME.fullmatch(path.name)) for path in sorted(folder.path.iterdir()))
    return [(path, slice(int(m[1]), int(m[2])), int(m[3])) for path, m in found if m is not None]
