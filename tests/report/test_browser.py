"""A report opened from disk in a browser without network access."""

from dataclasses import replace

import numpy as np
import pytest

from gssl.io import tabulate
from gssl.report import write_page


@pytest.fixture
def open_page(open_file, tmp_path):
    """Return a function that writes a page and opens it from disk."""

    def open_page(page, width=1400, scheme="light"):
        write_page(tmp_path / "report.html", page)
        return open_file(tmp_path / "report.html", width, scheme)

    return open_page


@pytest.mark.parametrize(("width", "scheme"), [(1400, "light"), (360, "dark")])
def test_charts_are_drawn_and_fit_the_window(open_page, karate_page, width, scheme):
    tab = open_page(karate_page, width, scheme)
    charts = tab.locator("[data-chart] svg")
    assert charts.count() == 5
    for box in (charts.nth(i).bounding_box() for i in range(5)):
        assert box["width"] > 150
        assert box["height"] > 80
        assert box["x"] + box["width"] <= width
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    bars = tab.locator("[data-chart=confidences] .mark-rect path")
    assert bars.count() == len(karate_page.confidences)
    widths = bars.evaluate_all("bars => bars.map(bar => bar.getBBox().width)")
    assert min(widths) > 3
    # bars of classes stay in their cells
    assert tab.evaluate(
        "[...document.querySelectorAll('.bar')].every(bar => bar.getBoundingClientRect().right <= "
        "bar.parentElement.getBoundingClientRect().right)"
    )
    # text of charts has the colour of the page's text, so it is readable in dark mode
    red = tab.evaluate(
        "getComputedStyle(document.querySelector('[data-chart=confidences] .role-axis-label text')).fill"
    )
    assert (int(red.split("(")[1].split(",")[0]) > 128) == (scheme == "dark")


def hover(tab, k):
    points = tab.locator("[data-chart=map] .mark-symbol path")
    points.nth(k).scroll_into_view_if_needed()
    points.nth(k).hover(force=True)
    tooltip = tab.locator("#vg-tooltip-element.visible")
    tooltip.wait_for(timeout=5000)
    return tooltip


def test_pointing_at_a_node_tells_its_id_label_and_confidence(open_page, karate_page):
    tab = open_page(karate_page)
    # given labels are drawn last, on top
    last = [point for point in karate_page.points if point.given][-1]
    rows = hover(tab, len(karate_page.points) - 1).locator("tr").all_inner_texts()
    assert [row.split("\t") for row in rows] == [
        ["id", last.id],
        ["label", last.label],
        ["confidence", f"{last.confidence:.0%}"],
        ["label given", "yes"],
    ]


def test_a_class_in_the_legend_fades_the_others(open_page, karate_page):
    tab = open_page(karate_page)
    faint = "[data-chart=map] .mark-symbol path[opacity='0.05']"
    assert tab.locator(faint).count() == 0
    button = tab.locator(".legend button").first
    name = button.locator("bdi").inner_text()
    button.click()
    assert tab.locator(faint).count() == sum(point.label != name for point in karate_page.points)
    assert button.get_attribute("aria-pressed") == "true"
    button.click()
    assert tab.locator(faint).count() == 0


def test_many_points_are_drawn_on_a_canvas(open_page, karate_page):
    points = [replace(point, id=str(i)) for i in range(200) for point in karate_page.points]
    tab = open_page(replace(karate_page, points=points), scheme="dark")
    assert tab.locator("[data-chart=map] canvas").count() == 1
    assert tab.locator("[data-chart=map] svg").count() == 0


def test_hostile_names_are_shown_and_never_run(open_page, hostile_page):
    tab = open_page(hostile_page, width=360)
    assert tab.evaluate("document.documentElement.scrollWidth") <= 360
    tab = open_page(hostile_page)
    assert tab.title() == hostile_page.title
    shown = tab.locator("#classes td.name").all_text_contents()
    assert {"__proto__", "constructor"} <= set(shown)
    assert tab.locator("img").count() == 0
    for k in range(len(hostile_page.points) - 8, len(hostile_page.points)):
        tooltip = hover(tab, k)
        assert tooltip.locator("script, img").count() == 0
        tab.mouse.move(1, 1)
    tab.locator(".legend button").first.click()


@pytest.mark.parametrize("width", [1400, 400])
def test_many_classes_are_folded_on_the_screen_and_printed(open_page, karate_page, width):
    names = [f"class {i:02} with a long name" for i in range(57)]
    predictions = tabulate(range(57), np.eye(57), names)
    tab = open_page(replace(karate_page, predictions=predictions, held_out=None), width)
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    rows = tab.locator("#classes tbody tr")
    assert [rows.nth(k).is_visible() for k in (0, 9, 10, 56)] == [True, True, False, False]
    tab.emulate_media(media="print", color_scheme="dark")
    assert rows.nth(56).is_visible()
    assert tab.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert tab.evaluate("getComputedStyle(document.body).color") == "rgb(0, 0, 0)"
