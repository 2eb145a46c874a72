"""Workers in separate network namespaces: if a link goes down, the worker is lost, not the result."""

import os
import shutil
import subprocess
import sys
from contextlib import ExitStack

import numpy as np
import pytest

import gssl
from gssl.scale.progress import watching

distributed = pytest.importorskip("distributed", reason="the extra 'distributed' is not installed")

# time without contact after which the scheduler drops a worker
_PATIENCE = "3s"


@pytest.fixture
def networks():
    """Two network namespaces connected by a bridge: their names, addresses, and bridge ports."""
    if sys.platform != "linux" or shutil.which("ip") is None:
        pytest.skip("network namespaces need Linux and the command ip")
    number = os.getpid() % 100_000
    bridge, subnet = f"gb{number}", f"10.213.{number % 250}"
    with ExitStack() as ends:
        _make(ends, ("link", "add", bridge, "type", "bridge"), ("link", "del", bridge))
        _ip("address", "add", f"{subnet}.1/24", "dev", bridge)
        _ip("link", "set", bridge, "up")
        made = []
        for i in (2, 3):
            name, port, inside = f"gssl-{number}-{i}", f"gb{number}p{i}", f"gb{number}n{i}"
            _make(ends, ("netns", "add", name), ("netns", "del", name))
            pair = ("link", "add", port, "type", "veth", "peer", "name", inside, "netns", name)
            _make(ends, pair, ("link", "del", port))
            _ip("link", "set", port, "master", bridge, "up")
            _ip("-n", name, "address", "add", f"{subnet}.{i}/24", "dev", inside)
            for device in (inside, "lo"):
                _ip("-n", name, "link", "set", device, "up")
            made.append((name, f"{subnet}.{i}", port))
        yield made


def _make(ends, words, undo):
    """Run an ip command, or skip the test if it fails; undo it after the test."""
    made = subprocess.run(["ip", *words], capture_output=True, text=True, check=False)
    if made.returncode:
        pytest.skip(f"no network can be made here: {made.stderr.strip()}")
    ends.callback(_ip, *undo)


def _ip(*words):
    subprocess.run(["ip", *words], check=True, capture_output=True)


@pytest.fixture
def away(networks, dask_processes):
    """A client of a scheduler with a worker in each network namespace."""
    environment = {"DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": _PATIENCE}
    with pytest.MonkeyPatch.context() as patched:
        for name, value in environment.items():
            patched.setenv(name, value)
        gate = networks[0][1].rsplit(".", 1)[0] + ".1"
        _, address = dask_processes.scheduler(host=gate)
        for name, host, _ in networks:
            dask_processes.worker(address, host=host, before=("ip", "netns", "exec", name))
    with distributed.Client(address, timeout=10) as client:
        client.wait_for_workers(2, timeout=60)
        yield client


@pytest.mark.slow
@pytest.mark.usefixtures("direct")
def test_workers_in_other_networks_give_the_same_and_one_may_be_cut_off(blocks, networks, away, monkeypatch):
    X, y, A = blocks
    hosts = {address.split("//")[1].split(":")[0] for address in away.nthreads()}
    assert hosts == {host for _, host, _ in networks}
    model = gssl.OGC(random_state=0, max_iter=8, patience=99)
    with gssl.execution(memory="1GB"):
        plain = model.fit(X, y, adjacency=A).label_distributions_
    with gssl.execution(client=away):
        found = model.fit(X, y, adjacency=A).label_distributions_
    assert np.array_equal(found, plain)

    steps = []

    def cut_after_three(done, total):
        steps.append(done)
        if done == 3:
            _ip("link", "set", networks[0][2], "down")

    with watching(cut_after_three), gssl.execution(client=away):
        found = model.fit(X, y, adjacency=A).label_distributions_
    assert len(steps) == 8
    assert len(away.nthreads()) == 1
    assert np.array_equal(found, plain)
