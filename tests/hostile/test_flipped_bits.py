"""One bit flipped in a file that gssl wrote is found and named, or changes nothing."""

import shutil
import warnings

import numpy as np
import pytest
from tests.forging import rewrite_json, strip_model

import gssl
from gssl.io import build_graph_store, open_graph_store, save
from gssl.label.journal import Journal

# (how many flips of each kind of file, mark)
NUMBERS = [60, pytest.param(1000, marks=pytest.mark.slow)]


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    A = np.triu(rng.random((30, 30)) < 0.2, 1).astype(float)
    y = np.where(np.arange(30) < 8, np.arange(30) % 2, -1)
    return rng.random((30, 6)), y, A + A.T


def flips(files, number):
    """Yield, for random bits of the files, the file and where it is flipped; each is restored afterwards."""
    rng, contents = np.random.default_rng(number), [file.read_bytes() for file in files]
    sizes = np.cumsum([len(content) for content in contents])
    for place in rng.integers(sizes[-1], size=number):
        k = int(np.searchsorted(sizes, place, side="right"))
        within = int(place - (sizes[k - 1] if k else 0))
        changed = bytearray(contents[k])
        changed[within] ^= 1 << rng.integers(8)
        files[k].write_bytes(changed)
        yield files[k], within
        files[k].write_bytes(contents[k])


def is_refused(read, file):
    """Return whether reading ends in one sentence, or a warning, that names the file or its folder."""
    said = ""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.filterwarnings("error", message=".*is damaged")
            read()
    except (ValueError, OSError, UserWarning) as error:
        said = str(error)
        named = file.name in said or file.parent.name in said
        if not named or "\n" in said:
            pytest.fail(f"{file}: {said}")
    return said != ""


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("method", ["OGC", "AutoClassifier"])
def test_flipped_bits_of_models_are_noticed(problem, tmp_path, number, method):
    X, y, A = problem
    model = getattr(gssl, method)().fit(X, y, adjacency=A)
    file = tmp_path / "m.gssl"
    save(model, file, problem=True)
    refused = 0
    for _, within in flips([file], number):
        if is_refused(lambda: gssl.load(file), file):
            refused += 1
        else:
            # the padding of the header, which says nothing
            np.testing.assert_array_equal(gssl.load(file).transduction_, model.transduction_, f"{within}")
    assert refused > 0.95 * number


@pytest.mark.parametrize("number", NUMBERS)
def test_flipped_bits_of_graph_stores_are_noticed(tmp_path, number):
    rng = np.random.default_rng(1)
    rows = (f"a{u},b{v},{w:.3f},{kind}" for u, v, w, kind in zip(*_columns(rng, 200), strict=True))
    (tmp_path / "edges.csv").write_text("source,target,weight,kind\n" + "\n".join(rows) + "\n")
    store = build_graph_store(tmp_path / "edges.csv", tmp_path / "store", edge_type="kind")
    expected, ids = store.adjacency.toarray(), store.node_ids
    files = sorted(path for path in (tmp_path / "store").rglob("*") if path.is_file())

    def read():
        again = open_graph_store(tmp_path / "store")
        np.testing.assert_array_equal(again.adjacency.toarray(), expected)
        np.testing.assert_array_equal(again.node_ids, ids)

    for file, _ in flips(files, number):
        assert is_refused(read, file)
    read()


def _columns(rng, n):
    return rng.integers(40, size=n), rng.integers(40, size=n), rng.random(n) + 0.1, rng.choice(["x", "y"], n)


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("method", ["OGC", "GGCM"])
def test_flipped_bits_of_resume_folders_are_noticed(problem, tmp_path, number, method):
    X, y, A = problem
    folder, kept = tmp_path / "run", tmp_path / "kept"

    def fit():
        model = gssl.OGC(max_iter=3) if method == "OGC" else gssl.GGCM(depth=3)
        with gssl.execution(resume=folder):
            model.fit(X, y, adjacency=A)
        return model.label_distributions_ if method == "OGC" else model.embedding_

    expected = fit()
    shutil.copytree(folder, kept)
    files = [path for path in sorted(kept.rglob("*")) if path.is_file() and path.name != ".lock"]
    for file, within in flips(files, number):
        shutil.rmtree(folder)
        shutil.copytree(kept, folder)
        there = folder / file.relative_to(kept)
        if not is_refused(fit, there):
            np.testing.assert_array_equal(fit(), expected, f"{there.name}, byte {within}")


@pytest.mark.parametrize("number", NUMBERS)
def test_flipped_bits_of_journals_are_noticed(tmp_path, number):
    file = tmp_path / "labels.csv.journal"
    journal = Journal(file)
    for k in range(40):
        journal.append({"do": "label", "nodes": [f"n{k}"], "label": "spam", "n": k + 1})
    journal.close()
    for _, within in flips([file], number):
        if not is_refused(lambda: _actions(file), file):
            kept = _actions(file)
            # the flipped line is left out, and no other
            assert all(nodes in [[f"n{k}"] for k in range(40)] for nodes in kept), within
            assert len(kept) >= 38


def _actions(file):
    journal = Journal(file)
    journal.close()
    return [action["nodes"] for action in journal.actions]


def test_columns_that_were_changed_are_computed_again_and_counted(problem, tmp_path):
    X, _, A = problem
    with gssl.execution(resume=tmp_path / "run"):
        expected = gssl.SGC().fit_transform(X, adjacency=A)
    (file,) = (tmp_path / "run").rglob("embedding.npy")
    content = bytearray(file.read_bytes())
    content[-3] ^= 16
    file.write_bytes(content)
    with (
        gssl.execution(resume=tmp_path / "run"),
        pytest.warns(UserWarning, match="1 of 6 finished columns have been changed and are computed again"),
    ):
        again = gssl.SGC().fit_transform(X, adjacency=A)
    np.testing.assert_array_equal(again, expected)


def test_files_from_before_there_were_checksums_are_read(problem, tmp_path):
    X, y, A = problem
    model, file = gssl.OGC(random_state=0).fit(X, y, adjacency=A), tmp_path / "m.gssl"
    save(model, file)
    strip_model(file)
    np.testing.assert_array_equal(gssl.load(file).transduction_, model.transduction_)

    (tmp_path / "edges.csv").write_text("source,target\na,b\nb,c\n")
    store = build_graph_store(tmp_path / "edges.csv", tmp_path / "store")
    manifest = tmp_path / "store" / "manifest.json"
    rewrite_json(manifest)
    np.testing.assert_array_equal(open_graph_store(tmp_path / "store").node_ids, store.node_ids)

    with gssl.execution(resume=tmp_path / "run"):
        expected = gssl.SGC().fit_transform(X, adjacency=A)
        (finished,) = (tmp_path / "run").rglob("finished.npy")
        np.save(finished, np.load(finished) > 0)
        np.testing.assert_array_equal(gssl.SGC().fit_transform(X, adjacency=A), expected)
