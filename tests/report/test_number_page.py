"""The page of a regressor tells its numbers, escapes names, and is drawn without a network."""

import json
import re
from dataclasses import replace
from html import unescape

import numpy as np
import pytest
from sklearn.neighbors import kneighbors_graph

import gssl
from gssl.io import from_scipy
from gssl.selection import learning_curve

pytest.importorskip("vl_convert")


def problem_of(numbers, X, ids=None):
    y = np.array([None if np.isnan(number) else float(number) for number in numbers], dtype=object)
    problem = from_scipy(kneighbors_graph(X, 5), features=X, node_ids=ids)
    return replace(problem, y=y, name="the county")


def make_problem(ids=None):
    """Return numbers that grow with a feature, two of them wrong, and a third of them unknown."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((240, 4))
    numbers = 40_000 + 8000 * X[:, 0] + 1000 * rng.standard_normal(240)
    numbers[[4, 7]] += 30_000
    numbers[2::3] = np.nan
    return problem_of(numbers, X, ids)


def fit_and_write(problem, path, **options):
    model = gssl.AutoRegressor(depth=2, **options).fit(problem)
    assert gssl.write_report(model, problem, path, command="gssl regress", seconds=1.5) is None
    return model, path.read_text(encoding="utf-8")


def section(html, name):
    """Return the text of a section, without tags."""
    part = re.search(rf'<section id="{name}">(.*?)</section>', html, re.S)[1]
    return " ".join(re.sub(r"<[^>]+>", " ", part).split())


def charts_of(html):
    return json.loads(re.search(r'id="charts">(.*?)</script>', html, re.S)[1])


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    problem = make_problem()
    return problem, *fit_and_write(problem, tmp_path_factory.mktemp("page") / "numbers.html")


@pytest.fixture(scope="module")
def hostile(tmp_path_factory, hostile_names):
    problem = make_problem([f"{hostile_names[k % len(hostile_names)]} {k}" for k in range(240)])
    problem = replace(problem, name=hostile_names[1], notes=hostile_names)
    path = tmp_path_factory.mktemp("page") / "hostile.html"
    return path, fit_and_write(problem, path)[1]


def test_the_page_tells_how_good_hidden_numbers_are_predicted(fitted):
    _, model, html = fitted
    top = " ".join(re.sub(r"<[^>]+>", " ", html[html.index("<header>") : html.index("</header>")]).split())
    score, interval = re.match(r"R² (\S+) \((.*?)\) on", model.explain_).groups()
    truth = model.fit_values[~np.isnan(model.fit_values)]
    typical = f"{np.median(np.abs(truth - model.held_out_)):,.0f}"
    assert "Node regression 240 nodes of the county We predicted 80 nodes from 160 numbers." in top
    assert f"R² {score} ({interval}) and a typical error of {typical}; always answering the mean" in top
    assert f"R² on hidden numbers {score} {interval} Typical error {typical}" in top
    assert "Nodes 240 Numbers given 160 No number reaches 0" in top
    assert "no better than" not in top
    # widths of intervals may be equal
    assert [name for name in re.findall(r'<section id="(\w+)"', html) if name != "unsure"] == [
        "accuracy", "numbers", "doubts", "learning", "map", "graph", "models", "run",
    ]  # fmt: skip
    assert model.explain_ in section(html, "graph")
    assert "Edges within a class" not in html
    assert "gssl regress It took 1.5 seconds. Made with gssl" in section(html, "run")
    low, high = model.intervals_[~np.isnan(model.fit_values)].T
    within = f"{100 * np.mean((low <= truth) & (truth <= high)):.1f} % of 160 hidden numbers"
    assert f"{within} lie within their intervals; 90 % were promised." in section(html, "accuracy")
    best = model.leaderboard_[0]
    assert f"{best.settings} {best.score:.2f} (" in section(html, "models")
    # the first ten, and the others folded
    first, folded = html[html.index('<section id="models">') :].split("<details>")
    assert first.count('data-head="Predicts"') == 10
    assert folded.count('data-head="Predicts"') == len(model.leaderboard_) - 10
    assert not re.search(r"[0-9]e[+-][0-9]", section(html, "doubts") + section(html, "accuracy"))


def test_wrong_numbers_are_to_be_checked_with_their_deviations(fitted):
    problem, model, html = fitted
    doubts = html[html.index('<section id="doubts">') :].split("</section>")[0]
    rows = re.findall(r'<td class="id"><bdi>(\d+)</bdi></td>(.*?)</tr>', doubts)
    assert {rows[0][0], rows[1][0]} == {"4", "7"}
    assert len(rows) == 50
    node = int(rows[0][0])
    truth = model.fit_values[~np.isnan(model.fit_values)]
    deviation = 1.4826 * np.median(np.abs(truth - model.held_out_))
    low, high = model.intervals_[node]
    assert re.findall(r">([^<>]+)</td>", rows[0][1]) == [
        f"{problem.y[node]:,.0f}",
        f"{model.transduction_[node]:,.0f}",
        f"{low:,.0f} to {high:,.0f}",
        f"{abs(problem.y[node] - model.transduction_[node]) / deviation:.1f}",
    ]
    assert "given numbers are more than 4 times the usual error" in section(html, "doubts")


def test_the_learning_curve_tells_how_many_more_numbers(fitted):
    _, model, html = fitted
    curve = learning_curve(model)
    assert curve.text(curve.next_target) in section(html, "learning")
    drawn = charts_of(html)["learning"]
    assert drawn["layer"][0]["encoding"]["x"]["title"] == "numbers"
    assert drawn["layer"][0]["encoding"]["y"]["title"] == "R²"
    rows = drawn["datasets"]["rows"]
    assert rows[-1]["accuracy"] > rows[0]["accuracy"]
    assert all(row["low"] <= row["accuracy"] <= row["high"] for row in rows)


def test_every_chart_has_a_place_and_its_rows(fitted):
    _, model, html = fitted
    charts = charts_of(html)
    assert sorted(re.findall(r'data-chart="(\w+)"', html)) == sorted(charts)
    assert len(charts["fit"]["datasets"]["rows"]) == 160
    bins = charts["sizes"]["datasets"]["rows"]
    assert len(bins) == 10
    truth = model.fit_values[~np.isnan(model.fit_values)]
    mean = sum(row["count"] * row["error"] for row in bins) / 160
    assert mean == pytest.approx(np.abs(truth - model.held_out_).mean())
    assert sum(row["count"] for row in charts["numbers"]["datasets"]["rows"]) == 80
    points = charts["map"]["datasets"]["rows"]
    assert sum(row["given"] == "yes" for row in points) == 160
    largest = max(points, key=lambda row: model.transduction_[int(row["id"])])
    assert largest["level"] == 1.0


def test_at_most_1500_points_are_drawn_evenly(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1600, 2))
    problem = problem_of(X[:, 0] + 0.1 * rng.standard_normal(1600), X)
    _, html = fit_and_write(problem, tmp_path / "p.html", scale="linear")
    rows = charts_of(html)["fit"]["datasets"]["rows"]
    truth = np.sort(problem.y.astype(float))
    assert len(rows) == 1500
    shown = np.array([row["y"] for row in rows])
    np.testing.assert_array_equal(shown, truth[np.linspace(0, 1599, 1500).round().astype(int)])
    # nothing is left to predict
    assert 'id="numbers"' not in html
    assert "All 1,600 numbers are given." in html


def test_logarithms_have_logarithmic_axes_and_deviations(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 3))
    numbers = np.exp(9 + 2 * X[:, 0] + 0.3 * rng.standard_normal(300))
    numbers[5] /= 50
    numbers[1::3] = np.nan
    model, html = fit_and_write(problem_of(numbers, X), tmp_path / "p.html")
    assert model.number_scale.log
    charts = charts_of(html)
    for chart in (charts["fit"]["layer"][2], charts["numbers"]):
        assert chart["encoding"]["x"]["scale"]["type"] == "log"
    # a number that is far too small is as doubtful as one that is too large
    assert re.search(r'<td class="id"><bdi>(\d+)</bdi>', html)[1] == "5"
    known = ~np.isnan(numbers)
    errors = np.abs(np.log(numbers[known]) - np.log(model.held_out_ / model._factor[0]))
    expected = errors.max() / (1.4826 * np.median(errors))
    assert f'data-head="Times the usual error">{expected:.1f}<' in html
    assert "median error of logarithms" in section(html, "doubts")


def test_wide_intervals_and_a_model_no_better_than_the_mean_are_told(fitted, tmp_path):
    problem, _, html = fitted
    sentence = "The model is no better than always answering the mean."
    assert sentence not in html
    model = gssl.AutoRegressor(depth=2).fit(problem)

    def write():
        gssl.write_report(model, problem, tmp_path / "p.html")
        return (tmp_path / "p.html").read_text(encoding="utf-8")

    model.intervals_ = model.transduction_[:, None] + [-5000, 5000]
    assert 'id="unsure"' not in write()
    model.intervals_[8] += [-5000, 5000]
    low, high = model.intervals_[8]
    told = f"8 {model.transduction_[8]:,.0f} {low:,.0f} to {high:,.0f} 2.0"
    assert told in section(write(), "unsure")
    model.transduction_ = model.transduction_[::-1]
    assert sentence in write()


def test_three_numbers_are_enough_for_a_page(tmp_path):
    data = gssl.datasets.load("karate")
    y = np.full(34, None, dtype=object)
    y[:3] = [1.0, 2.0, 4.0]
    problem = replace(from_scipy(data.adjacency), y=y)
    _, html = fit_and_write(problem, tmp_path / "p.html")
    assert "We predicted 31 nodes from 3 numbers." in html


def test_options_of_classes_are_refused_and_the_same_model_gives_the_same_file(fitted, tmp_path):
    problem, model, _ = fitted
    with pytest.raises(ValueError, match="leave them out for a regressor"):
        gssl.write_report(model, problem, tmp_path / "p.html", predictions=object())
    assert not list(tmp_path.iterdir())
    for name in ("a", "b"):
        gssl.write_report(model, problem, tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_nothing_is_fetched_and_hostile_names_stay_text(hostile, hostile_names):
    _, html = hostile
    body = html[: html.index('<script type="application/json"')]
    assert "default-src 'none'" in unescape(body)
    assert "<script" not in body
    assert "<img" not in body
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in body
    charts = charts_of(html)
    assert {row["id"].rsplit(" ", 1)[0] for row in charts["map"]["datasets"]["rows"]} == set(hostile_names)
    for chart in charts.values():
        del chart["datasets"]
    specification = json.dumps(charts, ensure_ascii=False)
    assert not [name for name in hostile_names if name in specification]


@pytest.mark.parametrize(("width", "scheme"), [(1400, "light"), (360, "dark")])
def test_hostile_names_are_shown_in_a_browser_and_never_run(hostile, open_file, width, scheme):
    path, html = hostile
    tab = open_file(path, width, scheme)
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    assert tab.locator("[data-chart] svg").count() == len(charts_of(html)) == 5
    assert tab.locator("img").count() == 0
