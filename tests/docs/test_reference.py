"""The reference has every public name, with a description."""

import inspect
import sys
from importlib import import_module

import api_pages
import pytest

import gssl


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("names")
    names = api_pages.write_pages(folder)
    return {name: (folder / f"{name}.rst").read_text(encoding="utf-8") for name in names}


def test_every_name_of_the_package_has_a_page(pages):
    names = set(gssl.__all__) - set(gssl._SUBPACKAGES) - {"__version__"}
    assert {"OGC", "GGCM", "AutoClassifier", "save"} <= names
    for name in names:
        assert f":: gssl.{name}\n" in pages[f"gssl.{name}"], name
        assert f"<gssl.{name}>`" in pages[f"task-{api_pages.task_of('gssl', name)}"], name


def test_every_name_is_on_the_page_of_one_task(pages):
    places = [place for listed in api_pages.names_by_task().values() for place in listed]
    assert len(places) == len(set(places))
    assert set(places) == {
        api_pages.home(module, name) for module, names in api_pages.public_names().items() for name in names
    }
    for task, listed in api_pages.names_by_task().items():
        assert [place for place in listed if f"<{place}>`" not in pages[f"task-{task}"]] == []


def test_tasks_name_only_what_exists():
    public = {name for names in api_pages.public_names().values() for name in names}
    assert [name for name in api_pages._TASK_OF_NAME if name not in public] == []


@pytest.mark.parametrize("subpackage", gssl._SUBPACKAGES)
def test_every_name_of_a_subpackage_is_on_its_page(pages, subpackage):
    module = import_module(f"gssl.{subpackage}")
    for name in getattr(module, "__all__", ["main"]):
        own = f"<gssl.{subpackage}.{name}>`" in pages[f"gssl.{subpackage}"]
        shared = f"<gssl.{name}>`" in pages[f"gssl.{subpackage}"]
        assert own != shared, name
        if shared:
            assert getattr(gssl, name) is getattr(module, name)
        else:
            assert f":: gssl.{subpackage}.{name}\n" in pages[f"gssl.{subpackage}"], name


def test_every_task_and_subpackage_is_in_the_tables_of_the_reference(tmp_path):
    api_pages.write_pages(tmp_path)
    text = (tmp_path / "tasks.txt").read_text(encoding="utf-8")
    assert [task for task in api_pages.TASKS if f"</api/names/task-{task}>`" not in text] == []
    assert "The equations of the paper, each a pure function" in text
    assert [
        subpackage
        for subpackage in gssl._SUBPACKAGES
        if f"`gssl.{subpackage} </api/names/gssl.{subpackage}>`" not in text
    ] == []


def test_a_name_that_needs_a_package_says_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "gssl.torch.layers", raising=False)
    thing = api_pages.find("gssl.torch.layers.LazyConv")
    assert isinstance(thing, api_pages.Missing)
    assert "torch" in api_pages.summary(thing)


def test_every_name_is_said_something_about():
    silent = [
        f"{module}.{name}"
        for module, names in api_pages.public_names().items()
        for name in names
        if not api_pages.summary(api_pages.find(f"{module}.{name}"))
    ]
    assert silent == []


def test_names_that_two_rooms_have_are_kept_apart(pages):
    assert "autofunction:: gssl.datasets.load\n" in pages["gssl.datasets"]
    assert "autofunction:: gssl.load\n" in pages["gssl.load"]
    assert inspect.getdoc(gssl.load) != inspect.getdoc(gssl.datasets.load)
