"""Fits on a cluster have the same results, within a budget for each worker."""

import asyncio
import pickle
import tempfile
from time import monotonic, sleep

import numpy as np
import pytest

import gssl
from gssl.operators import get_threads
from gssl.scale import cluster as cluster_module
from gssl.scale import worker
from gssl.scale.cluster import Cluster, ClusterExecution
from gssl.scale.memory import SlabPlan
from gssl.scale.progress import watching
from gssl.scale.worker import FileColumns, FileSlab

distributed = pytest.importorskip("distributed", reason="the extra 'distributed' is not installed")


@pytest.fixture(autouse=True)
def nothing_is_scattered(monkeypatch):
    """Forbid scatter(): scattered data cannot be recomputed if its worker dies."""
    monkeypatch.setattr(distributed.Client, "scatter", None)


@pytest.mark.parametrize("embedder", [gssl.SSGC(depth=5), gssl.GGCM(depth=4)], ids=lambda e: type(e).__name__)
@pytest.mark.parametrize("kind", ["array", "sparse", "file"])
def test_embeddings_are_the_same(blocks, fit, client, in_form, embedder, kind):
    X, _, A = blocks
    expected = fit(embedder, X, adjacency=A).embedding_
    found = fit(embedder, in_form(X, kind), adjacency=A, client=client).embedding_
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_more_slabs_than_workers_and_matrices_of_each_iteration(blocks, fit, client, monkeypatch):
    X, _, A = blocks
    embedder = gssl.GGC(depth=3, negatives=2, random_state=0)
    expected = fit(embedder, X, adjacency=A).embedding_
    monkeypatch.setattr(cluster_module, "spread_slabs", lambda n, *_: SlabPlan(n, 3))
    seen = []
    with watching(lambda done, total: seen.append((done, total))):
        found = fit(embedder, X, adjacency=A, client=client).embedding_
    assert seen == [(k, 8) for k in range(1, 9)]
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_arrays_are_exchanged_in_files_on_one_machine_and_leave_nothing(
    blocks, fit, client, monkeypatch, tmp_path
):
    X, _, A = blocks
    expected = fit(gssl.SGC(), X, adjacency=A).embedding_
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    sizes, submit, gather, received = [], Cluster.submit, Cluster.gather, []

    def note(self, function, s, *arguments, **options):
        if function.__name__ == "embed":
            sizes.append(len(pickle.dumps(arguments[1:])))
        return submit(self, function, s, *arguments, **options)

    monkeypatch.setattr(Cluster, "submit", note)
    monkeypatch.setattr(Cluster, "gather", lambda *a: received.extend(gather(*a)) or received[-1:])
    np.testing.assert_array_equal(fit(gssl.SGC(), X, adjacency=A, client=client).embedding_, expected)
    assert len(sizes) == len(received) == 2
    assert max(sizes) < 1000
    assert all(isinstance(part, FileColumns) for part in received)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("why", ["workers are on other machines", "the file of columns is not seen"])
def test_arrays_are_sent_where_files_cannot_be_exchanged(blocks, fit, client, monkeypatch, why):
    X, _, A = blocks
    expected = fit(gssl.SGC(), X, adjacency=A).embedding_
    hand_over = worker.hand_over

    def lose(U, path):
        part = hand_over(U, path)
        path.unlink()
        return part

    if why == "workers are on other machines":
        monkeypatch.setattr(worker, "network", lambda: "")
    else:
        monkeypatch.setattr(worker, "hand_over", lose)
    np.testing.assert_array_equal(fit(gssl.SGC(), X, adjacency=A, client=client).embedding_, expected)


@pytest.mark.usefixtures("direct")
def test_ogc_learns_the_same(blocks, fit, client, in_form):
    X, y, A = blocks
    plain = fit(gssl.OGC(random_state=0), X, y, adjacency=A, memory="1GB")
    for features in (X, in_form(X, "file")):
        with gssl.execution(client=client):
            found = gssl.OGC(random_state=0).fit(features, y, adjacency=A)
            embedding = found.embedding_
        # sums are in double precision, so results are bit-identical to slabs on one machine
        assert np.array_equal(found.label_distributions_, plain.label_distributions_)
        assert found.n_iter_ == plain.n_iter_
        np.testing.assert_allclose(embedding, plain.embedding_, rtol=1e-4, atol=1e-5)


def _held(dask_worker):
    """Return, on a worker, its number of slabs in files and the widths of those in memory."""
    values = list(dask_worker.data.values())
    arrays = [value for value in values if isinstance(value, np.ndarray) and value.dtype == np.float32]
    return sum(isinstance(value, FileSlab) for value in values), [
        a.shape[1] for a in arrays if len(a) == 4000
    ]


@pytest.mark.usefixtures("direct")
@pytest.mark.parametrize("kind", ["array", "sparse", "file"])
def test_ogc_keeps_each_worker_to_the_budget(fit, client, kind, in_form):
    data = gssl.datasets.make_block_graph(4000, 8000, 2, 4, features="dense", random_state=3)
    X = np.random.default_rng(0).random((4000, 200), dtype=np.float32)
    y, A = data.mask_labels("default"), data.adjacency
    model = gssl.OGC(random_state=0, max_iter=4)
    plain = fit(model, X, y, adjacency=A, memory="1GB")
    distributions, chosen = plain.label_distributions_, plain.transduction_
    features, seen = in_form(X, kind), []

    def look(done, total):
        seen.extend(client.run(_held).values())

    # graph and scores take 0.5 MB; a worker's 100 columns take 1.6 MB
    with watching(look):
        found = fit(model, features, y, adjacency=A, client=client, memory=1_200_000)
    assert len(seen) == 8
    for n_files, in_memory in seen:
        assert n_files > 2
        assert in_memory == []
    np.testing.assert_allclose(found.label_distributions_, distributions, rtol=1e-5, atol=1e-6)
    assert (found.transduction_ == chosen).all()
    seen.clear()
    with watching(look):
        found = fit(model, features, y, adjacency=A, client=client, memory="100MB")
    assert seen == [(0, [100])] * 8
    assert (found.transduction_ == chosen).all()
    with pytest.raises(ValueError, match=r"memory budget of 200\.0 kB is too small"):
        fit(model, features, y, adjacency=A, client=client, memory="200kB")


