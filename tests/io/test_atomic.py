"""A file or a folder appears whole or not at all."""

import errno
import os

import pytest

from gssl.io.atomic import check_writable, whole_file, whole_folder


def test_a_whole_file_is_readable_by_others(tmp_path):
    with whole_file(tmp_path / "a.txt") as part:
        part.write_text("x")
    plain = tmp_path / "b.txt"
    plain.write_text("x")
    assert (tmp_path / "a.txt").stat().st_mode == plain.stat().st_mode


@pytest.mark.parametrize("writer", [whole_file, whole_folder])
def test_a_full_disk_leaves_nothing_and_says_so(tmp_path, writer):
    target = tmp_path / "result"
    given = (target,) if writer is whole_file else (target, "mark")
    with (
        pytest.raises(
            OSError, match=r"result cannot be written: no space left on device; make room or choose"
        ),
        writer(*given),
    ):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert not target.exists()
    # a sentence of our own passes as it is
    with pytest.raises(OSError, match=r"^our own\.$"), writer(*given):
        raise OSError("our own.")


def test_a_place_where_nothing_can_be_written_is_refused_before_the_work(tmp_path):
    check_writable(tmp_path / "new" / "a.csv")
    with pytest.raises(IsADirectoryError, match=r"is a folder: name a file in it\.$"):
        check_writable(tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError, match="is no folder: choose another place"):
        check_writable(tmp_path / "file" / "a.csv")


def test_a_folder_is_built_by_one_at_a_time(tmp_path):
    with whole_folder(tmp_path / "store", "mark") as part:
        (part / "a.txt").write_text("begun")
        with (
            pytest.raises(OSError, match=r"store is being built by another process: wait for it\.$"),
            whole_folder(tmp_path / "store", "mark"),
        ):
            pass
    assert [file.name for file in tmp_path.rglob("*")] == ["store", "a.txt"]
    with pytest.raises(FileExistsError, match="store is there already"), whole_folder(tmp_path / "store", ""):
        pass
