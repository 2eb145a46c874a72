"""Output files list differences and commands, escape names, and are written atomically."""

import pytest

from reproduction.catalogue import ARTEFACTS
from reproduction.page import reproduction_page, write_result
from reproduction.spec import Artefact, Cell, Entry
from reproduction.store import Store
from reproduction.summary import summarize

OTHER = Cell("classifier", "cora", {"method": "OGC"}, random=False)


def test_the_page_lists_what_differs_and_how_to_repeat_it(result):
    page = reproduction_page([result])
    # published, run, within tolerance, above, below, not judged, not run (one of them not implemented)
    counts = "7 | 5 | 1 | 2 | 1 | 1 | 2"
    assert f"| Table 0: a <b> | {counts} | `python -m reproduction run tiny --seeds 2` |" in page
    assert f"| **all** | {counts} | |" in page
    assert "- 1 × not run yet: later (`tiny`) 1.\n- 1 × not implemented: GCN (`tiny`) 1.\n" in page
    assert "earlier code" not in page
    below, above = page.split("1 below, unexplained, as ours (published):\n\n")[1].split("\n\n2 above, ")
    assert below == "- `tiny`, miss: <Cora> x 79.5 (80.6)."
    assert "- `tiny`, not above: <Cora> x 79.5 (78.4).\n" in above
    assert "`python -m reproduction run tiny --seeds 2` · seeds 0–1 · accuracy % · tolerance ±1.0\n" in page
    assert "margin comes from these extra\nlabels." in page


@pytest.mark.parametrize(
    ("runs", "fixed", "text", "option"),
    [
        ((3, 3), 0, "seeds 0–2", "--seeds 3"),
        ((3, 3), 1, "seeds 0–2, deterministic methods once", "--seeds 3"),
        # a random method with one seed so far is not deterministic
        ((1, 4), 0, "1–4 seeds", "--seeds 4"),
        ((2, 10), 1, "2–10 seeds, deterministic methods once", "--seeds 10"),
        ((1, 1), 0, "seed 0", "--seeds 1"),
        ((0, 0), 1, "one run, no seeds", ""),
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
    assert f"`{command}` · {text} · accuracy % · no tolerance" in section


def test_the_page_tells_the_budget_in_measured_numbers(tmp_path):
    store = Store(tmp_path / "records.jsonl")
    for entry in ARTEFACTS["table1"].entries:
        if entry.row in ("OGC", "OGC, train only"):
            store.add(entry.cell, 0, {"accuracy": 80.0 if entry.row == "OGC" else 70.0}, seconds=1.0)
    page = reproduction_page([summarize(ARTEFACTS["table1"], store)])
    sentence = "OGC reaches 70.0 / 70.0 / 70.0 with training labels alone and 80.0 / 80.0 / 80.0 with both"
    assert sentence in page


def test_the_page_tells_which_run_explains_a_difference(tmp_path):
    store = Store(tmp_path / "records.jsonl")
    for entry in ARTEFACTS["table1"].entries:
        if entry.row in ("LP", "LP, train only") and entry.column == "Cora":
            store.add(entry.cell, 0, {"accuracy": 82.6 if entry.row == "LP" else 71.7}, seconds=1.0)
    page = reproduction_page([summarize(ARTEFACTS["table1"], store)])
    how = "1 above, at least partly explained by another run, as ours (published; other run):"
    assert f"{how}\n\n- `table1`, LP: " in page
    assert "with training labels alone: Cora 82.6 (71.5; 71.7).\n" in page


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


def test_the_page_says_in_short_what_its_tables_show(tmp_path):
    store = Store(tmp_path / "records.jsonl")
    rows = {"OGC": (86.0, 87.0, 88.0), "GGCM + ridge": (85.0, 86.1, 87.0)}
    for entry in ARTEFACTS["splits"].entries:
        for seed, value in enumerate(rows.get(entry.row, ()) if entry.column == "Cora" else ()):
            store.add(entry.cell, seed, {"accuracy": value}, seconds=1.0)
    page = reproduction_page([summarize(ARTEFACTS["splits"], store)])
    sentence = "on the same labels (`splits`): Cora +1.0 (paired t-test over 3 seeds, p = "
    assert f"OGC minus GGCM with a ridge head, {sentence}" in page
    counts = "1 hold, 0 do not hold, 0 are not decided, and 29 are not measured"
    assert f"- Of 30 claims, {counts}" in page
    assert "OGC minus OGC" not in page
