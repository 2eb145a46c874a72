import multiprocessing
import time

import numpy as np
import pytest

import gssl
from gssl.label.background import BackgroundFit


def test_a_pause_brings_auto_classifier(session, label, problem):
    label(*range(12))
    background = BackgroundFit(session, idle=0.0)
    background.start()
    try:
        deadline = time.monotonic() + 120
        while not session.refits and not background.error and time.monotonic() < deadline:
            time.sleep(0.1)
    finally:
        background.stop()
    assert background.error == ""
    assert session.state()["speaks"] == "careful"
    y = np.full(90, -1)
    y[:12] = np.arange(12) % 3
    model = gssl.AutoClassifier().fit(problem.features, y, adjacency=problem.adjacency)
    np.testing.assert_allclose(session.opinion.P, model.label_distributions_, atol=1e-4)


def test_without_memory_the_fast_model_goes_on_alone(session, monkeypatch):
    monkeypatch.setattr("gssl.label.background.available_memory", lambda: 0)
    background = BackgroundFit(session)
    background.start()
    assert "too little memory" in background.error
    background.stop()


def test_a_failing_fit_is_told(session, label):
    label(*range(12))
    session.problem.features[0, 0] = np.nan
    background = BackgroundFit(session, idle=0.0)
    background.start()
    deadline = time.monotonic() + 120
    while not background.error and time.monotonic() < deadline:
        time.sleep(0.1)
    background.stop()
    assert "AutoClassifier stopped (X contains NaN at row 0, column 0" in background.error
    assert session.state()["speaks"] == "fast"


@pytest.mark.parametrize("labels", [range(4), range(0, 30, 3)])
def test_too_few_labels_or_classes_start_nothing(session, label, labels):
    label(*labels)
    background = BackgroundFit(session, idle=0.0)
    background.start()
    time.sleep(0.6)
    background.stop()
    assert not multiprocessing.active_children()
