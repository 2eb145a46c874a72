"""The version is the same in both places."""

import re
from pathlib import Path

import gssl

ROOT = Path(__file__).parents[2]


def test_the_citation_names_this_version():
    (cited,) = re.findall(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.M)
    assert cited == gssl.__version__
