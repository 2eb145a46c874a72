"""Methods that are compared with AutoClassifier, draws of labels, and values of cells."""

from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks.accuracy.cells import (
    METHODS,
    calibration_cell,
    calibration_record,
    coverage_cell,
    coverage_records,
    draws_of,
    find_methods,
    homophily_of,
    how_drawn,
    protocol,
    public_cell,
    score_calibration,
    score_coverage,
    score_draw,
    score_quality,
    split_of,
)
from reproduction.spec import Cell, build, dataset_of


def test_methods_by_name():
    assert list(find_methods([])) == [name for name in METHODS if name not in ("GCN", "SAGE")]
    assert list(find_methods(["sage", "Trees"])) == ["SAGE", "trees"]
    assert list(find_methods(["AUTO", " Graph-free Ridge"])) == ["auto", "graph-free ridge"]
    with pytest.raises(ValueError, match="no method 'GIN' here: there are auto, graph-free ridge"):
        find_methods(["GIN"])


@pytest.mark.parametrize("name", ["GCN", "SAGE"])
def test_networks_have_two_layers_and_keep_the_last_of_200_epochs(name):
    pytest.importorskip("torch_geometric")
    model = build(METHODS[name], 3)
    assert (model.epochs, model.learning_rate, model.weight_decay, model.random_state) == (200, 0.01, 5e-4, 3)
    network = model.module(7, 2)
    assert (network.hidden, network.depth, network.dropout) == (64, 2, 0.5)


def test_only_what_is_random_is_run_for_every_seed_of_a_public_split():
    seeds = {name: len(public_cell("planetoid/cora", name, "train").seeds(10)) for name in METHODS}
    assert {name for name, count in seeds.items() if count == 10} == {"OGC", "trees", "GCN", "SAGE"}
    keys = {public_cell("planetoid/cora", "OGC", budget).key(0) for budget in ("train", "train+validation")}
    assert len(keys) == 2


def test_draws_are_fixed_splits_where_there_are_any():
    data = dataset_of("digits")
    assert protocol(data) == "20 per class"
    nodes = np.arange(data.n_nodes)
    fixed = {f"fold{k}": {"train": nodes[k::9], "test": nodes[k + 1 :: 9]} for k in range(3)}
    folded = type(data)(**{**vars(data), "splits": fixed})
    assert protocol(folded) == "folds"
    assert draws_of(folded, range(1, 10)) == [1, 2]
    np.testing.assert_array_equal(split_of(folded, "folds", 2)["train"], nodes[2::9])


def test_draws_hold_so_many_labels_and_never_a_test_node():
    data = dataset_of("digits")
    by_class, at_random = (split_of(data, how, 5) for how in ("20 per class", "at random"))
    np.testing.assert_array_equal(np.bincount(data.labels[by_class["train"]]), [20] * 10)
    assert len(at_random["train"]) == 200
    assert len(set(np.bincount(data.labels[at_random["train"]]))) > 1
    tenth = split_of(data, how_drawn(None, 0.1), 5)
    assert (len(tenth["train"]), len(tenth["test"])) == (180, 1617)
    for split in (by_class, at_random, tenth):
        assert not set(split["train"]) & set(split["test"])


def test_a_draw_is_scored_on_its_test_nodes():
    values = score_draw(Cell("drawn", "digits", METHODS["graph-free ridge"], split="20 per class"), 1)
    data = dataset_of("digits")
    split = split_of(data, "20 per class", 1)
    y = np.full(data.n_nodes, -1)
    y[split["train"]] = data.labels[split["train"]]
    # the same fit without a cell
    from gssl.methods import EmbeddingClassifier, NoGraph

    model = EmbeddingClassifier(NoGraph(), head="ridge").fit(data.features, y, adjacency=data.adjacency)
    test = split["test"]
    assert values["accuracy"] == pytest.approx(100 * (model.transduction_ == data.labels)[test].mean())
    assert values["labels"] == 200
    # classes of digits are of similar size
    assert values["recall"] == pytest.approx(values["accuracy"], abs=1.0)
    assert 0 < values["calibration_error"] < 100
    assert "auc" not in values


def test_the_public_split_is_scored_with_its_budget():
    cell = public_cell("karate", "LabelSpreading", "train")
    data = dataset_of("karate")
    assert cell.split == "public"
    public = type(data)(**{**vars(data), "splits": {"public": data.splits["default"]}})
    assert split_of(public, cell.split, 7) is public.splits["public"]


def test_quality_of_predictions_by_hand():
    P = np.array([[0.9, 0.1], [0.6, 0.4], [0.7, 0.3], [0.2, 0.8], [0.5, 0.5]])
    model = SimpleNamespace(classes_=np.array([0, 1]), label_distributions_=P, transduction_=P.argmax(axis=1))
    values = score_quality(model, np.array([0, 0, 1, 1, -1]), np.arange(4))
    # bins 0.9, 0.6, 0.7 and 0.8 hold one node each
    assert values["calibration_error"] == pytest.approx(100 * (0.1 + 0.4 + 0.7 + 0.2) / 4)
    assert values["recall"] == pytest.approx(75.0)
    assert values["auc"] == pytest.approx(75.0)
    # a class is missing among the test nodes, or there are three
    for labels, test in (([0, 0, 1, 1, -1], [2, 3]), ([0, 1, 1, 2, -1], [0, 1, 2])):
        assert "auc" not in score_quality(model, np.array(labels), np.array(test))


@pytest.mark.parametrize(
    ("graph", "how", "homophily"),
    [("graphs/texas", "folds", 0.061), ("graphs/cora_ml", "20 per class", 0.789)],
)
def test_graphs_that_are_here_are_drawn_as_they_ask(graph, how, homophily):
    try:
        data = dataset_of(graph)
    except FileNotFoundError as error:
        pytest.skip(f"real data absent: {error}")
    assert protocol(data) == how
    assert homophily_of(graph) == pytest.approx(homophily, abs=0.001)
    assert draws_of(data, range(20)) == list(range(10 if how == "folds" else 20))


def test_calibration_of_a_draw():
    cell = calibration_cell("digits", "LabelSpreading")
    assert cell.title == "calibration of CalibratedClassifier, LabelSpreading on digits, labels: train"
    values = score_calibration(cell, 0)
    assert values["error_after"] < values["error_before"]
    record = calibration_record(values, "spreading", 7)
    assert (record.method, record.draw, record.n_labels) == ("spreading", 7, 200)
    assert values[f"chose {record.calibration}"] == 1.0


def test_label_sets_of_a_draw():
    cell = coverage_cell("digits", "LabelSpreading", "at random")
    assert cell.split == "at random"
    records = coverage_records(score_coverage(cell, 0), 3)
    assert [record.method for record in records] == ["one threshold", "threshold per class"]
    assert all(record.coverage > 0.8 and record.draw == 3 and record.n_labels == 200 for record in records)
    assert records[0].coverage > 0.85
