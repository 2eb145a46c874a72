"""What will stand in the changelog can be put there: names of files in ``changes/`` say their kind."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
_NAME = re.compile(r"\+?[\w-]+\.(added|changed|fixed|removed)\.md")


def test_every_file_has_a_kind_and_a_text():
    files = [path for path in (ROOT / "changes").iterdir() if path.name not in ("README.md", ".gitignore")]
    assert [path.name for path in files if not _NAME.fullmatch(path.name)] == []
    assert [path.name for path in files if not path.read_text(encoding="utf-8").strip()] == []


def test_towncrier_gathers_them(tmp_path):
    pytest.importorskip("towncrier", reason="gathering changes needs towncrier, of gssl[dev]")
    (tmp_path / "changes").mkdir()
    (tmp_path / "pyproject.toml").write_bytes((ROOT / "pyproject.toml").read_bytes())
    (tmp_path / "CHANGELOG.md").write_bytes((ROOT / "CHANGELOG.md").read_bytes())
    (tmp_path / "changes" / "+speed.fixed.md").write_text("A loop ends.\n", encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "towncrier",
        "build",
        "--version",
        "9.9.9",
        "--date",
        "2030-01-02",
        "--yes",
    ]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    text = (tmp_path / "CHANGELOG.md").read_text(encoding="utf-8")
    assert "## 9.9.9 (2030-01-02)\n\n### Fixed\n\n- A loop ends.\n" in text
    assert text.index("9.9.9") < text.index("## Unreleased")
    assert list((tmp_path / "changes").iterdir()) == []
