"""What a run has finished, in a folder that survives it: steps of OGC, and slabs of embeddings."""

import json
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from gssl.methods._execution import FinishedStep
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
        claim(folder, {"identity": identity})
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


class FinishedSlabs:
    """Which slabs of an embedding are done.

    Parameters
    ----------
    folder : RunFolder
    identity : str
    width : int
        Of the slabs; where a run has begun with another width, it goes on with that.

    Examples
    --------
    >>> slabs = FinishedSlabs(RunFolder(), "abc", 4)
    >>> slabs.finish(0, 10, "<f4")
    >>> again = FinishedSlabs(slabs.folder, "abc", 7)
    >>> again.width, again.done, again.n_rows
    (4, [0], 10)
    """

    def __init__(self, folder: RunFolder, identity: str, width: int) -> None:
        self.folder = folder
        self.width = int(claim(folder, {"identity": identity, "width": width})["width"])
        found = folder.read_json("done.json") or {"slabs": [], "rows": 0, "dtype": "<f4"}
        self.done: list[int] = found["slabs"]
        self.n_rows: int = found["rows"]
        self.dtype: str = found["dtype"]

    def finish(self, slab: int, n_rows: int, dtype: str) -> None:
        """Write down that a slab is done, and what the whole will look like."""
        self.done.append(slab)
        self.n_rows, self.dtype = n_rows, dtype
        self.folder.write_json("done.json", {"slabs": self.done, "rows": n_rows, "dtype": dtype})


def claim(folder: RunFolder, settings: dict[str, Any]) -> dict[str, Any]:
    """Begin a run in a folder, or find that it has begun; refuse the folder of a run with other inputs.

    Examples
    --------
    >>> folder = RunFolder()
    >>> claim(folder, {"identity": "a", "width": 3}), claim(folder, {"identity": "a", "width": 4})
    ({'identity': 'a', 'width': 3}, {'identity': 'a', 'width': 3})
    """
    try:
        found = folder.read_json("run.json")
    except ValueError as error:
        raise ValueError(f"{folder.path / 'run.json'} is damaged: remove {folder.path}.") from error
    if found is None:
        folder.write_json("run.json", settings)
        return settings
    if not isinstance(found, dict) or found.get("identity") != settings["identity"]:
        raise ValueError(
            f"{folder.path} belongs to a run with other features, graph, labels or parameters: give those "
            "again, or choose an empty folder for resume."
        )
    return found


def _step_name(k: int) -> str:
    return f"step-{k:06}.safetensors"


def _scores_name(k: int) -> str:
    return f"scores-{k:06}.npy"
