"""The published settings, as far as they are known."""

import pytest

from reproduction.settings import GGC_PARAMS, embedder, fixed_params, ogc, ogc_depths, with_head


@pytest.mark.parametrize(
    ("graph", "igc_decay", "alpha", "penalty"),
    [("cora", 0.5, 0.15, 1e-5), ("citeseer", 1.0, 0.15, 1e-3), ("pubmed", 0.5, 0.1, 2e-5)],
)
def test_ggcm(graph, igc_decay, alpha, penalty):
    params = {"depth": 16, "igc_decay": igc_decay, "alpha": alpha}
    assert fixed_params("GGCM", f"planetoid/{graph}") == params
    settings = embedder("GGCM", f"planetoid/{graph}").settings
    assert settings["params"] == {"igc_decay": igc_decay, "alpha": alpha}
    assert (settings["depths"], settings["penalties"], settings["best_epoch"]) == ([16], [penalty], True)


def test_ggc_has_one_setting_on_every_graph_and_artefact():
    params = {"decay": 0.9, "igc_beta": 0.1, "igc_decay": 0.9}
    assert fixed_params("GGC", "planetoid/pubmed") == {"depth": 16, **params}
    assert embedder("GGC", "planetoid/pubmed").settings["params"] == params


def test_ogc_learns_from_both_parts_and_is_moved_by_one():
    cell = ogc("planetoid/cora")
    assert cell.settings == {"method": "OGC", "params": {}, "anchors": ["train"]}
    assert cell.budget == "train+validation"
    assert ogc_depths("planetoid/cora").settings["params"] == {"agreement": 1.0}


def test_ggc_chooses_its_depth():
    settings = embedder("GGC", "planetoid/cora").settings
    assert settings["params"] == GGC_PARAMS
    assert settings["depths"] == [4, 8, 12, 16]
    assert embedder("GGC", "planetoid/cora", (16,)).settings["depths"] == [16]


def test_others():
    assert embedder("SSGC", "planetoid/cora").settings["depths"] == [16]
    assert embedder("SSGC", "planetoid/cora").settings["params"] == {"alpha": 0.05}
    cell = embedder("DGI", "planetoid/pubmed", head="logistic", slow=("planetoid/pubmed",))
    assert (cell.settings["params"], cell.settings["head"], cell.slow) == (
        {"dimensions": 256},
        "logistic",
        True,
    )
    inner = {"method": "SGC", "params": {"depth": 2}}
    assert with_head("SGC", "ridge", "planetoid/cora", "train").settings["params"] == {
        "embedder": inner,
        "head": "ridge",
    }


def test_bgrl_has_rates_of_its_own_on_cora_and_narrow_layers_on_pubmed():
    cora = embedder("BGRL", "planetoid/cora").settings["params"]
    assert cora == {"drop_edges": (0.5, 0.3), "drop_features": (0.2, 0.5), "learning_rate": 0.001}
    assert fixed_params("BGRL", "planetoid/citeseer") == {}
    assert fixed_params("BGRL", "planetoid/pubmed") == {"hidden": 512, "dimensions": 256}


def test_n2n_has_an_output_for_each_class():
    outputs = [fixed_params("N2N", f"planetoid/{graph}") for graph in ("cora", "citeseer", "pubmed")]
    assert outputs == [{"outputs": 7}, {"outputs": 6}, {"outputs": 3}]
