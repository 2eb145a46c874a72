"""Cells: their keys, and whether they can be run here."""

import sys

import pytest

from reproduction import ablation, network_cells, reddit  # noqa: F401 - they register what is asked for
from reproduction.runner import missing_jobs
from reproduction.spec import Artefact, Cell, Entry, build, find_measure, has_estimator, measure, method_names
from reproduction.summary import summarize

CELL = Cell("classifier", "karate", {"method": "OGC", "params": {"beta": 0.1}}, split="default")


WALKS = Cell("embedding", "karate", {"method": "DeepWalk", "depths": [0]})


@pytest.fixture
def no_gensim(monkeypatch):
    monkeypatch.setitem(sys.modules, "gensim", None)


def test_a_key_changes_with_every_setting():
    others = [
        Cell("embedding", "karate", CELL.settings, split="default"),
        Cell("classifier", "cora", CELL.settings, split="default"),
        Cell("classifier", "karate", {"method": "OGC", "params": {"beta": 0.2}}, split="default"),
        Cell("classifier", "karate", CELL.settings, "train+validation", split="default"),
        Cell("classifier", "karate", CELL.settings),
    ]
    keys = {CELL.key(0), CELL.key(1), *(cell.key(0) for cell in others)}
    assert len(keys) == 2 + len(others)


def test_rows_and_columns_choose_cells():
    cells = [Cell("classifier", "karate", {"method": "OGC", "n": n}) for n in range(3)]
    entries = (
        Entry("a", "2", "Cora", cell=cells[0]),
        Entry("a", "4", "Cora", cell=cells[1]),
        Entry("b", "4", "Pubmed", cell=cells[2]),
    )
    artefact = Artefact("tiny", "", "", entries)
    assert artefact.cells(rows=["a"]) == cells[:2]
    assert artefact.cells(columns=["4"]) == cells[1:]
    assert artefact.cells(rows=["a", "b"], columns=["Cora"]) == cells[:2]
    assert artefact.cells(rows=["b"], columns=["2"]) == []


def test_a_measure_has_one_name():
    with pytest.raises(ValueError, match="there is a measure 'classifier' already"):
        measure("classifier")(lambda cell, seed: {})
    with pytest.raises(ValueError, match="there is no measure 'beauty'"):
        find_measure("beauty")


def test_every_estimator_in_settings_gets_the_seed():
    inner = {"method": "GGC", "params": {"negatives": 2}}
    settings = {"method": "EmbeddingClassifier", "params": {"embedder": inner, "head": "adam"}}
    model = build(settings, seed=3)
    assert model.random_state == model.embedder.random_state == 3
    assert (model.head, model.embedder.negatives) == ("adam", 2)
    assert list(method_names(settings)) == ["EmbeddingClassifier", "GGC"]


def test_parts_of_methods_are_found_by_name():
    assert has_estimator("SharpGGC")
    assert has_estimator("OGC")
    assert not has_estimator("DeepMagic")


def test_a_cell_without_its_file_is_not_run():
    assert not Cell("classifier", "karate", {"method": "OGC"}, needs="nowhere/at_all.npz").available


def test_settings_in_another_order_are_the_same_settings():
    one = Cell("classifier", "karate", {"method": "OGC", "params": {"beta": 0.1, "decay": 0.9}})
    other = Cell("classifier", "karate", {"params": {"decay": 0.9, "beta": 0.1}, "method": "OGC"})
    assert one.key(0) == other.key(0)


@pytest.mark.usefixtures("no_gensim")
def test_a_method_whose_package_is_missing_is_not_run(store):
    entry = Entry("DeepWalk", "karate", published=67.2, cell=WALKS, tolerance=1.0)
    artefact = Artefact("tiny", "", "", (entry,))
    assert not WALKS.available
    assert not Cell("classifier", "karate", {"method": "Node2Vec"}).available
    assert Cell("classifier", "karate", {"method": "OGC"}).available
    assert missing_jobs([artefact], store, seeds=2) == []
    assert summarize(artefact, store).lines[0].verdict == "published only"
    # a stored result from an environment with the package still counts
    store.add(WALKS, 0, {"accuracy": 67.0}, seconds=1.0)
    assert summarize(artefact, store).lines[0].verdict == "hit"
