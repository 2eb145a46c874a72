"""Refused means nothing was written, acknowledged means nothing is lost, whatever happens in between."""

import resource
import shutil
import tempfile
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from scipy.sparse import csr_array

from gssl.io import Problem
from gssl.label.journal import Journal
from gssl.label.session import Session, StaleError

IDS = ["a", "b,c", 'd"', "e\nf", "007", "ü"]
NODES = st.integers(0, len(IDS) - 1)
NAMES = st.sampled_from(["ash", "birch", "=1+1", "ü|,"])
WRONG = [
    {"do": "label", "nodes": [99], "label": "ash"},
    {"do": "label", "nodes": [], "label": "ash"},
    {"do": "label", "nodes": [0], "label": 7},
    {"do": "explode"},
    {"do": "import", "labels": [["a"]]},
    {},
]


class JournalStates(RuleBasedStateMachine):
    """A session whose acknowledged actions are also kept in a list of what the labels were after each."""

    def __init__(self):
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.file = self.folder / "labels.csv.journal"
        # the labels before each action that undo can revert, and the labels after each line of the journal
        self.before, self.after = [], [{}]
        self.open()

    def open(self):
        ring = np.roll(np.eye(len(IDS)), 1, axis=1)
        ids, y = (np.array(part, dtype=object) for part in (IDS, [None] * len(IDS)))
        self.session = Session(
            Problem(ids, csr_array(ring + ring.T), None, y), Journal(self.file), layout=False
        )

    @property
    def now(self):
        return self.after[-1]

    def act(self, action, labels):
        """Do an action that is acknowledged, and remember its effect."""
        before = self.now
        self.session.act(action, self.session.version)
        if action["do"] != "undo":
            self.before.append(before)
        self.after.append(labels)

    @rule(node=NODES, name=NAMES)
    def label(self, node, name):
        self.act({"do": "label", "nodes": [node], "label": name}, self.now | {node: name})

    @rule(node=NODES)
    def take_a_label_away(self, node):
        self.act(
            {"do": "label", "nodes": [node], "label": None}, {k: v for k, v in self.now.items() if k != node}
        )

    @rule(node=NODES)
    def skip(self, node):
        self.act({"do": "skip", "nodes": [node]}, self.now)

    @rule(nodes=st.lists(NODES, min_size=1, max_size=3, unique=True), name=NAMES)
    def import_several(self, nodes, name):
        pairs = [[IDS[node], name] for node in nodes]
        self.act({"do": "import", "labels": pairs}, self.now | dict.fromkeys(nodes, name))

    @rule()
    def undo(self):
        if self.before:
            self.act({"do": "undo"}, self.before.pop())

    @rule(action=st.sampled_from(WRONG))
    def refuse(self, action):
        written = self.file.read_bytes()
        with pytest.raises(ValueError, match=r"\.$|:"):
            self.session.act(action, self.session.version)
        with pytest.raises(StaleError):
            self.session.act({"do": "undo"}, self.session.version + 1)
        assert self.file.read_bytes() == written

    @rule(room=st.integers(0, 60), node=NODES)
    def fill_the_disk(self, room, node):
        written = self.file.read_bytes()
        with limited_files(len(written) + room), pytest.raises(OSError, match="journal"):
            self.session.act({"do": "label", "nodes": [node], "label": "cedar"}, self.session.version)
        assert self.file.read_bytes() == written

    @rule(torn=st.binary(max_size=40).filter(lambda part: b"\n" not in part))
    def kill_while_a_line_is_written(self, torn):
        self.session.journal.close()
        with self.file.open("ab") as stream:
            stream.write(torn)
        self.open()

    @rule(year=st.integers(1970, 2200), node=NODES, name=NAMES)
    def label_after_a_jump_of_the_clock(self, year, node, name):
        with patch("gssl.label.session.datetime") as clock:
            clock.now.return_value = datetime(year, 1, 1, tzinfo=UTC)
            self.label(node, name)

    @invariant()
    def labels_are_those_acknowledged(self):
        codes = self.session.labelling.codes
        assert {node: self.session.labelling.label(node) for node in codes} == self.now

    def teardown(self):
        """Replay prefixes of the journal: each has the labels of its whole lines."""
        self.session.journal.close()
        content = self.file.read_bytes()
        lines = [k for k, byte in enumerate(content, start=1) if byte == ord("\n")]
        for size in {*lines, *range(lines[0] + 1, len(content), 17)}:
            self.file.write_bytes(content[:size])
            self.open()
            whole = sum(end <= size for end in lines) - 1
            codes = self.session.labelling.codes
            assert {node: self.session.labelling.label(node) for node in codes} == self.after[whole]
            self.session.journal.close()
        shutil.rmtree(self.folder)


@contextmanager
def limited_files(size):
    """Let no file grow beyond a size, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


TestJournalStates = JournalStates.TestCase
TestJournalStates.settings = settings(
    max_examples=15, stateful_step_count=15, deadline=None, suppress_health_check=list(HealthCheck)
)
