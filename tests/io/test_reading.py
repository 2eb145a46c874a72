"""gssl.read: every source gives the problem, the notes and the predictions of the command line."""

import csv
import sqlite3
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.sparse import csr_array

import gssl
import gssl.frames
from gssl.cli.app import app

KINDS = ["csv", "parquet", "query", "database", "pandas", "polars"]
WORDS = ["red wine from the south", "old cheese of sheep milk", "fresh bread with salt"]


@pytest.fixture
def tables(tmp_path):
    """Columns of links, features (some of them missing) and labels of 60 nodes in three groups."""
    rng = np.random.default_rng(0)
    ids = [f"n{k:02}" for k in range(60)]
    ends = [(i, (i + 3 * int(step)) % 60) for i in range(60) for step in rng.integers(1, 5, size=3)]
    ages = [None if k % 11 == 0 else float(20 + 10 * (k % 3) + rng.normal()) for k in range(60)]
    towns = [["Ulm", "Bern", "Graz"][(k + (k % 7 == 0)) % 3] for k in range(60)]
    texts = [f"{WORDS[k % 3]} number {k} for table {k % 5}" for k in range(60)]
    return {
        "edges": {"src": [ids[i] for i, _ in ends], "dst": [ids[j] for _, j in ends]},
        "features": {"id": ids, "age": ages, "town": towns},
        "texts": {"id": ids, "age": ages, "words": texts},
        "labels": {"id": ids[:18], "label": [f"c{k % 3}" for k in range(18)]},
    }


def write_csv(path, columns):
    with path.open("w", newline="", encoding="utf-8") as opened:
        writer = csv.writer(opened)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
    return str(path)


@pytest.fixture
def files(tables, tmp_path):
    """Return the tables as CSV files, by role."""
    roles = ("edges", "features", "labels")
    return {role: write_csv(tmp_path / f"{role}.csv", tables[role]) for role in roles}


def stored(kind, folder, name, columns):
    """Return a table as a source of a kind, and as a source that the command line takes."""
    file = write_csv(folder / f"{name}.csv", columns)
    if kind == "csv":
        return file, file
    if kind == "query":
        query = f"SELECT * FROM read_csv('{file}')"
        return query, query
    if kind == "database":
        with sqlite3.connect(folder / "all.sqlite") as base:
            base.execute(f"CREATE TABLE {name} ({', '.join(columns)})")
            marks = ", ".join("?" * len(columns))
            base.executemany(
                f"INSERT INTO {name} VALUES ({marks})", list(zip(*columns.values(), strict=True))
            )
        source = f"{folder / 'all.sqlite'}::{name}"
        return source, source
    module = pytest.importorskip("pandas" if kind == "pandas" else "polars")
    frame = module.DataFrame(columns)
    path = str(folder / f"{name}.parquet")
    if kind == "pandas":
        frame.to_parquet(path)
    else:
        frame.write_parquet(path)
    return (path if kind == "parquet" else frame), path


@pytest.mark.parametrize("features", ["features", "texts"])
@pytest.mark.parametrize("kind", KINDS)
def test_python_and_the_command_line_read_and_predict_the_same(tables, tmp_path, monkeypatch, kind, features):
    monkeypatch.chdir(tmp_path)
    names = {"edges": "edges", "features": features, "labels": "labels"}
    sources = {role: stored(kind, tmp_path, name, tables[name]) for role, name in names.items()}
    problem = gssl.read(**{role: source for role, (source, _) in sources.items()})
    assert problem.given.sum() == 18
    assert "age=missing" in problem.feature_names
    assert any(
        name.startswith("words:" if features == "texts" else "town=") for name in problem.feature_names
    )
    model = gssl.AutoClassifier().fit(problem)
    table = model.predictions(problem)
    assert type(table).__module__.partition(".")[0] == (kind if kind in ("pandas", "polars") else "pandas")

    arguments = [part for role, (_, source) in sources.items() for part in (f"--{role}", source)]
    done = CliRunner().invoke(app, ["classify", *arguments, "--out", "p.csv", "--method", "auto"])
    assert done.exit_code == 0, done.output
    for text in problem.notes:
        assert text.partition(": ")[2] in " ".join(done.stderr.split()), text
    with Path("p.csv").open(encoding="utf-8") as opened:
        rows = {row["id"]: row for row in csv.DictReader(opened)}
    labels = dict(zip(list(table["id"]), list(table["label"]), strict=True))
    assert {node: row["label"] for node, row in rows.items()} == labels


