"""Files and folders are written atomically."""

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import gssl
from gssl.io.atomic import check_writable, whole_file, whole_folder


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="needs a folder that nobody can write to")
@pytest.mark.parametrize(
    ("path", "error", "message"),
    [
        ("/proc/p.csv", OSError, r"^/proc/p.csv cannot be written: .*; choose another place\.$"),
        ("/proc/new/p.csv", OSError, r"^/proc/new/p.csv cannot be written: .*; choose another place\.$"),
        ("/dev/null", OSError, "^/dev/null is not a regular file and cannot be replaced by one: choose"),
        ("{folder}", IsADirectoryError, r"is a folder: name a file in it\.$"),
        ("{folder}/file/a.csv", NotADirectoryError, "is not a folder: choose another place"),
    ],
)
def test_a_place_where_nothing_can_be_written_is_refused_before_the_work(tmp_path, path, error, message):
    (tmp_path / "file").touch()
    check_writable(tmp_path / "new" / "a.csv")
    with pytest.raises(error, match=message):
        check_writable(path.format(folder=tmp_path))


@pytest.mark.parametrize("writer", [whole_file, whole_folder])
def test_a_full_disk_leaves_nothing_and_says_so(tmp_path, writer):
    target = tmp_path / "result"
    given = (target,) if writer is whole_file else (target, "mark")
    with (
        pytest.raises(
            OSError, match=r"result cannot be written: no space left on device, .* free; make room or choose"
        ),
        writer(*given),
    ):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert not target.exists()
    # gssl's own messages are not changed
    with pytest.raises(OSError, match=r"^our own\.$"), writer(*given):
        raise OSError("our own.")
    # others may read what was written
    with writer(*given) as part:
        (part / "a.txt" if writer is whole_folder else part).write_text("x")
    plain = tmp_path / "plain"
    plain.mkdir() if writer is whole_folder else plain.write_text("x")
    assert target.stat().st_mode == plain.stat().st_mode


def test_a_folder_is_built_by_one_at_a_time(tmp_path):
    with whole_folder(tmp_path / "store", "mark") as part:
        (part / "a.txt").write_text("begun")
        with (
            pytest.raises(OSError, match=r"store is being built by another process: wait for it\.$"),
            whole_folder(tmp_path / "store", "mark"),
        ):
            pass
    assert [file.name for file in tmp_path.rglob("*")] == ["store", "a.txt"]
    with pytest.raises(FileExistsError, match="store already exists"), whole_folder(tmp_path / "store", ""):
        pass


_FULL = """
import resource, sys, numpy as np, gssl
from gssl.io import build_graph_store, write_columns, write_embeddings
folder = sys.argv[1]
U, ids = np.random.default_rng(0).random((3000, 5)), [str(i) for i in range(3000)]
model = gssl.SGC().fit(U[:50], adjacency=np.ones((50, 50)) - np.eye(50))
model.embedding_ = U
resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, 30_000))
work = {
    "save": lambda path: gssl.save(model, path),
    "npy": lambda path: write_embeddings(path + ".npy", ids, U),
    "npz": lambda path: write_embeddings(path + ".npz", ids, U),
    "csv": lambda path: write_embeddings(path + ".csv", ids, U),
    "parquet": lambda path: write_embeddings(path + ".parquet", ids, U),
    "graph": lambda path: build_graph_store("SELECT i AS a, i + 1 AS b FROM range(9000) AS t(i)", path),
}
for name, write in work.items():
    try:
        write(folder + "/" + name)
        print("written")
    except OSError as error:
        print(error)
"""


def test_every_writer_refuses_a_full_disk_and_leaves_nothing(tmp_path):
    """If files cannot grow, every library raises a different error."""
    (tmp_path / "save").write_text("old")
    code = [sys.executable, "-c", _FULL, str(tmp_path)]
    done = subprocess.run(code, capture_output=True, text=True, check=True)
    files = ["save", "npy.npy", "npz.npz", "csv.csv", "parquet.parquet", "graph"]
    for sentence, file in zip(done.stdout.splitlines(), files, strict=True):
        start = f"{tmp_path / file} cannot be written: "
        assert sentence.startswith((f"{start}file too large; ", f"{start}no space left on device, "))
        assert sentence.endswith("; make room or choose another place.")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["save"]
    assert (tmp_path / "save").read_text() == "old"


_WAIT = """
import sys, time
from gssl.io.atomic import whole_file
with whole_file(sys.argv[1]) as part:
    part.write_text("half of it")
    print(part, flush=True)
    time.sleep(60)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="files are not locked on Windows")
def test_only_files_of_ended_processes_are_removed(tmp_path):
    strangers = [".gssl-notes", ".gssl-abcdefghi", ".gssl-ABCDEFGH.gssl", "gssl-abcdefgh"]
    for name in strangers:
        (tmp_path / name).write_text("not ours")
    child = subprocess.Popen(
        [sys.executable, "-c", _WAIT, str(tmp_path / "m.gssl")], stdout=subprocess.PIPE, text=True
    )
    part = Path(child.stdout.readline().strip())
    assert part.name.startswith(".gssl-")
    with whole_file(tmp_path / "a.txt") as mine:
        mine.write_text("x")
    assert part.read_text() == "half of it"
    child.send_signal(signal.SIGKILL)
    child.communicate()
    assert part.exists()
    with whole_file(tmp_path / "b.txt") as mine:
        mine.write_text("x")
    assert sorted(file.name for file in tmp_path.iterdir()) == sorted([*strangers, "a.txt", "b.txt"])


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".csv", ".tsv", ".parquet", ".gssl"])
def test_every_writer_writes_into_the_locked_file(tmp_path, monkeypatch, suffix):
    """A writer that replaced the file would lose the lock."""
    made, kept = {}, {}
    make, replace = gssl.files.make_owned, Path.replace

    def remember(part):
        owner = make(part)
        made[part] = part.stat().st_ino
        return owner

    def record(part, target):
        kept[part] = part.stat().st_ino
        return replace(part, target)

    monkeypatch.setattr(gssl.files, "make_owned", remember)
    monkeypatch.setattr(Path, "replace", record)
    if suffix == ".gssl":
        gssl.save(gssl.RidgeHead().fit([[1.0], [-1.0]], ["a", "b"]), tmp_path / "m.gssl")
    else:
        gssl.io.write_embeddings(tmp_path / f"u{suffix}", ["a", "b"], np.eye(2))
    assert made
    assert kept == made
