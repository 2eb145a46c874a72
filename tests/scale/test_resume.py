"""A run that was stopped goes on where it was, and comes to the same bytes."""

import json
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from scipy.sparse import csr_array

import gssl
from gssl.scale import journal, kept_slabs, local
from gssl.scale.execution import InMemory
from gssl.selection.graph_features import Features, operators
from gssl.selection.labelled_rows import FeatureSpace, LabelSpace, Powers

# each fit writes its results when it is done; a pause after every file gives time to be killed in
_CHILD = """
import sys, time
import numpy as np
import gssl
from gssl.scale import files
from gssl.scale.local import LocalExecution

method, folder, out, pause = sys.argv[1], sys.argv[2], sys.argv[3], float(sys.argv[4])
write = files.RunFolder.write
def slowly(self, *arguments):
    time.sleep(pause)
    path = write(self, *arguments)
    time.sleep(pause)
    return path
files.RunFolder.write = slowly
data = gssl.datasets.make_block_graph(300, 1500, 24, 5, features="dense", random_state=3)
X, y = np.array(data.features, dtype=np.float32), data.mask_labels("default")
if method == "GGCM":
    model = gssl.GGCM(depth=3).fit(X, adjacency=data.adjacency, memory_budget="27kB", resume=folder)
    np.save(out, np.asarray(model.embedding_))
else:
    if method == "OGC":
        gssl.OGC._label_space_pays = lambda *_: False
    model = gssl.OGC(random_state=0, max_iter=8)
    model.fit(X, y, adjacency=data.adjacency, memory_budget="90kB", resume=folder)
    np.save(out, np.hstack([model.label_distributions_, [model.history_["agreement"]] * len(X)]))
"""


def _start(method, folder, out, pause=0.0):
    return subprocess.Popen([sys.executable, "-c", _CHILD, method, str(folder), str(out), str(pause)])


@pytest.mark.parametrize("method", ["GGCM", "OGC", "OGC in label space"])
def test_a_run_killed_again_and_again_ends_with_the_same_bytes(tmp_path, method):
    plain, killed = tmp_path / "plain.npy", tmp_path / "killed.npy"
    assert _start(method, tmp_path / "a", plain).wait() == 0
    folder = tmp_path / "b"
    rng = np.random.default_rng(len(method))
    kills = 0
    while kills < (3 if "label space" in method else 10):
        child = _start(method, folder, killed, pause=0.1)
        # the first file shows that inputs are read and work begins
        before = _stamp(folder)
        while child.poll() is None and _stamp(folder) == before:
            time.sleep(0.01)
        time.sleep(rng.uniform(0.0, 0.25))
        child.send_signal(signal.SIGKILL)
        assert child.wait() == -signal.SIGKILL
        assert not killed.exists()
        kills += 1
    assert _start(method, folder, killed).wait() == 0
    assert killed.read_bytes() == plain.read_bytes()


