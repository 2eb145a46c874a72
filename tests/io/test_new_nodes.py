"""New tables are joined to the nodes that a model knows, as if the tables of fit had held them."""

import numpy as np
import pytest

import gssl
from gssl.frames import make_frame
from gssl.io import predict_new
from gssl.scale.progress import observing

IDS = [f"n{k}" for k in range(30)]
TRUTH = [f"c{k % 3}" for k in range(30)]
EDGES = [(k, (k + step) % 30) for k in range(30) for step in (3, 6)]
NEW = [f"new {k}" for k in range(4)]
# each new node is linked to three nodes of the class of its number
NEW_EDGES = [(NEW[k], IDS[k + 3 * step]) for k in range(4) for step in range(1, 4)]


class Notes(list):
    """Collect the notes of a call."""

    def step(self, title):
        raise AssertionError(f"{title} is no step of a prediction")

    def note(self, *texts):
        self.extend(texts)


def features():
    X = np.random.default_rng(0).random((30, 3)) / 4
    X[np.arange(30), np.arange(30) % 3] += 0.5
    return X


def tables(edges, ids, X):
    source, target = zip(*edges, strict=True)
    links = make_frame({"src": list(source), "dst": list(target)}, "pandas")
    if X is None:
        return {"edges": links}
    columns = {"id": list(ids)} | {name: X[:, j].tolist() for j, name in enumerate("abc")}
    return {"edges": links, "features": make_frame(columns, "pandas")}


@pytest.fixture
def known():
    edges = [(IDS[i], IDS[j]) for i, j in EDGES]
    labels = make_frame({"id": IDS[:9], "label": TRUTH[:9]}, "pandas")
    return gssl.read(**tables(edges, IDS, features()), labels=labels)


def read_new(known, edges, ids, X, **options):
    return gssl.read(**tables(edges, ids, X), preparation=known.preparation, known=known, **options)


def predicted(*arguments, **options):
    notes = Notes()
    with observing(notes):
        return predict_new(*arguments, **options), notes


@pytest.mark.parametrize("method", ["auto", "ogc", "sgc", "labelpropagation", "correctandsmooth"])
def test_new_nodes_get_labels_and_known_ones_keep_theirs(known, method):
    model = gssl.selection.classifier(method).fit(known)
    few, notes = predicted(model, read_new(known, NEW_EDGES, NEW, features()[:4]), known)
    rows = {row.id: row for row in few}
    n = len(rows)
    assert notes == [f"{n - 4} of {n} nodes known to the model: they keep its features and labels"]
    assert [rows[node].label for node in NEW] == TRUTH[:4]
    assert {node for node, row in rows.items() if row.given} == set(rows) & set(IDS[:9])
    assert all(rows[node].label == TRUTH[IDS.index(node)] for node in rows if node in IDS)
    # the same tables with all old nodes in them say the same
    edges = [*NEW_EDGES, *((IDS[i], IDS[j]) for i, j in EDGES)]
    X = np.vstack([features()[:4], features()])
    whole, _ = predicted(model, read_new(known, edges, [*NEW, *IDS], X), known)
    same = {row.id: row for row in whole}
    assert len(same) == 34
    for node, row in rows.items():
        assert (row.label, row.given) == (same[node].label, same[node].given)
        assert row.confidence == pytest.approx(same[node].confidence, abs=1e-5)


def test_a_model_predicts_a_problem_that_was_extended(known):
    model = gssl.selection.classifier("sgc").fit(known)
    new = read_new(known, NEW_EDGES, NEW, features()[:4])
    joined, nodes = gssl.io.extend(known, new)
    wanted = predict_new(model, new, known)
    table = model.predictions(joined).iloc[nodes]
    assert table["label"].tolist() == wanted.label.tolist()
    assert table["given"].tolist() == wanted.given.tolist()
    assert table["given"].any()
    # neighbours are found once all nodes are joined
    new = read_new(known, NEW_EDGES[:1], NEW, features()[:4], knn=3)
    assert predict_new(model, new, known, knn=3).part(np.arange(4)).label.tolist() == TRUTH[:4]
    # without the problem of fit, rows without features are noted; a method without features needs none
    _, notes = predicted(model, read_new(known, NEW_EDGES, NEW[:1], features()[:1]))
    assert "give the whole graph" in notes[0]
    new = read_new(known, [("new", IDS[3 * k]) for k in range(1, 4)], (), None)
    assert predict_new(gssl.LabelPropagation().fit(known), new, known)[0].label == TRUTH[3]


def test_ids_of_another_graph_are_not_taken_for_known_nodes(known):
    model = gssl.selection.classifier("sgc").fit(known)
    new = read_new(known, [(IDS[i], IDS[j]) for i, j in EDGES], IDS, features()[::-1])
    predictions, notes = predicted(model, new, known, names=("m.gssl", "f2.csv"))
    assert notes[0].startswith("30 nodes of m.gssl have other features in f2.csv: ids are taken to be those")
    assert not predictions.given.any()


def test_rows_that_differ_are_not_used_and_refused_if_strict(known):
    model = gssl.selection.classifier("sgc").fit(known)
    X = features()
    X[4] += 1.0
    new = read_new(known, NEW_EDGES, IDS, X)
    _, notes = predicted(model, new, known)
    assert (
        notes[-1] == "not used, because the model knows other features of these nodes: 1 row of the features"
    )
    with pytest.raises(ValueError, match="1 row of the features and of the model differ though their ids"):
        predict_new(model, new, known, strict=True)


@pytest.mark.parametrize("method", ["labelpropagation", "correctandsmooth"])
def test_a_model_of_nodes_refuses_other_nodes(known, method):
    model = gssl.selection.classifier(method).fit(known)
    other = read_new(known, [("x", "y")], ["x", "y"], features()[:2])
    for problem in (known, None):
        with pytest.raises(ValueError, match="whose labels belong to the nodes it was fitted to"):
            predict_new(model, other, problem)


@pytest.mark.parametrize("first_item", [11, 21], ids=["some ids in common", "none in common"])
@pytest.mark.parametrize("columns", [("user_id", "item_id"), ("itemId", "userId")])
def test_a_new_user_is_not_taken_for_the_item_with_the_same_id(first_item, columns):
    """Ratings of 20 users are by parity of both ids."""
    items = range(first_item, first_item + 20)
    pairs = [(str(u), str(i)) for u in range(1, 21) for i in items if u % 2 == i % 2 and (u * i) % 3]
    ratings = make_frame(dict(zip(("user_id", "item_id"), zip(*pairs, strict=True), strict=True)), "pandas")
    labels = {"user_id": [str(u) for u in range(1, 9)], "label": ["odd", "even"] * 4}
    known = gssl.read(ratings, labels=make_frame(labels, "pandas"))
    model = gssl.LabelPropagation().fit(known)
    # user 28 is new and rates odd items; 28 is an even item; user 13 is known, and 13 may be an item too
    users, rated = ["28", "28", "13"], ["23", "25", "29"]
    sides = (users, rated) if columns[0] == "user_id" else (rated, users)
    new = gssl.read(make_frame(dict(zip(columns, sides, strict=True)), "pandas"), known=known)
    predictions = predict_new(model, new, known)
    user = "user_id:13" if first_item == 11 else "13"
    assert set(predictions.id) == {"user_id:28", user, "23", "25", "29"}
    assert set(predictions.label) == {"odd"}
    assert any("named as in the model, which has nodes of two kinds: 'user_id:" in note for note in new.notes)
