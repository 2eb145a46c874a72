"""What one fit was told about memory, machines and a folder to resume from."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gssl.methods._execution import Execution, choose_execution


@dataclass(frozen=True)
class FitOptions:
    """The options of a fit; a fit inside of it has the same, and a folder of its own.

    Examples
    --------
    >>> FitOptions(memory_budget="1GB").inside("ogc")
    {'memory_budget': '1GB'}
    """

    memory_budget: Any = None
    client: Any = None
    resume: Any = None

    def execution(self, estimator: Any) -> Execution:
        """Choose how the passes of an estimator run."""
        return choose_execution(
            estimator, memory_budget=self.memory_budget, client=self.client, resume=self.resume
        )

    def inside(self, name: str) -> dict[str, Any]:
        """Give the options of a fit that is a part of this one."""
        folder = None if self.resume is None else Path(self.resume) / name
        given = {"memory_budget": self.memory_budget, "client": self.client, "resume": folder}
        return {option: value for option, value in given.items() if value is not None}

    def afterwards(self) -> "FitOptions":
        """Give what still holds for other labels: they are another run, and a cluster may be gone."""
        gone = getattr(self.client, "status", "gone") != "running"
        return replace(self, resume=None, client=None if gone else self.client)

    def __getstate__(self) -> dict[str, Any]:
        # a cluster does not survive a pickle
        return {**self.__dict__, "client": None}


PLAIN = FitOptions()
