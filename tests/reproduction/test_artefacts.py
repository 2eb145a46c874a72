"""The cells of every artefact run and give its numbers, and its claims can be judged."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import gssl
from gssl.datasets import draw_split, make_block_graph
from reproduction.catalogue import ARTEFACTS
from reproduction.causes import KNOWN, all_other_nodes, cause_of, count_listed, in_largest_component
from reproduction.dataset_summary import DATASETS, count_parts
from reproduction.network_cells import published_params
from reproduction.oversmoothing import dirichlet_energy, limit_distance
from reproduction.plugins import KINDS, plugged
from reproduction.running_time import Clock
from reproduction.settings import embedder, fixed_params, ogc
from reproduction.spec import MEASURES, Cell, Entry, method_names

# settings that make a run short
SHORT = {
    "epochs": 1,
    "hidden": 8,
    "dimensions": 8,
    "samples": 2,
    "heads": 2,
    "walks_per_node": 1,
    "repeats": 1,
}


def shortened(settings):
    """Return settings with few epochs, columns and walks."""
    if isinstance(settings, list):
        return [shortened(value) for value in settings]
    if not isinstance(settings, Mapping):
        return settings
    given = {name: SHORT.get(name, shortened(value)) for name, value in settings.items()}
    if "method" in given:
        # networks and walks
        known = fixed(given["method"])
        given["params"] = {
            **{name: SHORT[name] for name in SHORT if name in known},
            **given.get("params", {}),
        }
    return given


def fixed(method):
    """Return the names of a method's parameters."""
    from reproduction import networks, skipgram

    if method in networks.NETWORKS | networks.EMBEDDERS:
        return networks.parameters(method)
    return skipgram.DeepWalk().get_params() if method in ("DeepWalk", "Node2Vec") else ()


def kinds():
    """Return one cell of each measure and method, with the names of its values."""
    cells = {}
    for artefact in ARTEFACTS.values():
        for entry in artefact.entries:
            if entry.cell is not None and entry.cell.measure != "listed links":
                key = (entry.cell.measure, *method_names(entry.cell.settings))
                cell, values = cells.setdefault(" ".join(key), (entry.cell, set()))
                values |= {entry.value} if entry.cell is cell else set()
    return cells


CELLS = kinds()


@pytest.fixture(scope="module")
def small():
    """Return a function that draws a graph for a measure: random splits need many nodes."""

    @cache
    def drawn(n_nodes, n_val, n_test):
        data = make_block_graph(
            n_nodes, 4 * n_nodes, 16, 3, homophily=0.9, features="dense", random_state=0
        ).normalized()
        return replace(data, splits={"public": draw_split(data.labels, 20, n_val, n_test, random_state=0)})

    return lambda large: drawn(1700, 500, 1000) if large else drawn(200, 40, 100)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CELLS)
def test_a_short_run_gives_every_number_of_its_entries(name, small, load_instead):
    pytest.importorskip("torch_geometric")
    cell, values = CELLS[name]
    if cell.dataset != "karate":
        load_instead(small(cell.measure in ("random split", "other split")))
        cell = replace(cell, dataset=f"small {cell.measure}", settings=shortened(cell.settings))
    measured = MEASURES[cell.measure](cell, 0)
    assert values <= measured.keys()
    assert np.isfinite(list(measured.values())).all()


@pytest.mark.parametrize("name", ARTEFACTS)
def test_claims_are_judged_by_numbers_of_the_artefact(name):
    positions = [entry.position for entry in ARTEFACTS[name].entries]
    assert len(set(positions)) == len(positions)
    for claim in ARTEFACTS[name].claims:
        assert isinstance(claim.holds(dict.fromkeys(positions, 70.0)), bool)
        with pytest.raises(KeyError):
            claim.holds({})


def test_published_settings():
    graphs = [f"planetoid/{graph}" for graph in ("cora", "citeseer", "pubmed")]
    assert [tuple(fixed_params("GGCM", graph).values()) for graph in graphs] == [
        (16, 0.5, 0.15),
        (16, 1.0, 0.15),
        (16, 0.5, 0.1),
    ]
    penalties = [embedder("GGCM", graph).settings["penalties"] for graph in graphs]
    assert penalties == [[1e-5], [1e-3], [2e-5]]
    assert fixed_params("GGC", graphs[2]) == {"depth": 16, "decay": 0.9, "igc_beta": 0.1, "igc_decay": 0.9}
    assert embedder("GGC", graphs[0]).settings["depths"] == [4, 8, 12, 16]
    assert ogc(graphs[0]).settings == {"method": "OGC", "params": {}, "anchors": ["train"]}
    assert ogc(graphs[0]).budget == "train+validation"
    assert [fixed_params("N2N", graph)["outputs"] for graph in graphs] == [7, 6, 3]
    assert published_params("GCNII", graphs[0]) == {"epochs": 1500, "depth": 64}
    assert published_params("DeepGCN", graphs[1], drop_edge=True)["drop_edge"] == 0.8


def test_plug_ins_change_nothing_else():
    """All kinds of a network have the same depth, learning rate, width and epochs; some cells are shared."""
    for method, depth, count in (("GCN", 2, 2), ("GCN", 4, 5), ("JKNet", 64, 5), ("GCNII", 2, 4)):
        cells = [plugged(method, depth, kind) for kind in KINDS]
        assert all(cell.settings["params"] == cells[0].settings["params"] for cell in cells)
        assert len({cell.key(0) for cell in cells}) == count


