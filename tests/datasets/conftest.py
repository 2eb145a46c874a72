import hashlib
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gssl.datasets.location import find_file


@pytest.fixture
def data_dir() -> Path:
    """Folder with the real Planetoid and npz files; tests that need it are skipped without it."""
    try:
        return find_file("planetoid/ind.cora.graph").parents[1]
    except FileNotFoundError as error:
        pytest.skip(f"real data absent: {error}")


@pytest.fixture
def away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory without any data nearby."""
    monkeypatch.delenv("GSSL_DATA_DIR", raising=False)
    monkeypatch.setenv("GSSL_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path


@pytest.fixture(scope="session")
def old_pickle() -> Callable[[Any], bytes]:
    """Return a function that pickles with the module paths of the libraries behind the Planetoid files."""

    def dump(value: Any) -> bytes:
        content = pickle.dumps(value, protocol=3)
        content = content.replace(b"numpy._core.", b"numpy.core.")
        return content.replace(b"scipy.sparse._csr", b"scipy.sparse.csr")

    return dump


@pytest.fixture(scope="session")
def hashes_in() -> Callable[[Path], dict[str, str]]:
    """Return a function that lists the SHA-256 of the files in a folder, as if they were published."""

    def hashes(folder: Path) -> dict[str, str]:
        files = [path for path in folder.iterdir() if path.is_file()]
        return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}

    return hashes
