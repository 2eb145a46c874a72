from pathlib import Path

import pytest


def test_the_page_has_the_command_and_the_confusion(graph, classify):
    pytest.importorskip("altair")
    classify(more=["--report", "r.html", "--truth", "t.csv", "--method", "ogc"])
    page = Path("r.html").read_text(encoding="utf-8")
    assert "gssl classify --edges e.csv --labels l.csv" in page
    assert "21 labels of t.csv" in page
    assert "http-equiv" in page
    assert len(page) < 3_000_000
