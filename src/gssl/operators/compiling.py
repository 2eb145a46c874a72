"""Compile loops with numba, or load them from its cache."""

import logging
from time import perf_counter
from typing import Any

import numba
import numpy as np
from numba import types

# its names are not known to type checkers
_config: Any = numba.config
_OPTIONS: Any = {"nogil": True, "error_model": "numpy", "fastmath": {"contract", "nsz"}}


def compiled(loop: Any, *arguments: Any) -> Any:
    """Compile a loop, or load it from numba's cache; log compilations.

    With ``NUMBA_DISABLE_JIT=1``, the loop runs as plain Python, which is slow and can be debugged.
    """
    if _config.DISABLE_JIT:
        # compiled loops do not warn of overflow either
        return np.errstate(all="ignore")(loop)
    start = perf_counter()
    signature = types.void(*arguments)
    try:
        compiled = numba.njit(signature, cache=True, **_OPTIONS)(loop)
    except (RuntimeError, OSError):  # no writable folder for the cache, or a full disk
        return numba.njit(signature, **_OPTIONS)(loop)
    if compiled.stats.cache_misses:
        seconds = perf_counter() - start
        logging.getLogger("gssl").info(
            "compiled %s for this machine in %.1f s; from now on it loads from a cache",
            loop.__name__,
            seconds,
        )
    return compiled


def inlined(function: Any) -> Any:
    """Make a function callable from compiled loops."""
    return numba.njit(**_OPTIONS)(function)
