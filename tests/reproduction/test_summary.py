"""Means, differences and verdicts."""

import pytest

from reproduction.spec import Artefact, Cell, Claim, Entry
from reproduction.summary import judge, measured, summarize

KNOWN = Cell("classifier", "karate", {"method": "OGC"})
OTHER = Cell("classifier", "cora", {"method": "OGC"}, random=False)


@pytest.fixture
def two_runs(store):
    """One run of a random cell, and one of a deterministic cell."""
    store.add(KNOWN, 0, {"accuracy": 79.0}, seconds=1.0)
    store.add(OTHER, 0, {"accuracy": 70.0}, seconds=1.0)
    return store


def test_means_differences_and_verdicts(result):
    verdicts = {line.entry.row: (line.ours, line.difference, line.verdict) for line in result.lines}
    assert verdicts == {
        "hit": (79.5, -1.0, "hit"),
        "miss": (79.5, -1.1, "miss"),
        "above": (79.5, 1.1, "above"),
        "not above": (79.5, 1.1, "miss"),
        "later": (None, None, "not run"),
        "GCN": (None, None, "published only"),
        "error": (0.0123, None, "unjudged"),
    }
    assert result.lines[0].n_seeds == 2
    assert result.lines[0].spread == 0.5
    assert result.seconds == 2.0


def test_a_value_that_a_run_did_not_tell_is_not_run(two_runs):
    entries = (
        Entry("told", "x", cell=KNOWN),
        Entry("untold", "x", cell=KNOWN, value="node 7"),
        Entry("change", "x", cell=KNOWN, minus=OTHER),
        Entry("untold change", "x", cell=KNOWN, minus=OTHER, value="node 7"),
    )
    lines = summarize(Artefact("tiny", "", "", entries), two_runs).lines
    assert [(line.ours, line.verdict) for line in lines] == [
        (79.0, "unjudged"),
        (None, "not run"),
        (9.0, "unjudged"),
        (None, "not run"),
    ]


A, B = ("", "a", "x"), ("", "b", "x")
PAIRED = Claim("a is better", pairs=((A, B),))


@pytest.mark.parametrize(
    ("first", "second", "holds", "evidence"),
    [
        ((82.0, 83.0, 85.0), (81.0, 82.1, 83.9), True, "paired t-test over 3 seeds, p = 0.0017"),
        # the same means as above, but the differences vary between seeds
        ((82.0, 83.0, 85.0), (85.0, 81.0, 81.0), None, "not decided: paired t-test over 3 seeds, p = 0.34"),
        (
            (81.0, 82.1, 83.9),
            (82.0, 83.0, 85.0),
            False,
            "paired t-test over 3 seeds, p < 0.05 for the opposite",
        ),
        # one seed of a random method decides nothing, however many the other has
        ((82.0,), (81.0,), None, "not decided: one seed, which agrees"),
        ((81.0,), (82.0,), None, "not decided: one seed, which disagrees"),
        ((82.0, 82.1, 82.2), (81.0,), None, "not decided: one seed, which agrees"),
        # of different numbers of seeds, the common ones count
        ((82.0, 83.0, 85.0), (81.0, 82.1), True, "paired t-test over 2 seeds, p = 0.017"),
        ((82.0,), (), None, "not measured"),
        ((82.0, 83.0), (82.0, 83.0), None, "not decided: paired t-test over 2 seeds, p = 0.5"),
    ],
)
def test_pairs_are_judged_by_a_paired_test(first, second, holds, evidence):
    values = {position: samples for position, samples in ((A, first), (B, second)) if samples}
    judged = judge(PAIRED, values)
    assert (judged.holds, judged.evidence) == (holds, evidence)


@pytest.mark.parametrize(
    ("first", "second", "fixed", "holds", "evidence"),
    [
        # a deterministic method has one number for all seeds
        ((82.0, 82.1, 82.2), (81.0,), {B}, True, "paired t-test over 3 seeds, p = 0.0014"),
        ((82.0,), (81.0,), {B}, None, "not decided: one seed, which agrees"),
        ((82.0,), (81.0,), {A, B}, True, "one run each"),
        ((81.0,), (82.0,), {A, B}, False, "one run each"),
        ((82.0,), (82.0,), {A, B}, False, "one run each"),
    ],
)
def test_deterministic_methods_need_one_run(first, second, fixed, holds, evidence):
    judged = judge(PAIRED, {A: first, B: second}, fixed)
    assert (judged.holds, judged.evidence) == (holds, evidence)


def test_one_reversed_pair_refutes_even_if_another_has_one_seed():
    C = ("", "c", "x")
    both = Claim("a is better", pairs=((A, B), (A, C)))
    judged = judge(both, {A: (1.0, 1.1, 1.2), B: (2.0, 2.2, 2.1), C: (0.5,)})
    assert (judged.holds, judged.evidence) == (False, "paired t-test over 3 seeds, p < 0.05 for the opposite")


def test_entries_without_a_random_cell_are_deterministic(two_runs):
    entries = (
        Entry("random", "x", cell=KNOWN),
        Entry("fixed", "x", cell=OTHER),
        Entry("change", "x", cell=OTHER, minus=KNOWN),
        Entry("later", "x", cell=Cell("classifier", "cora", {"method": "SGC"}, random=False)),
    )
    values, fixed = measured(summarize(Artefact("tiny", "", "", entries), two_runs).lines)
    assert values == {("", "random", "x"): (79.0,), ("", "fixed", "x"): (70.0,), ("", "change", "x"): (-9.0,)}
    assert fixed == {("", "fixed", "x")}


def test_a_claim_needs_all_of_its_pairs():
    values = {A: (2.0, 2.1, 2.2), B: (1.0, 1.1, 1.3), ("", "c", "x"): (2.0, 2.2, 2.1)}
    both = Claim("a is better", pairs=((A, B), (A, ("", "c", "x"))))
    assert judge(both, values).holds is None
    assert judge(PAIRED, values).holds is True
    assert PAIRED.holds({A: 2.0, B: 1.0})
    assert not PAIRED.holds({A: 1.0, B: 1.0})


def test_a_rule_is_told_with_the_seeds_that_bear_it_out():
    rule = Claim("a is above 2", lambda means: means[A] > 2.0)
    judged = judge(rule, {A: (1.9, 2.5, 2.5)})
    assert (judged.holds, judged.evidence) == (True, "judged by the means; true for 2 of 3 seeds")
    # seeds of places that the rule does not use play no part
    assert judge(rule, {A: (1.9, 2.5, 2.5), B: (1.0,)}).holds is True
    judged = judge(rule, {A: (1.9,), B: (1.0, 2.0)})
    assert (judged.holds, judged.evidence) == (None, "not decided: one seed, which disagrees")
    assert judge(rule, {A: (1.9,)}, {A}).holds is False
