"""A stopped run resumes where it was, and its results are bit-identical."""

import itertools
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from scipy.sparse import csr_array

import gssl
from gssl.operators import Program, normalized_adjacency
from gssl.scale import slabs
from gssl.scale.checkpoint import StepCheckpoint, identity
from gssl.scale.execution import FinishedStep, InMemory, Task
from gssl.scale.run_folder import RunFolder
from gssl.scale.slabs import SlabExecution
from gssl.selection.candidates import GraphOperators
from gssl.selection.features import Features
from gssl.selection.filtered_rows import Powers

REFUSED = "belongs to a run with other features, graph, labels or parameters"
# a pause before and after every file leaves time for a kill
_CHILD = """
import sys, time
import numpy as np
import gssl
from gssl.operators import Program
from gssl.scale import run_folder

folder, out, pause = sys.argv[1], sys.argv[2], float(sys.argv[3])
write = run_folder.RunFolder.write
def slowly(self, *arguments):
    time.sleep(pause)
    path = write(self, *arguments)
    time.sleep(pause)
    return path
run_folder.RunFolder.write = slowly
gssl.OGC.propagated_columns = lambda model, X, *_: X.shape[1]
data = gssl.datasets.make_block_graph(300, 1500, 24, 5, features="dense", random_state=3)
X, y = np.array(data.features, dtype=np.float32), data.mask_labels("default")
with gssl.execution(memory="90kB", resume=folder):
    model = gssl.OGC(random_state=0, max_iter=8).fit(X, y, adjacency=data.adjacency)
np.save(out, np.hstack([model.label_distributions_, [model.history_["agreement"]] * len(X)]))
"""


def _start(*arguments):
    return subprocess.Popen([sys.executable, "-c", _CHILD, *map(str, arguments)])


@pytest.mark.slow
def test_a_run_killed_again_and_again_ends_with_the_same_bytes(tmp_path):
    plain, killed, folder = tmp_path / "plain.npy", tmp_path / "killed.npy", tmp_path / "b"
    assert _start(tmp_path / "a", plain, 0).wait() == 0
    rng = np.random.default_rng(3)
    for _ in range(3):
        child = _start(folder, killed, 0.1)
        # the first file shows that the inputs are read and the work has begun
        before = _stamp(folder)
        while child.poll() is None and _stamp(folder) == before:
            time.sleep(0.01)
        time.sleep(rng.uniform(0.0, 0.25))
        child.send_signal(signal.SIGKILL)
        assert child.wait() == -signal.SIGKILL
        assert not killed.exists()
    assert _start(folder, killed, 0).wait() == 0
    assert killed.read_bytes() == plain.read_bytes()


def _stamp(folder):
    return sorted((path.name, path.stat().st_mtime_ns) for path in folder.rglob("*") if path.is_file())


BUDGETS = [("90kB", "75kB"), ("75kB", "90kB"), ("90kB", "1GB")]


@pytest.mark.usefixtures("direct")
@pytest.mark.parametrize(
    ("stop", "budgets"),
    [*((stop, ("90kB", "90kB")) for stop in range(7)), *itertools.product([2, 4, 6], BUDGETS)],
)
def test_ogc_goes_on_after_any_file_within_the_budget_it_is_resumed_with(
    blocks, fit, tmp_path, stopping, monkeypatch, stop, budgets
):
    X, y, A = blocks
    before, after = budgets
    model = gssl.OGC(random_state=0, max_iter=6)
    expected = fit(model, X, y, adjacency=A, memory=before).label_distributions_
    with stopping(stop):
        fit(model, X, y, adjacency=A, memory=before, resume=tmp_path)
    loads, load = [], slabs.embedding_load
    monkeypatch.setattr(slabs, "embedding_load", lambda *a: loads.append(load(*a)) or loads[-1])
    again = fit(model, X, y, adjacency=A, memory=after, resume=tmp_path)
    assert np.array_equal(again.label_distributions_, expected)
    assert len(again.history_["agreement"]) == again.n_iter_ == 6
    fit(model, X, y, adjacency=A, memory=after)
    resumed, fresh = loads
    assert resumed == fresh


