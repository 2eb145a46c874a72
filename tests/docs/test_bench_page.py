"""The page about speed agrees with the record of a run."""

import copy
import json

import bench_page
import pytest


@pytest.fixture(scope="module")
def record():
    return json.loads(bench_page.RECORD.read_text(encoding="utf-8"))


def test_every_row_of_the_record_is_on_the_page(record):
    page = bench_page.page(record)
    assert page.count("\n| ") == len(record["rows"]) + page.count("| what |")
    row = next(row for row in record["rows"] if row["rival"].startswith("torch CSR"))
    line = f"(`hop`) | {row['ours']} | torch CSR @ U (torch {row['version']}) | {row['theirs']} |"
    assert line in page.replace("\xa0", " ")


def test_misses_come_first_and_are_all_there(record):
    page = bench_page.page(record)
    missed = [row["what"] for row in record["rows"] if row["status"] == "MISS"]
    assert missed
    top = page[: page.index("## One hop")]
    assert [what for what in missed if what.replace("|", "\\|") not in top] == []


def test_a_row_of_a_new_kind_is_not_lost(record):
    changed = copy.deepcopy(record)
    changed["rows"] = [{**changed["rows"][0], "name": "never-seen", "what": "a new thing"}]
    page = bench_page.page(changed)
    assert "## Others" in page
    assert page.index("a new thing") > page.index("## Others")


def test_a_ratio_is_the_median_with_its_range(record):
    row = {**record["rows"][0], "values": [2.0, 4.0, 3.0], "median": 3.0, "unit": "×", "at_least": 2.5}
    page = bench_page.page({**record, "rows": [row]})
    assert "| 3 × (2–4) | ≥ 2.5 × |" in page.replace("\xa0", " ")
