import json
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from time import monotonic, sleep

import numpy as np
import pytest
from click.testing import CliRunner

import gssl
from gssl.cli.app import app
from gssl.scale.memory import SlabPlan
from gssl.scale.run_folder import RunFolder


class _StoppedError(Exception):
    pass


@pytest.fixture
def stopping(monkeypatch):
    """Return a function that makes a fit raise ``stopping.error`` after writing a number of files."""
    write = RunFolder.write

    def stop_after(count):
        left = [count]

        def write_until(self, *arguments):
            left[0] -= 1
            if left[0] < 0:
                raise _StoppedError
            return write(self, *arguments)

        monkeypatch.setattr(RunFolder, "write", write_until)

    stop_after.error = _StoppedError
    return stop_after


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """Write a graph, features and labels as files."""
    folder = tmp_path_factory.mktemp("tables")
    data = gssl.datasets.make_block_graph(120, 500, 24, 3, features="dense", random_state=1)
    y = data.mask_labels("default")
    rows, columns = data.adjacency.nonzero()
    edges = "".join(f"{u},{v}\n" for u, v in zip(rows, columns, strict=True) if u < v)
    (folder / "edges.csv").write_text("a,b\n" + edges)
    labels = "".join(f"{node},c{label}\n" for node, label in enumerate(y) if label != -1)
    (folder / "labels.csv").write_text("id,label\n" + labels)
    np.save(folder / "x.npy", np.array(data.features, dtype=np.float32))
    np.save(folder / "x.ids.npy", np.arange(120))
    return folder


@pytest.fixture(scope="session")
def classify():
    """Run ``gssl classify`` on the tables of a folder."""

    def run(folder, out, *options):
        named = {"--edges": "edges.csv", "--labels": "labels.csv", "--features": "x.npy"}
        sources = [part for option, file in named.items() for part in (option, str(folder / file))]
        return CliRunner().invoke(app, ["classify", *sources, "--out", str(out), "-q", *options])

    return run


@pytest.fixture(scope="session")
def fit():
    """Return a function that fits a model with options of gssl.execution."""

    def run(model, X, y=None, *, adjacency, anchors=None, **where):
        more = {} if anchors is None else {"anchors": anchors}
        with gssl.execution(**where):
            return model.fit(X, y, adjacency=adjacency, **more)

    return run


@pytest.fixture
def widths(monkeypatch):
    """Return a function that fixes the width of slabs."""

    def cut(width):
        monkeypatch.setattr("gssl.scale.slabs.plan_slabs", lambda n, *_: SlabPlan(n, width))

    return cut


@pytest.fixture(scope="session")
def blocks():
    """A graph with 5 classes, 24 dense features in single precision, and a few labels."""
    data = gssl.datasets.make_block_graph(300, 1500, 24, 5, features="dense", random_state=3)
    X = np.array(data.features, dtype=np.float32)
    return X, data.mask_labels("default"), data.adjacency


@pytest.fixture(scope="session")
def client():
    """Two workers, each a process with one thread, which no test kills."""
    distributed = pytest.importorskip("distributed", reason="the extra 'distributed' is not installed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, memory_limit=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture
def direct(monkeypatch):
    """Keep OGC from using label space, so that it has embeddings."""
    monkeypatch.setattr(gssl.OGC, "_label_space_pays", lambda *_: False)


class DaskProcesses:
    """A scheduler and workers started by their command lines, each in a separate process.

    ``before`` is prepended to a command, for example to run it in a network namespace; ``options`` are
    appended.
    """

    def __init__(self, folder: Path, ends: ExitStack) -> None:
        self._folder, self._ends, self._n_workers = folder, ends, 0

    def scheduler(self, *options: str, host: str = "127.0.0.1", before: tuple[str, ...] = ()):
        file = self._folder / "scheduler.json"
        options = ("--host", host, "--port", "0", "--no-dashboard", "--scheduler-file", str(file), *options)
        process = self._start("scheduler", before, options)
        deadline = monotonic() + 60
        while not file.exists():
            assert process.poll() is None, "the scheduler does not start"
            assert monotonic() < deadline, "the scheduler does not start in time"
            sleep(0.05)
        return process, _address(file)

    def worker(self, address: str, *options: str, host: str = "127.0.0.1", before: tuple[str, ...] = ()):
        self._n_workers += 1
        folder = self._folder / f"worker-{self._n_workers}"
        options = ("--nthreads", "1", "--host", host, "--local-directory", str(folder), *options)
        return self._start("worker", before, (address, "--no-dashboard", "--no-nanny", *options))

    def _start(self, name: str, before: tuple[str, ...], options: tuple[str, ...]):
        command = [*before, sys.executable, "-m", f"distributed.cli.dask_{name}", *options]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self._ends.callback(process.wait)
        self._ends.callback(process.kill)
        return process


def _address(file: Path) -> str:
    """Read the address of a scheduler, waiting until its file is complete."""
    while True:
        try:
            return json.loads(file.read_text())["address"]
        except (ValueError, KeyError):
            sleep(0.05)


@pytest.fixture(scope="module")
def make_dask_processes(tmp_path_factory):
    """Return a factory of schedulers and workers that end with the module."""
    with ExitStack() as ends:
        yield lambda: DaskProcesses(tmp_path_factory.mktemp("dask"), ends)


@pytest.fixture
def dask_processes(tmp_path_factory):
    """Start a scheduler and workers that end with the test."""
    with ExitStack() as ends:
        yield DaskProcesses(tmp_path_factory.mktemp("dask"), ends)
