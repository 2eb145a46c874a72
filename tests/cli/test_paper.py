"""``gssl paper`` from the command line, on an artefact small enough to wait for."""

import pytest

from gssl.paper import ARTEFACTS, Artefact, Cell, Entry, Store


@pytest.fixture
def tiny(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    cell = Cell("classifier", "karate", {"method": "LabelPropagation"}, split="default", random=False)
    entry = Entry("LP", "karate", published=50.0, cell=cell, tolerance=50.0)
    monkeypatch.setitem(ARTEFACTS, "tiny", Artefact("tiny", "Table 0", "Tiny", (entry,)))
    return cell


def test_list_names_every_artefact(run):
    lines = run("paper", "list").output.splitlines()
    assert [line.split()[0] for line in lines] == list(ARTEFACTS)


def test_run_shows_keeps_and_writes(run, tiny, tmp_path):
    first = run("paper", "run", "tiny", "--out", "r")
    assert "96.9 (50.0)" in first.output
    assert "runs to do: 1" in first.output
    assert Store(tmp_path / "r" / "records.jsonl").values(tiny, 0)["accuracy"] == pytest.approx(96.875)
    assert "96.9 (50.0, +46.9)" in (tmp_path / "r" / "tiny.md").read_text(encoding="utf-8")
    again = run("paper", "run", "tiny", "--out", "r", "--quick")
    assert "runs to do: 0" in again.output
    assert "96.9 (50.0)" in again.output


def test_the_page_comes_from_records(run, tiny, tmp_path):
    run("paper", "run", "tiny", "--out", "r")
    run("paper", "page", "--records", "r", "--out", "docs")
    page = (tmp_path / "docs" / "reproduction.md").read_text(encoding="utf-8")
    assert "| Table 0: Tiny | 1 | 1 | 0 | 0 | 0 | `gssl paper run tiny` |" in page


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("run", "tabel1"), "the paper has no 'tabel1' (did you mean 'table1'?): there are table1, depth"),
        (("run",), "Missing argument"),
        (("run", "table1", "--seeds", "0"), "Invalid value for '--seeds'"),
        (("page", "--records", "nothing"), "holds no results: run gssl paper all"),
    ],
)
def test_mistakes_get_one_sentence(run, tiny, arguments, told):
    result = run("paper", *arguments, ok=False)
    assert result.exit_code == 2
    assert told in result.output
    assert len(result.output.strip().splitlines()) == 1