@pytest.mark.usefixtures("direct")
def test_workers_forget_a_run_that_has_ended(blocks, fit, client):
    X, y, A = blocks
    fit(gssl.OGC(random_state=0, max_iter=3), X, y, adjacency=A, client=client)
    fit(gssl.SGC(), X, adjacency=A, client=client)
    deadline = monotonic() + 30
    while any(client.run(lambda dask_worker: len(dask_worker.data)).values()):
        assert monotonic() < deadline
        sleep(0.05)


def test_no_more_slabs_are_submitted_than_threads_can_take(blocks, client, monkeypatch, map_columns):
    monkeypatch.setattr(cluster_module, "spread_slabs", lambda n, *_: SlabPlan(n, 2))
    ahead, submit, gather = [0], Cluster.submit, Cluster.gather

    def submitted(self, function, *arguments, **settings):
        if function.__name__ == "embed":
            ahead.append(ahead[-1] + 1)
        return submit(self, function, *arguments, **settings)

    def gathered(self, futures):
        ahead.append(ahead[-1] - 1)
        return gather(self, futures)

    monkeypatch.setattr(Cluster, "submit", submitted)
    monkeypatch.setattr(Cluster, "gather", gathered)
    found = map_columns(ClusterExecution(client), lambda X, *_: 2 * X)
    assert np.array_equal(found, 2 * blocks[0])
    assert max(ahead) == 4  # two per thread
    assert ahead[-1] == 0


def test_each_thread_of_a_worker_runs_a_slab_on_one_kernel_thread(blocks, fit, dask_processes, direct):
    X, y, A = blocks
    plain = fit(gssl.OGC(random_state=0, max_iter=4), X, y, adjacency=A, memory="1GB")
    expected = fit(gssl.GGCM(depth=3), X, adjacency=A).embedding_
    _, address = dask_processes.scheduler()
    dask_processes.worker(address, "--nthreads", "3")
    widths = []

    def look(done, total):
        held = client.run(
            lambda dask_worker: [v for v in dask_worker.data.values() if isinstance(v, np.ndarray)]
        )
        widths.extend(a.shape[1] for arrays in held.values() for a in arrays if a.shape == (300, 8))

    with distributed.Client(address, timeout=10) as client:
        client.wait_for_workers(1, timeout=60)
        with watching(look):
            found = fit(gssl.OGC(random_state=0, max_iter=4), X, y, adjacency=A, client=client)
        embedded = fit(gssl.GGCM(depth=3), X, adjacency=A, client=client).embedding_
        assert list(client.run(get_threads).values()) == [1]
    assert len(widths) == 3 * 4
    assert np.array_equal(found.label_distributions_, plain.label_distributions_)
    np.testing.assert_allclose(embedded, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("error", [ValueError, OSError])
def test_a_mistake_in_a_task_is_told_as_it_is(client, map_columns, error):
    def fail(X, filters, columns):
        raise error(f"columns {columns.start} are wrong")

    with pytest.raises(error, match=r"columns \d+ are wrong"):
        map_columns(ClusterExecution(client), fail)


@pytest.mark.parametrize("given", ["tcp://127.0.0.1:1", 4, object()])
def test_what_is_no_client_is_refused(given):
    message = r"^client is .*not a Dask client: give client=distributed\.Client\("
    with pytest.raises(TypeError, match=message), gssl.execution(client=given):
        pass


def test_an_asynchronous_client_is_refused(client):
    async def make():
        made = distributed.Client(client.scheduler.address, asynchronous=True)
        await made
        await made.close()
        return made

    ended = asyncio.run(make())
    message = r"^the Dask client is asynchronous: .* asynchronous=False\.$"
    with pytest.raises(ValueError, match=message), gssl.execution(client=ended):
        pass


def test_a_closed_client_is_refused_but_a_block_outlives_its_cluster(blocks, fit, direct):
    X, y, A = blocks
    model = gssl.OGC(random_state=0, max_iter=4)
    expected = fit(model, X, y, adjacency=A).embedding_
    cluster = distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0", memory_limit=None
    )
    with cluster, distributed.Client(cluster) as client, gssl.execution(client=client):
        model.fit(X, y, adjacency=A)
        client.close()
        # computed locally
        np.testing.assert_allclose(model.embedding_, expected, rtol=1e-4, atol=1e-5)
        assert model.fit(X, y, adjacency=A).n_iter_ == 4
    message = r"^the Dask client is closed: make a new one, and fit with that\.$"
    with pytest.raises(ConnectionError, match=message), gssl.execution(client=client):
        pass


def test_an_unpickled_execution_runs_on_this_machine(blocks, client, map_columns):
    again = pickle.loads(pickle.dumps(ClusterExecution(client, 10**9)))  # noqa: S301
    assert np.array_equal(map_columns(again, lambda X, *_: 2 * X), 2 * blocks[0])
