"""Kill runs at seeded points or fill their disk, run them again, and compare with an undisturbed run.

``python tests/chaos/chaos.py [CASE…]`` prints a table of counts. Every run is a fork of a process that has
imported gssl, so it takes a fraction of a second.
"""

from __future__ import annotations

import contextlib
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "GSSL_NUM_THREADS": "1"}

import numpy as np
from sklearn.base import clone

import gssl
from gssl.cli import main
from gssl.io.atomic import whole_file
from gssl.label.journal import Journal

SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
POINTS, FULL = 20, 10
# prefixes of file events; a run is killed just before one of them
FILE_EVENTS = ("open", "os.", "shutil.", "tempfile.", "mmap.")
REFUSED = 2


@dataclass(frozen=True)
class Inputs:
    """The inputs of all cases, in memory and in files."""

    X: np.ndarray
    y: np.ndarray
    data: gssl.datasets.Dataset
    folder: Path


Case = Callable[[Inputs, Path], None]


def make_inputs(folder: Path) -> Inputs:
    data = gssl.datasets.make_block_graph(300, 1500, 24, 5, features="dense", random_state=3)
    X, y = np.array(data.features, dtype=np.float32), data.mask_labels("default")
    links = data.adjacency.tocoo()
    edges = (f"{u},{v}" for u, v in zip(links.row, links.col, strict=True) if u < v)
    (folder / "edges.csv").write_text("\n".join(["src,dst", *edges]) + "\n")
    rows = (",".join(map(str, [i, *row])) for i, row in enumerate(X.tolist()))
    names = ",".join(f"f{j}" for j in range(X.shape[1]))
    (folder / "features.csv").write_text("\n".join([f"id,{names}", *rows]) + "\n")
    labels = (f"{i},c{code}" for i, code in enumerate(y) if code >= 0)
    (folder / "labels.csv").write_text("\n".join(["id,label", *labels]) + "\n")
    return Inputs(X, y, data, folder)


def fit(model: gssl.methods.GraphClassifier, memory: str | None) -> Case:
    """Return a case that fits a model with a folder to resume from, and saves it."""

    def case(given: Inputs, place: Path) -> None:
        with gssl.execution(memory=memory, resume=place / "run"):
            fitted = clone(model).fit(given.X, given.y, adjacency=given.data.adjacency)
        if isinstance(fitted, gssl.AutoClassifier):  # its file includes times, which differ between runs
            with whole_file(place / "result.npy") as part:
                np.save(part, fitted.label_distributions_)
        else:
            gssl.save(fitted, place / "result.gssl")

    return case


def command(*words: str) -> Case:
    """Return a case that runs a gssl command; {data} and {place} are replaced by folders."""

    def case(given: Inputs, place: Path) -> None:
        if (place / "result").exists():
            return  # the graph was finished before the signal
        sys.argv = ["gssl", *(word.format(data=given.folder, place=place) for word in words)]
        main()

    return case


def save(given: Inputs, place: Path) -> None:
    target = place / "result.gssl"
    if not target.exists():
        target.write_bytes(b"an older file")
    model = gssl.SGC().fit(given.X, adjacency=given.data.adjacency)
    gssl.save(model, target)


def keep_journal(given: Inputs, place: Path) -> None:
    journal = Journal(place / "result.journal")
    labels = [f"class {code} {'-' * 400}" for code in given.y[:60]]
    actions = [{"do": "label", "node": str(i), "label": label} for i, label in enumerate(labels)]
    assert journal.actions == actions[: len(journal.actions)]
    for action in actions[len(journal.actions) :]:
        journal.append(action)
    journal.close()


TABLES = ["--edges", "{data}/edges.csv", "--features", "{data}/features.csv", "--labels", "{data}/labels.csv"]
CASES: dict[str, Case] = {
    "OGC": fit(gssl.OGC(random_state=0, max_iter=8), "90kB"),
    "GGCM + ridge": fit(gssl.EmbeddingClassifier(gssl.GGCM(depth=3), head="ridge"), "40kB"),
    "AutoClassifier": fit(gssl.AutoClassifier(depth=4), None),
    "LabelSpreading": fit(gssl.LabelSpreading(), None),
    "gssl classify --resume": command(
        *["classify", *TABLES, "--method", "ogc", "--memory", "400MB"],
        *["--resume", "{place}/run", "--out", "{place}/result.csv"],
    ),
    "gssl graph build": command("graph", "build", "--edges", "{data}/edges.csv", "--out", "{place}/result"),
    "gssl.save": save,
    "journal of gssl label": keep_journal,
}


@dataclass(frozen=True)
class Ended:
    """Outcome of a run: exit status, output, and number of file events."""

    status: int
    output: str
    n_events: int


