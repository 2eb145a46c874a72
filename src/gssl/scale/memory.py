"""Memory budgets: how much memory is free, and how many columns fit at a time."""

import os
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gssl.graph.mapped import mapped_file
from gssl.wording import write_size

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_BINARY = {unit + "i": 1024**power for power, unit in enumerate("kmgt", start=1)}
# bytes per node for label codes, the classes of two steps, and masks of watched and reached nodes
_NODE_BYTES = 48
# float32 columns in a cache line: wider slabs have a multiple of this width
_LINE = 16
# bytes of a memory-mapped graph's links in memory at a time
MAPPED = 1 << 26
# bytes reserved for blocks of rows and for Python itself
_REST = 1 << 26


def available_memory() -> int:
    """Return how many bytes may be used; ``GSSL_MEMORY`` overrides the measured value.

    The least of free memory and what the limits of this process (``ulimit -v``) and its container leave.
    """
    given = os.environ.get("GSSL_MEMORY")
    if given:
        try:
            return int(float(given))
        except (ValueError, OverflowError) as error:
            raise ValueError(
                f"GSSL_MEMORY is {given!r}, not a number of bytes: give one, like 4e9."
            ) from error
    return max(0, min([_of_machine(), *_of_process(), *container_limits()]))


def _of_machine() -> int:
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration):
        return int(os.sysconf("SC_PHYS_PAGES")) * int(os.sysconf("SC_PAGE_SIZE"))


def _of_process() -> Iterator[int]:
    """Yield the free address space, if it is limited."""
    if sys.platform == "win32":
        return
    import resource

    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    used = Path("/proc/self/statm")
    if limit != resource.RLIM_INFINITY and used.exists():
        yield limit - int(used.read_text(encoding="ascii").split()[0]) * resource.getpagesize()


def container_limits(root: Path = Path("/sys/fs/cgroup")) -> Iterator[int]:
    """Yield the free memory of the control group, counting droppable file caches as free."""
    for limit, used, droppable in (
        ("memory.max", "memory.current", "inactive_file"),
        ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes", "total_inactive_file"),
    ):
        try:
            most = int((root / limit).read_text(encoding="ascii"))
            now = int((root / used).read_text(encoding="ascii"))
            facts = (root / limit).with_name("memory.stat").read_text(encoding="ascii").splitlines()
            yield most - now + sum(int(fact.split()[1]) for fact in facts if fact.split()[0] == droppable)
        except (OSError, ValueError):  # no such group, or "max": no limit
            continue


def peak_memory() -> int | None:
    """Return the peak memory of this process in bytes, or None if it is unknown."""
    if sys.platform == "win32":
        return None
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


def read_size(size: Any) -> int:
    """Parse a number of bytes: ``4e9``, ``"4GB"``, ``"512 MiB"``."""
    text = str(size).strip().lower()
    match = re.fullmatch(r"([0-9.]+(?:e[+]?[0-9]+)?)\s*([kmgt]?i?)b?", text)
    units = _UNITS | _BINARY
    if isinstance(size, bool) or match is None or match[2] not in units or match[1].count(".") > 1:
        raise ValueError(f"{size!r} is not an amount of memory: give bytes, or text like '4GB' or '512MB'.")
    n_bytes = float(match[1].replace(".e", "e") if match[1] != "." else "0") * units[match[2]]
    if not 1 <= n_bytes < 2**63:
        raise ValueError(f"{size!r} is not an amount of memory that can be used: give a few MB or more.")
    return int(n_bytes)


@dataclass(frozen=True)
class SlabPlan:
    """Columns split into slabs of equal width; the last may be narrower."""

    n_columns: int
    width: int

    @property
    def slabs(self) -> tuple[slice, ...]:
        """The columns of each slab, in order."""
        starts = range(0, self.n_columns, self.width)
        return tuple(slice(start, min(start + self.width, self.n_columns)) for start in starts)


@dataclass(frozen=True)
class Load:
    """The bytes that a run holds in memory: per column of a slab, and independent of the slab width."""

    per_column: int
    fixed: int = 0

    def of(self, width: int) -> int:
        """Return the bytes for a slab of ``width`` columns."""
        return self.fixed + width * self.per_column


def plan_slabs(n_columns: int, load: Load, budget: int, n_at_once: int = 1) -> SlabPlan:
    """Choose a slab width so that ``n_at_once`` slabs and what they share fit in a budget."""
    rest = min(_REST, budget // 16)
    width = (budget - load.fixed - rest) // max(1, n_at_once * load.per_column)
    if width < 1 and n_columns:
        least = (load.fixed + n_at_once * load.per_column) * 16 // 15
        raise ValueError(
            f"a memory budget of {write_size(budget)} is too small: a column needs {write_size(least)} "
            "with the graph and the scores of all nodes; give more."
        )
    width = max(1, min(width, n_columns))
    n_slabs = -(-n_columns // width) if n_columns else 1
    even = max(1, -(-n_columns // n_slabs))
    if n_slabs > 1 and even > _LINE:
        even = min(-(-even // _LINE) * _LINE, width // _LINE * _LINE)
    return SlabPlan(n_columns, even)


def spread_slabs(
    n_columns: int, n_parts: int, load: Load | None = None, budget: int | None = None, n_at_once: int = 1
) -> SlabPlan:
    """Split columns evenly over workers or threads, in slabs that fit in a budget if there is one."""
    even = max(1, -(-n_columns // max(1, n_parts)))
    if load is None or budget is None:
        return SlabPlan(n_columns, even)
    return SlabPlan(n_columns, min(even, plan_slabs(n_columns, load, budget, n_at_once).width))


def embedding_load(
    shape: tuple[int, int],
    n_classes: int,
    n_labelled: int,
    itemsize: int,
    graph: int,
    budget: int,
    n_at_once: int = 1,
) -> tuple[Load, bool]:
    """Return the load of OGC, and whether all slabs fit in memory; ``graph`` and ``budget`` are in bytes."""
    n, d = shape
    column = n * itemsize
    # scores in double precision, the scores of two steps in the type of X, labels and classes of every node,
    # and the labelled rows
    fixed = graph + n * n_classes * (8 + 2 * itemsize) + n * _NODE_BYTES + n_labelled * d * itemsize
    if fixed + (d + min(d, n_at_once * _LINE)) * column < budget * 15 // 16:
        # all slabs, and an output buffer for each slab in progress
        return Load(column, fixed + d * column), True
    return Load(2 * column, fixed), False


def graph_bytes(filters: Any) -> int:
    """Count the bytes of an iteration's matrices: shared arrays once, mapped arrays up to one block."""
    arrays: dict[int, int] = {}
    for matrix in (filters.A_hat, filters.N_hat):
        for name in ("indptr", "indices", "weights", "scale", "data"):
            array = getattr(matrix, name, None)
            if isinstance(array, np.ndarray) and array.size:
                # a pass releases mapped links block by block, but never the row pointers
                passing = mapped_file(array) is not None and name != "indptr"
                held = min(array.nbytes, MAPPED) if passing else array.nbytes
                arrays[array.__array_interface__["data"][0]] = held
    return sum(arrays.values())