def test_the_smoothness_of_a_plugged_network_is_that_of_its_last_hidden_layer(split_karate):
    pytest.importorskip("torch_geometric")
    from reproduction.networks import plugged_classifier
    from reproduction.networks.plugged import hidden_embedding

    params = {"epochs": 3, "patience": None, "depth": 4}
    cell = Cell("plugged", "karate", {"method": "GCN", "params": params, "plugins": {}})
    values = MEASURES["plugged"](cell, 0)
    y, A = split_karate.mask_labels("public", ("train", "val")), split_karate.adjacency
    model = plugged_classifier("GCN", random_state=0, **params)
    model.fit(split_karate.features, y, adjacency=A, validation=split_karate.splits["public"]["val"])
    U = hidden_embedding(model.network_).numpy()
    assert values["energy"] == pytest.approx(dirichlet_energy(U, A))
    assert values["distance"] == pytest.approx(limit_distance(U, A))


def test_claims_compare_methods_with_the_same_labels_or_are_about_labels():
    budgets = {entry.row: entry.labels for entry in ARTEFACTS["splits"].entries}
    for claim in ARTEFACTS["splits"].claims:
        (((_, better, graph), (_, worse, other)),) = claim.pairs
        assert graph == other
        assert budgets[better] == budgets[worse] or "with validation labels than without" in claim.text


@pytest.mark.parametrize(("target", "epochs"), [(0.0, 1), (100.1, 8)])
@pytest.mark.usefixtures("split_karate")
def test_a_race_ends_at_its_target(target, epochs):
    """There is one prediction per epoch, and one at the end."""
    pytest.importorskip("torch_geometric")
    networks = {"GCN": {"method": "GCN", "params": {"epochs": 7, "patience": None}, "target": target}}
    solver = {"method": "OGC", "params": {"max_iter": 4}}
    values = MEASURES["race"](Cell("race", "karate", {"OGC": solver, "networks": networks}), 0)
    assert (values["GCN reached"], values["GCN epochs"]) == (float(target == 0.0), epochs)
    assert values["GCN ratio"] == pytest.approx(values["GCN seconds"] / values["OGC seconds"])


def test_a_clock_counts_test_nodes_only():
    clock = Clock(np.array([0, 1, 0, 1, 1]), np.array([0, 1, 2, 3]), target=75.1)
    clock.look(np.array([0, 1, 1, 0, 1]))
    assert (clock.accuracy, clock.epochs, clock.reached) == (50.0, 1, False)


def test_times_are_ratios():
    kinds = {"SGC": {"method": "SGC"}, "OGC": {"method": "OGC"}}
    cell = Cell("time", "karate", {"estimators": kinds, "depths": [1, 2], "repeats": 1}, split="default")
    values = MEASURES["time"](cell, 0)
    assert values["SGC@1"] == values["SGC@2"] == 1.0
    assert values["OGC@2"] == pytest.approx(values["OGC@2s"] / values["SGC@2s"])
    known = {e.row: e.published for e in ARTEFACTS["time"].entries if e.column == "time / OGC's"}
    assert known == {"GCNII": round(923.61 / 14.63, 1), "GRAND": round(4361.91 / 14.63, 1)}


def test_citation_graphs_have_the_published_sizes(citation):
    entries = [entry for entry in DATASETS.entries if entry.cell.dataset == citation.name]
    counted, published = count_parts(entries[0].cell, 0), {e.column: e.published for e in entries}
    # repeated links of the raw files, and self-loops, are not counted
    assert 0.96 * published["edges"] < counted.pop("edges") < published["edges"]
    assert count_listed(Cell("listed links", citation.name, {}), 0) == {"links": published.pop("edges")}
    assert counted == published


def test_every_cause_explains_some_numbers_and_is_shown_by_a_run():
    positions = {(name, entry.position) for name, artefact in ARTEFACTS.items() for entry in artefact.entries}
    for cause in KNOWN:
        entries = [e for e in ARTEFACTS[cause.artefact].entries if cause.explains(cause.artefact, e)]
        assert entries, cause
        assert all(cause.position(entry) in positions for entry in entries), cause


def test_a_cause_needs_a_run_that_is_closer():
    entry = Entry("OGC", "train", "Cora", published=83.7)
    position = ("causes", ("", "OGC, train only, 64 iterations", "Cora"))
    assert cause_of("budget", entry, 79.0, {}) is None
    assert cause_of("budget", entry, 79.0, {position: 78.0}) is None
    text, value = cause_of("budget", entry, 79.0, {position: 80.8})
    assert value == 80.8
    assert "the stopping rule" in text
    assert cause_of("table1", entry, 79.0, {position: 80.8}) is None


def test_other_splits(small):
    data = small(True)
    split = in_largest_component(data, 0)
    assert [len(split[part]) for part in ("train", "val")] == [60, 1440]
    component = gssl.graph.connected_components(data.adjacency)
    assert len(set(component[np.concatenate(list(split.values()))])) == 1
    others = all_other_nodes(data, 0)
    assert sum(map(len, others.values())) == data.n_nodes
    np.testing.assert_array_equal(others["test"], data.splits["public"]["test"])