def _stamp(folder):
    return sorted((path.name, path.stat().st_mtime_ns) for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("stop", range(0, 26, 2))
def test_ogc_goes_on_after_any_file(blocks, tmp_path, stopping, monkeypatch, stop):
    monkeypatch.setattr(gssl.OGC, "_label_space_pays", lambda *_: False)
    X, y, A = blocks
    settings = {"adjacency": A, "memory_budget": "90kB"}
    model = gssl.OGC(random_state=0, max_iter=6)
    expected = model.fit(X, y, **settings).label_distributions_
    stopping(stop)
    with pytest.raises(stopping.error):
        model.fit(X, y, resume=tmp_path, **settings)
    stopping(10**9)
    again = model.fit(X, y, resume=tmp_path, **settings)
    assert np.array_equal(again.label_distributions_, expected)
    assert len(again.history_["agreement"]) == again.n_iter_ == 6


@pytest.mark.parametrize("stop", [3, 7, 12, 16, 21])
@pytest.mark.parametrize(("before", "after"), [("90kB", "70kB"), ("70kB", "90kB"), ("90kB", "1GB")])
def test_ogc_keeps_to_the_budget_it_is_resumed_with(
    blocks, tmp_path, stopping, monkeypatch, stop, before, after
):
    monkeypatch.setattr(gssl.OGC, "_label_space_pays", lambda *_: False)
    X, y, A = blocks
    model = gssl.OGC(random_state=0, max_iter=6)
    expected = model.fit(X, y, adjacency=A, memory_budget=before).label_distributions_
    stopping(stop)
    with pytest.raises(stopping.error):
        model.fit(X, y, adjacency=A, memory_budget=before, resume=tmp_path)
    stopping(10**9)
    widths, keep = [], local.SlabsOnDisk.keep

    def watched(self, s, step, U):
        widths.append(U.shape[1])
        keep(self, s, step, U)

    monkeypatch.setattr(local.SlabsOnDisk, "keep", watched)
    again = model.fit(X, y, adjacency=A, memory_budget=after, resume=tmp_path)
    assert np.array_equal(again.label_distributions_, expected)
    resumed, widths[:] = set(widths), []
    model.fit(X, y, adjacency=A, memory_budget=after)
    assert resumed == set(widths)


@pytest.mark.parametrize("method", [gssl.SGC(), gssl.GGCM(depth=3)], ids=["SGC", "GGCM"])
@pytest.mark.parametrize(("before", "after"), [("60kB", "45kB"), ("45kB", "60kB")])
def test_embeddings_keep_to_the_budget_they_are_resumed_with(
    blocks, tmp_path, stopping, monkeypatch, method, before, after
):
    X, _, A = blocks
    expected = np.array(method.fit(X, adjacency=A, memory_budget=before).embedding_)
    stopping(4)  # after the identities of fit and task, and two slabs
    with pytest.raises(stopping.error):
        method.fit(X, adjacency=A, memory_budget=before, resume=tmp_path)
    stopping(10**9)
    widths, apply = [], type(method)._apply
    monkeypatch.setattr(
        type(method), "_apply", lambda self, X, filters: widths.append(X.shape[1]) or apply(self, X, filters)
    )
    again = np.array(method.fit(X, adjacency=A, memory_budget=after, resume=tmp_path).embedding_)
    assert np.array_equal(again, expected)
    resumed, widths[:] = list(widths), []
    method.fit(X, adjacency=A, memory_budget=after)
    assert max(resumed) == max(widths)
    assert len(resumed) < len(widths)


def test_slabs_in_memory_are_saved_now_and_then(blocks, tmp_path, stopping, monkeypatch):
    monkeypatch.setattr(gssl.OGC, "_label_space_pays", lambda *_: False)
    monkeypatch.setattr(local, "_SNAPSHOT_SECONDS", 0.0)
    X, y, A = blocks
    model = gssl.OGC(random_state=0, max_iter=6)
    expected = model.fit(X, y, adjacency=A, memory_budget="1GB").label_distributions_
    stopping(12)
    with pytest.raises(stopping.error):
        model.fit(X, y, adjacency=A, memory_budget="1GB", resume=tmp_path)
    assert list((tmp_path / "slabs").glob("slab-*.npy"))
    stopping(10**9)
    again = model.fit(X, y, adjacency=A, memory_budget="1GB", resume=tmp_path)
    assert np.array_equal(again.label_distributions_, expected)


def test_a_finished_run_is_not_done_again(blocks, tmp_path, monkeypatch):
    X, _, A = blocks
    settings = {"adjacency": A, "memory_budget": "100kB", "resume": tmp_path}
    first = gssl.GGCM(depth=3).fit(X, **settings).embedding_
    monkeypatch.setattr(gssl.GGCM, "_apply", None)
    assert np.array_equal(gssl.GGCM(depth=3).fit(X, **settings).embedding_, first)


@pytest.mark.parametrize("damage", ["gone", "short"])
def test_results_that_went_missing_are_not_taken_for_zeros(blocks, tmp_path, damage):
    X, _, A = blocks
    settings = {"adjacency": A, "memory_budget": "100kB", "resume": tmp_path}
    gssl.GGCM(depth=3).fit(X, **settings)
    (kept,) = tmp_path.rglob("embedding.npy")
    if damage == "gone":
        kept.unlink()
    else:
        kept.write_bytes(kept.read_bytes()[:1000])
    with pytest.raises(ValueError, match="is not what the finished slabs of this run have left"):
        gssl.GGCM(depth=3).fit(X, **settings)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b'{"columns": [[0, 1',
        b"[]",
        b'{"columns": [[0]], "rows": 300, "dtype": "<f4"}',
        b'{"columns": 3, "rows": 300, "dtype": "<f4"}',
        b'{"columns": [], "rows": "many", "dtype": "<f4"}',
        b'{"columns": [], "rows": 1e999, "dtype": "<f4"}',
        b'{"columns": [], "rows": 300, "dtype": "apples"}',
        b"\xff\xfe",
    ],
)
def test_a_damaged_list_of_what_is_done_is_refused(blocks, tmp_path, content):
    X, _, A = blocks
    settings = {"adjacency": A, "memory_budget": "100kB", "resume": tmp_path}
    gssl.SGC().fit(X, **settings)
    (kept,) = tmp_path.glob("run-*/done.json")
    kept.write_bytes(content)
    with pytest.raises(ValueError, match=r"done.json is damaged: remove .*run-\w+\.$"):
        gssl.SGC().fit(X, **settings)


