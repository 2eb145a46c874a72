"""The death of a worker costs its columns, not the run; that of the scheduler keeps what was done."""

import os
import signal
from threading import Thread

import numpy as np
import pytest
from gssl.scale.guided_slab import GuidedSlab
from gssl.scale.local import LocalCrew

import gssl
from gssl.methods.ogc import Iteration
from gssl.operators import Filters, normalized_adjacency
from gssl.scale import worker
from gssl.scale.cluster import ClusterExecution

distributed = pytest.importorskip("distributed", reason="the extra 'distributed' is not installed")


@pytest.mark.usefixtures("direct")
@pytest.mark.parametrize("kept", ["memory", "files"])
def test_a_killed_worker_costs_its_share_but_not_the_run(blocks, client, monkeypatch, tmp_path, kept):
    X, y, A = blocks
    X = np.hstack([X, X[::-1], -X, X * X])
    plain = gssl.OGC(random_state=0, max_iter=8).fit(X, y, adjacency=A, memory_budget="1GB")
    step, killed = Iteration.step, []

    def kill_at_four(self, problem, embedding, state, k):
        if k == 4:
            pids = client.run(os.getpid)
            killed.append(sorted(pids.values())[0])
            os.kill(killed[0], signal.SIGKILL)
        return step(self, problem, embedding, state, k)

    monkeypatch.setattr(Iteration, "step", kill_at_four)
    client.wait_for_workers(2, timeout=60)  # the test before has killed one as well
    # a share of 48 columns takes 58 kB, twice in memory; graph, scores and labels take 68 kB
    options = {"memory_budget": 140_000, "resume": tmp_path} if kept == "files" else {}
    found = gssl.OGC(random_state=0, max_iter=8).fit(X, y, adjacency=A, client=client, **options)
    assert len(killed) == 1
    assert bool(list(tmp_path.glob("shares-2/**/slab-*.npy"))) == (kept == "files")
    assert np.array_equal(found.label_distributions_, plain.label_distributions_)


def test_a_killed_worker_costs_ggcm_its_slab_but_not_the_run(blocks, client, tmp_path):
    X, _, A = blocks
    died = tmp_path / "died"

    class Mortal(gssl.GGCM):
        def _apply(self, X, filters):
            if not died.exists():
                died.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            return gssl.GGCM._apply(self, X, filters)

    expected = gssl.GGCM(depth=4).fit(X, adjacency=A).embedding_
    client.wait_for_workers(2, timeout=60)
    found = Mortal(depth=4).fit(X, adjacency=A, client=client).embedding_
    assert died.exists()
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.usefixtures("direct")
def test_a_stopped_run_takes_its_shares_up_from_the_files_of_the_workers(blocks, tmp_path, monkeypatch):
    X, y, A = blocks
    model = gssl.OGC(random_state=0, max_iter=6, patience=99)
    expected = model.fit(X, y, adjacency=A, memory_budget="1GB").label_distributions_
    moved, move, step = [], GuidedSlab.advance, Iteration.step

    def count(self, U, W, pull, out=None):
        moved.append(U.shape[1])
        return move(self, U, W, pull, out)

    def stop_at_four(self, problem, embedding, state, k):
        if k == 4:
            raise InterruptedError
        return step(self, problem, embedding, state, k)

    monkeypatch.setattr(GuidedSlab, "advance", count)
    options = {"adjacency": A, "resume": tmp_path, "memory_budget": 100_000}
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0", memory_limit=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        with monkeypatch.context() as patched:
            patched.setattr(Iteration, "step", stop_at_four)
            with pytest.raises(InterruptedError):
                model.fit(X, y, client=client, **options)
        assert len(moved) > 3  # more slabs than one, three steps each
        assert sum(moved) == 3 * X.shape[1]
        moved.clear()
        found = model.fit(X, y, client=client, **options)
    # three steps were left, and no other was taken
    assert sum(moved) == 3 * X.shape[1]
    assert np.array_equal(found.label_distributions_, expected)


def test_a_worker_that_dies_in_the_middle_of_a_slab_is_replaced(blocks, client, tmp_path):
    X, _, A = blocks
    died = tmp_path / "died"

    def double_or_die(X, filters, columns):
        if columns.start == 0 and not died.exists():
            died.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return 2 * X

    found = ClusterExecution(client, width=8).run(double_or_die, X, gssl.SGC()._filters(A, X.dtype))
    assert died.exists()
    assert np.array_equal(found, 2 * X)


@pytest.mark.usefixtures("direct")
def test_a_killed_scheduler_is_one_sentence_and_the_run_goes_on_elsewhere(
    blocks, tmp_path, monkeypatch, dask_processes
):
    X, y, A = blocks
    model = gssl.OGC(random_state=0, max_iter=6, patience=99)
    expected = model.fit(X, y, adjacency=A, memory_budget="1GB").label_distributions_
    scheduler, address = dask_processes.scheduler()
    dask_processes.worker(address)
    step = Iteration.step

    def lose_at_three(self, problem, embedding, state, k):
        if k == 3:
            scheduler.kill()
            scheduler.wait()
        return step(self, problem, embedding, state, k)

    with distributed.Client(address, timeout=5) as lost, monkeypatch.context() as patched:
        patched.setattr(Iteration, "step", lose_at_three)
        with pytest.raises(ConnectionError, match=r"^the Dask scheduler cannot be reached.* work is kept\.$"):
            model.fit(X, y, adjacency=A, client=lost, resume=tmp_path)
    assert len(list(tmp_path.glob("step-*.safetensors"))) == 2
    again = model.fit(X, y, adjacency=A, memory_budget="1GB", resume=tmp_path)
    assert np.array_equal(again.label_distributions_, expected)


def test_a_share_is_taken_over_while_another_is_in_a_step(blocks, monkeypatch):
    X, y, A = blocks
    labelled = np.flatnonzero(y != -1)
    setup = (Filters(normalized_adjacency(A, X.dtype)), 0.5, labelled, labelled)
    W = np.random.default_rng(0).random((12, 5), dtype=np.float32)
    pull = np.zeros((len(labelled), 5), np.float32)
    # a share takes 67 kB beside the graph, so the second drives the first out
    budget = worker.GuidedSlab(*setup).n_bytes + 120_000
    advance, others = LocalCrew.advance, []

    def interrupted(self, *arguments):
        beginning = worker.Beginning(W, [], budget)
        others.append(Thread(target=worker.begin, args=("taken over", 1, X[:, 12:], setup, beginning)))
        others[0].start()
        others[0].join(timeout=1.0)
        return advance(self, *arguments)

    try:
        worker.begin("taken over", 0, X[:, :12], setup, worker.Beginning(W, [], budget))
        with monkeypatch.context() as patched:
            patched.setattr(LocalCrew, "advance", interrupted)
            found = worker.advance("taken over", 0, 1, W, pull)
        others[0].join()
        moved = GuidedSlab(*setup).advance(X[:, :12], W, pull, np.empty((300, 12), np.float32))
        np.testing.assert_allclose(found, moved @ W, rtol=1e-5, atol=1e-5)
        np.testing.assert_array_equal(worker.rows("taken over", 1, np.array([7])), X[[7], 12:])
        with pytest.raises(worker.SlabLostError, match="share 0 is not here"):
            worker.gradient("taken over", 0, pull)
    finally:
        worker.end("taken over")
