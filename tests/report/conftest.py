from dataclasses import replace

import numpy as np
import pytest
from tests.browser import open_tabs, start_browser

import gssl
from gssl.evaluation import graph_health, held_out_accuracy
from gssl.io import list_predictions
from gssl.report import MapPoint, Page
from gssl.selection import LearningCurve, Suggestion, audit, why

DRAWN = "[...document.querySelectorAll('[data-chart]')].every(e => e.dataset.drawn === 'yes')"
HOSTILE = (
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(1)>",
    "=cmd()",
    '"};alert(1)//',
    "${x} {{ 7 * 7 }} {% raw %}",
    "a.b[0]['c']\\",
    "naïve \u202eevil\u2028 日本 🜁",
    "half \ud800 pair",
    "__proto__",
    "constructor",
    "very long " * 60,
)


def _page_of(data, y):
    """Return a complete page about one run."""
    model = gssl.LabelPropagation().fit(None, y, adjacency=data.adjacency)
    given = np.array([value is not None for value in y])
    held_out = held_out_accuracy(gssl.LabelPropagation(), None, y, data.adjacency)
    predictions = list_predictions(model, data.node_ids, given, held_out=held_out)
    xy = np.random.default_rng(0).uniform(-1, 1, size=(data.n_nodes, 2))
    return Page(
        title=data.name,
        command=f"gssl classify --edges {data.name}.csv",
        health=graph_health(data.adjacency, y, data.n_features),
        versions={"gssl": gssl.__version__},
        seconds=12.34,
        notes=["3 self-loops were removed."],
        explain="The graph adds 44.1 ± 9.9 points.",
        predictions=predictions,
        held_out=held_out,
        history={"smoothing_loss": np.array([3.0, 2.0, np.inf, 1.5])},
        points=[
            MapPoint(row.id, float(x), float(y), row.label, row.confidence, row.given)
            for row, (x, y) in zip(predictions, xy, strict=True)
        ],
        next_labels=[
            (row.id, Suggestion(0, row.label, row.runner_up, row.confidence, 0.1, 12))
            for row in list(predictions)[10:15]
        ],
        audit=audit(model, held_out=held_out),
        why=why(model, [0, 11, 33]),
        feature_names=[str(k) for k in range(data.n_features)],
        learning_curve=LearningCurve(
            20, 34, np.array([5, 10]), np.array([0.7, 0.8]), None, np.tile([0.9, 0.5, 0.5], (50, 1))
        ),
    )


@pytest.fixture(scope="module")
def browser():
    yield from start_browser()


@pytest.fixture
def open_file(browser):
    """Return a function that opens a page from disk and waits until its charts are drawn."""
    with open_tabs(browser, "file:") as open_tab:

        def open_file(path, width=1400, scheme="light"):
            tab = open_tab(path.as_uri(), width, scheme)
            tab.wait_for_function(DRAWN, timeout=60_000)
            return tab

        yield open_file


@pytest.fixture(scope="session")
def hostile_names():
    return HOSTILE


@pytest.fixture(scope="session")
def page_of():
    return _page_of


@pytest.fixture(scope="session")
def karate_page():
    data = gssl.datasets.load("karate")
    y = np.array(data.class_names, dtype=object)[data.labels]
    y[10:24] = None
    return _page_of(data, y)


@pytest.fixture(scope="session")
def hostile_page():
    """A page on which every user-supplied name is hostile."""
    data = gssl.datasets.load("karate")
    classes = np.array(HOSTILE, dtype=object)
    y = classes[np.arange(34) % len(classes)]
    y[30:] = None
    page = _page_of(data, y)
    points = [replace(point, id=HOSTILE[i % len(HOSTILE)]) for i, point in enumerate(page.points)]
    ids = np.array([HOSTILE[i % len(HOSTILE)] for i in range(34)], dtype=object)
    rows = [(HOSTILE[i % len(HOSTILE)], pick) for i, (_, pick) in enumerate(page.next_labels)]
    return replace(
        page,
        title=HOSTILE[1],
        command=f"gssl classify --edges '{HOSTILE[0]}'",
        versions={HOSTILE[0]: HOSTILE[1]},
        notes=HOSTILE,
        history={name: np.array([2.0, 1.0]) for name in HOSTILE},
        predictions=replace(page.predictions, id=ids),
        points=points,
        next_labels=rows,
    )