def test_a_matrix_has_features_and_labels_by_position():
    rng = np.random.default_rng(0)
    A = np.triu(rng.random((20, 20)) < 0.2, k=1)
    X = np.column_stack([rng.normal(50.0, 10.0, 20), rng.normal(0.0, 1e-3, 20)])
    y = [k % 2 if k < 8 else -1 for k in range(20)]
    problem = gssl.read(csr_array((A | A.T).astype(float)), features=X, labels=y)
    np.testing.assert_allclose(problem.features.std(axis=0), 1.0, atol=1e-6)
    assert problem.preparation is not None
    assert problem.given.sum() == 8
    assert len(gssl.EmbeddingClassifier().fit(problem).transduction_) == 20


def test_a_problem_is_given_alone(files):
    problem = gssl.read(**files)
    with pytest.raises(ValueError, match=r"a problem has its own labels and graph: call fit\(problem\)"):
        gssl.LabelSpreading().fit(problem, problem.y)
    with pytest.raises(ValueError, match=r"LabelSpreading requires y to be passed"):
        gssl.LabelSpreading().fit(problem.features, adjacency=problem.adjacency)
    model = gssl.EmbeddingClassifier(gssl.SGC()).fit(problem)
    np.testing.assert_array_equal(model.predict(problem), model.transduction_)
    U = gssl.SGC().fit(problem)
    np.testing.assert_allclose(U.transform(problem), U.embedding_, atol=1e-6)
    new = gssl.read(files["edges"], features=files["features"], preparation=problem.preparation)
    assert new.feature_names == problem.feature_names
    table = model.predictions(new)
    assert table["label"].tolist() == model.transduction_.tolist()
    assert not any(table["given"])


def test_ids_may_be_in_the_index():
    pd = pytest.importorskip("pandas")
    links = pd.DataFrame({"src": ["p", "q", "r"], "dst": ["q", "r", "s"]})
    people = pd.DataFrame({"age": [1.0, 2.0, None, 4.0]}, index=["p", "q", "r", "s"])
    known = pd.Series({"p": "x", "s": "y"}, name="label")
    problem = gssl.read(links, features=people, labels=known)
    assert problem.node_ids.tolist() == ["p", "q", "r", "s"]
    assert problem.y.tolist() == ["x", None, None, "y"]
    assert problem.feature_names == ("age", "age=missing")
    named = gssl.read(links, features=people.rename_axis("person"), labels=known.rename_axis("person"))
    assert named.y.tolist() == problem.y.tolist()
    # an index of numbers without a name is only a count of rows
    counted = gssl.read(links, features=people.reset_index(names="id").iloc[::-1], labels=known)
    assert sorted(counted.node_ids) == ["p", "q", "r", "s"]


def test_labels_of_nodes_are_not_given_to_other_nodes(files, tables, tmp_path):
    problem = gssl.read(files["edges"], labels=files["labels"])
    backwards = {name: column[::-1] for name, column in tables["edges"].items()}
    other = gssl.read(write_csv(tmp_path / "backwards.csv", backwards))
    model = gssl.LabelSpreading().fit(problem)
    with pytest.raises(
        ValueError, match=r"uses the labels of the nodes it was fitted to: give the problem of"
    ):
        model.predictions(other)
    with pytest.raises(ValueError, match=r"the problem is not that of the model's fit"):
        gssl.write_report(model, other, tmp_path / "page.html")
    grown, _ = gssl.io.extend(problem, gssl.read("SELECT 'n00' AS a, 'x' AS b"))
    assert len(model.predictions(grown)) == 61
    with pytest.raises(TypeError, match=r"expected a problem of gssl\.read, got str\."):
        model.predictions("f.csv")


def test_predictions_need_no_library_of_data_frames(files, monkeypatch):
    monkeypatch.setattr("gssl.io.problem.installed_backend", lambda: None)
    problem = gssl.read(files["edges"], labels=files["labels"])
    table = gssl.LabelSpreading().fit(problem).predictions(problem)
    assert len(table) == 60
    assert repr(table).splitlines()[0] == "Predictions of 60 nodes: id, label, confidence"
    assert len(repr(table).splitlines()) == 6


