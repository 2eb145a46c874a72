"""A lost worker costs its columns, not the run; after the loss of the scheduler a run can be resumed."""

import os
import signal
from time import monotonic, sleep

import numpy as np
import pytest

import gssl
from gssl.operators import Filters, normalized_adjacency
from gssl.scale import cluster as cluster_module
from gssl.scale.cluster import Cluster, ClusterExecution
from gssl.scale.execution import Task
from gssl.scale.memory import SlabPlan
from gssl.scale.progress import watching

distributed = pytest.importorskip("distributed", reason="the extra 'distributed' is not installed")
dask = pytest.importorskip("dask", reason="the extra 'distributed' is not installed")


BUDGETS = {"memory": None, "files": 140_000}


class MortalWorkers:
    """Workers that can be killed; each is replaced by a new one."""

    def __init__(self, processes, address):
        self._processes, self._address = processes, address
        self.alive = [processes.worker(address) for _ in range(2)]
        self.n_killed = 0

    def kill(self):
        """Kill the oldest worker."""
        process = self.alive.pop(0)
        process.kill()
        process.wait()
        self.n_killed += 1
        self.replace()

    def replace(self):
        self.alive.append(self._processes.worker(self._address))

    def restore(self, client):
        """Wait for two live workers, replacing any that exited."""
        for process in [process for process in self.alive if process.poll() is not None]:
            self.alive.remove(process)
            self.replace()
        deadline = monotonic() + 60
        while len(client.nthreads()) != 2:
            assert monotonic() < deadline, "there are no two workers in time"
            sleep(0.05)


@pytest.fixture(scope="module")
def mortal(make_dask_processes):
    """A client, and workers in separate processes that can be killed."""
    processes = make_dask_processes()
    _, address = processes.scheduler()
    with distributed.Client(address, timeout=10) as client:
        yield client, MortalWorkers(processes, address)


@pytest.fixture
def workers(mortal):
    client, workers = mortal
    workers.restore(client)
    workers.n_killed = 0
    return workers


@pytest.fixture
def client(mortal):
    return mortal[0]


@pytest.fixture
def kill_at(workers, monkeypatch):
    """Return a function that lets a worker be killed when a message is first sent."""
    submit = Cluster.submit

    def kill_at(message):
        def submit_and_kill(self, function, *arguments, **settings):
            future = submit(self, function, *arguments, **settings)
            if function.__name__ == message and not workers.n_killed:
                workers.kill()
            return future

        monkeypatch.setattr(Cluster, "submit", submit_and_kill)

    return kill_at


@pytest.fixture
def narrow(monkeypatch):
    """Cut embeddings into slabs of eight columns."""
    monkeypatch.setattr(cluster_module, "spread_slabs", lambda n, *_: SlabPlan(n, 8))


@pytest.fixture(scope="module")
def problem():
    """96 features, less than half of which fit into a budget of 140 kB."""
    data = gssl.datasets.make_block_graph(300, 1500, 24, 5, features="dense", random_state=3)
    X = np.array(data.features, dtype=np.float32)
    return np.hstack([X, X[::-1], -X, X * X]), data.mask_labels("default"), data.adjacency


@pytest.fixture
def plain(problem, fit, direct):
    X, y, A = problem
    return fit(_ogc(), X, y, adjacency=A, memory="1GB").label_distributions_


def _ogc():
    return gssl.OGC(random_state=0, max_iter=6, patience=99)


def _in_memory_and_files(name, values, slow):
    """Parametrize with slabs in memory and in files; the cases in ``slow`` are slow tests."""
    cases = {f"{value}-{where}": (value, budget) for value in values for where, budget in BUDGETS.items()}
    return pytest.mark.parametrize(
        (name, "budget"),
        [
            pytest.param(*case, id=i, marks=[pytest.mark.slow] if i in slow else [])
            for i, case in cases.items()
        ],
    )


@_in_memory_and_files(
    "message",
    ["hold", "load", "pick", "add_product", "transposed_product", "advance"],
    # hold and load do not read slabs
    slow=["hold-files", "load-files", "transposed_product-files", "pick-memory"],
)
def test_ogc_loses_a_worker_at_any_message(problem, plain, fit, client, workers, kill_at, message, budget):
    """hold sends the graph and labelled nodes, load the columns; the other messages are in every step."""
    X, y, A = problem
    kill_at(message)
    found = fit(_ogc(), X, y, adjacency=A, client=client, memory=budget)
    assert workers.n_killed == 1
    assert np.array_equal(found.label_distributions_, plain)


@_in_memory_and_files(
    "moment",
    ["before", "between", "gathering", "twice"],
    slow=["before-files", "between-files", "twice-memory"],
)
def test_ogc_loses_a_worker_at_any_moment(problem, plain, fit, client, workers, monkeypatch, moment, budget):
    X, y, A = problem
    gather, seen = Cluster.gather, []

    def kill_and_gather(self, futures):
        seen.append(len(futures))
        if moment == "gathering" and len(seen) == 5:
            distributed.wait(futures)  # all values are computed, then some are lost
            workers.kill()
        return gather(self, futures)

    def look(done, total):
        if (moment == "between" and done == 3) or (moment == "twice" and done in (2, 4)):
            workers.kill()

    monkeypatch.setattr(Cluster, "gather", kill_and_gather)
    if moment == "before":
        workers.kill()
    with watching(look):
        found = fit(_ogc(), X, y, adjacency=A, client=client, memory=budget)
    assert workers.n_killed == (2 if moment == "twice" else 1)
    assert np.array_equal(found.label_distributions_, plain)


