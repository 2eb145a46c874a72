"""Odd clusters give the same answer, or one sentence: versions, memory, pauses, clients of other threads."""

import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import gssl

distributed = pytest.importorskip("distributed", reason="the extra 'distributed' is not installed")
dask = pytest.importorskip("dask", reason="the extra 'distributed' is not installed")

OGC = gssl.OGC(max_iter=3, random_state=0)
SGC = gssl.SGC(depth=3)


@pytest.fixture
def cluster(dask_processes):
    """Return a function that starts a scheduler and a worker with some options, and a list of clients."""
    _, address = dask_processes.scheduler()

    def start(*options):
        process = dask_processes.worker(address, *options)
        client = distributed.Client(address, timeout=10)
        client.wait_for_workers(1, timeout=60)
        clients.append(client)
        return process, client

    clients = []
    yield start
    for client in clients:
        client.close()


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("import gssl; gssl.__version__ = '0.0.1'", r"has gssl 0\.0\.1, and this process has "),
        ("import sys; sys.modules['gssl'] = None", "cannot import gssl, and this process has "),
    ],
)
def test_a_worker_with_another_version_is_named(blocks, cluster, tmp_path, code, message):
    (tmp_path / "preload.py").write_text(code)
    _, client = cluster("--preload", str(tmp_path / "preload.py"))
    X, y, A = blocks
    for model in (OGC, SGC):
        with (
            gssl.execution(client=client),
            pytest.raises(
                RuntimeError, match=rf"^the Dask worker tcp://.* {message}.*: install the same on all\.$"
            ),
        ):
            model.fit(X, y, adjacency=A)


def test_workers_that_are_paused_for_lack_of_memory_are_told(blocks, cluster):
    # less than Python itself takes, so the worker pauses at once
    _, client = cluster("--memory-limit", "40MB")
    X, _, A = blocks
    with (
        gssl.execution(client=client),
        dask.config.set({"gssl.patience": 1.0}),
        pytest.raises(
            ConnectionError, match="has paused its workers, whose memory is used up: give them more"
        ),
    ):
        SGC.fit_transform(X, adjacency=A)


def test_a_worker_that_stands_still_for_a_while_costs_time_only(blocks, cluster):
    process, client = cluster()
    X, _, A = blocks
    expected = SGC.fit_transform(X, adjacency=A)
    os.kill(process.pid, signal.SIGSTOP)
    waking = threading.Timer(1.5, os.kill, (process.pid, signal.SIGCONT))
    waking.start()
    with gssl.execution(client=client):
        np.testing.assert_array_equal(SGC.fit_transform(X, adjacency=A), expected)
    waking.join()


def test_a_client_serves_other_threads(blocks, client):
    X, _, A = blocks
    expected = SGC.fit_transform(X, adjacency=A)

    def fit(_):
        with gssl.execution(client=client):
            return SGC.fit_transform(X, adjacency=A)

    with ThreadPoolExecutor(3) as pool:
        for found in pool.map(fit, range(3)):
            np.testing.assert_array_equal(found, expected)
