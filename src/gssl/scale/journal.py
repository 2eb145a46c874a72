"""What a run has finished, in a folder that survives it: steps of OGC, and slabs of embeddings."""

import json

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from gssl.scale.execution import FinishedStep
from gssl.scale.files import RunFolder


class Journal:
    """The finished steps of OGC, each a small file, and the scores after the last.

    Parameters
    ----------
    folder : RunFolder
    identity : str
        Of the inputs: see :func:`gssl.scale.identity.identity`.

    Examples
    --------
    >>> journal = Journal(RunFolder(), "abc")
    >>> journal.finish(FinishedStep(np.zeros((1, 2)), np.ones((3, 2)), {"eta_w": 0.5}), np.eye(2))
    >>> again = Journal(journal.folder, "abc")
    >>> again.past[0].facts, again.scores().tolist()
    ({'eta_w': 0.5}, [[1.0, 0.0], [0.0, 1.0]])
    """

    def __init__(self, folder: RunFolder, identity: str) -> None:
        self.folder = folder
        claim(folder, identity)
        self.past: list[FinishedStep] = []
        while (folder.path / _step_name(len(self.past) + 1)).exists():
            self.past.append(self._read(_step_name(len(self.past) + 1)))

    def scores(self) -> np.ndarray:
        """Give the scores of all nodes after the last step."""
        name = _scores_name(len(self.past))
        scores = self.folder.read_array(name)
        if scores.ndim != 2 or scores.dtype.kind != "f" or not np.isfinite(scores).all():
            path = self.folder.path
            raise ValueError(f"{path / name} is damaged: remove {path} and run again.")
        return scores

    def finish(self, step: FinishedStep, scores: np.ndarray) -> None:
        """Write a step down; from now on a run begins after it."""
        k = len(self.past) + 1
        self.folder.write_array(_scores_name(k), scores)
        tensors = {"pull": np.ascontiguousarray(step.pull), "W": np.ascontiguousarray(step.W)}
        content = save(tensors, {"facts": json.dumps(step.facts)})
        self.folder.write(_step_name(k), lambda file: file.write(content))
        (self.folder.path / _scores_name(k - 1)).unlink(missing_ok=True)
        self.past.append(step)

    def _read(self, name: str) -> FinishedStep:
        path = self.folder.path / name
        try:
            with safe_open(path, "numpy") as opened:
                facts = json.loads(opened.metadata()["facts"])
                return FinishedStep(opened.get_tensor("pull"), opened.get_tensor("W"), facts)
        except (SafetensorError, KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{path} is damaged: remove {self.folder.path} and run again.") from error


class FinishedColumns:
    """Which columns of an embedding are done, whatever the width of the slabs was that they came in.

    Parameters
    ----------
    folder : RunFolder
    identity : str

    Examples
    --------
    >>> columns = FinishedColumns(RunFolder(), "abc")
    >>> columns.finish(slice(0, 4), 10, "<f4")
    >>> columns.finish(slice(4, 8), 10, "<f4")
    >>> again = FinishedColumns(columns.folder, "abc")
    >>> again.has(slice(2, 7)), again.has(slice(7, 9)), again.n_rows
    (True, False, 10)
    """

    def __init__(self, folder: RunFolder, identity: str) -> None:
        self.folder = folder
        claim(folder, identity)
        self.ranges: list[tuple[int, int]] = []
        self.n_rows, self.dtype = 0, "<f4"
        try:
            found = folder.read_json("done.json")
            if found is not None:
                self.ranges = [(int(start), int(stop)) for start, stop in found["columns"]]
                self.n_rows, self.dtype = int(found["rows"]), np.dtype(str(found["dtype"])).str
        except (ValueError, KeyError, TypeError, OverflowError) as error:
            raise ValueError(f"{folder.path / 'done.json'} is damaged: remove {folder.path}.") from error

    def has(self, columns: slice) -> bool:
        """Tell whether all of some columns are done."""
        return any(start <= columns.start and columns.stop <= stop for start, stop in self.ranges)

    def finish(self, columns: slice, n_rows: int, dtype: str) -> None:
        """Write down that columns are done, and what the whole will look like."""
        self.ranges = _joined([*self.ranges, (columns.start, columns.stop)])
        self.n_rows, self.dtype = n_rows, dtype
        self.folder.write_json("done.json", {"columns": self.ranges, "rows": n_rows, "dtype": dtype})


def _joined(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Put ranges in order and together where they meet.

    Examples
    --------
    >>> _joined([(4, 6), (0, 2), (2, 3)])
    [(0, 3), (4, 6)]
    """
    joined: list[tuple[int, int]] = []
    for start, stop in sorted(ranges):
        if joined and start <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(stop, joined[-1][1])
        else:
            joined.append((start, stop))
    return joined


def claim(folder: RunFolder, identity: str) -> None:
    """Begin a run in a folder, or find that it has begun; refuse the folder of a run with other inputs.

    Examples
    --------
    >>> folder = RunFolder()
    >>> claim(folder, "a")
    >>> claim(folder, "a")
    >>> claim(folder, "b")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    ValueError: ... belongs to a run with other features, graph, labels or parameters, or ...
    """
    try:
        found = folder.read_json("run.json")
    except ValueError as error:
        raise ValueError(f"{folder.path / 'run.json'} is damaged: remove {folder.path}.") from error
    if found is None:
        folder.write_json("run.json", {"identity": identity})
    elif not isinstance(found, dict) or found.get("identity") != identity:
        raise ValueError(
            f"{folder.path} belongs to a run with other features, graph, labels or parameters, or of another "
            "version of gssl: give those again, or choose an empty folder for resume."
        )


def _step_name(k: int) -> str:
    return f"step-{k:06}.safetensors"


def _scores_name(k: int) -> str:
    return f"scores-{k:06}.npy"
