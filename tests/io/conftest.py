import gzip

import pytest


@pytest.fixture
def write(tmp_path):
    """Return a function that writes a file into the test's folder and returns its path."""

    def write(name, content):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        content = content.encode() if isinstance(content, str) else content
        path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
        return path

    return write


@pytest.fixture
def pairs():
    """Return a function that lists the ends of edges, sorted, because DuckDB does not keep row order."""
    return lambda edges: sorted(zip(edges.ids[edges.source], edges.ids[edges.target], strict=True))