def test_a_feature_that_dominates_the_others_is_noted():
    frame = {"id": list("abcd"), "x": [0.1, 0.2, 0.3, 0.5], "year": [1990, 1991, 1993, 1999]}
    features = gssl.frames.make_frame(frame, "pandas")
    edges = gssl.frames.make_frame({"src": list("abc"), "dst": list("bcd")}, "pandas")
    raw = gssl.read(edges, features=features, normalize="none")
    assert any(note.startswith("feature 'year' makes up ") for note in raw.notes)
    scaled = gssl.read(edges, features=features)
    assert not any("makes up" in note for note in scaled.notes)


def test_a_problem_is_named_after_its_graph(files, tables):
    assert gssl.read(files["edges"]).name == "edges.csv"
    assert gssl.read(features=files["features"], knn=2).name == "features.csv"
    assert gssl.read("SELECT 'a' AS src, 'b' AS dst").name == "a query"
    assert gssl.read(gssl.frames.make_frame(tables["edges"], "pandas")).name == ""


def test_a_graph_object_takes_features_and_labels_of_tables(tmp_path):
    nx, pd = pytest.importorskip("networkx"), pytest.importorskip("pandas")
    graph = nx.Graph([("ann", "bob"), ("bob", "cid"), ("cid", "dan")])
    graph.nodes["dan"]["label"] = "spy"
    people = pd.DataFrame({"id": ["dan", "cid", "bob", "ann"], "job": ["x", "y", "x", "y"]})
    problem = gssl.read(graph, features=people)
    assert problem.node_ids.tolist() == ["ann", "bob", "cid", "dan"]
    assert problem.feature_names == ("job=x", "job=y")
    assert problem.features[:, 0].tolist() == [0.0, 1.0, 0.0, 1.0]
    assert problem.y.tolist() == [None, None, None, "spy"]
    assert problem.adjacency.toarray()[0].tolist() == [0.0, 1.0, 0.0, 0.0]
    (tmp_path / "l.csv").write_text("id,label\nann,cook\ndan,spy\n")
    assert gssl.read(graph, labels=str(tmp_path / "l.csv")).y.tolist() == ["cook", None, None, "spy"]
    with pytest.raises(ValueError, match="features names 1 id that the graph does not have: 'eve'"):
        gssl.read(graph, features=pd.DataFrame({"id": ["eve", "ann"], "x": [1.0, 2.0]}), strict=True)
    bare = gssl.read(nx.empty_graph(["bob", "ann", "cid", "dan"]), features=people)
    assert (bare.node_ids.tolist(), bare.adjacency.nnz) == (["bob", "ann", "cid", "dan"], 0)


def test_a_problem_in_another_order_is_not_taken_for_that_of_fit(tmp_path):
    rng = np.random.default_rng(0)
    names = np.array([f"n{k}" for k in range(30)])
    links = {"src": rng.choice(names, 60), "dst": rng.choice(names, 60)}
    known = {"id": names[:8], "label": np.array(["a", "b"])[np.arange(8) % 2]}
    pd = pytest.importorskip("pandas")
    frames = pd.DataFrame(links), pd.DataFrame(known)
    problem = gssl.read(frames[0], labels=frames[1], nodes=pd.DataFrame({"id": names}))
    other = gssl.read(frames[0], labels=frames[1], nodes=pd.DataFrame({"id": names[::-1]}))
    model = gssl.LabelSpreading().fit(problem)
    for call in (
        lambda: gssl.suggest(model, 3, problem=other),
        lambda: gssl.audit(model, problem=other),
        lambda: gssl.why(model, "n9", problem=other),
        lambda: gssl.save(model, tmp_path / "m.gssl", problem=other),
    ):
        with pytest.raises(
            ValueError, match="its nodes in another order than fit had them: give that of fit"
        ):
            call()
    assert len(gssl.suggest(model, 3, problem=problem)) == 3


def test_frames_without_ids_or_with_several_levels_are_told():
    pd = pytest.importorskip("pandas")
    links = pd.DataFrame({"src": [0, 1], "dst": [1, 2]})
    for others in ({"who": ["a", "b", "c"]}, {"height": [1.0, 2.0, 3.0]}):
        problem = gssl.read(links, features=pd.DataFrame({"x": [0.5, 1.5, 2.5], **others}))
        assert "features: no column has ids, so the index of the frame is taken." in problem.notes
        assert problem.node_ids.tolist() == ["0", "1", "2"]
        assert problem.feature_names[0] == "x"
    levels = pd.DataFrame({"x": [1.0, 2.0]}, index=pd.MultiIndex.from_tuples([(0, "a"), (1, "b")]))
    with pytest.raises(ValueError, match=r"features: the frame has an index of 2 levels, .* reset_index\(\)"):
        gssl.read(links, features=levels)


