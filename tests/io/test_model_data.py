"""Graphs and kinds of nodes in saved models are what they were, and damaged ones are refused."""

import numpy as np
import pytest

import gssl
from gssl.graph import check_adjacency
from gssl.io import from_scipy, load, load_problem, predict_new, save
from gssl.io.edge_sides import NodeKinds
from gssl.io.model_data import pack_graph, pack_kinds, unpack_graph, unpack_kinds

NAMES = ["cites", ":", "ünï\ud800\n=::relations.0"]


def typed(seed=0, n=12):
    rng = np.random.default_rng(seed)
    matrices = {name: (rng.random((n, n)) < 0.3) * rng.integers(1, 3, (n, n)) for name in NAMES}
    matrices["cites"] = np.maximum(matrices["cites"], matrices["cites"].T)
    return check_adjacency({k: R * (1 - np.eye(n)) for k, R in matrices.items()}, directed=True)


def same(A, B):
    assert list(A.relations) == list(B.relations)
    assert (A != B).nnz == 0
    assert all((A.relations[name] != B.relations[name]).nnz == 0 for name in A.relations)
    return True


def test_relations_and_their_directions_are_packed():
    A = typed()
    assert same(A, unpack_graph(pack_graph(A), A.shape[0]))
    plain = check_adjacency([[0, 1], [1, 0]])
    assert set(pack_graph(plain)) == {"indptr", "indices", "weights"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda one: one.update(name=3), "names of their own"),
        (lambda one: one.update(name=NAMES[2]), "names of their own"),
        (lambda one: one.update(directed=1), "'directed'"),
        (lambda one: one.update(indptr=one["indptr"][:-1]), "row pointers"),
        (lambda one: one.update(indices=np.zeros_like(one["indices"])), "each once"),
        (lambda one: one.clear(), "'directed'"),
    ],
)
def test_damaged_relations_are_refused(change, message):
    parts = pack_graph(typed())
    change(parts["relations"][0])
    with pytest.raises(ValueError, match=message):
        unpack_graph(parts, 12)
    parts["relations"] = 3
    with pytest.raises(ValueError, match="not described"):
        unpack_graph(parts, 12)


def test_any_number_of_kinds_is_packed():
    ids = np.array(["a:1", "b:1", "c:1", "x"], dtype=object)
    kinds = NodeKinds.of(("a", "b", "c"), ids, np.array([0, 1, 2, -1]))
    packed = pack_kinds(kinds, ids)
    assert unpack_kinds(packed, ids).kinds == kinds.kinds
    with pytest.raises(ValueError, match="two columns or more"):
        unpack_kinds({**packed, "columns": ["a"]}, ids)
    with pytest.raises(ValueError, match="do not fit"):
        unpack_kinds({**packed, "columns": ["a", "b"]}, ids)


def test_a_saved_model_keeps_relations_and_new_ones_join_them(tmp_path, monkeypatch):
    monkeypatch.setattr(gssl.LabelPropagation, "tells_relations", True)
    y = np.array(["a", "b", *[None] * 10], dtype=object)
    problem = from_scipy(dict(typed().relations), y, directed=True)
    model = gssl.LabelPropagation().fit(problem)
    save(model, tmp_path / "m.gssl", problem=problem)
    known = load_problem(tmp_path / "m.gssl")
    assert same(known.adjacency, problem.adjacency)
    assert "relations=3" in repr(known)
    link = np.array([[0, 1], [0, 0]])
    new = from_scipy({"cites": link, "new": link}, node_ids=["3", "fresh"], directed=True)
    notes = []
    monkeypatch.setattr("gssl.io.new_nodes.note", notes.append)
    assert predict_new(load(tmp_path / "m.gssl"), new, known).to_dict()["id"] == ["3", "fresh"]
    assert notes[-1] == "relations that the model does not know: 'new'"
