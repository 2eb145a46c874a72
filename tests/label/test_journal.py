import json
import os
import random
from contextlib import closing

import numpy as np
import pytest

from gssl.label.journal import Journal, journal_path

numbers_only = pytest.mark.parametrize("session", ["numbers"], indirect=True)

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


def read(path, answers="classes"):
    with closing(Journal(path, answers)) as journal:
        return journal


def test_a_file_cut_at_any_byte_replays_to_a_prefix(path, written):
    ends = [i + 1 for i, byte in enumerate(written) if byte == ord("\n")]
    for length in range(len(written) + 1):
        path.write_bytes(written[:length])
        whole = sum(end <= length for end in ends)
        assert read(path).actions == ACTIONS[: max(0, whole - 1)], length
    assert path.read_bytes() == written


def test_after_a_cut_new_actions_follow_the_whole_ones(path, written):
    path.write_bytes(written[:-5])
    with closing(Journal(path)) as journal:
        journal.append({"do": "undo"})
    assert read(path).actions == [*ACTIONS[:3], {"do": "undo"}]


@pytest.mark.parametrize(("whole", "zeros"), [(None, b"\0" * 40 + b"\n"), (0, b"\0" * 9), (6, b"\0" * 9)])
def test_zeros_at_the_end_are_dropped(path, written, whole, zeros):
    path.write_bytes(written[:whole] + zeros)
    journal = read(path)
    assert journal.actions == (ACTIONS if whole is None else [])
    assert journal.damaged == []


@pytest.mark.parametrize("line", range(1, 6))
def test_any_changed_byte_of_a_record_is_noticed_and_kept_in_the_file(path, written, line):
    lines = written.split(b"\n")
    intact = [number for number in range(2, 6) if number != line]
    for at in range(len(lines[line - 1])):
        changed = bytearray(lines[line - 1])
        changed[at] ^= 1
        if changed[at] == 10:
            continue
        content = b"\n".join([*lines[: line - 1], bytes(changed), *lines[line:]])
        path.write_bytes(content)
        journal = read(path)
        assert (journal.lines, journal.damaged) == (intact, [line]), at
        assert journal.actions == [ACTIONS[number - 2] for number in intact], at
        assert path.read_bytes() == content


def write_old(path, actions):
    """Write a journal as earlier versions did, without checksums."""
    lines = [{"journal": "gssl label", "format": 1}, *actions]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def test_a_journal_of_an_earlier_version_is_read_and_continued(path):
    old = [
        {"do": "label", "nodes": ["n0"], "label": "ash", "at": "2025-01-01T00:00:00+00:00"},
        {"do": "import", "labels": [["n1", "birch"]], "at": "2025-01-01T00:00:01+00:00"},
    ]
    write_old(path, old)
    with closing(Journal(path)) as journal:
        assert [{**action, "n": None} for action in journal.actions] == [
            {**action, "n": None} for action in old
        ]
        journal.append(ACTIONS[0])
    again = read(path)
    assert again.actions[2:] == [ACTIONS[0]]
    assert again.damaged == []
    # from then on, records need a checksum
    with path.open("a") as file:
        file.write(json.dumps(old[0]) + "\n")
    assert read(path).damaged == [5]


def labels_of(session):
    return {node: session.labelling.label(node) for node in session.labelling.codes}


def ash(node):
    return {"do": "label", "nodes": [node], "label": "ash"}


@pytest.mark.parametrize(
    ("actions", "line", "old", "new"),
    [
        ([ash(0), ash(1), {"do": "undo"}], 3, b"ash", b"ask"),
        # the first undo is lost, and the second goes further back
        ([ash(0), ash(1), ash(2), {"do": "undo"}, {"do": "undo"}], 5, b"undo", b"undu"),
    ],
)
def test_an_undo_beside_a_damaged_record_takes_back_what_it_did(
    session, reopen, path, actions, line, old, new
):
    for action in actions:
        session.act(action, session.version)
    session.journal.close()
    lines = path.read_bytes().split(b"\n")
    lines[line - 1] = lines[line - 1].replace(old, new)
    path.write_bytes(b"\n".join(lines))
    again = reopen()
    assert labels_of(again) == {0: "ash"}
    assert again.notes == [f"{path}, line {line}, is left out: it is damaged."]


def test_an_undo_of_an_earlier_version_does_so_too(reopen, path):
    write_old(path, [ash("n0"), ash("n1"), {"do": "undo"}])
    path.write_bytes(path.read_bytes().replace(b'["n1"]', b'["n1"['))
    assert labels_of(reopen()) == {0: "ash"}


WRONG = [
    {"do": "import", "labels": 5},
    {"do": "import", "labels": [["n1"]]},
    {"do": "import", "labels": [["n1", 3]]},
    {"do": "import", "labels": [[["n1"], "ash"]]},
    {"do": "import", "labels": [["n1", "nan"]]},
    {"do": "import"},
    {"do": "label", "nodes": ["n1"]},
    {"do": "label", "nodes": ["n1"], "label": ["ash"]},
    {"do": "label", "nodes": ["n1"], "label": "a\nb"},
    {"do": "label", "nodes": "n1", "label": "ash"},
    {"do": "label", "nodes": [1], "label": "ash"},
    {"do": "label", "label": "ash"},
    {"do": "skip", "nodes": None},
    {"do": "class", "label": {}},
    {"do": ["label"], "nodes": ["n1"], "label": "ash"},
    {"do": {}},
]


