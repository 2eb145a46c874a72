"""Try random input on the interfaces that keep state or read files, for a given time.

``make fuzz SECONDS=600`` runs every target in turn. An attempt is a function of its seed, so a failure is
repeated by ``python scripts/fuzz.py --target page --seed 123``. Failing inputs are kept in ``.fuzz/``, at
most ten for each target.
"""

# ruff: noqa: E402, T201 - tests are imported from the root; a command prints
import http.client
import json
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import numpy as np

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test
from tests.forging import strip_model
from tests.hostile.conftest import KINDS, damaged, refuses_or_reads
from tests.hostile.test_damaged_files import TABLES
from tests.label.conftest import build
from tests.label.test_journal_states import JournalStates

import gssl
from gssl.io import write_columns
from gssl.label.journal import Journal
from gssl.label.server import LabelServer
from gssl.label.session import Session

KEPT = 10
FOLDER = Path(tempfile.mkdtemp(prefix="gssl-fuzz-"))
ODD = [None, True, -1, 2**70, 1e308, "", "ash", "x" * 5000, "\ud800", [], [[]], {}, [0, 0], ["n1", "ash"]]
FIELDS = ("do", "nodes", "label", "labels", "version", "n", "of", "at")
DOES = ("label", "skip", "class", "import", "undo", "next", "explode")


def edited(content: bytes, rng: np.random.Generator) -> bytes:
    """Damage a file in up to five places."""
    steps = [
        (str(rng.choice(KINDS)), int(rng.integers(2**20)), int(rng.integers(2**20)), rng.bytes(8))
        for _ in range(rng.integers(1, 6))
    ]
    return damaged(content, steps)


def try_models(rng: np.random.Generator) -> bytes:
    """Load a damaged model, with its checksums or without."""
    whole = FOLDER / "whole.gssl"
    if not whole.exists():
        problem = build(30, labels=9)[0]
        model = gssl.OGC(random_state=0).fit(problem.features, problem.y, adjacency=problem.adjacency)
        gssl.save(model, whole)
        strip_model(FOLDER.joinpath("bare.gssl").write_bytes(whole.read_bytes()) and FOLDER / "bare.gssl")
    content = edited((FOLDER / str(rng.choice(["whole.gssl", "bare.gssl"]))).read_bytes(), rng)
    (FOLDER / "m.gssl").write_bytes(content)
    refuses_or_reads(gssl.load, FOLDER / "m.gssl")
    return content


def try_tables(rng: np.random.Generator) -> bytes:
    """Read a damaged table of edges, features or labels."""
    kind, form = str(rng.choice(list(TABLES))), str(rng.choice(["csv", "jsonl", "parquet"]))
    read, columns = TABLES[kind]
    whole, path = FOLDER / f"whole-{kind}.{form}", FOLDER / f"{kind}.{form}"
    if not whole.exists():
        write_columns(whole, columns)
    path.write_bytes(edited(whole.read_bytes(), rng))
    refuses_or_reads(read, path)
    return path.read_bytes()


def try_journal(rng: np.random.Generator) -> bytes:
    """Open a damaged journal; every action that is read was written."""
    path, actions = FOLDER / "labels.csv.journal", []
    path.unlink(missing_ok=True)
    journal = Journal(path)
    for k in range(int(rng.integers(1, 12))):
        actions.append({"do": "label", "nodes": [f"n{rng.integers(90)}"], "label": "ash", "n": k + 1})
        journal.append(actions[-1])
    journal.close()
    content = edited(path.read_bytes(), rng)
    path.write_bytes(content)

    def read(place: Path) -> None:
        again = Journal(place)
        again.close()
        # with a damaged header it may be a journal of the format without checksums
        assert 1 in again.damaged or all(action in actions for action in again.actions)

    refuses_or_reads(read, path)
    return content


