"""How artefacts of the paper are shown: misses in plain sight, names escaped, files whole."""

import io

import pytest
from reproduction.page import reproduction_page, write_result
from reproduction.tables import claim_texts, paper_markdown, paper_tables
from rich.console import Console

from reproduction import ARTEFACTS, Artefact, Cell, Claim, Entry, Store, summarize

KNOWN = Cell("classifier", "karate", {"method": "OGC"})
OTHER = Cell("classifier", "cora", {"method": "OGC"}, random=False)


@pytest.fixture
def result(tmp_path):
    """Four judged numbers of seeds 0 and 1: a hit, a miss, one above, one not run; and two unjudged ones."""
    store = Store(tmp_path / "records.jsonl")
    for seed, accuracy in enumerate((79.0, 80.0)):
        store.add(KNOWN, seed, {"accuracy": accuracy, "mse": 0.0123}, seconds=1.0)
    entries = (
        Entry("hit", "x", "<Cora>", 80.5, KNOWN, tolerance=1.0),
        Entry("miss", "x", "<Cora>", 80.6, KNOWN, tolerance=1.0),
        Entry("above", "x", "<Cora>", 78.4, KNOWN, tolerance=1.0),
        Entry("not above", "x", "<Cora>", 78.4, KNOWN, tolerance=1.0, both_ways=True),
        Entry("later", "x", "<Cora>", 80.0, OTHER, tolerance=1.0),
        Entry("GCN", "x", "<Cora>", 81.5),
        Entry("error", "x", "<Cora>", 0.012, KNOWN, value="mse", digits=-1),
    )
    claims = (
        Claim("It is so", lambda means: means["<Cora>", "hit", "x"] == 79.5),
        Claim("It is not so", lambda means: means["<Cora>", "hit", "x"] > 80),
        Claim("Who knows", lambda means: means["<Cora>", "later", "x"] > 80),
    )
    return summarize(Artefact("tiny", "Table 0", "a <b>", entries, claims=claims, x_title="k"), store)


def test_means_differences_and_verdicts(result):
    verdicts = {line.entry.row: (line.ours, line.difference, line.verdict) for line in result.lines}
    assert verdicts == {
        "hit": (79.5, -1.0, "hit"),
        "miss": (79.5, -1.1, "miss"),
        "above": (79.5, 1.1, "above"),
        "not above": (79.5, 1.1, "miss"),
        "later": (None, None, "not run"),
        "GCN": (None, None, "published only"),
        "error": (0.0123, None, "unjudged"),
    }
    assert result.lines[0].n_seeds == 2
    assert result.lines[0].spread == 0.5
    assert result.seconds == 2.0


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
        "It is so — holds.",
        "It is not so — does not hold ✗.",
        "Who knows — not measured.",
    ]


def test_the_page_lists_every_miss_and_how_to_repeat_it(result):
    page = reproduction_page([result])
    assert "| Table 0: a <b> | 4 | 1 | 1 | 2 | 1 | `python -m reproduction run tiny --seeds 2` |" in page
    assert "- `tiny`: miss, <Cora>, x: 79.5 against 80.6 published (−1.1, 2 seeds)." in page
    assert "- `tiny`: not above, <Cora>, x: 79.5 against 78.4 published (+1.1, 2 seeds)." in page
    assert "`python -m reproduction run tiny --seeds 2` · seeds 0–1 · accuracy % · tolerance ±1.0\n" in page
    assert "margin comes from there." in page


@pytest.mark.parametrize(
    ("runs", "fixed", "text", "option"),
    [
        ((3, 3), 0, "seeds 0–2", "--seeds 3"),
        ((3, 3), 1, "seeds 0–2, one run where nothing is random", "--seeds 3"),
        # a random method that has one seed yet is not one where nothing is random
        ((1, 4), 0, "1–4 seeds", "--seeds 4"),
        ((2, 10), 1, "2–10 seeds, one run where nothing is random", "--seeds 10"),
        ((1, 1), 0, "seed 0", "--seeds 1"),
        ((0, 0), 1, "one run, for nothing is random", ""),
        ((0, 0), 0, "not run yet", ""),
    ],
)
def test_seeds_are_those_of_random_cells(tmp_path, runs, fixed, text, option):
    store = Store(tmp_path / "records.jsonl")
    cells = [Cell("classifier", "karate", {"method": "OGC", "n": n}) for n in range(2)]
    for cell, n_seeds in zip(cells, runs, strict=True):
        for seed in range(n_seeds):
            store.add(cell, seed, {"accuracy": 1.0}, seconds=1.0)
    for seed in range(fixed):
        store.add(OTHER, seed, {"accuracy": 1.0}, seconds=1.0)
    entries = tuple(Entry(str(n), "x", cell=cell) for n, cell in enumerate([*cells, OTHER]))
    section = reproduction_page([summarize(Artefact("tiny", "Table 0", "t", entries), store)])
    command = f"python -m reproduction run tiny {option}".strip()
    assert f"`{command}` · {text} · accuracy % · nothing is judged" in section


def test_a_value_that_a_run_did_not_tell_is_not_run(tmp_path):
    store = Store(tmp_path / "records.jsonl")
    store.add(KNOWN, 0, {"accuracy": 79.0}, seconds=1.0)
    store.add(OTHER, 0, {"accuracy": 70.0}, seconds=1.0)
    entries = (
        Entry("told", "x", cell=KNOWN),
        Entry("untold", "x", cell=KNOWN, value="node 7"),
        Entry("change", "x", cell=KNOWN, minus=OTHER),
        Entry("untold change", "x", cell=KNOWN, minus=OTHER, value="node 7"),
    )
    lines = summarize(Artefact("tiny", "", "", entries), store).lines
    assert [(line.ours, line.verdict) for line in lines] == [
        (79.0, "unjudged"),
        (None, "not run"),
        (9.0, "unjudged"),
        (None, "not run"),
    ]


def test_the_page_tells_the_budget_in_measured_numbers(tmp_path):
    store = Store(tmp_path / "records.jsonl")
    for entry in ARTEFACTS["table1"].entries:
        if entry.row in ("OGC", "OGC, train only"):
            store.add(entry.cell, 0, {"accuracy": 80.0 if entry.row == "OGC" else 70.0}, seconds=1.0)
    page = reproduction_page([summarize(ARTEFACTS["table1"], store)])
    told = (
        "OGC has 70.0 / 70.0 / 70.0 on Cora / Citeseer / Pubmed, and 80.0 / 80.0 / 80.0 with the validation"
    )
    assert told in page


def test_files_are_written_and_names_escaped(result, tmp_path):
    pytest.importorskip("altair")
    names = [file.name for file in write_result(tmp_path / "out", result)]
    assert names == ["tiny.md", "tiny.html", "tiny.svg", "tiny.png", "tiny-chart.html"]
    html = (tmp_path / "out" / "tiny.html").read_text(encoding="utf-8")
    assert "a &lt;b&gt;" in html
    assert "<Cora>" not in html
    assert html.count('class="miss"') == 2
    assert (tmp_path / "out" / "tiny.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "out" / "tiny.svg").read_text().startswith("<svg")


def test_numbers_of_a_chart_are_ours_and_the_published_ones(result):
    charts = pytest.importorskip("reproduction.charts")
    rows = charts.paper_chart(result)["datasets"]["rows"]
    hit = [(row["source"], row["value"]) for row in rows if row["method"] == "hit"]
    assert hit == [("ours", 79.5), ("published", 80.5)]
    assert not [row for row in rows if row["method"] == "GCN"]
