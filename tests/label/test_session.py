import numpy as np
import pytest
from scipy.sparse import csr_array

from gssl.io import Labels, Problem, assemble, read_edges, read_labels
from gssl.label.class_opinion import Careful
from gssl.label.interactive import estimate_accuracy
from gssl.label.number_opinion import FIRST_LEVEL, LEVELS
from gssl.label.opinion import IS_LABELLED, NO_GUESS
from gssl.label.session import Session, StaleError
from gssl.selection import Audit, LearningCurve

CLASSES = ("ash", "birch", "cedar")
numbers_only = pytest.mark.parametrize("session", ["numbers"], indirect=True)


def test_a_session_begins_without_guesses_and_classifies_from_two_classes_on(session, label, truth):
    assert (session.opinion.guesses == NO_GUESS).all()
    assert session.state()["speaks"] == "none"
    assert session.card(0)["thinks"] == []
    label(0)
    assert session.state()["speaks"] == "none"
    label(1, 2)
    assert session.state()["speaks"] == "fast"
    predicted = [session.prediction(node) for node in range(90)]
    assert np.mean([a == b for a, b in zip(predicted, truth, strict=True)]) > 0.8
    assert session.opinion.confidences[0] == IS_LABELLED
    assert session.opinion.confidences[3] < IS_LABELLED


def test_an_action_is_in_the_journal_before_it_counts(session, label, monkeypatch):
    def fail(action):
        raise OSError("the disk is full")

    monkeypatch.setattr(session.journal, "append", fail)
    with pytest.raises(OSError, match="full"):
        label(0)
    assert session.version == 0
    assert session.labelling.codes == {}


def test_a_restart_goes_on_where_it_was(session, label, reopen):
    label(*range(20))
    session.act({"do": "skip", "nodes": [25]}, session.version)
    session.act({"do": "label", "nodes": [30, 31], "label": "new <b>"}, session.version)
    session.act({"do": "undo"}, session.version)
    session.act({"do": "label", "nodes": [33], "label": "oak"}, session.version)
    session.journal.close()
    again = reopen()
    assert again.labelling.codes == session.labelling.codes
    assert again.labelling.classes == [*CLASSES, "oak"]
    assert again.labelling.skipped == {25}
    assert again.version == session.version
    np.testing.assert_array_equal(again.opinion.P, session.opinion.P)
    assert again.suggest() == session.suggest()
    # the curve is recomputed from the first labels on
    assert [point[0] for point in again.state()["curve"]][-1] == 21
    assert len(again.state()["curve"]) > 5


def test_labels_of_nodes_that_are_gone_are_noted(session, label, make_problem, reopen):
    label(80, 81)
    session.journal.close()
    again = reopen(make_problem(60)[0])
    assert again.labelling.codes == {}
    assert "names 2 nodes that are not in the graph" in again.notes[0]


def test_stale_actions_change_nothing(session, label):
    label(0)
    with pytest.raises(StaleError):
        session.act({"do": "label", "nodes": [1], "label": "ash"}, 0)
    assert session.labelling.codes == {0: 0}


@pytest.mark.parametrize(
    ("action", "why"),
    [
        ({"do": "burn"}, "is not an action"),
        ({}, "is not an action"),
        ({"do": "label", "nodes": [], "label": "x"}, "at least one"),
        ({"do": "label", "nodes": [90], "label": "x"}, "no node 90"),
        ({"do": "label", "nodes": [-1], "label": "x"}, "no node -1"),
        ({"do": "label", "nodes": [True], "label": "x"}, "no node True"),
        ({"do": "label", "nodes": ["n1"], "label": "x"}, "no node 'n1'"),
        ({"do": "label", "nodes": "n1", "label": "x"}, "list of at least one index"),
        ({"do": "label", "nodes": [1], "label": ""}, "empty"),
        ({"do": "class"}, "string"),
        ({"do": "import", "labels": 5}, r"pairs .*\(id, class\)"),
        ({"do": "import", "labels": [["n1"]]}, r"pairs .*\(id, class\)"),
        ({"do": "import", "labels": [[1, "x"]]}, r"pairs .*\(id, class\)"),
        ({"do": "import", "labels": [["n1", "a\x1b"]]}, "control"),
        ({"do": "import", "labels": [["n1", "nan"]]}, "missing"),
        ({"do": "import", "labels": [["n1", None]]}, "string"),
        ({"do": "import", "labels": [["n1", "x"]] * 2 + [["n2", ""]]}, "empty"),
        ({"do": "label", "nodes": [1], "label": {}}, "string"),
        ({"do": "label", "nodes": [1], "label": []}, "string"),
        ({"do": {}}, "is not an action"),
    ],
)
def test_actions_that_make_no_sense_are_refused(session, action, why):
    with pytest.raises(ValueError, match=why):
        session.act(action, 0)
    assert session.version == 0
    assert session.journal.path.read_text().count("\n") == 1