@pytest.mark.usefixtures("direct")
def test_steps_are_replayed_slab_by_slab_without_products(blocks, fit, tmp_path, stopping, monkeypatch):
    X, y, A = blocks
    model = gssl.OGC(random_state=0, max_iter=6, agreement=1.0, patience=99)
    expected = fit(model, X, y, adjacency=A, memory="90kB").label_distributions_
    with stopping(5):  # the identity, then four steps
        fit(model, X, y, adjacency=A, memory="90kB", resume=tmp_path)
    names = sorted(path.name for path in tmp_path.iterdir() if not path.name.startswith("."))
    assert names == ["run.json", *(f"step-00000{k}.npz" for k in range(1, 5))]  # no slabs, no scores
    taken, advance = [], slabs.advance

    def counted(U, filters, steps, buffers):
        taken.append(len(steps))
        return advance(U, filters, steps, buffers)

    monkeypatch.setattr(slabs, "advance", counted)
    again = fit(model, X, y, adjacency=A, memory="90kB", resume=tmp_path)
    # one that replays four steps, and two more steps
    n_slabs = len(taken) // 3
    assert n_slabs > 1
    assert taken == [4] * n_slabs + [1] * 2 * n_slabs
    assert np.array_equal(again.label_distributions_, expected)


@pytest.mark.parametrize("method", [gssl.SGC(), gssl.GGCM(depth=3)], ids=["SGC", "GGCM"])
@pytest.mark.parametrize(("before", "after"), [("60kB", "45kB"), ("45kB", "60kB")])
def test_embeddings_keep_to_the_budget_they_are_resumed_with(
    blocks, fit, tmp_path, stopping, monkeypatch, method, before, after
):
    X, _, A = blocks
    expected = np.array(fit(method, X, adjacency=A, memory=before).embedding_)
    with stopping(4):  # after the identities of fit and task, and two slabs
        fit(method, X, adjacency=A, memory=before, resume=tmp_path)
    widths, run = [], Program.run
    monkeypatch.setattr(
        Program, "run", lambda program, X, *a, **k: widths.append(X.shape[1]) or run(program, X, *a, **k)
    )
    again = np.array(fit(method, X, adjacency=A, memory=after, resume=tmp_path).embedding_)
    assert np.array_equal(again, expected)
    resumed, widths[:] = list(widths), []
    fit(method, X, adjacency=A, memory=after)
    assert max(resumed) == max(widths)
    assert len(resumed) < len(widths)


def test_a_finished_run_is_not_done_again(blocks, fit, tmp_path, monkeypatch):
    X, _, A = blocks
    settings = {"adjacency": A, "memory": "100kB", "resume": tmp_path}
    first = fit(gssl.GGCM(depth=3), X, **settings).embedding_
    monkeypatch.setattr(Program, "run", None)
    assert np.array_equal(fit(gssl.GGCM(depth=3), X, **settings).embedding_, first)


OTHER = "is missing or does not match the finished columns of this run"
DAMAGED = r"finished.npy is damaged: remove .*run-\w+ and run again\.$"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("embedding", None, OTHER),
        ("embedding", 1000, OTHER),
        ("embedding", np.zeros((300, 23), np.float32), OTHER),
        ("embedding", np.zeros(24, np.float32), OTHER),
        ("embedding", np.zeros((300, 24), np.float32), OTHER),  # in C order
        ("finished", np.ones(23, dtype=bool), OTHER),
        ("finished", np.ones(24), OTHER),
        ("finished", 0, DAMAGED),
        ("finished", b"\xff\xfe", DAMAGED),
        ("finished", np.array([print], dtype=object), DAMAGED),
    ],
)
def test_results_that_are_missing_or_damaged_are_refused(blocks, fit, tmp_path, name, content, message):
    X, _, A = blocks
    settings = {"adjacency": A, "memory": "100kB", "resume": tmp_path}
    fit(gssl.SGC(), X, **settings)
    (kept,) = tmp_path.glob(f"run-*/{name}.npy")
    if content is None:
        kept.unlink()
    elif isinstance(content, int):
        os.truncate(kept, content)
    elif isinstance(content, bytes):
        kept.write_bytes(content)
    else:
        np.save(kept, content, allow_pickle=True)
    with pytest.raises(ValueError, match=message):
        fit(gssl.SGC(), X, **settings)


def test_other_inputs_and_versions_are_refused(blocks, fit, tmp_path, monkeypatch):
    X, y, A = blocks
    sgc = {"adjacency": A, "memory": "100kB", "resume": tmp_path / "sgc"}
    ogc = {"adjacency": A, "resume": tmp_path / "ogc"}
    fit(gssl.SGC(), X, **sgc)
    fit(gssl.OGC(random_state=0), X, y, **ogc, memory="100kB")
    changed = X.copy()
    changed[17, 3] += 1.0
    relabelled = np.array(y)
    relabelled[np.flatnonzero(relabelled == -1)[0]] = 0
    for model, features, labels, settings in (
        (gssl.SGC(), changed, None, sgc),
        (gssl.SGC(depth=3), X, None, sgc),
        (gssl.OGC(beta=0.2, random_state=0), X, y, ogc),
        (gssl.OGC(random_state=0), X, relabelled, ogc),
    ):
        with pytest.raises(ValueError, match=REFUSED):
            fit(model, features, labels, **settings)
    monkeypatch.setattr(gssl, "__version__", "999.0")
    with pytest.raises(ValueError, match="or of another version of gssl: use the same"):
        fit(gssl.SGC(), X, **sgc)


