import json
import re
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

import gssl
from gssl.evaluation import confusion_matrix, graph_health
from gssl.io import tabulate
from gssl.report import MapPoint, Page, write_page


class Tree(HTMLParser):
    """Collect elements, their attributes, and text outside of scripts."""

    def __init__(self, html):
        super().__init__()
        self.elements, self.text, self.data, self.open = [], [], {}, None
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self.open = tag if tag in ("script", "style", "title") else None
        if tag == "script":
            self.data[dict(attrs).get("type", "code")] = ""

    def handle_endtag(self, tag):
        self.open = None

    def handle_data(self, data):
        if self.open == "script":
            kind = list(self.data)[-1]
            self.data[kind] += data
        elif self.open != "style":
            self.text.append(data)

    def tags(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]

    @property
    def words(self):
        return " ".join(" ".join(self.text).split())

    @property
    def charts(self):
        return json.loads(self.data["application/json"])


@pytest.fixture(scope="module")
def write(tmp_path_factory):
    """Return a function that writes a page and reads it."""
    path = tmp_path_factory.mktemp("page") / "p.html"

    def write(page):
        write_page(path, page)
        return Tree(path.read_text(encoding="utf-8"))

    return write


@pytest.fixture(scope="module")
def karate(karate_page, write):
    return write(karate_page)


@pytest.fixture(scope="module")
def hostile(hostile_page, write):
    return write(hostile_page)


def test_every_section_is_there_in_the_order_of_what_matters(karate):
    sections = [section["id"] for section in karate.tags("section")]
    assert sections == [
        "classes", "confusion", "doubts",
        "why",
        "learning", "next", "map", "confidence", "graph", "iterations", "run",
    ]  # fmt: skip
    for sentence in (
        "We labelled 14 nodes from 20 labels. Expect about 95 % to be right; always guessing",
        "the largest class gives 55 %.",
        "5-fold label masking on 20 labels; the graph was never cut.",
        "The graph adds 44.1 ± 9.9 points.",
        "Smoothing loss",
        "Mr. Hi",
        "gssl classify --edges karate.csv",
        "12.3 seconds",
        "3 self-loops were removed.",
    ):
        assert sentence in karate.words


def test_the_matrix_is_that_of_hidden_labels_unless_the_truth_is_known(karate, karate_page, write):
    counts = [cell["title"] for cell in karate.tags("td") if "→" in cell.get("title", "")]
    assert "Officer → Officer: 11" in counts
    truth = confusion_matrix(["Mr. Hi"] * 7, ["Officer"] * 7, ["Mr. Hi", "Officer"], "From the census.")
    assert "From the census. 0 % of 7 are right." in write(replace(karate_page, confusion=truth)).words
    many = confusion_matrix([f"c{i}" for i in range(40)], [f"c{i}" for i in range(1, 40)] + ["c0"])
    assert "40 classes are too many for a matrix" in write(replace(karate_page, confusion=many)).words


def test_a_model_that_is_no_better_than_the_largest_class_is_marked(karate_page, write):
    held = karate_page.held_out
    blind = replace(held, distributions=np.tile([0.6, 0.4], (len(held.nodes), 1)))
    told = write(replace(karate_page, held_out=blind)).words
    assert "The model is no better than always answering the largest class." in told


def test_every_chart_has_a_place_and_every_place_a_chart(karate):
    charts = karate.charts
    elements = [div["data-chart"] for div in karate.tags("div") if "data-chart" in div]
    assert sorted(elements) == sorted(charts)
    assert set(charts) == {"map", "confidences", "reliability", "curve-0", "learning"}
    assert len(charts["map"]["datasets"]["rows"]) == 34
    # values that are not finite are left out
    assert [row["k"] for row in charts["curve-0"]["datasets"]["rows"]] == [1, 2, 4]


def test_the_page_may_fetch_nothing_and_run_only_its_own_script(karate):
    [policy] = [meta["content"] for meta in karate.tags("meta") if "http-equiv" in meta]
    assert "default-src 'none'" in policy
    assert re.search(r"script-src 'sha256-[A-Za-z0-9+/=]{44}';", policy)
    assert "unsafe-eval" not in policy
    assert len(karate.tags("script")) == 2
    assert not [a for _, a in karate.elements if "src" in a or any(k.startswith("on") for k in a)]
    # the contents
    sections = [section["id"] for section in karate.tags("section")]
    assert [a["href"] for _, a in karate.elements if "href" in a] == [f"#{name}" for name in sections]


def test_hostile_names_stay_text(hostile, karate, hostile_names):
    extra = {tag for tag, _ in hostile.elements} - {tag for tag, _ in karate.elements}
    assert extra <= {"details", "li", "span", "strong", "summary"}
    assert len(hostile.tags("script")) == 2
    assert not hostile.tags("img")
    text = "".join(hostile.text)
    for name in hostile_names[:6]:
        assert name in text
    assert "49" not in re.findall(r"\$\{x\} (\S+)", text)
    charts = hostile.charts
    assert {row["label"] for row in charts["map"]["datasets"]["rows"]} <= set(hostile_names)
    # no name becomes a field or an expression
    for chart in charts.values():
        del chart["datasets"]
    specification = json.dumps(charts, ensure_ascii=False)
    assert not [
        name for name in hostile_names if name in specification or json.dumps(name)[1:-1] in specification
    ]


