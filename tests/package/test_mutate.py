"""The mutants of scripts/mutate.py apply to existing lines; the script checks that tests detect them."""

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "scripts" / "mutate.py"
if not SCRIPT.exists():
    pytest.skip("the scripts are not beside the tests", allow_module_level=True)
_spec = importlib.util.spec_from_file_location("mutate", SCRIPT)
mutate = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(mutate)


@pytest.mark.parametrize("mutant", mutate.MUTANTS, ids=lambda mutant: mutant.name)
def test_what_a_mutant_breaks_occurs_once(mutant):
    folders = [ROOT / "src" / "gssl", ROOT, ROOT / "reproduction"]
    files = [folder / mutant.file for folder in folders if (folder / mutant.file).exists()]
    assert files[0].read_text(encoding="utf-8").count(mutant.old) == 1
    assert all((ROOT / name.split("::")[0]).exists() for name in mutant.tests)
