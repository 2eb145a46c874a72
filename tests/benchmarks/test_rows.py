"""A row has one rival and one goal, and its line of the table says how it went."""

import json

import pytest

from benchmarks import table
from benchmarks.row import Measured, Row, ratio, run
from benchmarks.rows import rows


def row(measure=lambda: Measured((2.0, 4.0, 3.0), "1 s", "3 s"), **settings):
    goal = {} if "at_most" in settings else {"at_least": 3.0}
    return Row("name", "what", measure, **{"rival": "SciPy loop", "limit": "memory", **goal, **settings})


@pytest.mark.parametrize("goals", [{"at_least": None}, {"at_least": 1.0, "at_most": 2.0}])
def test_a_row_has_exactly_one_goal(goals):
    with pytest.raises(ValueError, match="name needs one goal"):
        row(**goals)


@pytest.mark.parametrize(
    ("goal", "status"),
    [({"at_least": 3.0}, "reached"), ({"at_least": 3.1}, "MISS"), ({"at_most": 3.0}, "reached"),
     ({"at_most": 2.9}, "MISS")],
)  # fmt: skip
def test_the_median_is_compared_with_the_goal(goal, status):
    each = row(**goal)
    assert each.status(run(each)) == status
    assert each.status(run(each), quick=True) == "info"


def test_outputs_that_differ_fail_and_are_not_timed():
    calls = []

    def check(ours, theirs):
        raise ValueError(f"{ours} is not {theirs}")

    def ours():
        calls.append(1)
        return 1

    each = row(lambda: ratio(ours, lambda: 2, check))
    measured = run(each)
    assert each.status(measured, quick=True) == "FAILED"
    assert measured.note == "ValueError: 1 is not 2"
    assert len(calls) == 1


def test_a_missing_package_skips_the_row():
    def measure():
        import nowhere_to_be_found  # noqa: F401

    each = row(measure)
    measured = run(each)
    assert each.status(measured) == "skipped"
    assert measured.note.startswith("nowhere_to_be_found is not installed")


def test_a_ratio_is_theirs_over_ours_and_a_cost_is_ours_over_theirs(monkeypatch):
    def clock():
        clock.now += 1.0
        return clock.now

    def slow():
        clock.now += 1.0
        return "same"

    clock.now = 0.0
    monkeypatch.setattr("benchmarks.row.time.perf_counter", clock)
    measured = ratio(lambda: "same", slow, lambda ours, theirs: f"{ours} / {theirs}", 2, note="noted")
    assert measured == Measured((2.0, 2.0), "1.00 s", "2.00 s", "noted; same / same")
    assert ratio(lambda: "same", slow, repeats=2, cost=True).values == (0.5, 0.5)


def test_the_table_shows_rival_version_goal_and_limit(monkeypatch):
    monkeypatch.setattr("benchmarks.row.version", {"scipy": "1.2.3", "gssl": "4.5"}.get)
    lines = [(each, run(each)) for each in (row(package="scipy"), row(at_least=5.0))]
    first, second = table.markdown(lines, quick=False, elapsed=60.0).splitlines()[-2:]
    assert "| 1 s | SciPy loop (scipy 1.2.3) | 3 s | 3 × (2–4) | ≥ 3 × | reached | memory |" in first
    assert "| SciPy loop | 3 s | 3 × (2–4) | ≥ 5 × | **MISS** | memory |" in second
    record = json.loads(table.as_json(lines, quick=False, elapsed=60.0, spent={"name": 2.0}))
    fields = ("rival", "version", "theirs", "at_least", "limit", "median", "status", "seconds")
    assert [record["rows"][0][field] for field in fields] == [
        "SciPy loop", "1.2.3", "3 s", 3.0, "memory", 3.0, "reached", 2.0
    ]  # fmt: skip


@pytest.mark.parametrize("quick", [True, False])
def test_every_row_has_a_name_of_its_own_and_says_what_limits_it(quick):
    listed = rows(quick=quick)
    assert len({each.name for each in listed}) == len(listed)
    assert all(each.limit and each.rival for each in listed)
