"""Workers of a cluster come to the same answers, within a budget for each."""

from time import monotonic, sleep

import numpy as np
import pytest
from scipy.sparse import csr_array

import gssl
from gssl.methods.ogc import Iteration
from gssl.operators import Filters, normalized_adjacency
from gssl.scale import worker
from gssl.scale.cluster import ClusterExecution
from gssl.scale.execution import InMemory

distributed = pytest.importorskip("distributed", reason="the extra 'distributed' is not installed")


@pytest.mark.parametrize("embedder", [gssl.SSGC(depth=5), gssl.GGCM(depth=4)], ids=lambda e: type(e).__name__)
def test_embeddings_are_the_same(blocks, client, embedder):
    X, _, A = blocks
    expected = embedder.fit(X, adjacency=A).embedding_
    found = embedder.fit(X, adjacency=A, client=client).embedding_
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_more_slabs_than_workers(blocks, client):
    X, _, A = blocks
    embedder = gssl.GGC(depth=3, negatives=2, random_state=0)
    filters = embedder._filters(A, X.dtype)
    expected = embedder._embed(X, filters, InMemory())
    found = embedder._embed(X, filters, ClusterExecution(client, width=8))
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.usefixtures("direct")
def test_ogc_learns_the_same(blocks, client, tmp_path):
    X, y, A = blocks
    plain = gssl.OGC(random_state=0).fit(X, y, adjacency=A, memory_budget="1GB")
    np.save(tmp_path / "X.npy", X)
    for features in (X, np.load(tmp_path / "X.npy", mmap_mode="r")):
        found = gssl.OGC(random_state=0).fit(features, y, adjacency=A, client=client)
        # the same sums in the same order: the same bits as slabs on one machine
        assert np.array_equal(found.label_distributions_, plain.label_distributions_)
        assert found.n_iter_ == plain.n_iter_
        np.testing.assert_allclose(found.embedding_, plain.embedding_, rtol=1e-4, atol=1e-5)


def _held():
    """Tell on a worker what its shares take, how many slabs they have and how many of them are in files."""
    from gssl.scale import worker

    crews = [share.crew for run in worker._runs.values() for share in run.shares.values()]
    found = []
    for crew in crews:
        in_memory = sum(U.nbytes for U in getattr(crew._slabs, "_held", {}).values())
        buffers = sum(
            array.nbytes
            for name in ("_spare", "_read", "_written")
            if (array := getattr(crew._slabs, name, None)) is not None
        )
        found.append((in_memory + buffers, len(crew._plan.slabs), len(getattr(crew._slabs, "_files", {}))))
    return found


@pytest.mark.usefixtures("direct")
@pytest.mark.parametrize("kind", ["array", "sparse", "file"])
def test_ogc_keeps_each_worker_to_the_budget(client, kind, tmp_path, monkeypatch):
    data = gssl.datasets.make_block_graph(4000, 8000, 2, 4, features="dense", random_state=3)
    X = np.random.default_rng(0).random((4000, 200), dtype=np.float32)
    y, A = data.mask_labels("default"), data.adjacency
    plain = gssl.OGC(random_state=0, max_iter=5).fit(X, y, adjacency=A, memory_budget="1GB")
    seen, step = [], Iteration.step

    def look(self, problem, embedding, state, k):
        if k > 1:
            seen.extend(found for shares in client.run(_held).values() for found in shares)
        return step(self, problem, embedding, state, k)

    monkeypatch.setattr(Iteration, "step", look)
    np.save(tmp_path / "X.npy", X)
    features = {"array": X, "sparse": csr_array(X), "file": np.load(tmp_path / "X.npy", mmap_mode="r")}[kind]
    # graph and scores take 0.5 MB; a share of 100 columns is 1.6 MB
    budget = 1_200_000
    model = gssl.OGC(random_state=0, max_iter=5)
    found = model.fit(features, y, adjacency=A, client=client, memory_budget=budget)
    assert seen
    for n_bytes, n_slabs, n_files in seen:
        assert n_bytes < budget
        assert n_slabs > 2
        assert n_files == n_slabs
    np.testing.assert_allclose(found.label_distributions_, plain.label_distributions_, rtol=1e-5, atol=1e-6)
    assert (found.transduction_ == plain.transduction_).all()
    seen.clear()
    found = model.fit(features, y, adjacency=A, client=client, memory_budget="100MB")
    assert {(n_slabs, n_files) for _, n_slabs, n_files in seen} == {(1, 0)}
    assert (found.transduction_ == plain.transduction_).all()
    with pytest.raises(ValueError, match=r"memory budget of 200\.0 kB is too small"):
        model.fit(features, y, adjacency=A, client=client, memory_budget="200kB")