def test_embeddings_computed_after_a_resumed_fit_are_the_same_and_leave_no_file(fit, tmp_path):
    data = gssl.datasets.load("karate")
    X, y = data.features, data.mask_labels("default")
    plain = fit(gssl.OGC(random_state=0), X, y, adjacency=data.adjacency)
    with gssl.execution(memory="1MB", resume=tmp_path):
        model = gssl.OGC(random_state=0).fit(X, y, adjacency=data.adjacency)
        left = sorted(tmp_path.rglob("*"))
        np.testing.assert_allclose(model.embedding_, plain.embedding_, atol=1e-6)
        losses = model.history_["smoothing_loss"]
        np.testing.assert_allclose(losses, plain.history_["smoothing_loss"], rtol=1e-4)
        assert sorted(tmp_path.rglob("*")) == left


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_passes_over_plain_and_unit_features_do_not_meet(blocks, tmp_path, kind):
    X, _, A = blocks
    given = csr_array(X) if kind == "sparse" else X
    smooth, nodes = GraphOperators(A, X.dtype, 2)["smooth"], np.arange(0, 300, 7)
    axes = np.eye(X.shape[1], dtype=X.dtype)[:, :6]

    def run(execution, features):
        task = Powers("smooth", smooth.program, 2, nodes)
        V = features.times(axes)
        found = execution.map_columns(Task(task, task.identity), V, lambda k: smooth.filters)
        return np.array(found)

    choices = [Features(given), Features.unit(given)]
    plain, unit = (run(InMemory(), features) for features in choices)
    assert not np.allclose(plain, unit)
    for order in (choices, choices[::-1], choices):
        execution = SlabExecution(10**9, tmp_path)
        execution.checkpoint(given)
        found = {id(features): run(execution, features) for features in order}
        assert np.array_equal(found[id(choices[0])], plain)
        assert np.array_equal(found[id(choices[1])], unit)
    assert len(list(tmp_path.glob("run-*/finished.npy"))) == 2


@pytest.mark.usefixtures("direct")
def test_a_run_that_has_finished_no_step_begins_anew(blocks, fit, tmp_path, stopping):
    X, y, A = blocks
    model = gssl.OGC(max_iter=4, agreement=1.0, patience=9)  # unseeded: each fit has another initial W
    with stopping(1):  # the identity
        fit(model, X, y, adjacency=A, memory="90kB", resume=tmp_path)
    with stopping(3):  # three steps
        fit(model, X, y, adjacency=A, memory="1GB", resume=tmp_path)
    found = fit(model, X, y, adjacency=A, memory="90kB", resume=tmp_path)
    assert found.n_iter_ == 4
    scores = found.embedding_ @ found.coef_
    np.testing.assert_array_equal(scores.argmax(axis=1), np.searchsorted(found.classes_, found.transduction_))


def test_a_full_disk_is_one_sentence_and_the_checkpoint_stays(tmp_path):
    code = (
        "import resource, sys, numpy as np, gssl\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))\n"
        "data = gssl.datasets.make_block_graph(300, 1500, 24, 5, features='dense', random_state=3)\n"
        "X = np.array(data.features, dtype=np.float32)\n"
        "try:\n"
        "    with gssl.execution(memory='100kB', resume=sys.argv[1]):\n"
        "        gssl.SGC().fit(X, adjacency=data.adjacency)\n"
        "except OSError as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "r")], capture_output=True, text=True, check=True
    )
    assert "cannot be written: file too large; make room or choose another place" in done.stdout
    assert "run again with the same resume=" in done.stdout
    assert "Traceback" not in done.stderr
    assert len(list(tmp_path.glob("r/run-*/run.json"))) == 1


def test_a_damaged_step_is_refused_and_nothing_is_unpickled(tmp_path):
    folder = RunFolder(tmp_path)
    steps = StepCheckpoint(folder, "a")
    steps.finish(FinishedStep(np.zeros((1, 2)), np.zeros((3, 2)), {"eta_w": 1.0}))
    path = tmp_path / "step-000001.npz"
    content = path.read_bytes()
    pickled = {"W": np.zeros((3, 2)), "facts": "{}", "pull": np.array([print], dtype=object)}
    np.savez(path, **pickled, allow_pickle=True)
    changed = content.replace("1.0".encode("utf-32-le"), "1.5".encode("utf-32-le"))
    for damaged in (b"", b"\x80\x04N.", content[:-9], changed, path.read_bytes()):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match=r"step-000001\.npz is damaged: remove .* and run again\.$"):
            StepCheckpoint(folder, "a")