@pytest.mark.parametrize("seed", range(3))
def test_undo_gives_back_what_the_page_showed_before_any_action(make_problem, seed):
    rng, session = np.random.default_rng(seed), Session(make_problem(labels=12)[0], layout=False)

    def shown():
        # a removed label leaves its own point on the curve of fewer labels
        state = {name: value for name, value in session.state().items() if name not in ("version", "curve")}
        said = session.opinion
        return state, said.P.tolist(), said.guesses.tolist(), said.confidences.tolist(), session.suggest()

    before = []
    for _ in range(20):
        before.append(shown())
        nodes = rng.integers(90, size=rng.choice([1, 3])).tolist()
        name = [*CLASSES, "dogwood", "elm", None][rng.integers(6)]
        actions = [
            {"do": "label", "nodes": nodes, "label": name},
            {"do": "skip", "nodes": nodes},
            {"do": "class", "label": name or "fir"},
            {"do": "import", "labels": [[f"n{node}", name or "fir"] for node in nodes]},
        ]
        session.act(actions[rng.choice(4, p=[0.6, 0.1, 0.1, 0.2])], session.version)
    while before:
        session.act({"do": "undo"}, session.version)
        assert shown() == before.pop()
    assert session.version == 40


def test_the_page_cannot_number_actions_or_choose_what_undo_takes_back(session, label):
    label(0, 1)
    session.act({"do": "skip", "nodes": [5], "n": 10**9}, session.version)
    assert session.version == 3
    session.act({"do": "undo", "of": 1, "n": -1}, session.version)
    assert sorted(session.labelling.codes) == [0, 1]


def test_a_class_too_many_is_refused_before_it_is_written(session):
    pairs = [["n1", f"class {k}"] for k in range(1001)]
    with pytest.raises(ValueError, match="at most 1,000 classes on the page: 1,001 are too many"):
        session.act({"do": "import", "labels": pairs}, 0)
    assert session.journal.path.read_text().count("\n") == 1
    session.act({"do": "import", "labels": pairs[:1000]}, 0)
    session.act({"do": "label", "nodes": [7], "label": "class 3"}, 1)


def test_suggestions_leave_out_labelled_skipped_and_passed_nodes(session, label):
    seen = set()
    for _ in range(20):
        node, _ = session.suggest()
        assert node not in seen
        seen.add(node)
        label(node)
    node, _ = session.suggest()
    session.act({"do": "skip", "nodes": [node]}, session.version)
    other, _ = session.suggest()
    assert other != node
    session.pass_over(other)
    assert session.suggest()[0] not in (node, other)
    # until another action
    label(*(i for i in range(90) if i not in {node, other} | seen))
    assert session.suggest()[0] == other
    session.pass_over(other)
    assert session.suggest()[0] == other
    label(other)
    assert session.suggest() is None


