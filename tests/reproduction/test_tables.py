"""Artefacts as text, with misses marked."""

import io

import pytest
from rich.console import Console

from reproduction.spec import Artefact, Cell, Entry
from reproduction.summary import Line, summarize
from reproduction.tables import claim_texts, line_text, number, paper_markdown, paper_tables


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


def test_numbers():
    assert [number(81.04, 1), number(0.0037, -1), number(-0.5, 1)] == ["81.0", "3.7e-03", "−0.5"]


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ((79.1, 0.2, 2, -7.8, "miss"), "79.1 ± 0.2 (86.9, −7.8) ✗"),
        ((88.1, 0.2, 1, 1.2, "above"), "88.1 (86.9, +1.2) ↑"),
        ((None, 0.0, 0, None, "published only"), "[86.9]"),
        ((None, 0.0, 0, None, "not run"), "not run (86.9)"),
    ],
)
def test_a_field_says_ours_published_and_difference(line, text):
    assert line_text(Line(Entry("OGC", "Cora", published=86.9, tolerance=1.0), *line), long=True) == text


def test_where_the_paper_has_nothing_a_field_is_empty():
    assert (
        line_text(None) == line_text(Line(Entry("OGC", "Cora"), None, 0.0, 0, None, "published only")) == ""
    )
    assert line_text(Line(Entry("OGC", "Cora"), None, 0.0, 0, None, "not run")) == "not run"


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
