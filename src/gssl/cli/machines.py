"""Where a run computes, as the options say: within a budget, on a cluster, with a folder to resume from."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gssl.scale.cluster import check_dask, cluster_client
from gssl.scale.execution import execution
from gssl.scale.memory import read_size


@dataclass(frozen=True)
class Machines:
    """The options; all of them may be missing."""

    memory: str | None = None
    dask: str | None = None
    workers: int | None = None
    resume: Path | None = None

    def check(self, method: str, model: Any) -> None:
        """Refuse what cannot be, before anything is read; the model is not fitted yet."""
        if self.memory is not None:
            read_size(self.memory)
        if self.dask is not None and self.workers is not None:
            raise ValueError("--dask names a cluster and --workers starts one: give either.")
        if self.dask is not None or self.workers is not None:
            check_dask()
        flags = {
            "--memory": self.memory,
            "--dask": self.dask,
            "--workers": self.workers,
            "--resume": self.resume,
        }
        for flag, value in flags.items():
            if value is not None and not model.runs_by_columns:
                raise ValueError(
                    f"{flag} is not for --method {method}: choose another method, such as ogc or ggcm."
                )

    @property
    def named(self) -> bool:
        """Whether anything was asked for but memory as it is."""
        return not (self.memory is None and self.dask is None and self.workers is None)

    @contextmanager
    def execution(self) -> Iterator[None]:
        """Run the fits of a block there; a cluster that was started ends with it."""
        with (
            cluster_client(self.dask, self.workers) as client,
            execution(memory=self.memory, client=client, resume=self.resume),
        ):
            yield
