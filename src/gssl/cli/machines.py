"""Where a run computes, as the options say: within a budget, on a cluster, with a folder to resume from."""

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gssl.scale.machines import cluster_client
from gssl.scale.plan import read_size


@dataclass(frozen=True)
class Machines:
    """The options; all of them may be missing.

    Examples
    --------
    >>> with Machines(memory="2GB").options("OGC", None) as options:
    ...     options
    {'memory_budget': '2GB'}
    """

    memory: str | None = None
    dask: str | None = None
    workers: int | None = None
    resume: Path | None = None

    def check(self) -> None:
        """Refuse what cannot be, before anything is read."""
        if self.memory is not None:
            read_size(self.memory)
        if self.dask is not None and self.workers is not None:
            raise ValueError("--dask names a cluster and --workers starts one: give either.")

    @property
    def named(self) -> bool:
        """Whether anything was asked for but memory as it is."""
        return not (self.memory is None and self.dask is None and self.workers is None)

    @contextmanager
    def options(self, name: str, fit: Any) -> Iterator[dict[str, Any]]:
        """Give what a method's fit is to be told, for a block; the cluster that was started ends with it."""
        given: dict[str, Any] = {"memory_budget": self.memory, "resume": self.resume}
        given["client"] = self.dask if self.workers is None else self.workers
        asked = {option: value for option, value in given.items() if value is not None}
        for option in asked if fit is not None else ():
            if option not in inspect.signature(fit).parameters:
                flag = {"memory_budget": "--memory", "resume": "--resume", "client": "--dask"}[option]
                flag = "--workers" if flag == "--dask" and self.workers is not None else flag
                raise ValueError(
                    f"{flag} is not for --method {name.lower()}: choose another method, such as ogc or ggcm."
                )
        with cluster_client(self.dask, self.workers) as client:
            if client is not None:
                asked["client"] = client
            yield asked
