"""Runs that were killed or had a full disk give the same bytes when they are repeated."""

import subprocess
import sys
from pathlib import Path

import pytest

DRIVER = Path(__file__).with_name("chaos.py")
CASES = [
    "OGC",
    "GGCM + ridge",
    "AutoClassifier",
    "LabelSpreading",
    "gssl classify --resume",
    "gssl graph build",
    "gssl.save",
    "journal of gssl label",
]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="every run is a fork")
@pytest.mark.parametrize("case", CASES)
def test_the_same_bytes_after_every_kill_and_full_disk(case):
    # in a separate process, because forks need one without threads
    done = subprocess.run([sys.executable, DRIVER, case], capture_output=True, text=True)
    sys.stdout.write(done.stdout)
    assert not done.returncode, done.stdout + done.stderr
    assert "| 70 of 70 |" in done.stdout
