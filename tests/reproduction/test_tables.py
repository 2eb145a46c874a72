"""Artefacts as text, with misses marked."""

import io

import pytest
from rich.console import Console

from reproduction.spec import Artefact, Cell, Entry
from reproduction.summary import summarize
from reproduction.tables import claim_texts, paper_markdown, paper_tables


def test_markdown_marks_misses(result):
    text = paper_markdown(result)
    assert "| miss | train | **79.5 ± 0.5 (80.6, −1.1) ✗** |" in text
    assert "| hit | train | 79.5 ± 0.5 (80.5, −1.0) |" in text
    assert "| above | train | 79.5 ± 0.5 (78.4, +1.1) ↑ |" in text
    assert "| later | train | not run (80.0) |" in text
    assert "| GCN |  | [81.5] |" in text
    assert "1.2e-02 ± 0.0e+00 (1.2e-02)" in text


def test_a_terminal_marks_misses(result):
    console = Console(width=120, record=True, file=io.StringIO())
    for table in paper_tables(result):
        console.print(table)
    text = console.export_text()
    assert "79.5 (80.6) ✗" in text
    assert "[81.5]" in text
    assert text.count("✗") == 2


def test_claims(result):
    assert claim_texts(result) == [
        "It is so — holds: judged by the means; true for 0 of 2 seeds.",
        "It is not so — does not hold ✗: judged by the means; true for 0 of 2 seeds.",
        "Who knows — not measured.",
    ]


def test_labels_are_a_column_only_if_a_row_names_them(store):
    pytest.importorskip("jinja2", reason="the extra 'report' is not installed")
    from reproduction.figures import render_result

    cell = Cell("classifier", "karate", {"method": "OGC"})
    store.add(cell, 0, {"accuracy": 79.0}, seconds=1.0)
    for budget, shown in (("", False), (None, True)):
        named = {} if budget is None else {"budget": budget}
        result = summarize(Artefact("tiny", "", "", (Entry("a", "x", cell=cell, **named),)), store)
        assert ("| labels |" in paper_markdown(result)) == shown
        assert (b"<th>labels</th>" in render_result(result)) == shown


def test_a_chart_has_our_numbers_and_the_published_ones(result):
    charts = pytest.importorskip("reproduction.figures")
    chart = charts.paper_chart(result)
    rows = chart["datasets"]["rows"]
    assert chart["title"] == "Table 0: a <b> (dashed: published)"
    hit = [(row["source"], row["value"]) for row in rows if row["method"] == "hit"]
    assert hit == [("ours", 79.5), ("published", 80.5)]
    assert not [row for row in rows if row["method"] == "GCN"]
