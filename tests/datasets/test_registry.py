from pathlib import Path

import numpy as np
import pytest

from gssl.datasets import list_datasets, load


def test_list_names_what_load_can_give(away: Path):
    fixed = ("cora", "digits", "karate", "planetoid/cora", "planetoid/citeseer", "planetoid/pubmed")
    assert list_datasets() == fixed
    (away / "cache/graphs").mkdir(parents=True)
    np.savez(away / "cache/graphs/pair.npz", edges=[[0, 1]], num_nodes=2, labels=[0, 1])
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
