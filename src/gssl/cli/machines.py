"""Where a run computes, as the options say: within a budget, on a cluster, with a folder to resume from."""

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gssl.scale.cluster import check_dask, cluster_client
from gssl.scale.memory import read_size


@dataclass(frozen=True)
class Machines:
    """The options; all of them may be missing.

    Examples
    --------
    >>> with Machines(memory="2GB").options() as options:
    ...     options
    {'memory_budget': '2GB'}
    """

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
        plain = getattr(model, "classifier", model)
        taken = inspect.signature(plain.fit).parameters
        apart = getattr(getattr(plain, "embedder", plain), "_columns_apart", True)
        for flag, (option, value) in self._flags().items():
            if value is not None and not (apart and option in taken):
                raise ValueError(
                    f"{flag} is not for --method {method}: choose another method, such as ogc or ggcm."
                )

    def _flags(self) -> dict[str, tuple[str, Any]]:
        """List each flag with the option of a fit that it stands for, and its value."""
        return {
            "--memory": ("memory_budget", self.memory),
            "--dask": ("client", self.dask),
            "--workers": ("client", self.workers),
            "--resume": ("resume", self.resume),
        }

    @property
    def named(self) -> bool:
        """Whether anything was asked for but memory as it is."""
        return not (self.memory is None and self.dask is None and self.workers is None)

    @contextmanager
    def options(self) -> Iterator[dict[str, Any]]:
        """Give what a fit is to be told, for a block; the cluster that was started ends with it."""
        asked = {option: value for option, value in self._flags().values() if value is not None}
        with cluster_client(self.dask, self.workers) as client:
            if client is not None:
                asked["client"] = client
            yield asked
