"""The workflow of the hosting platform runs pinned actions, with no more rights than to read."""

import re

from tests.package.scripts import ROOT

WORKFLOWS = {
    path.name: path.read_text(encoding="utf-8") for path in (ROOT / ".github" / "workflows").glob("*.yml")
}


def test_every_action_is_pinned_by_its_commit_and_names_its_version():
    used = [line for text in WORKFLOWS.values() for line in text.splitlines() if "uses:" in line]
    assert used
    assert [
        line for line in used if not re.search(r"uses: [\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$", line)
    ] == []


def test_workflows_may_only_read_and_keep_no_credentials():
    for text in WORKFLOWS.values():
        assert "\npermissions:\n  contents: read\n" in text
        assert text.count("actions/checkout@") == text.count("persist-credentials: false")
        assert "write" not in text


def test_it_installs_by_hash_with_every_python_that_is_supported():
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    minors = re.findall(r"Python :: (3\.\d+)", project)
    (matrix,) = re.findall(r"python: \[(.*)\]", WORKFLOWS["ci.yml"])
    assert re.findall(r"3\.\d+", matrix) == minors
    assert 'LOCKED: "1"' in WORKFLOWS["ci.yml"]
