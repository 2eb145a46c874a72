from __future__ import annotations

from pathlib import Path

import pytest

from gssl.datasets.location import find_file


@pytest.fixture
def data_dir() -> Path:
    """Folder with the real Planetoid and npz files; tests that need it skip where it is absent."""
    try:
        return find_file("planetoid/ind.cora.graph").parents[1]
    except FileNotFoundError as error:
        pytest.skip(f"real data absent: {error}")