def run(case: Case, given: Inputs, place: Path, **trouble: float) -> Ended:
    """Run a case in a fork; send ``signum`` ``at_event`` or ``after`` seconds, or ``limit`` file sizes."""
    events, tell = os.pipe()
    with tempfile.TemporaryFile() as stream:
        child = os.fork()
        if not child:
            os.close(events)
            _child(case, given, place, stream.fileno(), tell, trouble)
        os.close(tell)
        if "after" in trouble:
            os.read(events, 1)  # waits until it has begun
            time.sleep(trouble["after"])
            os.kill(child, int(trouble["signum"]))
        _, status = os.waitpid(child, 0)
        n_events = b"".join(iter(lambda: os.read(events, 1 << 16), b"")).count(b"e")
        os.close(events)
        stream.seek(0)
        words = stream.read().decode(errors="replace")
    return Ended(os.waitstatus_to_exitcode(status), words, n_events)


def _child(case: Case, given: Inputs, place: Path, output: int, tell: int, trouble: dict[str, float]) -> None:
    status = 1
    try:
        status = _work(case, given, place, output, tell, trouble)
    finally:  # even after a late signal: the fork must not run the parent's cleanup
        os._exit(status)


def _work(case: Case, given: Inputs, place: Path, output: int, tell: int, trouble: dict[str, float]) -> int:
    try:
        for stream in (1, 2):
            os.dup2(output, stream)
        sys.stdout, sys.stderr = (os.fdopen(stream, "w") for stream in (1, 2))
        signal.signal(signal.SIGINT, signal.default_int_handler)
        tempfile.tempdir = os.environ["TMPDIR"] = str(place / "tmp")
        (place / "tmp").mkdir(exist_ok=True)
        if "limit" in trouble:
            resource.setrlimit(resource.RLIMIT_FSIZE, (int(trouble["limit"]),) * 2)
        os.write(tell, b"b")
        _count_events(tell, trouble)
        case(given, place)
    except SystemExit as error:
        return error.code if isinstance(error.code, int) else int(error.code is not None)
    except OSError as error:
        sys.stderr.write(f"{error}\n")  # a full disk raises an error with one clear sentence
        return REFUSED
    except BaseException:
        traceback.print_exc()
        return 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
    return 0


def _count_events(tell: int, trouble: dict[str, float]) -> None:
    seen, at, signum = 0, trouble.get("at_event", 0), int(trouble.get("signum", 0))

    def hook(event: str, _: object) -> None:
        nonlocal seen
        if event.startswith(FILE_EVENTS):
            seen += 1
            if not at:
                os.write(tell, b"e")
            if seen == at:
                os.kill(os.getpid(), signum)

    sys.addaudithook(hook)


def contents(place: Path) -> dict[str, bytes]:
    """Return the result files of a run, without its run folder and temporary files."""
    # an empty lock file may remain beside a complete graph
    files = (file for file in sorted(place.rglob("*")) if file.is_file() and file.suffix != ".lock")
    named = {str(file.relative_to(place)): file.read_bytes() for file in files}
    return {name: content for name, content in named.items() if not name.startswith(("run/", "tmp/"))}


def harmless(files: dict[str, bytes], expected: dict[str, bytes], name: str) -> bool:
    """Return whether the results of a stopped run are absent, unchanged or complete."""
    if name == "journal of gssl label":
        whole = expected["result.journal"]
        return whole.startswith(files.get("result.journal", b""))
    shown = {file: content for file, content in files.items() if file.startswith("result")}
    older = {"result.gssl": b"an older file"} if name == "gssl.save" else {}
    return shown in ({}, older, {"result.gssl": b""}) or shown == expected


@contextlib.contextmanager
def small_disk(n_bytes: int) -> Iterator[tuple[Path, Callable[[], None], dict[str, float]]]:
    """Yield a folder on a disk of limited size, a function that enlarges it, and limits for a run.

    If no disk can be mounted, the size of files is limited instead.
    """
    place = Path(tempfile.mkdtemp(prefix="chaos-"))
    size = f"size={max(4096, n_bytes)}"
    mount = ["mount", "-t", "tmpfs", "-o", size, "tmpfs", str(place)]
    mounted = not subprocess.run(mount, capture_output=True).returncode if shutil.which("mount") else False
    try:
        if mounted:
            more = ["mount", "-o", "remount,size=256m", str(place)]
            yield place, lambda: subprocess.run(more, check=True), {}
        else:
            yield place, lambda: None, {"limit": n_bytes}
    finally:
        if mounted:
            subprocess.run(["umount", str(place)], check=True)
        shutil.rmtree(place)


