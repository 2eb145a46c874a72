"""The conditions on AutoClassifier, and when they hold."""

import pytest

from benchmarks.accuracy.standing import (
    Score,
    Standing,
    Verdict,
    public_grid,
    quality_grid,
    rank_methods,
    standing_grid,
    verdict_texts,
)


def scores(**by_method):
    """Convert {"auto": {"g": (80.0,)}} to scores."""
    return [
        Score(graph, method.replace("_", "-").replace("--", " "), accuracies)
        for method, graphs in by_method.items()
        for graph, accuracies in graphs.items()
    ]


RIDGE = "graph_free__ridge"


def test_means_are_over_draws_first_and_then_over_graphs():
    given = scores(auto={"g": (80.0, 82.0), "h": (50.0,)}, OGC={"g": (66.0, 74.0), "h": (58.0,)})
    standing = rank_methods(given, [("g", 0.8), ("h", 0.9)])
    assert standing.means == (("auto", 65.5), ("OGC", 64.0))
    assert standing.averaged == ("g", "h")


def test_methods_are_compared_on_the_draws_that_all_have():
    """A method does not gain by failing on the hardest draws."""
    given = [
        Score("g", "auto", (90.0, 80.0, 40.0), (3, 4, 5), 3),
        Score("g", "OGC", (70.0, 84.0), (4, 3), 3),
        Score("g", "graph-free ridge", (79.0, 41.5), (4, 5), 3),
    ]
    standing = rank_methods(given, [("g", 0.4)])
    # draw 4 is the only one that all methods have
    assert standing.means == (("auto", 80.0), ("OGC", 70.0), ("graph-free ridge", 79.0))
    assert [verdict.holds for verdict in standing.verdicts] == [True, True, True]
    assert "(the worst: g, +1.0)" in standing.verdicts[1].text
    page = standing_grid(standing, {"g": "folds"}, "seeds 3–5").markdown()
    assert "| g | folds | 70.0 ± 21.6 | 77.0 ± 7.0 (2 of 3 draws) | 60.2 ± 18.8 (2 of 3 draws) |" in page
    assert "compared on the draws of a graph that all of them have" in page


def test_a_graph_without_a_common_draw_is_in_no_mean():
    given = [Score("g", "auto", (90.0,), (0,), 2), Score("g", "OGC", (80.0,), (1,), 2)]
    standing = rank_methods(given, [("g", 0.4)])
    assert standing.means == standing.averaged == ()
    assert [verdict.holds for verdict in standing.verdicts] == [None, None, None]


def test_a_graph_that_one_method_lacks_is_in_no_mean():
    given = scores(auto={"g": (80.0,), "h": (10.0,)}, OGC={"g": (79.0,)})
    standing = rank_methods(given, [])
    assert standing.means == (("auto", 80.0), ("OGC", 79.0))
    assert standing.verdicts[0].holds is True
    assert rank_methods(scores(auto={"g": (80.0,)}, OGC={"h": (79.0,)}), []).verdicts[0].holds is None


@pytest.mark.parametrize(("auto", "holds"), [(70.0, True), (69.9, False)])
def test_the_best_fixed_method_must_not_be_better_on_average(auto, holds):
    given = scores(auto={"g": (auto,)}, SGC={"g": (60.0,)}, OGC={"g": (70.0,)})
    verdict = rank_methods(given, []).verdicts[0]
    assert verdict.holds is holds
    assert f"({auto:.1f}; OGC: 70.0)" in verdict.text


@pytest.mark.parametrize(("auto", "holds"), [(69.0, True), (68.9, False)])
def test_features_alone_may_be_a_point_better(auto, holds):
    given = scores(auto={"g": (90.0,), "h": (auto,)}, **{RIDGE: {"g": (60.0,), "h": (70.0,)}})
    verdict = rank_methods(given, []).verdicts[1]
    assert verdict.holds is holds
    assert f"(the worst: h, {auto - 70:+.1f})" in verdict.text


@pytest.mark.parametrize(
    ("homophily", "sgc", "holds"), [(0.49, 79.9, True), (0.49, 80.0, False), (0.5, 99.0, None)]
)
def test_methods_on_the_graph_must_be_beaten_where_neighbours_differ(homophily, sgc, holds):
    # features alone may be better; this condition does not consider them
    given = scores(auto={"g": (80.0,)}, SGC={"g": (sgc,)}, **{RIDGE: {"g": (99.0,)}})
    assert rank_methods(given, [("g", homophily)]).verdicts[2].holds is holds


def test_public_splits_have_a_row_for_each_budget():
    grid = public_grid([("train", Score("cora", "OGC", (81.0, 83.0)))], "seeds 0–1")
    assert grid.title.endswith("what is random: seeds 0–1.")
    assert grid.markdown().splitlines()[-1] == "| train | OGC | 82.0 ± 1.0 |"


def test_a_graph_has_a_row_and_the_mean_is_the_last():
    standing = Standing((Score("g", "OGC", (81.0, 83.0)),), (("OGC", 82.0),), ("g",), ())
    assert standing_grid(standing, {"g": "folds"}, "seeds 0–1").markdown().splitlines()[2:] == [
        "| graph | labels | OGC |",
        "|---|---|---:|",
        "| g | folds | 82.0 ± 1.0 |",
        "| mean of 1 |  | 82.0 |",
    ]


def test_the_table_of_quality_averages_what_each_draw_has():
    draws = (
        {"recall": 60.0, "auc": 70.0, "calibration_error": 3.0},
        {"recall": 70.0, "calibration_error": 5.0},
    )
    old = Score("g", "SGC", (81.0,))
    grid = quality_grid(
        [("folds", Score("g", "OGC", (81.0, 83.0), wanted=2, values=draws)), ("folds", old)], "seeds 0–1"
    )
    assert grid.headings == ("graph, labels", "method", "mean recall %", "AUC %", "calibration error")
    assert grid.rows == (
        ("g, folds", "OGC", "65.0 ± 5.0", "70.0 (1 of 2 draws)", "4.0 ± 1.0"),
        ("g, folds", "SGC", "–", "–", "–"),
    )


def test_verdicts_are_said_as_they_are():
    verdicts = (Verdict("it is best", False), Verdict("it is quick", None), Verdict("it is small", True))
    assert verdict_texts(Standing((), (), (), verdicts)) == [
        "missed: auto: it is best",
        "not run: auto: it is quick",
        "holds: auto: it is small",
    ]