def test_cora_stays_below_three_megabytes(tmp_path, page_of):
    data = gssl.datasets.load("cora")
    labels = data.mask_labels("default")
    y = np.array(data.class_names, dtype=object)[labels]
    y[labels == -1] = None
    with pytest.warns(gssl.GraphWarning, match="167 nodes"):
        page = page_of(data, y)
    write_page(tmp_path / "cora.html", page)
    assert (tmp_path / "cora.html").stat().st_size < 3_000_000


def test_the_least_that_can_be_said_is_a_page_too(write):
    tree = write(Page("Nothing", "gssl check", graph_health(np.zeros((3, 3)), [None] * 3)))
    assert [section["id"] for section in tree.tags("section")] == ["graph", "run"]
    assert "The graph has 3 nodes, and 0 labels." in tree.words


def test_a_sample_and_many_classes_are_said_to_be_so(karate_page, write):
    names = [f"class {i:02}" for i in range(70)]
    predictions = tabulate(range(70), np.eye(70), names)
    points = [MapPoint(str(i), 0.0, i / 9, names[i], 0.5, False) for i in range(14)]
    text = write(replace(karate_page, points=points, predictions=predictions, held_out=None)).words
    assert "All labelled nodes and a random sample of the others are drawn, 14 of 34" in text
    assert "4 smaller classes" in text
    assert "60 more classes" in text
    assert "could not be estimated" in text


def test_the_bundled_script_is_kept_and_made_anew_where_it_cannot_be(tmp_path, monkeypatch):
    from gssl.report import document

    monkeypatch.setenv("GSSL_CACHE_DIR", str(tmp_path / "cache"))
    document._script.cache_clear()
    first = document._script()
    [kept] = (tmp_path / "cache").iterdir()
    assert kept.read_bytes().decode() == first
    document._script.cache_clear()
    monkeypatch.setattr(document, "_bundle", lambda source: pytest.fail("bundled again"))
    assert document._script() == first
    monkeypatch.setenv("GSSL_CACHE_DIR", str(kept))  # a file, not a folder
    monkeypatch.setattr(document, "_bundle", lambda source: "anew")
    document._script.cache_clear()
    assert document._script() == "anew"
    document._script.cache_clear()


def test_the_same_page_is_the_same_file(karate_page, tmp_path):
    for name in ("a", "b"):
        write_page(tmp_path / name, karate_page)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_a_page_that_fails_leaves_the_old_one_alone(karate_page, tmp_path):
    path = tmp_path / "p.html"
    path.write_text("old")
    with pytest.raises(ValueError, match="JSON"):
        write_page(path, replace(karate_page, points=[MapPoint("1", float("nan"), 0.0, "a", 0.5, True)]))
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("package", ["jinja2", "vl_convert"])
def test_a_missing_extra_is_named(karate_page, tmp_path, monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=r"pip install gssl\[report\]"):
        write_page(tmp_path / "p.html", karate_page)
    assert not list(tmp_path.iterdir())


def test_drawing_is_loaded_only_when_a_page_is_written():
    code = "import sys, gssl.report; print([m for m in ('jinja2', 'vl_convert') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_reasons_doubts_and_the_learning_curve_are_told(karate_page, tmp_path):
    write_page(tmp_path / "p.html", karate_page)
    page = (tmp_path / "p.html").read_text(encoding="utf-8")
    assert karate_page.audit.summary in page
    contradicted = int((karate_page.audit.given != karate_page.audit.says).sum())
    assert f"contradicts {contradicted} label while hidden" in page
    assert page.count('<svg class="near"') == len(karate_page.why) == 3
    # 0.9 - 0.5 / sqrt(n) is 0.788 with 20 labels, and 0.8 with 25
    assert "About 5 more labels reach 80 %." in page


def test_of_many_classes_the_least_often_right_are_shown_and_one_without_nodes_has_no_bar(karate_page, write):
    names = [f"class {i:02}" for i in range(57)]
    predictions = tabulate(range(56), np.eye(57)[:56], names)
    held = replace(
        karate_page.held_out,
        classes=np.array(names),
        codes=np.arange(20) % 5,
        distributions=np.eye(57)[np.arange(20) % 4],
    )
    page = write(replace(karate_page, predictions=predictions, held_out=held, points=[]))
    rows = [a.get("title") for a in page.tags("bdi") if a.get("title", "").startswith("class ")]
    shown = rows[rows.index("class 04") :]
    assert sorted(set(shown)) == names
    first = page.words[page.words.index("least often right come first") :].split("47 more classes")[0]
    assert "class 04" in first
    assert len([a for a in page.tags("span") if a.get("class") == "bar"]) == 56
    assert first.index("class 04") < first.index("class 00") < first.index("class 05")
