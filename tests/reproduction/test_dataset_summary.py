"""Table 4: sizes of the datasets."""

import pytest

from reproduction.dataset_summary import DATASETS, count_parts
from reproduction.spec import Cell


def test_the_karate_club_is_counted(split_karate, monkeypatch):
    monkeypatch.setattr("reproduction.dataset_summary.load_graph", lambda name: split_karate)
    counted = count_parts(Cell("dataset", "karate", {}), 0)
    assert counted == {
        "nodes": 34,
        "edges": 78,
        "features": 34,
        "classes": 2,
        "train": 4,
        "validation": 4,
        "test": 26,
    }


def test_citation_graphs_have_the_published_sizes(citation):
    cell = next(entry.cell for entry in DATASETS.entries if entry.cell.dataset == citation.name)
    counted = count_parts(cell, 0)
    published = {e.column: e.published for e in DATASETS.entries if e.cell is cell}
    edges = published.pop("edges")
    assert {name: counted[name] for name in published} == published
    # repeated links of the raw files, and self-loops, are not counted
    assert counted["edges"] == pytest.approx(edges, rel=0.04)
    assert counted["edges"] < edges