@pytest.mark.parametrize(("name", "wrong"), [("rows", 299), ("dtype", "<f8")])
def test_results_of_another_shape_than_written_down_are_refused(blocks, tmp_path, name, wrong):
    X, _, A = blocks
    settings = {"adjacency": A, "memory_budget": "100kB", "resume": tmp_path}
    gssl.SGC().fit(X, **settings)
    (kept,) = tmp_path.glob("run-*/done.json")
    kept.write_text(json.dumps({**json.loads(kept.read_text()), name: wrong}))
    with pytest.raises(ValueError, match="is not what the finished slabs of this run have left"):
        gssl.SGC().fit(X, **settings)


def test_other_inputs_are_refused(blocks, tmp_path):
    X, y, A = blocks
    gssl.SGC().fit(X, adjacency=A, memory_budget="100kB", resume=tmp_path / "sgc")
    gssl.OGC(random_state=0).fit(X, y, adjacency=A, memory_budget="100kB", resume=tmp_path / "ogc")
    changed = X.copy()
    changed[17, 3] += 1.0
    with pytest.raises(ValueError, match="other features, graph, labels or parameters"):
        gssl.SGC().fit(changed, adjacency=A, memory_budget="100kB", resume=tmp_path / "sgc")
    with pytest.raises(ValueError, match="other features, graph, labels or parameters"):
        gssl.SGC(depth=3).fit(X, adjacency=A, memory_budget="100kB", resume=tmp_path / "sgc")
    with pytest.raises(ValueError, match="other features, graph, labels or parameters"):
        gssl.OGC(beta=0.2, random_state=0).fit(X, y, adjacency=A, resume=tmp_path / "ogc")
    relabelled = np.array(y)
    relabelled[np.flatnonzero(relabelled == -1)[0]] = 0
    with pytest.raises(ValueError, match="other features, graph, labels or parameters"):
        gssl.OGC(random_state=0).fit(X, relabelled, adjacency=A, resume=tmp_path / "ogc")


def test_what_is_asked_for_after_a_fit_is_found_in_any_order(tmp_path, monkeypatch):
    data = gssl.datasets.load("karate")
    X, y = data.features, data.mask_labels("default")
    plain = gssl.OGC(random_state=0).fit(X, y, adjacency=data.adjacency)
    settings = {"adjacency": data.adjacency, "memory_budget": "1MB", "resume": tmp_path}
    first = gssl.OGC(random_state=0).fit(X, y, **settings)
    embedding, losses = first.embedding_, first.history_["smoothing_loss"]
    np.testing.assert_allclose(embedding, plain.embedding_, atol=1e-6)
    np.testing.assert_allclose(losses, plain.history_["smoothing_loss"], rtol=1e-4)
    again = gssl.OGC(random_state=0).fit(X, y, **settings)
    monkeypatch.setattr(type(again._fit), "replay", None)  # both are taken up
    assert np.array_equal(again.history_["smoothing_loss"], losses)
    assert np.array_equal(again.embedding_, embedding)
    assert len(list(tmp_path.glob("run-*/done.json"))) == 2


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("space", ["features", "labels"])
def test_passes_over_plain_and_unit_features_do_not_meet(blocks, tmp_path, kind, space):
    X, _, A = blocks
    given = csr_array(X) if kind == "sparse" else X
    smooth, nodes = operators(A, X.dtype)["smooth"], np.arange(0, 300, 7)
    picks = csr_array((np.ones(len(nodes), X.dtype), (nodes, np.arange(len(nodes)))), shape=(300, len(nodes)))

    def run(execution, features):
        columns = features.X if space == "features" else picks
        seen = FeatureSpace(features, nodes) if space == "features" else LabelSpace(features)
        task = Powers("smooth", smooth.on(None), seen, 2)
        return np.array(execution.run(task, columns, lambda k: smooth.filters))

    choices = [Features(given), Features.unit(given)]
    plain, unit = (run(InMemory(), features) for features in choices)
    assert not np.allclose(plain, unit)
    for order in (choices, choices[::-1], choices):
        execution = local.LocalExecution("1GB", tmp_path)
        execution.journal(given)
        found = {id(features): run(execution, features) for features in order}
        assert np.array_equal(found[id(choices[0])], plain)
        assert np.array_equal(found[id(choices[1])], unit)
    assert len(list(tmp_path.glob("run-*/done.json"))) == 2


