"""The labelling page in a headless browser, as a person would use it."""

import csv
import json
import os
import subprocess
import sys
import time

import numpy as np
import pytest
from tests.browser import open_tabs, start_browser

from gssl.io import Problem
from gssl.label.browser import write_redirect
from gssl.label.server import LabelServer
from gssl.label.session import Session

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
KEYS = {"ash": "1", "birch": "2", "cedar": "3"}
NASTY = (
    "<img src=x onerror=alert(1)>",
    "</script><script>alert(2)</script>",
    '"onmouseover="alert(3)',
    "javascript:alert(4)",
    "\u202eevil",
    "{{7*7}}${7*7}",
    "x" * 3000,
    "line\nbreak\ttab",
    "__proto__",
)


@pytest.fixture(scope="module")
def browser():
    yield from start_browser()


@pytest.fixture
def open_page(browser):
    """Return a function that opens an address and waits until the page is ready."""
    with open_tabs(browser, "http://127.0.0.1:") as open_tab:

        def open_page(url, width=1300, scheme="light", context=None, quiet=False):
            tab = open_tab(url, width, scheme, context, quiet)
            tab.wait_for_selector("body[data-ready]", timeout=30_000)
            return tab

        yield open_page


@pytest.fixture
def serve():
    """Return a function that serves a session in this process."""
    servers = []

    def serve(session):
        server = LabelServer(session)
        server.start()
        servers.append(server)
        return server.new_url()

    yield serve
    for server in servers:
        server.close()


def settle(tab, version):
    """Wait until the page shows the given version."""
    tab.wait_for_selector(f"body:not(.busy)[data-version='{version}']", timeout=30_000)


def press(tab, key, version):
    tab.keyboard.press(key)
    settle(tab, version)


def type_class(tab, name, version):
    tab.keyboard.press("+")
    tab.keyboard.type(name)
    press(tab, "Enter", version)


def count(tab):
    return int(tab.text_content("#labelled").replace(",", ""))


numbers_only = pytest.mark.parametrize("session", ["numbers"], indirect=True)


def test_a_session_by_keyboard_alone(open_page, serve, session, truth):
    tab = open_page(serve(session))
    assert "token" not in tab.url
    assert "Type the first class" in tab.text_content("#answers")
    for version in range(1, 21):
        name = truth[int(tab.text_content("#node-id")[1:])]
        if name in session.labelling.classes:
            press(tab, str(session.labelling.classes.index(name) + 1), version)
        else:
            type_class(tab, name, version)
    assert count(tab) == 20
    assert all(
        truth[node] == session.labelling.classes[code] for node, code in session.labelling.codes.items()
    )
    assert "labelled" in tab.text_content("#live")
    assert "20 labels" in tab.text_content("#live")
    assert tab.locator("#thinks .think").count() == 3
    assert tab.locator("#why svg.near").count() == 1
    assert tab.locator("#curve svg").count() == 1
    # undo returns to the node; skip and next move on
    press(tab, "z", 21)
    assert count(tab) == 19
    node = tab.text_content("#node-id")
    press(tab, " ", 22)
    assert tab.text_content("#node-id") != node
    assert session.labelling.skipped == {int(node[1:])}
    node = tab.text_content("#node-id")
    tab.keyboard.press("n")
    playwright.expect(tab.locator("#node-id")).not_to_have_text(node)
    # search opens a node, a key changes its label, Delete removes it
    labelled = sorted(session.labelling.codes)[0]
    tab.keyboard.press("/")
    tab.keyboard.type(f"n{labelled}")
    tab.wait_for_selector("#found button")
    tab.keyboard.press("Enter")
    playwright.expect(tab.locator("#node-id")).to_have_text(f"n{labelled}")
    playwright.expect(tab.locator("#node-label")).to_contain_text(truth[labelled])
    press(tab, "Delete", 23)
    assert labelled not in session.labelling.codes
    playwright.expect(tab.locator("#node-id")).to_have_text(f"n{labelled}")
    # one Escape closes the search, even with text in it
    tab.keyboard.press("/")
    tab.keyboard.type("n1")
    tab.keyboard.press("Escape")
    assert tab.locator("#search").is_hidden()
    # help, and every control has a name
    tab.keyboard.press("?")
    assert tab.locator("#help").is_visible()
    tab.keyboard.press("Escape")
    unnamed = tab.evaluate(
        "[...document.querySelectorAll('button, input, canvas')].filter(e => !e.hidden && "
        "!(e.textContent.trim() || e.getAttribute('aria-label'))).length"
    )
    assert unnamed == 0


