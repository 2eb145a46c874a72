"""Charts have our numbers and the published ones."""

import pytest


def test_numbers_of_a_chart_are_ours_and_the_published_ones(result):
    charts = pytest.importorskip("reproduction.figures")
    chart = charts.paper_chart(result)
    rows = chart["datasets"]["rows"]
    assert chart["title"] == "Table 0: a <b> (dashed: published)"
    hit = [(row["source"], row["value"]) for row in rows if row["method"] == "hit"]
    assert hit == [("ours", 79.5), ("published", 80.5)]
    assert not [row for row in rows if row["method"] == "GCN"]


def test_methods_of_the_same_colour_have_other_shapes():
    charts = pytest.importorskip("reproduction.figures")
    count = len(charts.PALETTE)
    looks = {(k % count, charts._shape(k)) for k in range(3 * count)}
    assert len(looks) == 3 * count
