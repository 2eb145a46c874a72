"""Planetoid's files, which are opened only if they are the published ones, byte for byte.

Most are pickles, and a pickle can run any code and take all memory: its SHA-256 is compared first.
"""

import pickle
from collections import defaultdict
from collections.abc import Mapping
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from gssl.datasets.location import known_hashes


def _dtype(text: str, align: int, copy: int) -> np.dtype[Any]:
    # NumPy 2.4.0 to 2.4.4 warn of numbers in the place of booleans
    return np.dtype(text, align=bool(align), copy=bool(copy))


# what the pickles name
_NAMES: dict[tuple[str, str], Any] = {
    ("__builtin__", "list"): list,
    ("collections", "defaultdict"): defaultdict,
    ("numpy", "dtype"): _dtype,
    ("numpy", "ndarray"): np.ndarray,
    # the state of the array follows
    ("numpy.core.multiarray", "_reconstruct"): lambda kind, shape, dtype: np.empty(shape, dtype),
    ("scipy.sparse.csr", "csr_matrix"): csr_matrix,
}


def read_published(path: Path, hashes: Mapping[str, str] | None = None) -> bytes:
    """Return the contents of a file; raise unless its SHA-256 is the one listed under its name.

    ``hashes`` are those of the published files if None.
    """
    content = path.read_bytes()
    known = known_hashes() if hashes is None else hashes
    if sha256(content).hexdigest() != known.get(path.name):
        raise ValueError(
            f"{path} was not opened, because its contents are not those of the published file; get it again."
        )
    return content


def read_pickle(path: Path, hashes: Mapping[str, str] | None = None) -> Any:
    """Read the matrix, array or dict of lists in a published pickle: see :func:`read_published`."""
    # Python 2 wrote arrays as texts of bytes
    return _Unpickler(BytesIO(read_published(path, hashes)), encoding="latin1").load()


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _NAMES:
            raise ValueError(f"no Planetoid file needs {module}.{name}.")
        return _NAMES[module, name]