def test_a_lasso_labels_several_nodes_and_they_are_undone_at_once(open_page, serve, problem):
    session = start_with_classes(problem, layout=True)
    tab = open_page(serve(session))
    tab.click("#lasso")
    box = tab.locator("#map").bounding_box()
    corners = [(0.02, 0.02), (0.98, 0.02), (0.98, 0.98), (0.02, 0.98), (0.02, 0.03)]
    points = [(box["x"] + a * box["width"], box["y"] + b * box["height"]) for a, b in corners]
    tab.mouse.move(*points[0])
    tab.mouse.down()
    for point in points[1:]:
        tab.mouse.move(*point, steps=4)
    tab.mouse.up()
    assert "90 nodes selected, 3 of which keep their label" in tab.text_content("#selection")
    press(tab, "2", 4)
    assert count(tab) == 90
    assert sum(code == 1 for code in session.labelling.codes.values()) == 88
    assert session.labelling.codes[0] == 0
    assert tab.text_content("#node-id") == "All nodes are labelled or skipped"
    press(tab, "z", 5)
    assert sorted(session.labelling.codes) == [0, 1, 2]
    # the same by keyboard, for all nodes in view
    tab.focus("#map")
    tab.keyboard.press("Shift+Enter")
    assert "90 nodes selected" in tab.text_content("#selection")
    tab.keyboard.press("Escape")
    assert tab.locator("#selection").is_hidden()
    tab.keyboard.press("Enter")
    playwright.expect(tab.locator("#node-why")).to_have_text("Opened by you")


def test_a_page_that_was_opened_by_the_private_file_can_be_reloaded(browser, serve, session, tmp_path):
    url = serve(session)
    file = write_redirect(tmp_path, url)
    context = browser.new_context()
    tab = context.new_page()
    for address in (file.as_uri(), url):
        # the second time, the token is used up and the cookie counts
        tab.goto(address)
        tab.wait_for_selector("body[data-ready]", timeout=30_000)
        assert tab.url == url.split("?")[0]
        tab.reload()
        tab.wait_for_selector("body[data-ready]", timeout=30_000)
    other = browser.new_context()
    tab = other.new_page()
    assert tab.goto(url).status == 403
    context.close()
    other.close()


def start_with_classes(problem, names=KEYS, layout=False):
    session = Session(problem, layout=layout)
    for node, name in enumerate(names):
        session.act({"do": "label", "nodes": [node], "label": name}, session.version)
    return session


@pytest.fixture
def slow_page(request, open_page, serve, problem, monkeypatch):
    """A session and its page, on which every action takes a while, as on a large graph."""
    session = start_with_classes(problem)
    act = session.act

    def wait(*arguments):
        time.sleep(0.15)
        return act(*arguments)

    monkeypatch.setattr(session, "act", wait)
    return session, open_page(serve(session), quiet=hasattr(request, "param"))


def test_keys_that_are_typed_ahead_label_one_node_each_in_order(slow_page):
    session, tab = slow_page
    keys = "12331212"
    for key in keys:
        tab.keyboard.press(key)
    playwright.expect(tab.locator("#waiting")).to_contain_text("waiting")
    settle(tab, 11)
    assert tab.locator("#waiting").is_hidden()
    assert count(tab) == 11
    assert [code + 1 for code in session.labelling.codes.values()][3:] == [int(key) for key in keys]
    for _ in range(8):
        tab.keyboard.press("z")
    settle(tab, 19)
    assert sorted(session.labelling.codes) == [0, 1, 2]
    # keys of several kinds keep their order: the label is undone, and the node after next is skipped
    first = tab.text_content("#node-id")
    for key in ("1", "z", "n", " ", "2"):
        tab.keyboard.press(key)
    settle(tab, 23)
    assert len(session.labelling.skipped - {int(first[1:])}) == 1
    assert list(session.labelling.codes.values())[3:] == [1]


