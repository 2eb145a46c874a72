"""Planetoid's files, which are opened only if they are the published ones, byte for byte.

Most are pickles, and a pickle can run any code and take all memory: its SHA-256 is compared first.
"""

import pickle
from collections.abc import Mapping
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Any

from gssl.datasets.location import known_hashes

# what the pickles name, and the module that has it now
_CLASSES = {
    ("__builtin__", "list"): "builtins",
    ("collections", "defaultdict"): "collections",
    ("numpy", "dtype"): "numpy",
    ("numpy", "ndarray"): "numpy",
    ("numpy.core.multiarray", "_reconstruct"): "numpy._core.multiarray",
    ("scipy.sparse.csr", "csr_matrix"): "scipy.sparse",
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
        if (module, name) not in _CLASSES:
            raise ValueError(f"no Planetoid file needs {module}.{name}.")
        return super().find_class(_CLASSES[module, name], name)
