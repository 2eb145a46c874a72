"""Checkpoints: what identifies a run, and the finished steps from which it is resumed."""

import hashlib
import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import issparse

from gssl.files import open_regular
from gssl.graph.mapped import iterate_blocks
from gssl.scale.execution import Checkpoint, FinishedStep
from gssl.scale.run_folder import RunFolder

_ARRAYS = ("indptr", "indices", "data", "weights", "scale")


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
    owner = folder.read_json("run.json")
    if owner is None:
        folder.write_json("run.json", {"identity": known})
    elif not isinstance(owner, dict) or owner.get("identity") != known:
        raise ValueError(
            f"{folder.path} belongs to a run with other features, graph, labels or parameters, or of another "
            "version of gssl: use the same as in that run, or choose an empty folder for resume."
        )


class StepCheckpoint(Checkpoint):
    """The finished steps of a run, each in a small file."""

    def __init__(self, folder: RunFolder, known: str, lock: Any = None) -> None:
        self._folder, self._lock = folder, lock
        claim(folder, known)
        self.past: list[FinishedStep] = []
        while (path := self._path(len(self.past) + 1)).exists():
            self.past.append(self._read(path))

    def finish(self, step: FinishedStep) -> None:
        """Save a step; a later run resumes after it."""
        self._write(len(self.past) + 1, step)
        self.past.append(step)

    def replace(self, step: FinishedStep) -> None:
        """Save a step from which alone a later run can resume, in place of the earlier ones."""
        self._write(1, step)
        self.past = [step]

    def _write(self, k: int, step: FinishedStep) -> None:
        facts = json.dumps(step.facts)
        self._folder.write(
            self._path(k).name, lambda file: np.savez(file, pull=step.pull, W=step.W, facts=facts)
        )

    def _read(self, path: Path) -> FinishedStep:
        try:
            with open_regular(path) as opened, np.load(opened, allow_pickle=False) as arrays:
                pull, W, facts = arrays["pull"], arrays["W"], json.loads(str(arrays["facts"]))
            if pull.dtype.kind != "f" or W.dtype.kind != "f" or not isinstance(facts, dict):
                raise ValueError("another content than the one written here.")
        except Exception as error:  # a damaged file can raise anything
            raise ValueError(f"{path} is damaged: remove {self._folder.path} and run again.") from error
        return FinishedStep(pull, W, facts)

    def _path(self, k: int) -> Path:
        return self._folder.path / f"step-{k:06}.npz"
