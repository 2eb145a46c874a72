"""Finished runs survive kills and damaged files."""

import json
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from reproduction.spec import Cell
from reproduction.store import Store

CELL = Cell("classifier", "karate", {"method": "OGC", "params": {"beta": 0.1}}, split="default")


# each run prints that it starts, takes a while, and returns its seed
SLOW_RUN = """
import sys, time
from reproduction.spec import Artefact, Cell, Entry
from reproduction.store import Store
from reproduction.runner import missing_jobs, run
from reproduction.spec import measure

@measure("slow")
def slow(cell, seed):
    print(seed, flush=True)
    time.sleep(0.2)
    return {"accuracy": seed}

cell = Cell("slow", "karate", {})
artefact = Artefact("tiny", "", "", (Entry("slow", "karate", cell=cell),))
store = Store(sys.argv[1])
run(missing_jobs([artefact], store, seeds=6), store)
"""


def test_a_torn_last_line_is_dropped_and_the_next_line_does_not_join_it(store):
    store.add(CELL, 0, {"accuracy": 1.0}, 0.1)
    store.add(CELL, 1, {"accuracy": 2.0}, 0.1)
    text = store.path.read_text()
    store.path.write_text(text[:-20])
    again = Store(store.path)
    assert len(again) == 1
    assert again.values(CELL, 0) == {"accuracy": 1.0}
    assert again.values(CELL, 1) is None
    again.add(CELL, 1, {"accuracy": 3.0}, 0.1)
    assert Store(store.path).values(CELL, 1) == {"accuracy": 3.0}
    assert len(store.path.read_text().splitlines()) == 2


def test_a_file_that_is_something_else_is_refused(tmp_path):
    (tmp_path / "records.jsonl").write_text("hello\n[]\n")
    with (
        pytest.warns(UserWarning, match="is not a record"),
        pytest.raises(ValueError, match="holds no record of a run: choose another folder"),
    ):
        Store(tmp_path / "records.jsonl")


def test_a_damaged_line_costs_its_own_run_only(store):
    for seed in range(3):
        store.add(CELL, seed, {"accuracy": seed}, 0.1)
    lines = store.path.read_text().splitlines()
    lines[1] = lines[1][:40]
    store.path.write_text("\n".join(lines) + "\n")
    with pytest.warns(UserWarning, match=r"records\.jsonl, line 2 is not a record of a run"):
        again = Store(store.path)
    assert [again.values(CELL, seed) for seed in range(3)] == [{"accuracy": 0}, None, {"accuracy": 2}]
    again.add(CELL, 1, {"accuracy": 5}, 0.1)
    with pytest.warns(UserWarning, match="line 2"):
        assert Store(store.path).values(CELL, 1) == {"accuracy": 5}


def test_a_line_that_another_process_is_writing_is_not_torn(store):
    """The holder of the lock is still writing; the last line is checked once the lock is free."""
    fcntl = pytest.importorskip("fcntl")
    store.add(CELL, 0, {"accuracy": 0.0}, 0.1)
    other = json.dumps({"key": "other", "values": {}}).encode() + b"\n"
    with store.path.open("ab") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        stream.write(other[:10])
        stream.flush()
        thread = threading.Thread(target=store.add, args=(CELL, 1, {"accuracy": 1.0}, 0.1))
        thread.start()
        thread.join(0.2)
        assert thread.is_alive()
        stream.write(other[10:])
        stream.flush()
        fcntl.flock(stream, fcntl.LOCK_UN)
    thread.join(10)
    again = Store(store.path)
    assert len(again) == len(store) == 3


def test_a_killed_run_goes_on_where_it_was(tmp_path):
    path = tmp_path / "records.jsonl"
    command = [sys.executable, "-c", SLOW_RUN, str(path)]
    first = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    started = [int(first.stdout.readline()) for _ in range(3)]
    os.kill(first.pid, signal.SIGKILL)
    first.wait()
    first.stdout.close()
    assert started == [0, 1, 2]
    time.sleep(0.05)
    finished = {json.loads(line)["seed"] for line in path.read_text().splitlines()}
    assert finished == {0, 1}
    with path.open("a") as stream:
        stream.write('{"key": "torn')
    second = subprocess.run(command, capture_output=True, text=True, check=True)
    assert [int(line) for line in second.stdout.split()] == [2, 3, 4, 5]
    records = [json.loads(line) for line in path.read_text().splitlines()]
    assert [record["seed"] for record in records] == [0, 1, 2, 3, 4, 5]
    assert [record["values"]["accuracy"] for record in records] == [0, 1, 2, 3, 4, 5]