def try_states(rng: np.random.Generator) -> bytes:
    """Run one sequence of actions, kills, full disks and jumps of the clock."""
    one = settings(max_examples=1, stateful_step_count=40, deadline=None, database=None, derandomize=False)
    run_state_machine_as_test(
        JournalStates, settings=settings(one, suppress_health_check=list(HealthCheck)), _min_steps=10
    )
    return b""


class Page:
    """A server with a journal, to which random actions are sent."""

    def __init__(self) -> None:
        (FOLDER / "page.csv.journal").unlink(missing_ok=True)
        self.session = Session(build()[0], Journal(FOLDER / "page.csv.journal"), layout=False)
        self.server = LabelServer(self.session)
        self.server.start()

    def post(self, body: bytes) -> tuple[int, bytes]:
        """Send an action as the page does."""
        place = f"127.0.0.1:{self.server.port}"
        headers = {"Cookie": f"{self.server.cookie}={self.server.secret}", "Origin": f"http://{place}"}
        connection = http.client.HTTPConnection(place, timeout=30)
        connection.request("POST", "/api/act", body, {**headers, "Content-Type": "application/json"})
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        return answer.status, content


PAGE: list[Page] = []


def try_page(rng: np.random.Generator) -> bytes:
    """Send a random action: it is done, or refused with a sentence and without a trace in the journal."""
    page = PAGE[0] if PAGE else Page()
    PAGE[:] = [page]
    journal = FOLDER / "page.csv.journal"
    action: dict[str, Any] = {"do": str(rng.choice(DOES)), "version": page.session.version}
    for name in FIELDS[1:]:
        if rng.random() < 0.5:
            action[name] = ODD[rng.integers(len(ODD))]
    if rng.random() < 0.5:
        action |= {"nodes": [int(rng.integers(95))], "label": str(rng.choice(["ash", "birch"]))}
    body = json.dumps(action).encode()
    body = edited(body, rng) if rng.random() < 0.3 else body
    before = journal.read_bytes()
    status, content = page.post(body)
    assert status < 500, (status, content)
    if status != 200:
        # a page that is behind gets the present state, which is not JSON
        assert status == 409 or json.loads(content)["error"], content
        assert journal.read_bytes() == before
    assert journal.read_bytes().startswith(before)
    return body


TARGETS: dict[str, Callable[[np.random.Generator], bytes]] = {
    "page": try_page,
    "journal": try_journal,
    "states": try_states,
    "models": try_models,
    "tables": try_tables,
}


def attempt(target: str, seed: int) -> str:
    """Try one input; return the error, or an empty text."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            TARGETS[target](np.random.default_rng(seed))
    except Exception:  # whatever an interface raises is a finding
        return traceback.format_exc()
    return ""


@click.command()
@click.option("--seconds", default=60.0, show_default=True, help="How long to try.")
@click.option("--target", type=click.Choice(list(TARGETS)), help="Only this one.")
@click.option("--seed", type=int, help="Only this attempt.")
def main(seconds: float, target: str | None, seed: int | None) -> None:
    """Try random input until the time is up, and count attempts and failures."""
    names = [target] if target else list(TARGETS)
    if seed is not None:
        print(attempt(names[0], seed) or "passed")
        return
    start, first = time.monotonic(), int(time.time()) * 1000
    counts, failed = dict.fromkeys(names, 0), dict.fromkeys(names, 0)
    for k, name in enumerate(names):
        until = start + seconds * (k + 1) / len(names)
        while time.monotonic() < until:
            number = first + counts[name]
            counts[name] += 1
            error = attempt(name, number)
            if error:
                failed[name] += 1
                print(f"{name}, seed {number}: {error.strip().splitlines()[-1]}", flush=True)
                if failed[name] <= KEPT:
                    (ROOT / ".fuzz").mkdir(exist_ok=True)
                    (ROOT / ".fuzz" / f"{name}-{number}.txt").write_text(error, encoding="utf-8")
        print(f"{name}: {counts[name]:,} attempts, {failed[name]:,} failures", flush=True)
    if PAGE:
        PAGE[0].server.shutdown()
    sys.exit(any(failed.values()))


if __name__ == "__main__":
    main()
