"""Files of a run are written atomically, in a folder that is locked by one process."""

import gc
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

import gssl
from gssl.scale.progress import watching
from gssl.scale.run_folder import RunFolder


def test_a_temporary_folder_goes_with_its_last_user():
    folder = RunFolder()
    path = folder.path
    folder.write_json("a.json", {"step": 3})
    assert folder.read_json("a.json") == {"step": 3}
    assert folder.read_json("b.json") is None
    assert not folder.durable
    del folder
    gc.collect()
    assert not path.exists()


def test_a_file_takes_its_place_when_it_is_whole(tmp_path):
    folder = RunFolder(tmp_path / "new" / "run")
    folder.write_array("a.npy", np.eye(2))

    def fail(opened):
        opened.write(b"half of it")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        folder.write("a.npy", fail)
    assert folder.read_array("a.npy").tolist() == [[1, 0], [0, 1]]


def test_what_cannot_be_written_is_one_sentence(tmp_path):
    (tmp_path / "file").write_text("")
    message = r"run cannot be written: not a directory; choose another place, .* resume=.*: finished"
    with pytest.raises(OSError, match=message):
        RunFolder(tmp_path / "file" / "run")


def test_a_damaged_file_is_refused(tmp_path):
    (tmp_path / "a.json").write_bytes(b"{")
    with pytest.raises(ValueError, match=r"a\.json is damaged: remove"):
        RunFolder(tmp_path).read_json("a.json")


_HOLD = """
import sys
from gssl.scale.run_folder import RunFolder
for folder in sys.stdin:
    told = ""
    try:
        held = RunFolder(folder.strip()).lock()
        del held
    except ValueError as error:
        told = str(error)
    print(told, flush=True)
"""


@pytest.fixture(scope="module")
def try_to_lock():
    """Return a function that locks a folder in another process and returns its output."""
    child = subprocess.Popen(
        [sys.executable, "-c", _HOLD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    )

    def lock(folder):
        child.stdin.write(f"{folder}\n")
        return child.stdout.readline().strip()

    with child:
        yield lock


def test_one_process_at_a_time_locks_a_folder(tmp_path, try_to_lock):
    first = RunFolder(tmp_path).lock()
    second = RunFolder(tmp_path).lock()
    assert first is second
    message = "is in use by another process: wait until that has ended, or choose another folder for resume."
    assert try_to_lock(tmp_path) == f"{tmp_path} {message}"
    del first
    gc.collect()
    assert try_to_lock(tmp_path) == f"{tmp_path} {message}"
    del second
    gc.collect()
    assert try_to_lock(tmp_path) == ""


def test_a_folder_that_was_made_anew_is_locked_anew(tmp_path, try_to_lock):
    folder = tmp_path / "run"
    first = RunFolder(folder).lock()
    (folder / ".lock").unlink()
    folder.rmdir()
    assert try_to_lock(folder) == ""
    second = RunFolder(folder).lock()
    assert first is second
    assert try_to_lock(folder).startswith(f"{folder} is in use by another process")


def test_a_fit_holds_its_folder_until_it_ends(blocks, fit, tmp_path, try_to_lock):
    X, _, A = blocks
    told = []
    with watching(lambda done, total: told.append(try_to_lock(tmp_path))):
        fit(gssl.GGCM(depth=3), X, adjacency=A, memory="27kB", resume=tmp_path)
    assert len(told) > 3
    assert all("is in use by another process: wait until that has ended, or" in text for text in told)
    gc.collect()
    assert try_to_lock(tmp_path) == ""


_KEEP = """
import sys, tempfile, time
tempfile.tempdir = sys.argv[1]
from gssl.scale.run_folder import RunFolder
folder = RunFolder()
(folder.path / "slab").write_text("large")
print(folder.path, flush=True)
time.sleep(60)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="files are not locked on Windows")
def test_temporary_folders_of_killed_processes_are_removed_by_the_next(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    elsewhere = tmp_path / "gssl-slabs-abcdefgh"
    elsewhere.mkdir()
    (elsewhere / ".owner").write_text("another machine")
    command = [sys.executable, "-c", _KEEP, str(tmp_path)]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    held = Path(child.stdout.readline().strip())
    mine = RunFolder()
    assert (held / "slab").read_text() == "large"
    child.kill()
    child.communicate()
    assert held.exists()
    other = RunFolder()
    assert sorted(tmp_path.iterdir()) == sorted([elsewhere, mine.path, other.path])
    del mine, other
    assert list(tmp_path.iterdir()) == [elsewhere]
