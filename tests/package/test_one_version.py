"""The version and its date are the same everywhere."""

import re
from pathlib import Path

import gssl

ROOT = Path(__file__).parents[2]


def test_the_citation_names_this_version():
    (cited,) = re.findall(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.M)
    assert cited == gssl.__version__


def test_the_newest_release_in_the_changelog_is_this_version_of_the_cited_date():
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    headings = re.findall(r"^## (.+)$", changes, re.M)
    (date,) = re.findall(r"^date-released: (\S+)$", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.M)
    assert headings[:2] == ["Unreleased", f"{gssl.__version__} ({date})"]
