"""The scripts of the repository, as modules."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


def load_script(name: str) -> ModuleType:
    """Return a script as a module, or skip the tests where it is not beside them."""
    path = ROOT / "scripts" / f"{name}.py"
    if not path.exists():
        pytest.skip("the scripts are not beside the tests", allow_module_level=True)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
