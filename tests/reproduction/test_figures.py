"""Charts hold our numbers and the published ones."""

import pytest


def test_numbers_of_a_chart_are_ours_and_the_published_ones(result):
    charts = pytest.importorskip("reproduction.figures")
    rows = charts.paper_chart(result)["datasets"]["rows"]
    hit = [(row["source"], row["value"]) for row in rows if row["method"] == "hit"]
    assert hit == [("ours", 79.5), ("published", 80.5)]
    assert not [row for row in rows if row["method"] == "GCN"]
