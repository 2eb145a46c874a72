"""Links, pipes and folders planted in a folder of gssl: their targets are not changed, and nothing waits."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gssl
from gssl.files import make_lock, open_regular
from gssl.io.atomic import whole_file, whole_folder
from gssl.label.journal import Journal
from gssl.scale.execution import part_of_run
from gssl.scale.results import reserve_array
from gssl.scale.run_folder import RunFolder

# a pipe that is waited for would wait forever
pytestmark = [
    pytest.mark.timeout(60),
    pytest.mark.skipif(os.name != "posix", reason="Windows has no pipes in folders"),
]

SECRET = b"not for gssl"
KINDS = {
    "symbolic link": "a symbolic link, not a regular file",
    "dangling link": "a symbolic link, not a regular file",
    "link to a folder": "a symbolic link, not a regular file",
    "pipe": "a named pipe, not a regular file",
    "folder": "a folder, not a regular file",
    "hard link": "a second name",
}


class Victim:
    """A file and a folder of someone else, and what links to them."""

    def __init__(self, folder: Path) -> None:
        self.file, self.folder = folder / "victim", folder / "victims"
        self.file.write_bytes(SECRET)
        self.folder.mkdir()

    def plant(self, kind: str, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir():
            shutil.rmtree(path)
        path.unlink(missing_ok=True)
        {
            "symbolic link": lambda: path.symlink_to(self.file),
            "dangling link": lambda: path.symlink_to(self.folder / "new"),
            "link to a folder": lambda: path.symlink_to(self.folder),
            "pipe": lambda: os.mkfifo(path),
            "folder": lambda: path.mkdir(),
            "hard link": lambda: path.hardlink_to(self.file),
        }[kind]()

    def is_untouched(self) -> bool:
        return self.file.read_bytes() == SECRET and not list(self.folder.iterdir())


@pytest.fixture
def victim(tmp_path: Path) -> Any:
    victim = Victim(tmp_path)
    yield victim
    assert victim.is_untouched()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("method", ["GGCM", "OGC", "LabelSpreading"])
def test_nothing_planted_in_a_resume_folder_is_followed(
    fit_resumed: Any, victim: Victim, tmp_path: Path, method: str, kind: str
):
    place, kept = tmp_path / "resumed", tmp_path / "kept"
    fit_resumed(method, place)
    shutil.copytree(place, kept)
    files = [file.relative_to(place) for file in place.rglob("*") if file.is_file()]
    folders = [file.relative_to(place) for file in place.rglob("*") if file.is_dir()]
    assert len(files) > 2
    for begun in (False, True):
        for name in [*files, *folders]:
            shutil.rmtree(place)
            if begun:
                shutil.copytree(kept, place)
            victim.plant(kind, place / name)
            try:
                fit_resumed(method, place)
            except (OSError, ValueError) as error:
                message = str(error)
                assert "resumed" in message
                assert message.endswith(".")
                assert "\n" not in message
            assert victim.is_untouched(), name


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_regular_file_is_named_in_one_sentence(victim: Victim, tmp_path: Path, kind: str):
    folder = RunFolder(tmp_path / "run")
    victim.plant(kind, folder.path / "u.npy")
    reason = rf"u\.npy (is|has) {KINDS[kind]}.*: remove it\.$"
    with pytest.raises(OSError, match=reason):
        reserve_array(folder.path / "u.npy", (3, 2), np.dtype(np.float64))
    with pytest.raises(OSError, match=reason):
        make_lock(folder.path / "u.npy")
    if kind != "hard link":
        with pytest.raises(OSError, match=reason):
            folder.read_json("u.npy")
    if kind != "folder":
        # a file that is written whole takes the place of whatever had its name
        folder.write_json("u.npy", {"step": 3})
        assert folder.read_json("u.npy") == {"step": 3}


def test_a_subfolder_that_is_a_link_is_refused(victim: Victim, tmp_path: Path):
    victim.plant("link to a folder", tmp_path / "run" / "part")
    message = r"part is a symbolic link, not a folder: remove it\.$"
    with pytest.raises(OSError, match=message):
        RunFolder(tmp_path / "run").subfolder("part")
    with gssl.execution(resume=tmp_path / "run"), pytest.raises(OSError, match=message), part_of_run("part"):
        pass
    victim.plant("link to a folder", tmp_path / ".store.part")
    with (
        pytest.raises(OSError, match=r"store cannot be written: .*\.$"),
        whole_folder(tmp_path / "store", ""),
    ):
        pass


@pytest.mark.parametrize("kind", KINDS)
def test_temporary_folders_of_others_are_left_alone(
    monkeypatch: pytest.MonkeyPatch, victim: Victim, tmp_path: Path, kind: str
):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    victim.plant(kind, tmp_path / "gssl-slabs-planted" / ".owner")
    victim.plant("link to a folder", tmp_path / "gssl-slabs-link")
    folder = RunFolder()
    folder.write_json("a.json", {"step": 1})
    assert folder.read_json("a.json") == {"step": 1}
    assert os.path.lexists(tmp_path / "gssl-slabs-planted" / ".owner")


@pytest.mark.parametrize("kind", KINDS)
def test_temporary_names_of_atomic_writes_are_not_followed(victim: Victim, tmp_path: Path, kind: str):
    place = tmp_path / "place"
    victim.plant(kind, place / ".gssl-0123abcd.csv")
    with whole_file(place / "out.csv") as part:
        part.write_text("all of it")
    assert (place / "out.csv").read_text() == "all of it"


@pytest.mark.parametrize("kind", KINDS)
def test_a_lock_that_was_planted_is_refused(victim: Victim, tmp_path: Path, kind: str):
    place = tmp_path / "place"
    reason = rf"\.lock (is|has) {KINDS[kind]}.*: remove it\.$"
    victim.plant(kind, place / ".store.lock")
    with pytest.raises(OSError, match=reason), whole_folder(place / "store", "mark"):
        pass
    victim.plant(kind, place / ".out.csv.journal.lock")
    with pytest.raises(OSError, match=reason):
        Journal(place / "out.csv.journal")


def test_a_folder_in_progress_is_continued_only_if_nobody_else_could_write_to_it(
    victim: Victim, tmp_path: Path
):
    store = tmp_path / "store"
    part = tmp_path / ".store.part"
    part.mkdir()
    (part / "mark").write_text("the same")
    part.chmod(0o777)
    victim.plant("symbolic link", part / "indices.npy")
    with whole_folder(store, "the same") as begun:
        (begun / "indices.npy").write_text("ours")
        assert begun.stat().st_mode & 0o077 == 0
    plain = tmp_path / "plain"
    plain.mkdir()
    assert store.stat().st_mode == plain.stat().st_mode
    assert [file.name for file in store.iterdir()] == ["indices.npy"]


def test_no_file_is_emptied_or_replaced_by_opening_it(victim: Victim, tmp_path: Path):
    with pytest.raises(ValueError, match='use mode "x" for a new file'):
        open_regular(tmp_path / "a", "wb")
    victim.plant("hard link", tmp_path / "a")
    with pytest.raises(FileExistsError):
        open_regular(tmp_path / "a", "xb")