def test_escape_drops_the_keys_that_wait(slow_page):
    session, tab = slow_page
    for _ in range(6):
        tab.keyboard.press("1")
    tab.keyboard.press("Escape")
    assert tab.locator("#waiting").is_hidden()
    tab.wait_for_selector("body:not(.busy)")
    assert 3 < len(session.labelling.codes) < 9
    settle(tab, session.version)


@pytest.mark.parametrize("slow_page", ["quiet"], indirect=True)
def test_keys_that_wait_are_dropped_if_another_tab_has_changed_the_labels(slow_page):
    session, tab = slow_page
    session.act({"do": "label", "nodes": [50], "label": "ash"}, session.version)
    for _ in range(3):
        tab.keyboard.press("2")
    settle(tab, 4)
    playwright.expect(tab.locator("#toast")).to_contain_text("2 waiting keys were dropped")
    assert list(session.labelling.codes.values()).count(1) == 1


def test_a_waiting_key_labels_what_was_selected_when_it_was_typed(slow_page):
    session, tab = slow_page
    tab.keyboard.press("1")
    tab.keyboard.press("1")
    # a selection that is made while two keys wait is for the third
    tab.focus("#map")
    tab.keyboard.press("Shift+Enter")
    tab.keyboard.press("2")
    settle(tab, 6)
    assert list(session.labelling.codes.values()).count(0) == 3
    assert list(session.labelling.codes.values()).count(1) == 86


NAMES = [f"{chr(97 + i % 26)}{'aeiou'[i // 26]}s wood {i:02d}" for i in range(57)]


def answers(tab):
    return tab.locator("#answers .answer:not(.new) .answer-name").all_text_contents()


def test_digits_stand_for_likely_and_recent_classes_if_there_are_many(open_page, serve, problem):
    session = start_with_classes(problem, NAMES)
    tab = open_page(serve(session))
    node = int(tab.text_content("#node-id")[1:])
    guesses = [each["name"] for each in session.card(node)["thinks"][:5]]
    # the last label was of the last class
    assert answers(tab)[:7] == [*guesses, *[name for name in NAMES[::-1] if name not in guesses][:2]]
    assert sorted(answers(tab)) == sorted(NAMES)
    assert tab.locator("#answers kbd").all_text_contents() == [*"123456789", "+"]
    press(tab, "1", 58)
    assert session.labelling.label(node) == guesses[0]
    # the first letters narrow the list, and Enter takes the first
    node = int(tab.text_content("#node-id")[1:])
    tab.keyboard.type("ca")
    assert answers(tab) == ["cas wood 02"]
    press(tab, "Enter", 59)
    assert session.labelling.label(node) == "cas wood 02"
    assert len(answers(tab)) == 57
    assert "cas wood 02" in answers(tab)[:6]
    # typed quickly, one after the other, also a name that begins with the key of an action
    tab.keyboard.type("des")
    tab.keyboard.press("Enter")
    tab.keyboard.press("Enter")
    tab.keyboard.type("zas")
    tab.keyboard.press("Enter")
    settle(tab, 61)
    assert [session.labelling.classes[code] for code in session.labelling.codes.values()][-2:] == [
        "des wood 29",
        "zas wood 25",
    ]
    # any class can be reached, and Escape leaves
    for name in NAMES:
        tab.keyboard.press("Enter")
        tab.keyboard.type(name)
        assert answers(tab)[0] == name
        tab.keyboard.press("Escape")
    tab.keyboard.type("wood")
    assert len(answers(tab)) == 57
    tab.keyboard.type("xyz")
    assert answers(tab) == []
    tab.keyboard.press("Enter")
    assert "No class begins with" in tab.text_content("#toast")
    assert session.version == 61


def test_with_a_key_for_every_class_each_keeps_its_key(open_page, serve, problem):
    session = start_with_classes(problem, NAMES[:33])
    tab = open_page(serve(session))
    assert answers(tab) == NAMES[:33]
    assert tab.locator("#class-filter").is_hidden()
    press(tab, "y", 34)
    press(tab, "2", 35)
    assert answers(tab) == NAMES[:33]
    assert list(session.labelling.codes.values())[-2:] == [32, 1]