class Disturbed:
    """A case, its undisturbed results, and counts and faults of its disturbed runs."""

    def __init__(self, name: str, given: Inputs) -> None:
        self.name, self.given, self.case = name, given, CASES[name]
        self.counts, self.faults = Counter[str](), list[str]()
        self.points = random.Random(name)
        with tempfile.TemporaryDirectory(prefix="chaos-") as folder:
            began = time.monotonic()
            plain = run(self.case, given, Path(folder))
            self.seconds, self.expected = time.monotonic() - began, contents(Path(folder))
            self.sizes = [file.stat().st_size for file in Path(folder).rglob("*") if file.is_file()]
        self.n_events = max(1, plain.n_events)
        if plain.status or not self.expected:
            raise RuntimeError(f"{name}: the undisturbed run ended with {plain.status}: {plain.output}")

    def kill(self, signum: signal.Signals, point: int) -> None:
        """Send a signal at a seeded file event (even points) or after a seeded time (odd points)."""
        where = "after" if point % 2 else "at_event"
        when = self.points.uniform(0, self.seconds) if point % 2 else self.points.randint(1, self.n_events)
        with tempfile.TemporaryDirectory(prefix="chaos-") as folder:
            stopped = run(self.case, self.given, Path(folder), signum=signum, **{where: when})
            what = f"{signum.name} {where} {when}"
            if "Traceback" in stopped.output and signum != signal.SIGINT:
                self.faults.append(f"{self.name}, {what}: {stopped.output[-800:]}")
            self.again(signum.name, what, Path(folder), stopped)

    def fill(self) -> None:
        """Run on a disk with room for a seeded share of the files, then enlarge it and run again."""
        share = self.points.random()
        with small_disk(int(share * sum(self.sizes))) as (place, make_room, limit):
            stopped = run(self.case, self.given, place, **limit)
            what = f"a disk of {share:.2f}"
            if stopped.status not in (0, REFUSED) or "Traceback" in stopped.output:
                self.faults.append(f"{self.name}, {what}: {stopped.status}, {stopped.output[-800:]}")
            make_room()
            self.again("full", what, place, stopped)

    def again(self, kind: str, what: str, place: Path, stopped: Ended) -> None:
        """Run a stopped case again and compare its results."""
        self.counts[kind] += 1
        self.counts[f"{kind} stopped"] += stopped.status != 0
        if not harmless(contents(place), self.expected, self.name):
            self.faults.append(f"{self.name}, {what}: a damaged result")
        repeated, files = run(self.case, self.given, place), contents(place)
        if repeated.status:
            self.faults.append(f"{self.name}, {what}: then {repeated.status}, {repeated.output[-800:]}")
        elif files != self.expected:
            names = {*files, *self.expected}
            differ = sorted(file for file in names if files.get(file) != self.expected.get(file))
            self.faults.append(f"{self.name}, {what}: other bytes in {differ}")
        else:
            self.counts[f"{kind} same"] += 1


def disturb(name: str, given: Inputs) -> tuple[Counter[str], list[str]]:
    """Disturb a case at all its points; return counts and faults."""
    disturbed = Disturbed(name, given)
    for signum in SIGNALS:
        for point in range(POINTS):
            disturbed.kill(signum, point)
    for _ in range(FULL):
        disturbed.fill()
    return disturbed.counts, disturbed.faults


def table(rows: dict[str, Counter[str]]) -> str:
    """Return a Markdown table of counts: runs that were stopped, and runs with the same bytes in the end."""
    heads = [signum.name for signum in SIGNALS] + ["full"]
    lines = [
        "| work | " + " | ".join([*heads[:-1], "full disk"]) + " | the same bytes, run again |",
        "|---" * (len(heads) + 2) + "|",
    ]
    for name, counts in rows.items():
        cells = [f"{counts[f'{head} stopped']} of {counts[head]}" for head in heads]
        same, tried = sum(counts[f"{head} same"] for head in heads), sum(counts[head] for head in heads)
        lines.append(f"| {name} | {' | '.join(cells)} | {same} of {tried} |")
    return "\n".join(lines)


def run_all(names: list[str]) -> tuple[dict[str, Counter[str]], list[str]]:
    warnings.simplefilter("ignore")
    rows, faults = {}, []
    with tempfile.TemporaryDirectory(prefix="chaos-") as folder, tempfile.TemporaryDirectory() as warm:
        given = make_inputs(Path(folder))
        # compile kernels once; not by cases with DuckDB, whose threads would not survive a fork
        for name in CASES:
            if not name.startswith("gssl "):
                place = Path(warm, name)
                place.mkdir()
                CASES[name](given, place)
        for name in names:
            rows[name], new_faults = disturb(name, given)
            faults += new_faults
    return rows, faults


if __name__ == "__main__":
    found_rows, found_faults = run_all(sys.argv[1:] or list(CASES))
    sys.stdout.write("\n".join([table(found_rows), *(f"FAULT {fault}" for fault in found_faults)]) + "\n")
    sys.exit(bool(found_faults))
