"""What a run is a run of, so that nothing is resumed with other inputs."""

import hashlib
from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy.sparse import issparse

from gssl.graph.pages import blocks

_ARRAYS = ("indptr", "indices", "data", "weights", "scale")


def identity(parts: Iterable[Any]) -> str:
    """Give a short text that differs where any number of any part does.

    Parameters
    ----------
    parts : iterable
        Text, numbers, arrays, sparse matrices, and the matrices of a filter.

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
    for part in parts:
        _add(digest, part)
    return digest.hexdigest()


def _add(digest: Any, part: Any) -> None:
    if isinstance(part, np.ndarray):
        digest.update(f"{part.shape} {part.dtype.str}".encode())
        if part.ndim == 2:
            for rows, columns in blocks(part):
                digest.update(_contiguous(part[rows, columns]))
        elif part.size:
            digest.update(_contiguous(part))
    elif issparse(part) or hasattr(part, "indptr"):
        digest.update(f"{part.shape if hasattr(part, 'shape') else ''}".encode())
        for name in _ARRAYS:
            _add(digest, getattr(part, name, None))
    else:
        digest.update(repr(part).encode())


def _contiguous(array: np.ndarray) -> Any:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data if array.size else b""
