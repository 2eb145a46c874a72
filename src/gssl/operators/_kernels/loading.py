"""The loops, loaded when something is first computed, with a word if they had to be compiled."""

import logging
from functools import cache
from time import perf_counter
from types import ModuleType


@cache
def load_loops() -> ModuleType:
    """Import the numba loops; log a line if that compiled them, as it does once per machine.

    Examples
    --------
    >>> load_loops().mix_dense.__name__
    'mix_dense'
    """
    start = perf_counter()
    from gssl.operators._kernels import rows

    if any(loop.stats.cache_misses for loop in rows.LOOPS):
        logging.getLogger("gssl").info(
            "compiled the loops for this machine in %.0f s; from now on they load from a cache",
            perf_counter() - start,
        )
    return rows
