"""Long calls say what they do, in logs and to whoever watches them."""

import logging

import gssl
from gssl.scale import progress
from gssl.scale.progress import ProgressBar, note, observing, report_progress, step


class Seen:
    def __init__(self):
        self.steps, self.notes = [], []

    def step(self, title):
        self.steps.append(title)
        return progress.nullcontext()

    def note(self, *texts):
        self.notes += texts


def test_an_observer_sees_steps_and_notes():
    seen = Seen()
    with observing(seen), step("reading"), step("reading edges"):
        note("two rows are empty")
    with step("after"):
        note("nobody listens")
    assert seen.steps == ["reading", "reading edges"]
    assert seen.notes == ["two rows are empty"]


def test_a_fit_has_its_stages_in_the_log(caplog):
    data = gssl.datasets.load("karate")
    y = data.labels.astype(object)
    y[12:30] = None
    with caplog.at_level(logging.DEBUG, logger="gssl"):
        gssl.AutoClassifier(depth=2).fit(None, y, adjacency=data.adjacency)
    titles = [record.getMessage().partition(":")[0] for record in caplog.records if hasattr(record, "step")]
    assert titles[:2] == ["comparing models", "self-training"]


def test_a_long_step_is_logged_while_it_runs(caplog, monkeypatch):
    clock = iter(range(0, 1000, 3))
    monkeypatch.setattr(progress, "perf_counter", lambda: float(next(clock)))
    with caplog.at_level(logging.INFO, logger="gssl"), step("counting"):
        for k in range(4):
            report_progress(k + 1, 4)
    messages = [record.getMessage() for record in caplog.records]
    assert any("counting: " in message and "of 4" in message for message in messages)
    assert messages[-1].startswith("counting: ")


def test_a_progress_bar_can_be_asked_for(capsys):
    data = gssl.datasets.load("karate")
    with gssl.execution(progress=True), gssl.execution(memory="1GB"):
        U = gssl.SGC().fit_transform(data.features, adjacency=data.adjacency)
    assert U.shape == (34, 34)
    bar = ProgressBar()
    with bar.shown(), step("counting"):
        report_progress(1, 2)
        note("seen")
    assert "note: seen" in capsys.readouterr().out
