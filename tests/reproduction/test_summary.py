"""Means, differences and verdicts."""

from reproduction.spec import Artefact, Cell, Entry
from reproduction.store import Store
from reproduction.summary import summarize

KNOWN = Cell("classifier", "karate", {"method": "OGC"})
OTHER = Cell("classifier", "cora", {"method": "OGC"}, random=False)


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
