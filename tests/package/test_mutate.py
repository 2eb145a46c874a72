"""The mutants of scripts/mutate.py apply to existing lines; the script checks that tests detect them."""

import pytest
from tests.package.scripts import ROOT, load_script

mutate = load_script("mutate")


@pytest.mark.parametrize("mutant", mutate.MUTANTS, ids=lambda mutant: mutant.name)
def test_what_a_mutant_breaks_occurs_once(mutant):
    folders = [ROOT / "src" / "gssl", ROOT, ROOT / "reproduction"]
    files = [folder / mutant.file for folder in folders if (folder / mutant.file).exists()]
    assert files[0].read_text(encoding="utf-8").count(mutant.old) == 1
    assert all((ROOT / name.split("::")[0]).exists() for name in mutant.tests)
