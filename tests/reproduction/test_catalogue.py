"""All artefacts: complete specifications, few networks in quick runs, none without the extra."""

import pytest

from reproduction import spec
from reproduction.catalogue import ARTEFACTS
from reproduction.store import Store
from reproduction.summary import summarize

DEEP = ("plugins", "time", "karate", "budget", "reddit")


def test_quick_runs_have_few_networks():
    quick = ARTEFACTS["plugins"].cells(quick=True)
    inner = [cell.settings for cell in quick]
    assert sorted((one["method"], one["params"]["depth"]) for one in inner) == [
        ("GCN", 2),
        ("GCN", 64),
        ("GCN", 64),
    ]
    for name in ("time", "reddit"):
        assert not any(
            "GraphSAGE" in cell.title or "GCNII" in cell.title for cell in ARTEFACTS[name].cells(True)
        )


@pytest.mark.parametrize("name", DEEP)
def test_without_the_extra_networks_are_not_run_and_the_page_says_so(name, monkeypatch, tmp_path):
    monkeypatch.setattr(spec, "find_spec", lambda package: None)
    titles = " ".join(cell.title for cell in ARTEFACTS[name].cells())
    assert not any(word in titles for word in ("GCN,", "GCN on", "Plugged", "GRAND", "SAGE", "DGI"))
    result = summarize(ARTEFACTS[name], Store(tmp_path / "records.jsonl"))
    assert result.having("published only")
    assert "gssl[baselines]" in ARTEFACTS[name].note
