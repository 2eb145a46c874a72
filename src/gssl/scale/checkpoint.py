"""Checkpoints of a run, identified by a hash of its inputs: steps of OGC, and columns of embeddings."""

import hashlib
import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save
from scipy.sparse import issparse

from gssl.files import open_regular
from gssl.graph.mapped import iterate_blocks
from gssl.scale.execution import Checkpoint, Step
from gssl.scale.memory import SlabPlan
from gssl.scale.run_folder import ColumnFile, RunFolder, map_array

_ARRAYS = ("indptr", "indices", "data", "weights", "scale")
_RESULT = "embedding.npy"


def identity(parts: Iterable[Any]) -> str:
    """Return a hash of the given parts and the version of gssl.

    Parts may be text, numbers, arrays, sparse matrices, matrices of filters, and tuples or lists of these.
    """
    digest = hashlib.blake2b(digest_size=16)
    _add(digest, sys.modules["gssl"].__version__)
    _add(digest, list(parts))
    return digest.hexdigest()


def _add(digest: Any, part: Any) -> None:
    if isinstance(part, np.ndarray):
        digest.update(f"{part.shape} {part.dtype.str}".encode())
        if part.ndim == 2:
            for rows, columns in iterate_blocks(part):
                digest.update(_contiguous(part[rows, columns]))
        elif part.size:
            digest.update(_contiguous(part))
    elif issparse(part) or hasattr(part, "indptr"):
        digest.update(f"{part.shape if hasattr(part, 'shape') else ''}".encode())
        for name in _ARRAYS:
            _add(digest, getattr(part, name, None))
    elif isinstance(part, tuple | list):
        digest.update(f"{len(part)} parts".encode())
        for one in part:
            _add(digest, one)
    else:
        text = repr(part).encode()
        # prefixed by its length, so that different sequences of texts give different bytes
        digest.update(f"{len(text)} ".encode() + text)


def _contiguous(array: np.ndarray) -> Any:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data if array.size else b""


def claim(folder: RunFolder, known: str) -> None:
    """Start or continue a run in a folder; raise if the folder belongs to a run with other inputs."""
    found = folder.read_json("run.json")
    if found is None:
        folder.write_json("run.json", {"identity": known})
    elif not isinstance(found, dict) or found.get("identity") != known:
        raise ValueError(
            f"{folder.path} belongs to a run with other features, graph, labels or parameters, or of another "
            "version of gssl: use the same as in that run, or choose an empty folder for resume."
        )


