import gzip

import pytest


@pytest.fixture
def write(tmp_path):
    """Write a file of the test's folder and give its path."""

    def write(name, content):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        content = content.encode() if isinstance(content, str) else content
        path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
        return path

    return write


@pytest.fixture
def pairs():
    """List the ends of edges in order: DuckDB keeps none."""
    return lambda edges: sorted(zip(edges.ids[edges.source], edges.ids[edges.target], strict=True))
