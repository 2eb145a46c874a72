import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gssl.label.label_kinds import check_class_name
from gssl.label.labelling import Labelling

IDS = np.array(["a", "b", "c", "d"], dtype=object)


def fresh(*given):
    y = np.full(4, None, dtype=object)
    y[: len(given)] = given
    return Labelling(IDS, y)


def do(labelling, action):
    labelling.apply(labelling.check(action))


def snapshot(labelling):
    return list(labelling.codes.items()), list(labelling.classes), set(labelling.skipped), labelling.recent(9)


names, nodes = st.sampled_from(["x", "y", "z"]), st.lists(st.sampled_from("abcde"), min_size=1, max_size=4)
actions = st.one_of(
    st.builds(lambda n, name: {"do": "label", "nodes": n, "label": name}, nodes, st.none() | names),
    st.builds(lambda n: {"do": "skip", "nodes": n}, nodes),
    st.builds(lambda name: {"do": "class", "label": name}, names),
    st.builds(lambda n, name: {"do": "import", "labels": [[i, name] for i in n]}, nodes, names),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(actions, max_size=12))
def test_undo_takes_back_every_action_exactly(done):
    labelling = fresh("y", "x")
    states = [snapshot(labelling)]
    for action in done:
        do(labelling, action)
        states.append(snapshot(labelling))
    for state in reversed(states[:-1]):
        do(labelling, {"do": "undo"})
        assert snapshot(labelling) == state
    assert labelling.undoable == ""
    do(labelling, {"do": "undo"})
    assert snapshot(labelling) == states[0]
    assert labelling.version == 2 * len(done) + 1


def test_given_labels_come_first_and_new_classes_after_them():
    labelling = fresh("pine", "elm")
    do(labelling, {"do": "label", "nodes": ["d"], "label": "ash"})
    assert labelling.classes == ["elm", "pine", "ash"]
    assert labelling.codes == {0: 1, 1: 0, 3: 2}
    assert labelling.undoable == "labelled d"


def test_recent_classes_are_those_given_last():
    labelling = fresh("pine", "elm")
    assert labelling.recent(3) == []
    for node, name in (("c", "ash"), ("d", "elm"), ("a", "oak"), ("c", "fir")):
        do(labelling, {"do": "label", "nodes": [node], "label": name})
    assert labelling.recent(9) == ["fir", "oak", "elm"]
    assert labelling.recent(2) == ["fir", "oak"]


def test_a_label_ends_a_skip_and_a_skip_keeps_a_label():
    labelling = fresh("x")
    do(labelling, {"do": "skip", "nodes": ["a", "b"]})
    assert labelling.skipped == {1}
    do(labelling, {"do": "label", "nodes": ["b"], "label": "x"})
    assert labelling.skipped == set()
    do(labelling, {"do": "label", "nodes": ["b"], "label": None})
    assert labelling.codes == {0: 0}
    assert labelling.undoable == "unlabelled b"


def test_nodes_that_are_not_in_the_graph_are_counted():
    labelling = fresh()
    do(labelling, {"do": "label", "nodes": ["a", "gone"], "label": "x"})
    do(labelling, {"do": "skip", "nodes": ["gone"]})
    assert labelling.unknown == 2
    assert labelling.codes == {0: 0}


def test_class_names_are_checked():
    assert check_class_name("  na\u0069\u0308ve ") == "na\u00efve"
    assert check_class_name("<b>&amp;") == "<b>&amp;"
    for bad, why in [
        ("", "empty"),
        ("  ", "empty"),
        ("nan", "missing"),
        ("NA", "missing"),
        ("null", "missing"),
        (" ? ", "missing"),
        ("-1", "missing"),
        ("x" * 201, "longer"),
        ("a\x1b[31m", "control"),
        ("a\nb", "control"),
        ("\ud800", "control"),
        (3, "string"),
        (None, "string"),
    ]:
        with pytest.raises(ValueError, match=why):
            check_class_name(bad)