def test_whoever_is_free_gets_more_before_answers_are_taken():
    from gssl.scale.team import Team

    done = []

    class OneWorker(Team):
        def workers(self):
            return ["w"]

        def _submit(self, address, function, arguments):
            done.append(("asked", *arguments))

        def _look(self, pending, losses):
            answers = {s: 10 * s for s in pending}
            pending.clear()
            return answers, []

    def prepare(s, address):
        done.append(("sent", s))

    for s, answer in OneWorker(None).spread([0, 1, 2], prepare, lambda s, part: (None, (s,))):
        assert answer == 10 * s
        done.append(("taken", s))
    assert done == [
        *(("sent", 0), ("asked", 0), ("sent", 1)),
        *(("asked", 1), ("taken", 0), ("sent", 2)),
        *(("asked", 2), ("taken", 1), ("taken", 2)),
    ]


def test_classifiers_predict_the_same(blocks, client):
    X, y, A = blocks
    plain = gssl.EmbeddingClassifier(gssl.SGC()).fit(X, y, adjacency=A)
    found = gssl.EmbeddingClassifier(gssl.SGC()).fit(X, y, adjacency=A, client=client)
    assert (found.transduction_ == plain.transduction_).all()
    np.testing.assert_allclose(found.label_distributions_, plain.label_distributions_, atol=1e-4)


def test_a_mistake_in_a_task_is_told_as_it_is(blocks, client):
    X, _, A = blocks
    filters = gssl.SGC()._filters(A, X.dtype)

    def fail(X, filters, columns):
        raise ValueError(f"columns {columns.start} are wrong")

    with pytest.raises(ValueError, match="columns 0 are wrong"):
        ClusterExecution(client, width=24).run(fail, X, filters)


@pytest.mark.parametrize("given", ["tcp://127.0.0.1:1", 4, object()])
def test_what_is_no_client_is_refused(blocks, given):
    X, y, A = blocks
    with pytest.raises(TypeError, match=r"^client is .*not a Dask client: give client=distributed\.Client\("):
        gssl.OGC().fit(X, y, adjacency=A, client=given)


def test_an_asynchronous_client_is_refused(blocks, client):
    X, _, A = blocks
    with pytest.raises(ValueError, match=r"^the Dask client is asynchronous: .* asynchronous=False\.$"):
        gssl.SGC().fit(X, adjacency=A, client=_asynchronous(client.scheduler.address))


def _asynchronous(address):
    """Make a client in an event loop of its own, and leave that."""
    import asyncio

    async def make():
        made = distributed.Client(address, asynchronous=True)
        await made
        await made.close()
        return made

    return asyncio.run(make())


def test_a_closed_client_is_refused_but_a_model_outlives_its_cluster(blocks, direct):
    X, y, A = blocks
    expected = gssl.OGC(random_state=0, max_iter=4).fit(X, y, adjacency=A)
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0", memory_limit=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        model = gssl.OGC(random_state=0, max_iter=4).fit(X, y, adjacency=A, client=client)
    np.testing.assert_allclose(model.embedding_, expected.embedding_, rtol=1e-4, atol=1e-5)
    with pytest.raises(
        ConnectionError, match=r"^the Dask client is closed: make a new one, and fit with that\.$"
    ):
        model.fit(X, y, adjacency=A, client=client)


@pytest.mark.usefixtures("direct")
def test_a_worker_that_has_lost_its_share_forgets_the_run_too(blocks, client):
    X, _, A = blocks
    nodes = np.arange(4)
    filters = Filters(normalized_adjacency(A, X.dtype))
    crew = ClusterExecution(client).guided(X, filters, 0.5, nodes, nodes)._crew
    crew.start(np.zeros((24, 5), np.float32))
    run = crew._run
    assert list(client.run(_holds, run).values()) == [True, True]
    first = crew._team.owners[0]
    crew._team.owners[1] = first  # as if the other had been silent for a while
    client.run(_receive, run, workers=[crew._team.workers()[1]])
    del crew
    deadline = monotonic() + 30
    while any(client.run(_holds, run).values()):
        assert monotonic() < deadline
        sleep(0.05)


def _receive(run):
    worker.receive(run, 5, (2, 3), slice(0, 1), np.ones((2, 1)))


def _holds(run):
    return run in worker._runs or any(key[0] == run for key in worker._arrived)