def test_a_task_that_does_not_say_what_it_is_leaves_nothing(blocks, tmp_path):
    X, _, A = blocks
    filters = gssl.SGC()._filters(A, X.dtype)
    with pytest.raises(TypeError, match="a task without an identity cannot be resumed: name it"):
        local.LocalExecution("1GB", tmp_path).run(lambda X, filters, columns: X, X, filters)
    assert not list(tmp_path.glob("run-*"))


def test_another_version_does_not_take_up_what_was_done(blocks, tmp_path, monkeypatch):
    X, _, A = blocks
    settings = {"adjacency": A, "memory_budget": "100kB", "resume": tmp_path}
    gssl.SGC().fit(X, **settings)
    monkeypatch.setattr(gssl, "__version__", "999.0")
    with pytest.raises(ValueError, match="or of another version of gssl: give those again"):
        gssl.SGC().fit(X, **settings)


class _StoppedError(Exception):
    pass


def _stop_at_step(monkeypatch, k):
    """Stop a fit before the journal has its k-th step, whose slabs are written."""
    finish = journal.Journal.finish

    def finish_until(self, step, scores):
        if len(self.past) + 1 == k:
            raise _StoppedError
        finish(self, step, scores)

    monkeypatch.setattr(journal.Journal, "finish", finish_until)
    return lambda: monkeypatch.setattr(journal.Journal, "finish", finish)


def test_slabs_of_a_run_that_has_finished_no_step_are_not_taken_up(blocks, tmp_path, monkeypatch):
    monkeypatch.setattr(gssl.OGC, "_label_space_pays", lambda *_: False)
    monkeypatch.setattr("gssl.methods.ogc._KEPT", 1.0)  # rows of the slabs are kept, however many they are
    X, y, A = blocks
    model = gssl.OGC(max_iter=4, agreement=1.0, patience=9)  # every fit begins with another predictor
    for budget, k in (("90kB", 1), ("1GB", 4)):
        finishing = _stop_at_step(monkeypatch, k)
        with pytest.raises(_StoppedError):
            model.fit(X, y, adjacency=A, memory_budget=budget, resume=tmp_path)
        finishing()
    found = model.fit(X, y, adjacency=A, memory_budget="90kB", resume=tmp_path)
    assert found.n_iter_ == 4
    rows = found._fit.known.of(np.flatnonzero(y != -1), None)  # none is computed again
    np.testing.assert_allclose(rows, found.embedding_[y != -1], rtol=1e-4, atol=1e-6)


def test_slabs_left_by_another_number_of_workers_are_not_taken_up(tmp_path):
    # workers keep shares where runs with more or fewer of them do not look
    folder = local.RunFolder(tmp_path)
    kept_slabs.begin_steps(folder, np.eye(2), np.ones(2))
    folder.write_array(kept_slabs.slab_name(slice(0, 2), 1), np.eye(2))
    kept_slabs.begin_steps(folder, np.eye(2), np.ones(2))
    assert kept_slabs.last_whole_step(folder, 2, at_most=1) == 1
    kept_slabs.begin_steps(folder, np.eye(2), np.zeros(2))
    assert kept_slabs.last_whole_step(folder, 2, at_most=1) == 0


