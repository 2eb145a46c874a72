import pytest

from gssl.paper import Artefact, Cell, Entry, Store


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "records.jsonl")


@pytest.fixture
def tiny():
    """OGC on the karate club, which has no published number, and a method that gssl does not have."""
    known = Cell("classifier", "karate", {"method": "OGC"}, split="default")
    fixed = Cell("classifier", "karate", {"method": "LabelPropagation"}, split="default", random=False)
    unknown = Cell("classifier", "karate", {"method": "DeepMagic"}, split="default")
    entries = (
        Entry("OGC", "karate", published=97.0, cell=known, tolerance=1.0),
        Entry("LP", "karate", published=50.0, cell=fixed, tolerance=1.0),
        Entry("OGC", "less LP", cell=known, minus=fixed),
        Entry("DeepMagic", "karate", published=99.0, cell=unknown, tolerance=1.0),
        Entry("GCN", "karate", published=81.5),
    )
    return Artefact("tiny", "Table 0", "a < b | c", entries)
