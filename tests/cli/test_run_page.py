import json
import re
from pathlib import Path

import pytest

import gssl


def test_the_page_has_the_command_and_the_confusion(graph, classify):
    pytest.importorskip("vl_convert")
    classify(more=["--report", "r.html", "--truth", "t.csv", "--method", "ogc"])
    page = Path("r.html").read_text(encoding="utf-8")
    assert "gssl classify --edges e.csv --labels l.csv" in page
    assert "21 labels of t.csv" in page
    assert "http-equiv" in page
    assert len(page) < 3_000_000


def test_the_page_says_what_was_found_from_one_fit(graph, run, monkeypatch):
    """Predictions for hidden labels come from the same fit; no other fit is made."""
    pytest.importorskip("vl_convert")
    fits = []
    fit = gssl.AutoClassifier.fit
    monkeypatch.setattr(gssl.AutoClassifier, "fit", lambda *a, **k: fits.append(a) or fit(*a, **k))
    where = ["--edges", "e.csv", "--labels", "l.csv", "--features", "f.csv", "--out", "p.csv"]
    output = run("classify", *where, "--report", "r.html", "--report-data", "r.json").stdout
    assert len(fits) == 1
    page = Path("r.html").read_text(encoding="utf-8")
    assert "<title>30 nodes of e.csv</title>" in page
    assert "We labelled 21 nodes from 9 labels. Expect about" in page
    data = json.loads(Path("r.json").read_text(encoding="utf-8"))
    assert data["headline"] in page
    assert sum(row["predicted"] for row in data["classes"]) == 21
    right = re.search(r"^(\S+ %) of 9 hidden labels are right \((.+? %)\)", output, re.MULTILINE)
    assert f"{right[1]}<small> {right[2]}</small>" in page
    assert 'class="matrix"' in page
    rows = json.loads(re.search(r'id="charts">(.*?)</script>', page, re.DOTALL)[1])["map"]["datasets"]["rows"]
    assert sum(row["given"] == "yes" for row in rows) == 9