@pytest.mark.parametrize("wrong", WRONG, ids=str)
def test_a_record_that_is_no_action_is_named_and_left_out(reopen, path, wrong):
    write_old(path, [ash("n0"), wrong, ash("n2")])
    session = reopen()
    assert labels_of(session) == {0: "ash", 2: "ash"}
    (note,) = session.notes
    assert note.startswith(f"{path}, line 3, is left out: ")


def damage(content, rng):
    """Return bytes after one to three random changes."""
    content = bytearray(content)
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(len(content))
        upto = min(len(content), at + rng.randint(1, 60))
        kind = rng.choice(["flip", "remove", "insert", "zeros", "digits"])
        if kind == "flip":
            content[at] ^= 1 << rng.randrange(8)
        elif kind == "remove":
            del content[at:upto]
        elif kind == "insert":
            content[at:at] = rng.randbytes(upto - at)
        elif kind == "zeros":
            content[at:upto] = bytes(upto - at)
        else:
            content[at:upto] = rng.choice([b"0", b"null", b"{}", b"[]", b'"', b"1e999", b"\n"])
    return bytes(content)


@pytest.mark.parametrize("old", [False, True], ids=["now", "earlier"])
def test_random_damage_is_reported_and_changes_no_intact_record(session, reopen, path, old):
    for node in range(12):
        session.act({"do": "label", "nodes": [node], "label": f"class {node % 3}"}, session.version)
    session.act({"do": "skip", "nodes": [30]}, session.version)
    session.act({"do": "import", "labels": [["n40", "ash"], ["n41", "birch"]]}, session.version)
    session.journal.close()
    if old:
        write_old(path, [{k: v for k, v in action.items() if k != "n"} for action in read(path).actions])
    whole, wanted = path.read_bytes(), labels_of(reopen())
    records = whole.split(b"\n")[1:-1]
    rng = random.Random(0)
    for attempt in range(300):
        content = damage(whole, rng)
        path.write_bytes(content)
        lines = content.split(b"\n")
        intact = [i for i, record in enumerate(records) if record in lines[1:-1]]
        if not intact:
            continue
        again = reopen()
        labels = labels_of(again)
        nodes = [[i] for i in range(12)] + [[]] + [[40, 41]]
        for i in intact:
            assert all(labels.get(node) == wanted[node] for node in nodes[i]), attempt
        assert 12 not in intact or 30 in again.labelling.skipped, attempt
        # a last line without end or with zeros is what a crash leaves
        if not old and labels != wanted and lines[-1] == b"" and b"\0" not in lines[-2]:
            assert any("left out" in note for note in again.notes), attempt


@pytest.mark.parametrize(
    "content", [b"id,label\na,b\n", b"id,label", b'{"journal": "gssl label", "format": 2}\n']
)
def test_another_file_is_refused_and_stays(path, content):
    path.write_bytes(content)
    with pytest.raises(ValueError, match="is not a journal"):
        Journal(path)
    assert path.read_bytes() == content


def test_two_processes_cannot_share_a_journal(path):
    with closing(Journal(path)), pytest.raises(OSError, match="in use by another gssl label"):
        Journal(path)
    read(path)


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
    assert read(path).actions == [ACTIONS[0], ACTIONS[2]]


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
    assert read(path).actions == [ACTIONS[1]]


def test_the_journal_lies_beside_the_output(tmp_path):
    assert journal_path(tmp_path / "labels.csv") == tmp_path / "labels.csv.journal"


@numbers_only
def test_numbers_come_back_exactly_and_undone_and_damaged_ones_do_not(session, label, reopen, path):
    label(*range(10))
    for node, number in ((11, "1e-17"), (12, 0.1 + 0.2), (13, -5)):
        session.act({"do": "label", "nodes": [node], "label": number}, session.version)
    session.act({"do": "undo"}, session.version)
    session.journal.close()
    again = reopen(answers="numbers")
    assert again.labelling.codes == session.labelling.codes
    assert again.labelling.label(12) == 0.1 + 0.2
    assert again.labelling.undoable == "labelled n12"
    np.testing.assert_array_equal(again.opinion.answer.values, session.opinion.answer.values)
    lines = path.read_bytes().split(b"\n")
    lines[2] = lines[2].replace(b'"label": ', b'"label": 9')  # another digit
    path.write_bytes(b"\n".join(lines))
    again = reopen(answers="numbers")
    assert set(session.labelling.codes) - set(again.labelling.codes) == {1}
    assert again.notes == [f"{path}, line 3, is left out: it is damaged."]


def test_a_journal_of_the_other_kind_is_refused_and_kept(path):
    for held, other in (("classes", "numbers"), ("numbers", "classes")):
        Journal(path, held).close()
        content = path.read_bytes()
        with pytest.raises(ValueError, match=f"holds {held}, not {other}: choose another --out"):
            Journal(path, other)
        assert path.read_bytes() == content
        path.unlink()
    path.write_text('{"journal": "gssl label", "format": 1}\n')
    with pytest.raises(ValueError, match="holds classes, not numbers"):
        Journal(path, "numbers")


def test_a_class_in_a_journal_of_numbers_is_left_out(reopen, path):
    with closing(Journal(path, "numbers")) as journal:
        for number, label in enumerate((1.5, "ash", "2", None), start=1):
            journal.append({"do": "label", "nodes": ["n0"], "label": label, "n": number})
    session = reopen(answers="numbers")
    assert len(session.notes) == 2
    assert "must be a number" in session.notes[0]
    assert session.labelling.codes == {}