class StepCheckpoint(Checkpoint):
    """The finished steps of OGC, each in a small file, and the scores after the last one."""

    def __init__(self, folder: RunFolder, known: str, lock: Any = None) -> None:
        self._folder, self._lock = folder, lock
        claim(folder, known)
        self.past: list[Step] = []
        while (path := folder.path / _step_name(len(self.past) + 1)).exists():
            self.past.append(self._read(path))

    def scores(self) -> np.ndarray:
        """Return the scores of all nodes after the last step."""
        name = _scores_name(len(self.past))
        scores = self._folder.read_array(name)
        if scores.ndim != 2 or scores.dtype.kind != "f" or not np.isfinite(scores).all():
            path = self._folder.path
            raise ValueError(f"{path / name} is damaged: remove {path} and run again.")
        return scores

    def finish(self, step: Step, scores: np.ndarray) -> None:
        """Save a step and the scores after it; a later run resumes from there."""
        k = len(self.past) + 1
        self._folder.write_array(_scores_name(k), scores)
        tensors = {"pull": np.ascontiguousarray(step.pull), "W": np.ascontiguousarray(step.W)}
        content = save(tensors, {"facts": json.dumps(step.facts)})
        self._folder.write(_step_name(k), lambda file: file.write(content))
        (self._folder.path / _scores_name(k - 1)).unlink(missing_ok=True)
        self.past.append(step)

    def _read(self, path: Path) -> Step:
        try:
            with open_regular(path) as opened:
                content = opened.read()
            tensors = load(content)
            # safetensors checked the header, but gives its metadata only for a path
            header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
            return Step(tensors["pull"], tensors["W"], json.loads(header["__metadata__"]["facts"]))
        except (SafetensorError, KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{path} is damaged: remove {self._folder.path} and run again.") from error


def _step_name(k: int) -> str:
    return f"step-{k:06}.safetensors"


def _scores_name(k: int) -> str:
    return f"scores-{k:06}.npy"


class Results:
    """The results of a task for all slabs, in memory, or in a mapped temporary file above ``max_bytes``.

    A result has as many columns as the input, and any number of rows.
    """

    def __init__(self, plan: SlabPlan, max_bytes: int) -> None:
        self.plan, self._max_bytes = plan, max_bytes
        self.todo = list(range(len(plan.slabs)))
        self._whole: Any = None

    def put(self, s: int, part: np.ndarray) -> None:
        """Store the result of a slab."""
        if len(self.plan.slabs) == 1:
            self._whole = part
            return
        shape = len(part), self.plan.n_columns
        if self._whole is None:
            small = shape[0] * shape[1] * part.itemsize <= self._max_bytes
            self._whole = (
                np.empty(shape, part.dtype) if small else ColumnFile(RunFolder(), _RESULT, shape, part.dtype)
            )
        if isinstance(self._whole, ColumnFile):
            self._whole.write(self.plan.slabs[s], part)
        else:
            self._whole[:, self.plan.slabs[s]] = part

    def whole(self) -> np.ndarray:
        """Return all columns."""
        return self._whole.open() if isinstance(self._whole, ColumnFile) else np.asarray(self._whole)


class KeptResults(Results):
    """Results in a resume folder; columns count as finished once they are on disk.

    An earlier run may have used another slab width: slabs that are only partly finished are computed again.
    """

    def __init__(self, folder: RunFolder, known: str, plan: SlabPlan, max_bytes: int) -> None:
        super().__init__(plan, max_bytes)
        self.folder = folder
        self._ranges: list[tuple[int, int]] = []
        self._rows, self._dtype = 0, "<f4"
        claim(folder, known)
        self._read_ranges()
        self.todo = [s for s, columns in enumerate(plan.slabs) if not self._has(columns)]
        path = folder.path / _RESULT
        if self._ranges and not _is_result(path, (self._rows, plan.n_columns), self._dtype):
            raise ValueError(
                f"{path} is missing or does not match the finished slabs of this run: remove {folder.path} "
                "to start over."
            )

    def put(self, s: int, part: np.ndarray) -> None:
        """Write the result of a slab, then record the slab as finished."""
        self._open(len(part), part.dtype.str).write(self.plan.slabs[s], part)
        columns = self.plan.slabs[s]
        self._ranges = _joined([*self._ranges, (columns.start, columns.stop)])
        done = {"columns": self._ranges, "rows": self._rows, "dtype": self._dtype}
        self.folder.write_json("done.json", done)

    def whole(self) -> np.ndarray:
        """Return all columns."""
        whole = self._open(self._rows, self._dtype).open()
        return np.array(whole) if whole.nbytes <= self._max_bytes else whole

    def _open(self, n_rows: int, dtype: str) -> ColumnFile:
        if self._whole is None:
            self._rows, self._dtype = n_rows, dtype
            self._whole = ColumnFile(self.folder, _RESULT, (n_rows, self.plan.n_columns), dtype)
        file: ColumnFile = self._whole
        return file

    def _has(self, columns: slice) -> bool:
        return any(start <= columns.start and columns.stop <= stop for start, stop in self._ranges)

    def _read_ranges(self) -> None:
        try:
            found = self.folder.read_json("done.json")
            if found is not None:
                self._ranges = [(int(start), int(stop)) for start, stop in found["columns"]]
                self._rows, self._dtype = int(found["rows"]), np.dtype(str(found["dtype"])).str
        except (ValueError, KeyError, TypeError, OverflowError) as error:
            path = self.folder.path
            raise ValueError(f"{path / 'done.json'} is damaged: remove {path}.") from error


def _joined(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Sort ranges, and merge those that touch or overlap."""
    joined: list[tuple[int, int]] = []
    for start, stop in sorted(ranges):
        if joined and start <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(stop, joined[-1][1])
        else:
            joined.append((start, stop))
    return joined


def _is_result(path: Path, shape: tuple[int, int], dtype: str) -> bool:
    """Return whether a result file exists with this shape and dtype."""
    if not path.is_file() or not all(shape):
        return path.is_file()
    try:
        left = map_array(path)
    except Exception:  # a damaged file can raise anything
        return False
    return (left.shape, left.dtype.str) == (shape, dtype)
