from dataclasses import replace

from gssl.report.charts import draw, map_classes


def test_the_legend_counts_all_nodes_not_those_on_the_map(karate_page):
    points = karate_page.points[:5]
    for name, _, count in map_classes(points, karate_page.predictions):
        assert count == (karate_page.predictions.label == name).sum()


def test_rings_are_smaller_where_there_are_many(karate_page):
    for times, size in ((1, 80), (40, 42)):
        points = [replace(point, given=True) for point in karate_page.points] * times
        dots = draw(replace(karate_page, points=points))["map"]["encoding"]
        assert dots["size"]["condition"]["value"] == size