def test_two_tabs_stay_consistent(open_page, serve, session):
    url = serve(session)
    first = open_page(url)
    second = open_page(url.split("?")[0], context=first.context, quiet=True)
    type_class(first, "ash", 1)
    second.wait_for_selector("body[data-version='1']")
    assert count(second) == 1
    assert second.text_content("#node-id") == first.text_content("#node-id")
    # an action on an outdated state is not executed
    session.act({"do": "label", "nodes": [5], "label": "ash"}, session.version)
    second.keyboard.press("1")
    settle(second, 2)
    assert count(second) == 2
    assert "another tab" in second.text_content("#toast")
    first.wait_for_selector("body[data-version='2']")


def test_hostile_names_are_only_text(open_page, serve, problem):
    ids = problem.node_ids.copy()
    ids[: len(NASTY)] = NASTY
    texts = np.array([NASTY[i % len(NASTY)] for i in range(90)], dtype=object)
    names = tuple(NASTY[i % len(NASTY)] + str(i) for i in range(12))
    y = np.full(90, None, dtype=object)
    # also a class for each nasty name; line breaks can come from tables only
    y[: 2 * len(NASTY)] = [NASTY[i % len(NASTY)] for i in range(2 * len(NASTY))]
    session = Session(Problem(ids, problem.adjacency, problem.features, y, feature_names=names), texts=texts)
    tab = open_page(serve(session), width=420)
    version = 0
    for node in range(len(NASTY)):
        tab.keyboard.press("/")
        tab.fill("#search-text", NASTY[node].split("\n")[0][:60])
        tab.wait_for_selector("#found button")
        tab.keyboard.press("Enter")
        tab.wait_for_selector("dialog[open]", state="detached")
        version += 1
        press(tab, str(1 + node % len(NASTY)), version)
    type_class(tab, "<svg onload=alert(5)>", version + 1)
    assert tab.locator("main img, main script, main [onerror], main [onload]").count() == 0
    assert "<svg onload=alert(5)>" in tab.text_content("#answers")
    assert tab.evaluate("document.documentElement.scrollWidth") <= 420


@pytest.mark.parametrize(("width", "scheme"), [(1300, "dark"), (1200, "light"), (360, "light")])
def test_the_page_fits_the_window_in_light_and_dark(open_page, serve, make_problem, width, scheme):
    session = Session(make_problem(labels=30)[0])
    tab = open_page(serve(session), width, scheme)
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    # long names do not overflow their panel
    assert tab.evaluate(
        "[...document.querySelectorAll('.panel')].every(panel => panel.scrollWidth <= panel.clientWidth + 1)"
    )
    red = int(tab.evaluate("getComputedStyle(document.body).color.match(/\\d+/)[0]"))
    assert (red > 128) == (scheme == "dark")
    # points of three classes are drawn
    tab.wait_for_timeout(100)
    colors = tab.evaluate(
        "(() => { const map = document.getElementById('map'); const data = map.getContext('2d').getImageData("
        "0, 0, map.width, map.height).data; return new Set(new Uint32Array(data.buffer)).size })()"
    )
    assert colors > 6


