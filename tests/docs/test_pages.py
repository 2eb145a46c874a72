"""Every example in the manual prints what the page shows."""

from pathlib import Path

import pytest
from gallery_order import ORDER
from sessions import run_page

DOCS = Path(__file__).parents[2] / "docs"
TUTORIALS = sorted((DOCS.parent / "tutorials").glob("plot_*.py"))
# pages with dozens of commands on a real graph, or many fits
SLOW = {"tutorial", "choosing", "coming"}
PAGES = sorted(page for page in DOCS.glob("*.rst") if ">>> " in page.read_text(encoding="utf-8"))

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def test_there_are_pages():
    assert {"how", "tutorial", "theory", "adding"} <= {page.stem for page in PAGES}


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=pytest.mark.slow if page.stem in SLOW else ()) for page in PAGES],
    ids=lambda page: page.stem,
)
def test_page(page, tmp_path, monkeypatch):
    if page.stem == "coming":
        pytest.importorskip("sknetwork", reason="the page compares with scikit-network")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(DOCS)  # the page about adding a method imports a file from there
    results, output = run_page(page)
    assert results.attempted
    assert not results.failed, output


@pytest.mark.parametrize("tutorial", TUTORIALS, ids=lambda path: path.stem)
def test_a_tutorial_is_short_and_has_its_place_in_the_order(tutorial):
    text = tutorial.read_text(encoding="utf-8")
    assert 60 <= text.count("\n") <= 150
    assert tutorial.stem.removeprefix("plot_") in ORDER
    assert f":doc:`tutorials/{tutorial.stem}`" in (DOCS / "choosing.rst").read_text(encoding="utf-8")


def test_a_wrong_page_fails(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = tmp_path / "page.rst"
    page.write_text(">>> 100 * 1.0\n120.0\n\n   $ echo one\n   two\n\n   $ echo 12 \\\n       13\n   12 13\n")
    results, output = run_page(page)
    assert (results.attempted, results.failed) == (3, 2)
    assert "Got:\n    one" in output


def test_numbers_may_differ_a_little(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = tmp_path / "page.rst"
    page.write_text('>>> print("81.2 % of 2,708")\n81.4 % of 2,710\n\n>>> print("81.2 of 7")\n81.2 of 8\n')
    assert run_page(page)[0].failed == 1
