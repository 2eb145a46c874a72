"""What a run is a run of, so that nothing is resumed with other inputs."""

import hashlib
import sys
from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy.sparse import issparse

from gssl.graph.mapped import iterate_blocks

_ARRAYS = ("indptr", "indices", "data", "weights", "scale")


def identity(parts: Iterable[Any]) -> str:
    """Give a short text that differs where any number of any part does, or the version of gssl.

    Parameters
    ----------
    parts : iterable
        Text, numbers, arrays, sparse matrices, the matrices of a filter, and tuples and lists of these.

    Returns
    -------
    str

    Examples
    --------
    >>> identity(["SGC()", np.eye(2)]) == identity(["SGC()", np.eye(2)])
    True
    >>> identity(["SGC()", np.eye(2)]) == identity(["SGC()", np.ones((2, 2))])
    False
    """
    digest = hashlib.blake2b(digest_size=16)
    _add(digest, sys.modules["gssl"].__version__)
    _add(digest, list(parts))
    return digest.hexdigest()


def _add(digest: Any, part: Any) -> None:
    if isinstance(part, np.ndarray):
        digest.update(f"{part.shape} {part.dtype.str}".encode())
        if part.ndim == 2:
            for rows, columns in iterate_blocks(part):
                digest.update(_contiguous(part[rows, columns]))
        elif part.size:
            digest.update(_contiguous(part))
    elif issparse(part) or hasattr(part, "indptr"):
        digest.update(f"{part.shape if hasattr(part, 'shape') else ''}".encode())
        for name in _ARRAYS:
            _add(digest, getattr(part, name, None))
    elif isinstance(part, tuple | list):
        digest.update(f"{len(part)} parts".encode())
        for one in part:
            _add(digest, one)
    else:
        text = repr(part).encode()
        # its length comes first, so that no two texts meet in another way
        digest.update(f"{len(text)} ".encode() + text)


def _contiguous(array: np.ndarray) -> Any:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data if array.size else b""