def test_a_killed_server_loses_nothing(open_page, tmp_path, problem, truth):
    nodes, features = problem.node_ids, problem.features.tolist()
    with (tmp_path / "e.csv").open("w", newline="") as file:
        pairs = zip(*problem.adjacency.nonzero(), strict=True)
        csv.writer(file).writerows([["a", "b"], *((nodes[i], nodes[j]) for i, j in pairs if i < j)])
    with (tmp_path / "f.csv").open("w", newline="") as file:
        rows = ([node, *row] for node, row in zip(nodes, features, strict=True))
        csv.writer(file).writerows([["id", *problem.feature_names], *rows])
    process, url = start(tmp_path)
    try:
        tab = open_page(url, quiet=True)
        for version in range(1, 5):
            type_class(tab, truth[int(tab.text_content("#node-id")[1:])], version)
        shown = tab.text_content("#node-id")
    finally:
        process.kill()
        process.wait()
    # an incomplete line, as after a crash during a write
    with (tmp_path / "labels.csv.journal").open("ab") as file:
        file.write(b'{"do": "label", "no')
    tab.keyboard.press("1")
    playwright.expect(tab.locator("#banner")).to_contain_text("does not answer")
    process, url = start(tmp_path)
    try:
        again = open_page(url)
        assert count(again) == 4
        assert again.text_content("#node-id") == shown
        press(again, "1", 5)
        again.close()
    finally:
        process.terminate()
        process.wait(30)
    with (tmp_path / "labels.csv").open(newline="") as file:
        assert len(list(csv.reader(file))) == 6
    actions = (tmp_path / "labels.csv.journal").read_text().splitlines()[1:]
    assert [json.loads(line)["do"] for line in actions] == ["label"] * 5


def start(folder):
    """Run the command in a separate process, and wait for the address that it prints."""
    command = [sys.executable, "-c", "from gssl.cli import main; main()", "label", "--edges", "e.csv"]
    command += ["--features", "f.csv", "--out", "labels.csv", "--no-browser"]
    env = {**os.environ, "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True, env=env)
    for line in process.stdout:
        if line.startswith("Label at "):
            return process, line.split()[-1]
    raise AssertionError("the command ended without an address")


@numbers_only
def test_numbers_are_typed_one_after_another(open_page, serve, session, numbers):
    tab = open_page(serve(session), quiet=True)
    assert tab.locator("#answers").is_hidden()
    playwright.expect(tab.locator("#number")).to_be_focused()
    for version in range(1, 13):
        node = int(tab.text_content("#node-id")[1:])
        tab.keyboard.type(repr(float(numbers[node])))
        press(tab, "Enter", version)
        assert session.labelling.label(node) == numbers[node]
    assert count(tab) == 12
    thinks = session.card(int(tab.text_content("#node-id")[1:]))["thinks"]
    assert float(tab.text_content("#thinks b").replace(",", "")) == pytest.approx(thinks["value"], rel=1e-3)
    assert "90 % interval" in tab.text_content("#thinks")
    assert tab.text_content("#accuracy-title") == "R² on hidden numbers"
    assert "Typical error" in tab.text_content("#accuracy-note")
    assert tab.locator("#spread svg").count() == 2
    assert "labelled" in tab.text_content("#live")
    # what is no number is refused, and can be corrected
    node = tab.text_content("#node-id")
    tab.keyboard.type("1.5x")
    tab.keyboard.press("Enter")
    playwright.expect(tab.locator("#toast")).to_contain_text("'1.5x' is not a number: type digits.")
    assert tab.input_value("#number") == "1.5x"
    assert tab.text_content("#node-id") == node
    assert session.version == 12
    tab.keyboard.press("Backspace")
    press(tab, "Enter", 13)
    assert session.labelling.label(int(node[1:])) == 1.5
    # an empty field skips, and keys of actions work in it
    skipped = int(tab.text_content("#node-id")[1:])
    press(tab, "Enter", 14)
    assert session.labelling.skipped == {skipped}
    press(tab, "z", 15)
    press(tab, "z", 16)
    assert int(node[1:]) not in session.labelling.codes
    playwright.expect(tab.locator("#node-id")).to_have_text(node)
    # a digit typed elsewhere begins a number
    tab.locator("#node-id").click()
    tab.keyboard.type("-3")
    press(tab, "Enter", 17)
    assert session.labelling.label(int(node[1:])) == -3.0


def test_several_nodes_get_one_number(open_page, serve, make_problem):
    session = Session(make_problem()[0], answers="numbers")
    tab = open_page(serve(session))
    tab.locator("#map").focus()
    tab.keyboard.press("Shift+Enter")
    playwright.expect(tab.locator("#selection")).to_contain_text("a number and Enter label them")
    tab.locator("#number").fill("8")
    tab.locator("#number-form button").click()
    settle(tab, 1)
    assert set(session.labelling.codes.values()) == {8.0}
    assert len(session.labelling.codes) > 10
