import json
import subprocess
import sys
from contextlib import ExitStack, contextmanager
from pathlib import Path
from time import monotonic, sleep

import numpy as np
import pytest
from scipy.sparse import csr_array
from tests.problems import use_label_space

import gssl
from gssl.operators import Filters, normalized_adjacency
from gssl.scale.execution import Task
from gssl.scale.memory import SlabPlan
from gssl.scale.run_folder import RunFolder


class _StoppedError(Exception):
    pass


@pytest.fixture
def stopping():
    """Return a context in which a fit stops with an error once it has written a number of files."""

    @contextmanager
    def stop_after(count):
        left, write = iter(range(count)), RunFolder.write

        def write_until(self, *arguments):
            if next(left, None) is None:
                raise _StoppedError
            return write(self, *arguments)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(RunFolder, "write", write_until)
            with pytest.raises(_StoppedError):
                yield

    return stop_after


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


@pytest.fixture
def in_form(tmp_path):
    """Return a function that gives features as an array, a sparse matrix, or a file."""

    def give(X, kind):
        np.save(tmp_path / "X.npy", X)
        mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
        return {"array": X, "sparse": csr_array(X), "file": mapped, "double": X.astype(np.float64)}[kind]

    return give


@pytest.fixture
def in_files(blocks, tmp_path):
    """Return a function that gives features, in an order, and the graph as files."""

    def give(order):
        X, _, A = blocks
        files = {"X": np.asarray(X, order=order), "data": A.data, "indices": A.indices, "indptr": A.indptr}
        for name, array in files.items():
            np.save(tmp_path / f"{name}.npy", array)
        mapped = {name: np.load(tmp_path / f"{name}.npy", mmap_mode="r") for name in files}
        return mapped["X"], csr_array((mapped["data"], mapped["indices"], mapped["indptr"]), shape=A.shape)

    return give


@pytest.fixture
def map_columns(blocks):
    """Return a function that runs a function of features, filters and columns in an execution."""
    X, _, A = blocks
    filters = Filters(normalized_adjacency(A, X.dtype))

    def run(execution, function, X=X, name=("task",)):
        return execution.map_columns(Task(function, name), X, lambda k: filters)

    return run


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
    use_label_space(monkeypatch, gssl.OGC, False)


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