def test_a_column_of_gaps_only_is_read(tmp_path):
    pd = pytest.importorskip("pandas")
    links = pd.DataFrame({"src": ["a", "b"], "dst": ["b", "c"]})
    people = pd.DataFrame({"id": ["a", "b", "c"], "hole": [None] * 3, "x": [1.0, 2.0, 4.0]})
    people.to_parquet(tmp_path / "f.parquet")
    for features in (people, str(tmp_path / "f.parquet")):
        problem = gssl.read(links, features=features)
        assert problem.feature_names[:2] == ("hole", "x")
        assert not problem.features[:, 0].any()


def tensors():
    return SimpleNamespace(
        edge_index=np.array([[0, 1, 2], [1, 2, 3]]),
        x=np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [2.0, 0.0]]),
    )


def test_a_graph_object_keeps_its_features_beside_a_table_of_labels():
    known = gssl.frames.make_frame({"id": ["0", "3"], "label": ["a", "b"]}, "pandas")
    alone, problem = gssl.read(tensors()), gssl.read(tensors(), labels=known)
    assert problem.y.tolist() == ["a", None, None, "b"]
    assert problem.feature_names == alone.feature_names
    np.testing.assert_allclose(problem.features, alone.features)
    assert problem.preparation is not None
    linked = gssl.read(tensors(), labels=known, knn=1)
    assert linked.adjacency.nnz > problem.adjacency.nnz


def test_a_matrix_takes_labels_by_position_beside_a_table(tmp_path):
    (tmp_path / "f.csv").write_text("id,x\n2,3.5\n1,2.5\n0,1.5\n")
    A = csr_array(np.eye(3, k=1))
    problem = gssl.read(A, features=str(tmp_path / "f.csv"), labels=["a", None, "b"], normalize="none")
    assert problem.y.tolist() == ["a", None, "b"]
    assert problem.features.ravel().tolist() == [1.5, 2.5, 3.5]
    (tmp_path / "n.csv").write_text("id\n2\n1\n0\n")
    assert gssl.read(A, nodes=tmp_path / "n.csv").node_ids.tolist() == ["2", "1", "0"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"graph": "store"}, r"^`graph` cannot be combined with `edges`: leave one out\.$"),
        ({"text": "story"}, r"^`text` needs a table of features: give `features`\.$"),
        ({"knn": 2}, r"^`knn` needs features: give `features`\.$"),
        ({"labels": ["a", "b", "a"]}, r"^labels beside a graph object must be a table with the ids of its"),
        ({"labels": "club"}, r"^labels beside a graph object must be a table .* leave out `labels`\.$"),
        ({"features": np.eye(3)}, r"^features beside a graph object must be a table .* out `features`\.$"),
    ],
    ids=str,
)
def test_what_a_graph_cannot_take_is_refused(arguments, message):
    nx = pytest.importorskip("networkx")
    graph = nx.Graph([("a", "b"), ("b", "c")])
    nx.set_node_attributes(graph, "x", "club")
    with pytest.raises(ValueError, match=message):
        gssl.read(graph, **arguments)
    if "knn" not in arguments and arguments.get("labels") != "club":
        with pytest.raises(ValueError, match=message):
            gssl.read(tensors(), **arguments)
    if not arguments.keys() & {"labels", "features", "text"}:
        with pytest.raises(ValueError, match=message):
            gssl.read("e.csv", **arguments)
    with pytest.raises(
        ValueError, match=r"there is no graph: give `edges`, or `knn` with `features` to build one\."
    ):
        gssl.read(features="f.csv")


def test_a_column_of_ids_comes_before_an_index_without_a_name():
    pd = pytest.importorskip("pandas")
    links = pd.DataFrame({"src": ["p", "q"], "dst": ["q", "r"]})
    for name in ("id", "Name", "node_id"):
        people = pd.DataFrame({"age": [1.5, 2.5, 3.5], name: ["p", "q", "r"]}, index=["u", "v", "w"])
        for frame in (people, people.reset_index(drop=True)):
            problem = gssl.read(links, features=frame)
            assert sorted(problem.node_ids) == ["p", "q", "r"], name
            assert problem.feature_names == ("age",)
    # the values of a series are no ids, whatever its name
    known = pd.Series({"p": "x", "r": "y"}, name="name")
    assert gssl.read(links, labels=known).y.tolist() == ["x", None, "y"]
