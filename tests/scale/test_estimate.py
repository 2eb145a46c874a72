"""Plans agree with numbers computed by hand, with the slabs of runs, and with measured memory."""

import itertools
import sys

import numpy as np
import pytest
from scipy.sparse import csr_array
from tests.problems import use_label_space

import gssl
from benchmarks.rows import plans
from gssl.io.edge_tables import EdgeFacts
from gssl.io.graph_store import open_graph_store, write_manifest
from gssl.scale import slabs
from gssl.scale.estimate import METHODS, PROCESS, Job, estimate, layouts, measure_passes
from gssl.scale.memory import graph_bytes

PAPERS = {"nodes": 111_000_000, "edges": 1_600_000_000, "features": 128, "depth": 16}


def test_a_plan_counted_by_hand():
    job = Job(nodes=1000, edges=5000, features=10, depth=3, method="ggcm")
    plan = estimate(job, workers=2, memory=10**9)
    links, pointers, scales = 2 * 5000 * 4, 1001 * 8, 2 * 1000 * 4
    assert (plan.width, plan.n_slabs, plan.passes, plan.cached) == (5, 1, 3, True)
    # four arrays of a slab's size, and the next columns being read
    assert plan.memory == PROCESS + links + pointers + scales + 5 * 5 * 4000
    assert plan.network == 2 * (links + pointers) + 2 * 10 * 4000
    assert plan.client == PROCESS + links + pointers + scales + 2 * 5 * 4000 + 10 * 4000
    assert plan.disk == links + pointers + 10 * 4000
    assert plan.through_files == links + pointers + 5 * 4000
    assert plan.budget == 10**9 - PROCESS


def test_scores_of_a_guided_method_are_held_and_travel_in_every_iteration():
    job = Job(nodes=1000, edges=5000, features=10, depth=3, method="ogc", classes=7)
    plan = estimate(job, workers=2, memory=10**9)
    assert plan.network == 2 * (40_000 + 8008) + 10 * 4000 + 2 * (3 + 1) * 1000 * 7 * 8
    # five columns and a buffer for them, scores and classes of nodes, ten labelled rows
    held = 1000 * (7 * 16 + 48) + 10 * 5 * 4 + 10 * 4000
    assert plan.memory == PROCESS + 40_000 + 8008 + 4000 + held
    assert plan.client == PROCESS + 52_008 + 3 * 56_000 + 56_000


def test_slabs_of_a_guided_method_wait_in_files_of_their_worker():
    job = Job(**PAPERS, method="ogc", classes=4)
    wide, tight = (estimate(job, 8, memory) for memory in (64 * 10**9, 16 * 10**9))
    assert (wide.n_slabs, wide.disk) == (1, job.store_bytes + 128 * job.column_bytes)
    # two slabs in memory, and every column read and written in every iteration
    assert tight.n_slabs * tight.width >= 16 > tight.width
    fixed = job.graph_bytes + job.nodes * (4 * 16 + 48) + 1_110_000 * 16 * 4
    assert tight.memory == PROCESS + fixed + 2 * tight.width * job.column_bytes
    links = tight.passes * job.link_bytes + job.pointer_bytes
    assert tight.through_files == links + (1 + 2 * 16) * 16 * job.column_bytes
    assert tight.disk == wide.disk + 128 * job.column_bytes


def test_the_last_slab_may_be_narrower():
    job = Job(nodes=10**6, edges=10**7, features=51, depth=2, method="sgc")
    plan = estimate(job, 1, 560 * 10**6)
    assert (plan.width, plan.n_slabs, plan.passes) == (11, 5, 10)


@pytest.mark.parametrize("method", METHODS)
def test_every_plan_keeps_to_the_memory_it_was_given(method):
    for memory in (48e9, 64e9, 500e9):
        job = Job(**PAPERS, method=method, classes=20)
        plan = estimate(job, 8, int(memory))
        assert max(plan.memory, estimate(job, 1, int(memory)).memory) <= memory
        assert plan.n_slabs * plan.width >= 16
        assert plan.passes == 16 * plan.n_slabs


def test_links_are_read_in_every_pass_where_they_do_not_fit():
    # 12.8 GB of links
    job = Job(**PAPERS)
    plan = estimate(job, workers=8, memory=8 * 10**9)
    assert not plan.cached
    assert plan.through_files == plan.passes * 12_800_000_000 + job.pointer_bytes + 16 * job.column_bytes
    assert estimate(job, 8, 64 * 10**9).cached


def test_links_stay_in_memory_unless_that_takes_many_more_passes():
    cached = {}
    for memory in (18, 24, 30, 64):
        both = {plan.cached: plan.passes for plan in layouts(Job(**PAPERS), 8, memory * 10**9)}
        cached[memory] = both[True], both[False], estimate(Job(**PAPERS), 8, memory * 10**9).cached
    assert cached == {18: (256, 48, False), 24: (64, 32, False), 30: (48, 32, True), 64: (16, 16, True)}


