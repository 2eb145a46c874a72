import subprocess
import sys

import pytest

HEAVY = {
    "sklearn",
    "numba",
    "duckdb",
    "altair",
    "torch",
    "torch_geometric",
    "networkx",
    "pandas",
    "rich",
    "pooch",
    "dask",
    "gensim",
}


def test_importing_gssl_loads_nothing_heavy():
    code = f"import sys, gssl; print([name for name in {HEAVY} if name in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_every_public_name_loads():
    import gssl

    for name in gssl.__all__:
        assert getattr(gssl, name) is not None
    assert "OGC" in dir(gssl)


def test_an_unknown_name_is_an_attribute_error():
    import gssl

    with pytest.raises(AttributeError, match="OGCC"):
        gssl.OGCC  # noqa: B018
