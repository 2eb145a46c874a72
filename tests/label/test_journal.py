import os

import pytest

from gssl.label.journal import Journal, journal_path

ACTIONS = [
    {"do": "label", "nodes": ["a"], "label": "naïve ☃"},
    {"do": "skip", "nodes": ["b\nc"]},
    {"do": "undo"},
    {"do": "import", "labels": [["x", "1"], ["y", '"quoted"']]},
]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "labels.csv.journal"


@pytest.fixture
def written(path):
    journal = Journal(path)
    for action in ACTIONS:
        journal.append(action)
    journal.close()
    return path.read_bytes()


def reopen(path):
    journal = Journal(path)
    journal.close()
    return journal.actions


def test_actions_come_back_in_order(path, written):
    assert reopen(path) == ACTIONS
    assert path.read_bytes() == written


def test_a_file_cut_at_any_byte_replays_to_a_prefix(path, written):
    ends = [i + 1 for i, byte in enumerate(written) if byte == ord("\n")]
    for length in range(len(written) + 1):
        path.write_bytes(written[:length])
        whole = sum(end <= length for end in ends)
        assert reopen(path) == ACTIONS[: max(0, whole - 1)], length


def test_after_a_cut_new_actions_follow_the_whole_ones(path, written):
    path.write_bytes(written[:-5])
    journal = Journal(path)
    journal.append({"do": "undo"})
    journal.close()
    assert reopen(path) == [*ACTIONS[:3], {"do": "undo"}]


def test_a_last_line_of_zeros_is_dropped(path, written):
    path.write_bytes(written + b"\0" * 40 + b"\n")
    assert reopen(path) == ACTIONS


@pytest.mark.parametrize("length", [0, 6])
def test_a_header_that_was_cut_off_begins_a_journal(path, written, length):
    path.write_bytes(written[:length] + b"\0" * 9)
    assert reopen(path) == []


def test_a_broken_line_in_the_middle_is_refused(path, written):
    lines = written.split(b"\n")
    lines[2] = lines[2][:-3]
    path.write_bytes(b"\n".join(lines))
    with pytest.raises(ValueError, match="line 3, is no action"):
        Journal(path)
    # the file can be opened once it is repaired
    path.write_bytes(written)
    assert reopen(path) == ACTIONS


@pytest.mark.parametrize(
    "content", [b"id,label\na,b\n", b"id,label", b'{"journal": "gssl label", "format": 2}\n']
)
def test_another_file_is_refused_and_stays(path, content):
    path.write_bytes(content)
    with pytest.raises(ValueError, match="is no journal"):
        Journal(path)
    assert path.read_bytes() == content


def test_two_processes_cannot_share_a_journal(path):
    first = Journal(path)
    with pytest.raises(OSError, match="in use by another gssl label"):
        Journal(path)
    first.close()
    Journal(path).close()


def test_an_action_is_on_disk_when_append_returns(path, monkeypatch):
    synced = []
    fsync = os.fsync
    monkeypatch.setattr(os, "fsync", lambda handle: (fsync(handle), synced.append(path.read_bytes())))
    journal = Journal(path)
    journal.append(ACTIONS[0])
    assert synced[-1] == path.read_bytes()
    assert "naïve ☃".encode() in synced[-1]
    journal.close()


def test_a_full_disk_leaves_the_file_as_it_was(path, monkeypatch):
    journal = Journal(path)
    journal.append(ACTIONS[0])
    before = path.read_bytes()

    def full(handle):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(OSError, match=r"no space left on device, .* free; make room or end gssl label"):
            journal.append(ACTIONS[1])
    assert path.read_bytes() == before
    journal.append(ACTIONS[2])
    journal.close()
    assert reopen(path) == [ACTIONS[0], ACTIONS[2]]


def test_a_write_that_stops_halfway_is_neither_kept_nor_made_up_for_later(path, monkeypatch):
    journal = Journal(path)
    before, file = path.read_bytes(), journal._file

    class Refusing:
        """Accept ten bytes, then fail."""

        def __init__(self):
            self.room = 10

        def __getattr__(self, name):
            return getattr(file, name)

        def write(self, view):
            if not self.room:
                raise OSError(13, "Permission denied")
            self.room -= file.write(view[: self.room])
            return 10

    journal._file = Refusing()
    with pytest.raises(OSError, match="cannot be written: permission denied; end gssl label and choose"):
        journal.append(ACTIONS[0])
    assert path.read_bytes() == before
    journal._file = file
    journal.append(ACTIONS[1])
    journal.close()
    assert reopen(path) == [ACTIONS[1]]


def test_the_journal_lies_beside_the_output(tmp_path):
    assert journal_path(tmp_path / "labels.csv") == tmp_path / "labels.csv.journal"