def test_what_does_not_fit_says_what_would():
    message = (
        r"1\.0 GB per worker is not enough for 111,000,000 nodes: one column needs 4\.\d GB, or 17\.4 GB"
    )
    with pytest.raises(ValueError, match=message):
        estimate(Job(**PAPERS), workers=8, memory=10**9)
    assert not estimate(Job(**PAPERS), 8, int(4.8e9)).cached


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"method": "gcn"}, "there is no plan for 'gcn': choose one of sgc, ssgc, ppr, ggc, ggcm, ogc"),
        ({"nodes": 2**31}, "2,147,483,648 nodes are too many: a graph holds fewer than 2³¹"),
        ({"nodes": 10}, "10 nodes have 45 pairs and cannot have 5,000 edges"),
        ({"features": 0}, "features is 0: give a whole number"),
        ({"depth": 2**63}, "depth is 9223372036854775808"),
        ({"depth": 1.5}, "depth is 1.5"),
    ],
)
def test_a_run_that_cannot_be_is_refused(changed, message):
    with pytest.raises(ValueError, match=message):
        Job(**{"nodes": 1000, "edges": 5000, "features": 10, **changed})


@pytest.mark.parametrize("workers", [0, 11, -1])
def test_workers_without_a_column_are_refused(workers):
    with pytest.raises(ValueError, match="cannot share 10 features"):
        layouts(Job(nodes=1000, edges=5000, features=10), workers, 10**9)


def stored(A, folder):
    """Write a graph as a graph store and open it."""
    np.save(folder / "indptr.npy", A.indptr.astype(np.int64))
    np.save(folder / "indices.npy", A.indices)
    if A.data.max() != 1:
        np.save(folder / "weights.npy", A.data)
    write_manifest(folder, "drawn", EdgeFacts(), [], ())
    return open_graph_store(folder).adjacency


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("method", METHODS)
def test_a_plan_counts_the_graph_as_a_run_does(tmp_path, method, weighted):
    n = 50
    A = csr_array(np.triu(np.random.default_rng(0).random((n, n)) < 0.2, k=1).astype(float))
    A = stored(csr_array((A + A.T) * (2.5 if weighted else 1.0)), tmp_path)
    job = Job(n, A.nnz // 2, 8, method=method, weighted=weighted)
    model = getattr(gssl, method.upper())()
    if method == "ogc":
        model.fit(np.ones((n, 8), np.float32), np.arange(n) % 2, adjacency=A)
        filters = gssl.operators.Filters(model._steps.A_hat)
    else:
        filters = model._filters(A, np.float32).matrices(1)
    assert job.graph_bytes == graph_bytes(filters)


@pytest.mark.parametrize("method", ["sgc", "ggcm", "ogc"])
def test_a_run_cuts_the_slabs_of_its_plan(tmp_path, monkeypatch, method):
    """The budget of the run is the memory of the plan, minus that of the process."""
    n, d, cut = 2000, 40, []
    data = gssl.datasets.make_block_graph(n, 9000, d, 4, features="dense", random_state=0)
    A, X = stored(data.adjacency, tmp_path), data.features.astype(np.float32)
    y = np.where(np.arange(n) % 100 == 0, data.labels, -1)
    job = Job(n, A.nnz // 2, d, depth=2, classes=len(set(y)) - 1, method=method)
    plan = slabs.plan_slabs
    use_label_space(monkeypatch, gssl.OGC, False)
    monkeypatch.setattr(slabs, "plan_slabs", lambda *a: cut.append(plan(*a)) or cut[-1])
    widths = []
    for budget in (400_000, 700_000, 5_000_000):
        wanted = [layout.width for layout in layouts(job, 1, PROCESS + budget)]
        cut.clear()
        with gssl.execution(memory=budget):
            getattr(gssl, method.upper())().fit(X, y, adjacency=A)
        assert [cut[0].width] * 2 == wanted
        widths.append(cut[0].width)
    assert widths[0] < widths[1] < widths[2] == d


@pytest.mark.parametrize("method", METHODS)
def test_the_facts_of_a_method_are_those_of_its_class(method):
    facts = METHODS[method]
    assert facts.guided == (method == "ogc")
    if not facts.guided:
        model = getattr(gssl, method.upper())()
        assert facts.buffers == model.buffers()
        assert facts.negatives == any(mixture.sharp for mixture in model.mixtures(1))


@pytest.mark.parametrize("method", ["sgc", "ggcm", "ogc"])
def test_the_time_is_that_of_one_slab_times_the_number_of_passes(tmp_path, monkeypatch, method):
    data = gssl.datasets.make_block_graph(2000, 9000, 4, 4, features="dense", random_state=0)
    A, depth = stored(data.adjacency, tmp_path), 12
    job = Job(2000, A.nnz // 2, 40, depth=depth, classes=5, method=method)
    program = getattr(gssl, "SGC" if method == "ogc" else method.upper())(depth=3).program()
    plan = estimate(job, 1, PROCESS + 500_000)
    assert plan.n_slabs > 1
    seconds, widths = itertools.count(step=0.5), []
    monkeypatch.setattr("gssl.scale.estimate.perf_counter", lambda: next(seconds))
    run = gssl.operators.Program.states
    monkeypatch.setattr(
        gssl.operators.Program, "states", lambda self, X, *a: widths.append(X.shape) or run(self, X, *a)
    )
    assert measure_passes(plan, A, program) == 0.5 * plan.n_slabs * depth
    # with less memory here than on the machine of the plan, fewer columns are measured
    monkeypatch.setenv("GSSL_MEMORY", str(2 * METHODS[method].buffers * job.column_bytes))
    assert measure_passes(plan, A, program) == 0.5 * plan.n_slabs * depth * plan.width
    assert widths == [(2000, plan.width), (2000, 1)]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is read from /proc")
@pytest.mark.slow
def test_memory_within_30_percent_of_runs():
    """Check two methods; ``python -m benchmarks --only plan`` runs all methods at three sizes."""
    for row in plans.rows(quick=True):
        assert row.status(row.measure()) == "reached"
