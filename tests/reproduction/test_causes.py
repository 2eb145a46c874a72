"""What explains a miss is shown by a run, or it is not explained."""

import pytest

from gssl.datasets.location import find_file
from reproduction.catalogue import ARTEFACTS
from reproduction.causes import KNOWN, cause_of, count_listed
from reproduction.spec import Cell, Entry


def test_every_cause_is_about_rows_and_shown_by_places_that_there_are():
    places = {(name, entry.place) for name, artefact in ARTEFACTS.items() for entry in artefact.entries}
    for cause in KNOWN:
        misses = [
            entry for entry in ARTEFACTS[cause.artefact].entries if cause.explains(cause.artefact, entry)
        ]
        assert misses, cause
        assert all(cause.place(entry) in places for entry in misses), cause


def test_a_cause_needs_its_run():
    entry = Entry("GCN", "8", "Cora", published=69.5)
    place = ("causes", ("", "GCN of 8 layers, 64 columns, no dropout", "Cora"))
    assert cause_of("depth", entry, 42.7, {}) is None
    # a run that is farther off explains nothing
    assert cause_of("depth", entry, 42.7, {place: 30.0}) is None
    text, value = cause_of("depth", entry, 42.7, {place: 70.3})
    assert value == 70.3
    assert "tuned for each depth" in text
    assert cause_of("depth", Entry("GCN", "16", "Cora", published=64.9), 30.0, {place: 70.3}) is None
    assert cause_of("table1", entry, 42.7, {place: 70.3}) is None


@pytest.mark.parametrize(("name", "published"), [("cora", 5429), ("citeseer", 4732), ("pubmed", 44338)])
def test_the_published_number_of_edges_is_that_of_the_files(name, published):
    try:
        find_file(f"planetoid/ind.{name}.graph")
    except FileNotFoundError:
        pytest.skip("the Planetoid files are not on this machine: set GSSL_DATA_DIR to their folder")
    assert count_listed(Cell("listed links", f"planetoid/{name}", {}), 0) == {"links": published}
