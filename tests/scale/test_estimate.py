"""A plan against the numbers counted by hand, and against runs."""

import json
import subprocess
import sys

import numpy as np
import pytest

import gssl.scale.estimate as estimate_module
from gssl.scale.estimate import METHODS, PROCESS, Job, estimate, measure_bandwidth

PAPERS = {"nodes": 111_000_000, "edges": 1_600_000_000, "features": 128, "depth": 16}


def test_a_plan_counted_by_hand():
    job = Job(nodes=1000, edges=5000, features=10, depth=3, method="ggcm")
    plan = estimate(job, workers=2, memory=10**9, bandwidth=1e6)
    links, nodes = 2 * 5000 * 4, 1001 * 8 + 2 * 1000 * 4
    assert (plan.width, plan.n_slabs, plan.passes, plan.in_files) == (5, 1, 3, False)
    assert plan.memory == PROCESS + links + nodes + 4 * 5 * 1000 * 4
    one_pass = 10_000 * 64 + links + 8000 + 3 * 5 * 4000
    assert plan.gathered == 3 * one_pass
    assert plan.seconds == pytest.approx(3 * one_pass / 1e6)
    assert plan.network == 2 * (links + 8008) + 2 * 10 * 4000
    assert plan.disk == links + 8008 + 2 * 10 * 4000
    assert plan.from_disk == 0


def test_scores_of_a_guided_method_travel_in_every_iteration():
    job = Job(nodes=1000, edges=5000, features=10, depth=3, method="ogc", classes=7)
    plan = estimate(job, workers=2, memory=10**9, bandwidth=1e6)
    assert plan.network == 2 * (40_000 + 8008) + 10 * 4000 + 2 * 3 * 1000 * 7 * 8
    assert plan.memory == PROCESS + 40_000 + 8008 + 4000 + 1000 * 7 * 16 + 2 * 5 * 4000


@pytest.mark.parametrize("method", METHODS)
def test_every_plan_keeps_to_the_memory_it_was_given(method):
    for memory in (48e9, 64e9, 500e9):
        plan = estimate(Job(**PAPERS, method=method, classes=20), 8, int(memory), 1e10)
        assert plan.memory <= memory
        assert plan.n_slabs * plan.width >= 16
        assert plan.passes == 16 * plan.n_slabs


def test_links_stay_in_files_where_they_do_not_fit():
    # 12.8 GB of links
    plan = estimate(Job(**PAPERS), workers=8, memory=8 * 10**9, bandwidth=1e10, disk_bandwidth=1e9)
    assert plan.in_files
    assert plan.from_disk == plan.passes * 12_800_000_000
    assert plan.seconds >= plan.from_disk / 1e9


def test_what_does_not_fit_says_what_would():
    message = r"1\.0 GB per worker is too little for 111,000,000 nodes: 4\.7 GB would do"
    with pytest.raises(ValueError, match=message) as told:
        estimate(Job(**PAPERS), workers=8, memory=10**9, bandwidth=1e10)
    least = 4.7e9
    assert "18.2 GB with the whole graph in memory" in str(told.value)
    assert estimate(Job(**PAPERS), 8, int(least), 1e10).in_files
    with pytest.raises(ValueError, match="no plan for 'gcn'"):
        estimate(Job(**PAPERS, method="gcn"), 8, 10**12, 1e10)


def test_a_plan_keeps_as_much_room_as_a_run_does():
    from gssl.scale import plan

    assert estimate_module.RESERVED == plan._BUFFERS


def test_the_bandwidth_is_that_of_some_machine():
    assert 1e6 < measure_bandwidth(n_nodes=20_000) < 1e13


RUN = """
import json, re, sys
from pathlib import Path
import numpy as np
import gssl
from gssl.scale.local import LocalExecution

def peak():
    return 1024 * int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])

folder, method, depth, width = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
from gssl.operators import Filters, NormalizedAdjacency
from gssl.operators.inverse import Complement
indptr, indices, scale = (np.load(folder / f"{name}.npy") for name in ("indptr", "indices", "scale"))
X = np.load(folder / "X.npy", mmap_mode="r")
model = {"sgc": gssl.SGC, "ggcm": gssl.GGCM}[method](depth=depth)
A_hat = NormalizedAdjacency(indptr, indices, np.empty(0, np.float32), scale)
N_hat = Complement(indptr, indices, scale) if method == "ggcm" else None
filters = Filters(A_hat, N_hat)
run = LocalExecution("100GB", width=width).run
run(lambda X, filters, columns: model._apply(X, filters), X, lambda k: filters)
print(json.dumps(peak()))
"""


def peak_of_a_run(folder, job, width):
    """Make a random graph of a job's size and run one slab of it in a process of its own."""
    rng = np.random.default_rng(0)
    n, degree = job.nodes, 2 * job.edges // job.nodes
    np.save(folder / "indptr.npy", np.arange(n + 1) * degree)
    np.save(folder / "indices.npy", rng.integers(n, size=n * degree, dtype=np.int32))
    np.save(folder / "scale.npy", np.full(n, (1 + degree) ** -0.5, np.float32))
    np.save(folder / "X.npy", np.asfortranarray(rng.random((n, width), dtype=np.float32)))
    command = [sys.executable, "-c", RUN, str(folder), job.method, str(job.depth), str(width)]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


SIZES = [(100_000, 1_000_000, 64), (500_000, 5_000_000, 64), (2_000_000, 20_000_000, 32)]


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is read from /proc")
@pytest.mark.parametrize("method", ["sgc", "ggcm"])
@pytest.mark.parametrize(("nodes", "edges", "width"), SIZES)
def test_memory_within_30_percent_of_a_run(tmp_path, method, nodes, edges, width):
    job = Job(nodes=nodes, edges=edges, features=width, depth=3, method=method)
    planned = estimate(job, workers=1, memory=10**11, bandwidth=1e10).memory
    measured = peak_of_a_run(tmp_path, job, width)
    assert measured / 1.3 < planned < measured * 1.3