def test_steps_are_read_as_they_were_written(tmp_path):
    steps = StepCheckpoint(RunFolder(tmp_path), "a")
    for k in range(2):
        steps.finish(FinishedStep(np.full((1, 2), float(k)), np.ones((3, 2)), {"eta_w": 0.5}))
    again = StepCheckpoint(RunFolder(tmp_path), "a")
    assert [step.pull.tolist() for step in again.past] == [[[0, 0]], [[1, 1]]]
    assert again.past[1].facts == {"eta_w": 0.5}
    assert again.past[1].W.tolist() == np.ones((3, 2)).tolist()
    with pytest.raises(ValueError, match=REFUSED):
        StepCheckpoint(RunFolder(tmp_path), "b")


def test_a_step_may_replace_those_before_it(tmp_path):
    steps = StepCheckpoint(RunFolder(tmp_path), "a")
    for k in range(3):
        steps.replace(FinishedStep(np.full((4, 2), float(k)), np.zeros((1, 1)), {"n_iter": k}))
    assert [step.facts for step in steps.past] == [{"n_iter": 2}]
    (left,) = StepCheckpoint(RunFolder(tmp_path), "a").past
    assert left.pull.tolist() == [[2, 2]] * 4


def test_an_identity_is_that_of_every_number():
    A = csr_array(np.array([[0.0, 1.0], [1.0, 0.0]]))
    parts = [
        ["SGC()", np.eye(2)],
        ["SGC()", np.ones((2, 2))],
        ["SGC()", np.eye(2, dtype=np.float32)],
        ["SGC()", np.eye(2).ravel()],
        [["SGC()"], np.eye(2)],
        ["SGC(", ")", np.eye(2)],
        ["SGC()", A],
        ["SGC()", 2 * A],
        ["SGC()", normalized_adjacency(A)],
        ["SGC()", None],
    ]
    known = [identity(part) for part in parts]
    assert len(set(known)) == len(parts)
    assert known == [identity(part) for part in parts]


def test_a_result_that_another_goes_on_from_is_removed(blocks, tmp_path, map_columns):
    X, execution = blocks[0], SlabExecution(10**9, tmp_path)

    def double(X, *name):
        return map_columns(execution, lambda X, *_: 2 * X, X, name)

    first = double(X, "double", 1)
    double(X, "another")
    assert len(list(tmp_path.glob("run-*"))) == 2
    state = double(X, "double", 2)
    for k in range(3, 6):
        state = double(state, "double", k)
    assert np.array_equal(state, 8 * first)
    # results that do not continue another are kept
    assert len(list(tmp_path.glob("run-*"))) == 3


SPREADING, PROPAGATION = gssl.LabelSpreading(spread=0.99), gssl.LabelPropagation()


@pytest.mark.parametrize(
    ("method", "budget", "stop", "done"),
    [
        # each step writes the identity and the columns of its task, and its state
        (SPREADING, None, 4, 1),
        (SPREADING, None, 7, 2),
        (SPREADING, None, 11, 3),
        (SPREADING, "300kB", 6, 1),
        (PROPAGATION, None, 6, 1),
        (PROPAGATION, "300kB", 6, 1),
    ],
)
def test_labels_go_on_spreading_where_they_were(
    blocks, fit, tmp_path, stopping, monkeypatch, method, budget, stop, done
):
    monkeypatch.setattr("gssl.methods.recurrences.CHECKPOINT", 5)
    _, y, A = blocks
    plain = fit(method, None, y, adjacency=A, memory=budget)
    distributions, n_iter = plain.label_distributions_, plain.n_iter_
    assert n_iter > 15
    settings = {"adjacency": A, "memory": budget, "resume": tmp_path}
    with stopping(stop):
        fit(method, None, y, **settings)
    assert len(list(tmp_path.glob("step-*"))) == 1
    limits, map_columns = [], SlabExecution.map_columns
    monkeypatch.setattr(
        SlabExecution,
        "map_columns",
        lambda self, task, *more: limits.append(task.identity[2]) or map_columns(self, task, *more),
    )
    again = fit(method, None, y, **settings)
    assert limits[0] == 5 * (done + 1)
    assert again.n_iter_ == n_iter
    np.testing.assert_array_equal(again.label_distributions_, distributions)
    assert len(list(tmp_path.glob("run-*"))) <= 2
    with pytest.raises(ValueError, match=REFUSED):
        fit(method, None, np.where(y == 0, 1, y), **settings)
