"""How much memory there is."""

import os
from pathlib import Path


def available_memory() -> int:
    """Tell how many bytes may be used; ``GSSL_MEMORY`` overrules what the machine says.

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
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration):
        return int(os.sysconf("SC_PHYS_PAGES")) * int(os.sysconf("SC_PAGE_SIZE"))
