from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gssl.datasets import list_datasets, load
from gssl.datasets.location import cache_dir, find_file, search_places


@pytest.fixture
def away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in with no data anywhere around it."""
    monkeypatch.delenv("GSSL_DATA_DIR", raising=False)
    monkeypatch.setenv("GSSL_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path


def put(folder: Path, label: int) -> None:
    (folder / "graphs").mkdir(parents=True)
    np.savez(folder / "graphs" / "pair.npz", edges=[[0, 1]], num_nodes=2, labels=[0, label])


def test_places_are_searched_in_order(away: Path, monkeypatch: pytest.MonkeyPatch):
    put(away / "cache", 1)
    assert find_file("graphs/pair.npz") == away / "cache/graphs/pair.npz"
    put(away / "shared/data", 1)
    assert find_file("graphs/pair.npz") == away / "shared/data/graphs/pair.npz"
    put(away / "named", 1)
    monkeypatch.setenv("GSSL_DATA_DIR", str(away / "named"))
    assert find_file("graphs/pair.npz") == away / "named/graphs/pair.npz"
    put(away / "given", -1)
    assert find_file("graphs/pair.npz", away / "given") == away / "given/graphs/pair.npz"
    assert load("graphs/pair", data_dir=away / "given").labels.tolist() == [0, -1]


def test_a_given_folder_is_the_only_one(away: Path):
    put(away / "cache", 1)
    with pytest.raises(FileNotFoundError, match=r"graphs/pair\.npz is not in elsewhere;"):
        load("graphs/pair", data_dir="elsewhere")


def test_not_found_says_where_and_what_to_do(away: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("GSSL_DATA_DIR", "/no/such")
    with pytest.raises(FileNotFoundError) as error:
        load("planetoid/cora")
    assert str(error.value) == (
        f"planetoid/ind.cora.allx is not in /no/such, {away}/cache; "
        "put it there, or name its folder with data_dir= or GSSL_DATA_DIR, or pass download=True."
    )
    with pytest.raises(FileNotFoundError, match=r"graphs/actor\.npz is not in .* \(it has no public address"):
        load("graphs/actor")


def test_cache_follows_the_environment(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("GSSL_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "/caches")
    assert cache_dir() == Path("/caches/gssl")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_dir() == Path.home() / ".cache" / "gssl"
    monkeypatch.setenv("GSSL_CACHE_DIR", "/mine")
    assert search_places()[-1] == Path("/mine")


def test_list_names_what_load_can_give(away: Path):
    fixed = ("cora", "digits", "karate", "planetoid/cora", "planetoid/citeseer", "planetoid/pubmed")
    fixed += ("reddit", "reddit-dgl", "synthetic/reddit")
    assert list_datasets() == fixed
    put(away / "cache", 1)
    assert list_datasets() == (*fixed, "graphs/pair")
    assert load("graphs/pair").name == "graphs/pair"


@pytest.mark.parametrize(
    ("name", "close"), [("karat", "karate"), ("planetoid/citeser", "planetoid/citeseer"), ("Cora", "cora")]
)
def test_unknown_name_suggests_the_closest(away: Path, name: str, close: str):
    with pytest.raises(
        ValueError, match=rf"There is no dataset '{name}' \(did you mean '{close}'\?\);"
    ) as error:
        load(name)
    assert "planetoid/pubmed" in str(error.value)


@pytest.mark.parametrize("name", ["graphs/../secret", "graphs/", "graphs/a/b", "planetoid/../x", ""])
def test_names_do_not_lead_out_of_the_folder(away: Path, name: str):
    with pytest.raises(ValueError, match="There is no dataset"):
        load(name)
