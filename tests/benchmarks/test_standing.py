"""What is asked of the automatic choice, and who is compared with it."""

import numpy as np
import pytest
from benchmarks.accuracy.rivals import (
    METHODS,
    draws_of,
    find_methods,
    homophily_of,
    protocol,
    public_cell,
    score_draw,
    split_of,
)
from benchmarks.accuracy.selection_tables import standing_grid
from benchmarks.accuracy.standing import Score, rank_methods
from reproduction.sources import dataset_of
from reproduction.spec import Cell


def scores(**by_method):
    """Write {"auto": {"g": (80.0,)}} as scores."""
    return [
        Score(graph, method.replace("_", "-").replace("--", " "), accuracies)
        for method, graphs in by_method.items()
        for graph, accuracies in graphs.items()
    ]


RIDGE = "graph_free__ridge"


def test_means_are_over_draws_first_and_then_over_graphs():
    found = scores(auto={"g": (80.0, 82.0), "h": (50.0,)}, OGC={"g": (66.0, 74.0), "h": (58.0,)})
    standing = rank_methods(found, [("g", 0.8), ("h", 0.9)])
    assert standing.means == (("auto", 65.5), ("OGC", 64.0))
    assert standing.averaged == ("g", "h")
    assert [score.spread for score in standing.scores] == [1.0, 0.0, 4.0, 0.0]


def test_methods_are_compared_on_the_draws_that_all_have():
    """One that failed on the hardest draws is not the better for it."""
    found = [
        Score("g", "auto", (90.0, 80.0, 40.0), (3, 4, 5), 3),
        Score("g", "OGC", (70.0, 84.0), (4, 3), 3),
        Score("g", "graph-free ridge", (79.0, 41.5), (4, 5), 3),
    ]
    standing = rank_methods(found, [("g", 0.4)])
    # draw 4 is the only one of all
    assert standing.means == (("auto", 80.0), ("OGC", 70.0), ("graph-free ridge", 79.0))
    assert [verdict.holds for verdict in standing.verdicts] == [True, True, True]
    assert "(the worst: g, +1.0)" in standing.verdicts[1].text
    page = standing_grid(standing, {"g": "folds"}, "seeds 3–5").markdown()
    assert "| g | folds | 70.0 ± 21.6 | 77.0 ± 7.0 (2 of 3 draws) | 60.2 ± 18.8 (2 of 3 draws) |" in page
    assert "compared on the draws of a graph that all of them have" in page


def test_a_graph_without_a_common_draw_is_in_no_mean():
    found = [Score("g", "auto", (90.0,), (0,), 2), Score("g", "OGC", (80.0,), (1,), 2)]
    standing = rank_methods(found, [("g", 0.4)])
    assert standing.means == standing.averaged == ()
    assert [verdict.holds for verdict in standing.verdicts] == [None, None, None]


def test_a_graph_that_one_method_lacks_is_in_no_mean():
    found = scores(auto={"g": (80.0,), "h": (10.0,)}, OGC={"g": (79.0,)})
    standing = rank_methods(found, [])
    assert standing.means == (("auto", 80.0), ("OGC", 79.0))
    assert standing.verdicts[0].holds is True
    assert rank_methods(scores(auto={"g": (80.0,)}, OGC={"h": (79.0,)}), []).verdicts[0].holds is None


@pytest.mark.parametrize(("auto", "holds"), [(70.0, True), (69.9, False)])
def test_the_best_fixed_method_must_not_be_better_on_average(auto, holds):
    found = scores(auto={"g": (auto,)}, SGC={"g": (60.0,)}, OGC={"g": (70.0,)})
    verdict = rank_methods(found, []).verdicts[0]
    assert verdict.holds is holds
    assert f"({auto:.1f}; OGC: 70.0)" in verdict.text


@pytest.mark.parametrize(("auto", "holds"), [(69.0, True), (68.9, False)])
def test_features_alone_may_be_a_point_better(auto, holds):
    found = scores(auto={"g": (90.0,), "h": (auto,)}, **{RIDGE: {"g": (60.0,), "h": (70.0,)}})
    verdict = rank_methods(found, []).verdicts[1]
    assert verdict.holds is holds
    assert f"(the worst: h, {auto - 70:+.1f})" in verdict.text


@pytest.mark.parametrize(
    ("homophily", "sgc", "holds"), [(0.49, 79.9, True), (0.49, 80.0, False), (0.5, 99.0, None)]
)
def test_methods_on_the_graph_must_be_beaten_where_neighbours_differ(homophily, sgc, holds):
    # features alone may be better there: that is another question
    found = scores(auto={"g": (80.0,)}, SGC={"g": (sgc,)}, **{RIDGE: {"g": (99.0,)}})
    assert rank_methods(found, [("g", homophily)]).verdicts[2].holds is holds


def test_methods_by_name():
    assert list(find_methods([])) == list(METHODS)
    assert list(find_methods(["AUTO", " Graph-free Ridge"])) == ["auto", "graph-free ridge"]
    with pytest.raises(ValueError, match="no method 'GCN' here: there are auto, graph-free ridge"):
        find_methods(["GCN"])


def test_only_what_is_random_is_run_for_every_seed_of_a_public_split():
    seeds = {name: len(public_cell("planetoid/cora", name, "train").seeds(10)) for name in METHODS}
    assert {name for name, count in seeds.items() if count == 10} == {"OGC"}
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
    for split in (by_class, at_random):
        assert not set(split["train"]) & set(split["test"])


def test_a_draw_is_scored_on_its_test_nodes():
    values = score_draw(Cell("drawn", "digits", METHODS["graph-free ridge"], split="20 per class"), 1)
    data = dataset_of("digits")
    split = split_of(data, "20 per class", 1)
    y = np.full(data.n_nodes, -1)
    y[split["train"]] = data.labels[split["train"]]
    # the same fit by hand
    from gssl.methods import EmbeddingClassifier, NoGraph

    model = EmbeddingClassifier(NoGraph(), head="ridge").fit(data.features, y, adjacency=data.adjacency)
    test = split["test"]
    assert values["accuracy"] == pytest.approx(100 * (model.transduction_ == data.labels)[test].mean())
    assert values["labels"] == 200


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