def test_a_model_that_only_guesses_does_not_choose(session, truth):
    for node in range(30):
        # every group has all classes in equal parts
        name = CLASSES[node // 3 % 3]
        session.act({"do": "label", "nodes": [node], "label": name}, session.version)
        if session.version < 20:
            assert not session.opinion.guessing
    assert session.opinion.answer.hits.sum() <= np.bincount(session.opinion.answer.codes).max()
    assert session.state()["guessing"]
    node, count = session.suggest()
    assert node >= 30
    assert count == 0
    assert session.suggest() == (node, 0)
    session.pass_over(node)
    assert session.suggest()[0] != node
    # with labels that can be learned, the model chooses again
    for node in range(90):
        session.act({"do": "label", "nodes": [node], "label": truth[node]}, session.version)
        if node == 60:
            assert not session.opinion.guessing
            assert session.suggest()[1] >= 0


def test_a_wrong_label_is_doubted(session, label):
    label(*range(30))
    session.act({"do": "label", "nodes": [40], "label": "cedar"}, session.version)
    first = session.state()["doubts"][0]
    assert (first["index"], first["label"], first["says"]) == (40, "cedar", "birch")
    assert session.card(40)["thinks"][0]["name"] == "birch"


def test_accuracy_is_estimated_from_hidden_labels(session, label):
    label(*range(7))
    assert session.state()["accuracy"] is None
    label(*range(7, 30))
    accuracy = session.state()["accuracy"]
    answer = session.opinion.answer
    confidences = answer.distributions[30:].max(axis=1)
    wanted = estimate_accuracy(answer.hidden.max(axis=1), answer.hits, confidences)
    assert (accuracy["share"], accuracy["error"]) == wanted
    assert accuracy["share"] > 0.8
    assert [point[0] for point in session.state()["curve"]] == list(range(8, 31))


def test_shares_on_a_card_are_those_in_the_lead_of_the_first_class(session, label):
    label(*range(30))
    card = session.card(50)
    answer = session.opinion.answer
    best, second = (CLASSES.index(each["name"]) for each in card["thinks"][:2])
    shares = answer.shares(50)
    scores = shares @ np.eye(3)[answer.codes]
    lead = shares * (1.0 * (answer.codes == best) - (answer.codes == second))
    assert lead.sum() == pytest.approx(scores[best] - scores[second])
    shown = [each["share"] for each in card["why"]]
    assert shown[:4] == pytest.approx(sorted(lead)[::-1][:4])
    assert shown[4:] == pytest.approx([share for share in sorted(lead)[:4] if share < 0])
    assert card["picture"].startswith('<svg class="near"')
    assert all(f'data-node="{each["index"]}"' in card["picture"] for each in card["why"])
    # a labelled node is not listed as evidence for itself
    assert 3 not in {each["index"] for each in session.card(3)["why"]}


def test_auto_classifier_is_believed_about_labels_it_was_fitted_to(session, label):
    label(*range(30))
    session.act({"do": "label", "nodes": [40], "label": "cedar"}, session.version)
    labels = dict(session.labelling.codes)
    nodes = np.array([7, 40])
    audit = Audit(
        nodes, np.array([1, 2]), np.array([0, 2]), np.array([0.9, 0.8]), np.array([0.1, 0.8]),
        np.array([0.7, 0.1]), np.full(2, -1), np.full(2, -1), 3.2, (1.0, 5.0),
    )  # fmt: skip
    P, hidden = np.full((90, 3), 1 / 3), np.full((31, 3), 1 / 3)
    samples = np.tile([0.9, 2.0, 0.5], (50, 1))
    curve = LearningCurve(31, 90, np.array([10]), np.array([0.5]), None, samples)
    session.offer(labels, Careful(P, hidden, audit, curve), "careful")
    (doubt,) = session.state()["doubts"]
    assert (doubt["index"], doubt["label"], doubt["says"], doubt["wrong"]) == (7, "birch", "ash", 0.7)
    assert session.state()["wrong"].startswith("About 3 of 2 labels are wrong (1 to 5)")
    # the curve is shifted to the estimate, which accounts for suggested labels being hard
    share = 100 * session.state()["refit"]["share"]
    assert f"With 31 labels about {share:.1f} % of predictions are right" in session.state()["outlook"]
    # a label that it was not fitted to is judged by the fast model
    session.act({"do": "label", "nodes": [41], "label": "ash"}, session.version)
    assert {each["index"] for each in session.state()["doubts"]} == {7, 41}
    assert session.state()["wrong"] == ""


def test_a_careful_model_speaks_and_the_fast_one_moves_it(session, label):
    label(*range(12))
    labels = dict(session.labelling.codes)
    P = np.random.default_rng(0).dirichlet(np.ones(3), 90)
    hidden = np.eye(3)[[labels[node] for node in sorted(labels)]]
    session.offer(labels, Careful(P, hidden), "careful")
    assert session.state()["speaks"] == "careful"
    np.testing.assert_allclose(session.opinion.P, P, atol=1e-6)
    assert session.state()["refit"]["share"] > 0.5
    assert session.state()["refit"]["labels"] == 12
    fast = session.opinion.answer.distributions.copy()
    label(12)
    assert session.state()["speaks"] == "both"
    moved = P * (session.opinion.answer.distributions + 0.01) / (fast + 0.01)
    np.testing.assert_allclose(session.opinion.P, moved / moved.sum(axis=1, keepdims=True), rtol=1e-4)
    # a class that the careful model does not know
    session.act({"do": "label", "nodes": [20], "label": "oak"}, session.version)
    assert session.state()["speaks"] == "fast"


@pytest.mark.parametrize(
    ("session", "first", "second"),
    [("classes", "ash", "fir"), ("numbers", 2.5, 0.1234567890123)],
    indirect=["session"],
)
def test_labels_are_imported_and_exported_exactly(session, label, tmp_path, first, second):
    label(0)
    own, answers = session.labelling.label(0), session.labelling.kind.answers
    ids = np.array(["n5", "n6", "gone", "n7"], dtype=object)
    labels = np.array([first, second, first, None], dtype=object)
    message = session.import_labels(Labels(ids, labels), session.version)
    assert message == "2 labels imported; 1 of unknown nodes left out."
    for suffix in ("csv", "parquet", "tsv", "jsonl"):
        session.write(tmp_path / f"out.{suffix}")
        read = read_labels(tmp_path / f"out.{suffix}", answers=answers)
        assert dict(zip(read.ids, read.labels, strict=True)) == {"n0": own, "n5": first, "n6": second}
    session.act({"do": "undo"}, session.version)
    assert session.labels() == {"id": ["n0"], "label" if answers == "classes" else "value": [own]}
    with pytest.raises(ValueError, match="none of the labels"):
        session.import_labels(Labels(ids[2:3], labels[2:3]), session.version)


def test_imported_labels_of_items_are_not_those_of_users():
    edges = read_edges("SELECT i AS user_id, i % 3 AS item_id FROM range(9) AS t(i)")
    session = Session(assemble(edges), layout=False)
    labels = read_labels("SELECT '1' AS item_id, 'ash' AS label UNION ALL SELECT '8', 'fir'")
    assert session.import_labels(labels, session.version) == "1 labels imported; 1 of unknown nodes left out."
    assert session.labels() == {"id": ["item_id:1"], "label": ["ash"]}


def test_a_class_without_labels_has_a_place_and_no_part_in_predictions(session, label):
    session.act({"do": "class", "label": "zebra"}, 0)
    label(*range(12))
    classes = session.state()["classes"]
    assert classes[0] == {"name": "zebra", "labels": 0, "predicted": 0}
    assert {each["name"] for each in session.card(50)["thinks"]} == set(CLASSES)
    assert sum(each["predicted"] for each in classes) == 90


def test_a_graph_of_one_node_can_be_labelled():
    one = Problem(np.array(["a"], dtype=object), csr_array((1, 1)), None, np.array([None], dtype=object))
    session = Session(one)
    assert session.suggest() == (0, 0)
    session.act({"do": "label", "nodes": [0], "label": "x"}, 0)
    assert session.suggest() is None


@numbers_only
def test_numbers_are_predicted_with_intervals(session, label, numbers):
    assert session.state()["speaks"] == "none"
    assert session.card(0)["thinks"] is None
    label(0)
    assert session.state()["speaks"] == "none"
    label(1)
    assert session.state()["speaks"] == "fast"
    assert set(session.card(50)["thinks"]) == {"value"}
    label(*range(2, 40))
    thinks = session.card(50)["thinks"]
    assert thinks["low"] < thinks["value"] < thinks["high"]
    assert session.prediction(50) == thinks["value"]
    assert session.prediction(3) == session.card(3)["label"] == numbers[3]
    answer = session.opinion.answer
    # without its own number
    assert session.card(3)["thinks"]["value"] == answer.hidden[3]
    predicted = np.array([session.prediction(node) for node in range(40, 90)])
    assert np.corrcoef(predicted, numbers[40:])[0, 1] > 0.9
    state = session.state()
    share, error = answer.accuracy.r_squared
    assert share > 0.8
    assert (state["accuracy"]["share"], state["accuracy"]["error"]) == (share, error)
    assert state["accuracy"]["typical"] == np.median(np.abs(numbers[:40] - answer.hidden))
    assert [point[0] for point in state["curve"]] == list(range(8, 41))
    assert sum(state["labels"]) == 40
    assert sum(state["predicted"]) == 90


@numbers_only
def test_numbers_that_raise_a_prediction_are_shown_before_those_that_lower_it(session, label):
    label(*range(30))
    card, shares = session.card(50), session.opinion.answer.shares(50)
    assert [each["share"] for each in card["why"][:4]] == pytest.approx(sorted(shares)[::-1][:4])
    assert [each["share"] for each in card["why"][4:]] == pytest.approx(sorted(shares)[:4])
    assert "for a higher number" in card["picture"]
    # a node does not speak for itself
    assert 3 not in {each["index"] for each in session.card(3)["why"]}


@numbers_only
def test_colours_of_numbers_go_from_the_lowest_to_the_highest(session, label, numbers):
    label(*range(40))
    said = session.opinion
    assert (said.confidences[:40] == IS_LABELLED).all()
    assert (said.confidences[40:] < IS_LABELLED).all()
    order = np.argsort(said.answer.values[40:])
    assert (np.diff(said.guesses[40:][order].astype(int)) >= 0).all()
    assert said.guesses[np.argmax(numbers[:40])] == FIRST_LEVEL + LEVELS - 1


@numbers_only
def test_a_wrong_number_is_doubted(session, label, numbers):
    label(*range(40))
    assert session.state()["doubts"] == []
    session.act({"do": "label", "nodes": [40], "label": numbers[40] + 100.0}, session.version)
    state = session.state()
    assert [each["index"] for each in state["doubts"]] == [40]
    assert state["doubts"][0]["deviations"] > 4
    assert state["wrong"].startswith("1 of 41 numbers is more than 4 deviations away")


@numbers_only
@pytest.mark.parametrize("label", ["abc", "inf", "3,5", "", float("inf"), float("nan"), True, [1], "1e999"])
def test_labels_that_are_no_numbers_change_nothing(session, label):
    with pytest.raises(ValueError, match="number"):
        session.act({"do": "label", "nodes": [0], "label": label}, 0)
    with pytest.raises(ValueError, match="number"):
        session.act({"do": "import", "labels": [["n1", 2.0], ["n2", label]]}, 0)
    assert session.labelling.codes == {}
    assert session.journal.path.read_text().count("\n") == 1


@numbers_only
def test_undo_of_numbers_gives_back_what_the_page_showed(session, label):
    label(*range(12))

    def shown():
        state = {name: value for name, value in session.state().items() if name != "version"}
        return state, session.opinion.guesses.tolist(), session.suggest()

    before = shown()
    session.act({"do": "label", "nodes": [3, 20], "label": "7.5"}, session.version)
    assert session.labelling.label(20) == session.labelling.label(3) == 7.5
    assert session.state()["undo"] == "labelled 2 nodes"
    session.act({"do": "undo"}, session.version)
    after = shown()
    # the curve keeps its point of more numbers for when they come back
    assert after == before


@numbers_only
def test_equal_numbers_predict_nothing_yet(session):
    session.act({"do": "label", "nodes": [0, 1, 2], "label": 4}, session.version)
    assert session.state()["speaks"] == "none"
    assert session.prediction(0) == 4.0
    assert session.prediction(5) is None
    assert session.suggest() is not None


@numbers_only
def test_numbers_without_a_pattern_are_asked_at_random(session):
    rng = np.random.default_rng(0)
    for node in range(30):
        label = float(rng.standard_normal())
        session.act({"do": "label", "nodes": [node], "label": label}, session.version)
    assert not session.opinion.answer.accuracy.beats_mean
    assert session.state()["guessing"]
    assert session.suggest()[1] == 0


def test_other_kinds_of_answers_are_refused(problem):
    with pytest.raises(ValueError, match="one of classes, numbers, not 'sets'"):
        Session(problem, layout=False, answers="sets")