@pytest.mark.usefixtures("narrow")
@pytest.mark.parametrize("moment", ["hold", "embed", "between slabs"])
def test_embeddings_lose_a_worker_at_any_moment(problem, fit, client, workers, kill_at, moment):
    X, _, A = problem
    expected = fit(gssl.GGCM(depth=4), X, adjacency=A).embedding_
    kill_at(moment)
    with watching(lambda done, total: workers.kill() if (moment, done) == ("between slabs", 3) else None):
        found = fit(gssl.GGCM(depth=4), X, adjacency=A, client=client).embedding_
    assert workers.n_killed == 1
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.usefixtures("workers")
def test_a_worker_that_dies_in_the_middle_of_a_slab_is_replaced(problem, client, tmp_path):
    X, _, A = problem
    died = tmp_path / "died"

    def double_or_die(X, filters, columns):
        if columns.start == 0 and not died.exists():
            died.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return 2 * X

    filters = Filters(normalized_adjacency(A, X.dtype))
    found = ClusterExecution(client).map_columns(Task(double_or_die, ("double",)), X, lambda k: filters)
    assert died.exists()
    assert np.array_equal(found, 2 * X)


@pytest.fixture
def frail(make_dask_processes, monkeypatch):
    """A client with one worker, and a scheduler that fails a task after one lost worker."""
    monkeypatch.setenv("DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES", "0")
    processes = make_dask_processes()
    _, address = processes.scheduler()
    worker = processes.worker(address)
    with distributed.Client(address, timeout=10) as client:
        client.wait_for_workers(1, timeout=60)
        yield client, worker


def test_a_slab_that_kills_its_workers_is_one_sentence(problem, frail, tmp_path):
    X, _, A = problem
    filters = Filters(normalized_adjacency(A, X.dtype))
    task = Task(lambda X, filters, columns: os.kill(os.getpid(), signal.SIGKILL), ("die",))
    message = (
        r"^slab 0 has lost its worker 1 times, perhaps for lack of memory: check the workers' logs, then run "
        r"again with the same resume='.*': finished work is kept\.$"
    )
    with pytest.raises(RuntimeError, match=message):
        ClusterExecution(frail[0], resume=tmp_path).map_columns(task, X, lambda k: filters)


@pytest.mark.parametrize("when", ["before", "during"])
def test_a_cluster_without_workers_is_one_sentence(problem, fit, frail, direct, when):
    X, y, A = problem
    client, worker = frail

    def kill(done, total):
        worker.kill()
        worker.wait()

    if when == "before":
        kill(0, 0)
    message = r"^the Dask cluster has no workers: start some, then run again\.$"
    impatient = dask.config.set({"gssl.patience": 1.0})
    with impatient, pytest.raises(ConnectionError, match=message), watching(kill):
        fit(_ogc(), X, y, adjacency=A, client=client)


@pytest.mark.usefixtures("workers")
def test_a_killed_scheduler_is_one_sentence_and_the_run_goes_on_elsewhere(
    problem, plain, fit, tmp_path, dask_processes, client
):
    X, y, A = problem
    scheduler, address = dask_processes.scheduler()
    dask_processes.worker(address)

    def lose(done, total):
        if done == 2:
            scheduler.kill()
            scheduler.wait()

    with (
        distributed.Client(address, timeout=5) as lost,
        pytest.raises(ConnectionError, match=r"^the Dask scheduler cannot be reached.* work is kept\.$"),
        watching(lose),
    ):
        fit(_ogc(), X, y, adjacency=A, client=lost, resume=tmp_path)
    assert len(list(tmp_path.glob("step-*.npz"))) == 2
    # resume on another cluster up to the fourth step, then on one machine

    def stop(done, total):
        if done == 4:
            raise InterruptedError

    with pytest.raises(InterruptedError), watching(stop):
        fit(_ogc(), X, y, adjacency=A, client=client, resume=tmp_path)
    again = fit(_ogc(), X, y, adjacency=A, memory="150kB", resume=tmp_path)
    assert len(list(tmp_path.glob("step-*.npz"))) == 6
    assert np.array_equal(again.label_distributions_, plain)


@pytest.mark.usefixtures("workers", "narrow")
def test_embeddings_go_on_from_finished_slabs_on_another_cluster(problem, fit, tmp_path, client):
    X, _, A = problem
    expected = fit(gssl.GGCM(depth=4), X, adjacency=A).embedding_

    def stop(done, total):
        if done == 5:
            raise InterruptedError

    with pytest.raises(InterruptedError), watching(stop):
        fit(gssl.GGCM(depth=4), X, adjacency=A, client=client, resume=tmp_path)
    seen = []
    with watching(lambda done, total: seen.append(total)):
        found = fit(gssl.GGCM(depth=4), X, adjacency=A, client=client, resume=tmp_path).embedding_
    assert seen == [7] * 7
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
