import os
import queue
import re
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from gssl.cli import label_command
from gssl.cli.console import Terminal
from gssl.cli.label_command import run_label
from gssl.cli.run import Choice, ExecutionOptions, Inputs, Run
from gssl.label import browser as browser_module
from gssl.label.journal import Journal


@pytest.fixture
def serve(monkeypatch):
    """Return a function that runs the command until ``during(session, url)`` returns, as if by Ctrl-C."""
    start = label_command.LabelServer.start

    def serve(during, browser=False, **given):
        handlers = {}
        monkeypatch.setattr(
            label_command.signal, "signal", lambda number, handler: handlers.update({number: handler})
        )
        trouble = []

        def act(server):
            try:
                during(server.session, server.new_url())
            except BaseException as error:
                trouble.append(error)
            handlers[label_command.signal.SIGINT]()

        def started(server):
            start(server)
            threading.Thread(target=act, args=(server,)).start()

        monkeypatch.setattr(label_command.LabelServer, "start", started)
        monkeypatch.setattr(label_command.BackgroundFit, "start", lambda background: None)
        inputs = Inputs(edges="e.csv", features="f.csv", **given)
        command = Run(inputs, Choice(), ExecutionOptions(), Terminal())
        run_label(command, Path("labels.csv"), 0, browser, save_every=0.05)
        if trouble:
            raise trouble[0]

    return serve


def test_labels_are_written_while_the_page_runs_and_classified(graph, run, serve, capsys):
    def during(session, url):
        with urllib.request.urlopen(url) as answer:
            assert answer.status == 200
        for node, name in graph.truth.items():
            if node in graph.ids[:12]:
                index = session.labelling.indices[node]
                session.act({"do": "label", "nodes": [index], "label": name}, session.version)
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline and (
            not Path("labels.csv").exists() or len(graph.labels(graph.read("labels.csv"))) < 12
        ):
            time.sleep(0.05)
        assert len(graph.labels(graph.read("labels.csv"))) == 12

    serve(during)
    output = capsys.readouterr().out
    assert "Label at http://127.0.0.1:" in output
    assert "Labels are written to labels.csv, and every action to labels.csv.journal, so that" in output
    assert "12 labels in 3 classes: labels.csv" in output
    run("classify", "--edges", "e.csv", "--features", "f.csv", "--labels", "labels.csv", "--out", "p.csv")
    assert graph.labels(graph.read("p.csv")) == graph.truth
    # the next start resumes
    seen = []
    serve(lambda session, url: seen.append(len(session.labelling.codes)))
    assert seen == [12]
    assert "holds 12 actions: going on from there" in capsys.readouterr().err
    # given labels are there from the beginning
    Path("labels.csv").unlink()
    Path("labels.csv.journal").unlink()
    serve(lambda session, url: seen.append(session.state()["labelled"]), labels="l.csv")
    assert seen == [12, 9]
    assert len(graph.labels(graph.read("labels.csv"))) == 9


def test_the_browser_is_given_a_private_file_instead_of_the_token(graph, serve, monkeypatch, capsys):
    opened = queue.Queue()
    monkeypatch.setattr(browser_module.webbrowser, "open", opened.put)
    files = []

    def during(session, url):
        address = opened.get(timeout=20)
        assert address.startswith("file://")
        assert "token" not in address
        file = Path(urllib.request.url2pathname(address.removeprefix("file://")))
        files.append(file)
        if os.name == "posix":
            assert file.stat().st_mode & 0o777 == 0o600
            assert file.parent.stat().st_mode & 0o777 == 0o700
        (private,) = re.findall(r"http://127.0.0.1:\d+/\?token=[\w-]+", file.read_text())
        printed = capsys.readouterr().out.split()[2]
        assert printed != private
        for address in (private, printed):
            with urllib.request.urlopen(address) as answer:
                assert answer.status == 200
            with pytest.raises(urllib.error.HTTPError, match="403"):
                urllib.request.urlopen(address)

    serve(during, browser=True)
    assert not files[0].parent.exists()


def test_enter_prints_a_new_address(graph, serve, capsys):
    serve(lambda session, url: None)
    output = capsys.readouterr().out
    # without a terminal
    assert "for another browser, start the command again" in output
    assert "No label was given" in output
    assert not Path("labels.csv").exists()

    class Server:
        addresses = iter(["http://one", "http://two"])

        def new_url(self):
            return next(self.addresses)

    reads, writes = os.pipe()
    os.write(writes, b"\n")
    thread = threading.Thread(target=label_command.print_addresses, args=(Server(), reads))
    thread.start()
    deadline = time.monotonic() + 20
    printed = ""
    while "http://one" not in printed and time.monotonic() < deadline:
        printed += capsys.readouterr().out
        time.sleep(0.02)
    assert printed == "Label at http://one\n"
    os.write(writes, b"\n")
    os.close(writes)
    thread.join(20)
    os.close(reads)
    assert capsys.readouterr().out == "Label at http://two\n"


def test_outputs_are_checked_before_anything_is_read(graph, refused):
    start = ["label", "--edges", "e.csv", "--no-browser", "--out"]
    assert "must end in .csv" in refused(*start, "labels.txt")
    assert "is an input" in refused(*start, "e.csv")
    Path("mine.csv").write_text("id,label\n")
    assert "mine.csv already exists and is not from gssl label" in refused(*start, "mine.csv")
    assert "there is no graph" in refused("label", "--out", "labels.csv")
    assert not Path("labels.csv.journal").exists()
    journal = Journal(Path("labels.csv.journal"))
    assert "in use by another gssl label" in refused(*start, "labels.csv")
    journal.close()
    Path("labels.csv.journal").write_text("something else\n")
    assert "is not a journal of gssl label" in refused(*start, "labels.csv")


def test_numbers_are_written_and_predicted(graph, run, serve, capsys, refused):
    def during(session, url):
        assert session.answers == "numbers"
        for node in range(20):
            label = f"{node % 3 + 0.01 * node}"
            session.act({"do": "label", "nodes": [node], "label": label}, session.version)

    serve(during, answers="numbers")
    assert "20 numbers: labels.csv" in capsys.readouterr().out
    assert Path("labels.csv").read_text().splitlines()[0] == "id,value"
    run("regress", "--edges", "e.csv", "--features", "f.csv", "--labels", "labels.csv", "--out", "p.csv")
    assert "value" in next(iter(graph.read("p.csv").values()))
    # the next start resumes, and numbers of a table are there from the beginning
    seen = []

    def look(session, url):
        seen.append(session.state()["labelled"])

    serve(look, answers="numbers")
    Path("labels.csv").rename("given.csv")
    Path("labels.csv.journal").unlink()
    serve(look, answers="numbers", labels="given.csv")
    assert seen == [20, 20]
    start = ["label", "--edges", "e.csv", "--no-browser", "--out"]
    assert "labels.csv.journal holds numbers, not classes" in refused(*start, "labels.csv")
    journal = Journal(Path("classes.csv.journal"))
    journal.close()
    assert "holds classes, not numbers" in refused(*start, "classes.csv", "--numbers")
