"""Folders and files of another user: links in them are refused, and what is readable is read."""

import os
import shutil
import tempfile
import traceback
from pathlib import Path

import numpy as np
import pytest

import gssl
from gssl.io import build_graph_store, open_graph_store, read_edges

if os.name != "posix" or os.geteuid() != 0:
    pytest.skip("only root can act as a second user", allow_module_level=True)

OTHER = 65534
X, A = np.eye(4), np.roll(np.eye(4), 1, axis=1) + np.roll(np.eye(4), -1, axis=1)
Y = np.array(["a", "b", None, None], dtype=object)


def as_other_user(call):
    """Run a function as a user without rights, in a fork, and return the error that it raises as text."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.setgroups([])
            os.setgid(OTHER)
            os.setuid(OTHER)
            call()
            said = ""
        except BaseException as error:
            said = f"{type(error).__name__}: {error}\n{traceback.format_exc()}"
        os.write(write, said.encode()[:60_000])
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as stream:
        said = stream.read()
    os.waitpid(child, 0)
    return said


@pytest.fixture
def shared():
    """A folder that all users can write to, outside those of pytest, which only their owner can enter."""
    folder = Path(tempfile.mkdtemp(prefix="gssl-shared-"))
    folder.chmod(0o777)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def private(tmp_path):
    """A graph store and a table that only the first user may read."""
    (tmp_path / "edges.csv").write_text("source,target,weight\nsecret1,secret2,2\nsecret2,secret3,1\n")
    store = build_graph_store(tmp_path / "edges.csv", tmp_path / "store")
    for file in [*tmp_path.rglob("*")]:
        file.chmod(0o700 if file.is_dir() else 0o600)
    return store.directory


NAMES = ["manifest.json", "ids.parquet", "indptr.npy", "indices.npy", "weights.npy"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("sealed", [True, False], ids=["checksums", "no checksums"])
def test_a_store_of_another_user_cannot_name_files_of_ours(shared, private, name, sealed):
    def plant():
        (shared / "e.csv").write_text("source,target,weight\na,b,2\nb,c,1\n")
        build_graph_store(shared / "e.csv", shared / "theirs")
        if not sealed:
            manifest = shared / "theirs" / "manifest.json"
            text = manifest.read_text()
            manifest.write_text(text[: text.index(',\n  "checksums"')] + "}")
        (shared / "theirs" / name).unlink()
        (shared / "theirs" / name).symlink_to(private / name)

    assert as_other_user(plant) == ""
    with pytest.raises(OSError, match=rf"{name} is a symbolic link, not a regular file: remove it\.$"):
        look_at(shared / "theirs")


def look_at(place):
    store = open_graph_store(place)
    return store.adjacency.toarray(), store.node_ids


def test_a_resume_folder_of_another_user_cannot_change_files_of_ours(shared, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("mine")
    names = ["run.json", ".lock", "step-000001.npz"]

    def plant():
        (shared / "run").mkdir(mode=0o777)
        (shared / "run").chmod(0o777)
        for name in names:
            (shared / "run" / name).symlink_to(secret)

    assert as_other_user(plant) == ""
    with (
        gssl.execution(resume=shared / "run"),
        pytest.raises(OSError, match="is a symbolic link, not a regular file"),
    ):
        gssl.OGC(max_iter=2).fit(X, Y, adjacency=A)
    assert secret.read_text() == "mine"


def test_another_user_reads_what_may_be_read_and_writes_nothing(shared):
    (shared / "e.csv").write_text("source,target\na,b\nb,c\n")
    build_graph_store(shared / "e.csv", shared / "ours")
    gssl.save(gssl.SGC().fit(X, adjacency=A), shared / "m.gssl")
    (shared / "ours").chmod(0o755)
    shared.chmod(0o755)
    before = sorted(shared.rglob("*"))

    def read():
        look_at(shared / "ours")
        gssl.load(shared / "m.gssl")
        read_edges(shared / "e.csv")

    read()  # imports what the other user may not read
    assert as_other_user(read) == ""
    assert sorted(shared.rglob("*")) == before


def test_another_user_is_refused_in_one_sentence(shared, private):
    (shared / "e.csv").write_text("source,target\na,b\n")
    (shared / "e.csv").chmod(0o600)
    shared.chmod(0o755)
    model = gssl.SGC().fit(X, adjacency=A)

    for call, said in [
        (lambda: read_edges(shared / "e.csv"), "e.csv"),
        (lambda: gssl.save(model, shared / "m.gssl"), "m.gssl"),
        (lambda: look_at(private), "store"),
    ]:
        first, *_ = as_other_user(call).split("\n")
        assert said in first
        assert first.endswith(".")
    assert not (shared / "m.gssl").exists()