def test_steps_that_are_taken_again_leave_one_file_for_each_slab(blocks, tmp_path, monkeypatch):
    monkeypatch.setattr(gssl.OGC, "_label_space_pays", lambda *_: False)
    X, y, A = blocks
    model = gssl.OGC(random_state=0, max_iter=20, agreement=1.0, patience=99)
    expected = model.fit(X, y, adjacency=A, memory_budget="90kB").label_distributions_
    finishing = _stop_at_step(monkeypatch, 20)
    with pytest.raises(_StoppedError):
        model.fit(X, y, adjacency=A, memory_budget="1GB", resume=tmp_path)
    finishing()
    assert not list((tmp_path / "slabs").glob("slab-*"))
    after, write = [], local.RunFolder.write
    resume = local.LocalCrew.resume

    def watched(self, pulls):
        resume(self, pulls)
        after.append(sorted(path.name for path in (tmp_path / "slabs").glob("slab-*")))
        after.append([path.name for path in written if path.name.startswith("slab-")])

    written = []
    monkeypatch.setattr(
        local.RunFolder, "write", lambda self, *given: written.append(write(self, *given)) or written[-1]
    )
    monkeypatch.setattr(local.LocalCrew, "resume", watched)
    again = model.fit(X, y, adjacency=A, memory_budget="90kB", resume=tmp_path)
    left, wrote = after
    assert len(left) > 1
    assert sorted(wrote) == left
    assert {name.split(".")[1] for name in left} == {"000019"}
    assert np.array_equal(again.label_distributions_, expected)


def test_two_processes_do_not_share_a_folder(tmp_path):
    folder, out = tmp_path / "r", tmp_path / "out.npy"
    child = _start("GGCM", folder, out, pause=0.5)
    deadline = time.monotonic() + 60
    while not (folder / "run.json").exists():
        assert child.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.01)
    data = gssl.datasets.make_block_graph(300, 1500, 24, 5, features="dense", random_state=3)
    X = np.array(data.features, dtype=np.float32)
    settings = {"adjacency": data.adjacency, "memory_budget": "27kB", "resume": folder}
    try:
        with pytest.raises(ValueError, match="r is in use by another process: wait until that has ended, or"):
            gssl.GGCM(depth=3).fit(X, **settings)
    finally:
        child.kill()
        child.wait()
    # a lock goes with its process, and a process may come back to its own, even to one that was made anew
    found = gssl.GGCM(depth=3).fit(X, **settings).embedding_
    shutil.rmtree(folder)
    assert np.array_equal(gssl.GGCM(depth=3).fit(X, **settings).embedding_, found)
    assert np.array_equal(gssl.GGCM(depth=3).fit(X, **settings).embedding_, found)


def test_a_full_disk_is_one_sentence_and_the_checkpoint_stays(tmp_path):
    code = (
        "import resource, sys, numpy as np, gssl\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))\n"
        "gssl.OGC._label_space_pays = lambda *_: False\n"
        "data = gssl.datasets.make_block_graph(300, 1500, 24, 5, features='dense', random_state=3)\n"
        "X = np.array(data.features, dtype=np.float32)\n"
        "try:\n"
        "    gssl.SGC().fit(X, adjacency=data.adjacency, memory_budget='100kB', resume=sys.argv[1])\n"
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
    folder = local.RunFolder(tmp_path)
    log = journal.Journal(folder, "a")
    log.finish(journal.FinishedStep(np.zeros((1, 2)), np.zeros((3, 2)), {"eta_w": 1.0}), np.eye(2))
    (tmp_path / "step-000001.safetensors").write_bytes(b"\x80\x04N.")
    with pytest.raises(ValueError, match="is damaged: remove"):
        journal.Journal(folder, "a")
    np.save(tmp_path / "scores-000000.npy", np.array([print], dtype=object), allow_pickle=True)
    (tmp_path / "step-000001.safetensors").unlink()
    with pytest.raises(ValueError, match=r"scores-000000\.npy is damaged: remove"):
        journal.Journal(folder, "a").scores()
