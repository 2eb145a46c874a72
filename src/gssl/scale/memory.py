"""How much memory this process may still use."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

from gssl.scale.plan import read_size as read_size


def available_memory() -> int:
    """Tell how many bytes may be used; ``GSSL_MEMORY`` overrules what the machine says.

    The least of what the machine has left, what the limits of this process leave it (``ulimit -v``), and what
    its container does.

    Examples
    --------
    >>> available_memory() > 0
    True
    """
    told = os.environ.get("GSSL_MEMORY")
    if told:
        try:
            return int(float(told))
        except (ValueError, OverflowError) as error:
            raise ValueError(
                f"GSSL_MEMORY is {told!r}, not a number of bytes: give one, like 4e9."
            ) from error
    return max(0, min([_of_machine(), *_of_process(), *_of_container()]))


def _of_machine() -> int:
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration):
        return int(os.sysconf("SC_PHYS_PAGES")) * int(os.sysconf("SC_PAGE_SIZE"))


def _of_process() -> Iterator[int]:
    """Yield what is left of the address space, where that is limited."""
    if sys.platform == "win32":
        return
    import resource

    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    used = Path("/proc/self/statm")
    if limit != resource.RLIM_INFINITY and used.exists():
        yield limit - int(used.read_text(encoding="ascii").split()[0]) * resource.getpagesize()


def _of_container(root: Path = Path("/sys/fs/cgroup")) -> Iterator[int]:
    """Yield what a control group leaves: its limit without what it uses, files that can be dropped aside.

    Examples
    --------
    >>> list(_of_container(Path("no-such-folder")))
    []
    """
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
