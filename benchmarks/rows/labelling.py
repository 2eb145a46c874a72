"""What suggestions of the labelling page are worth, and how quick the page answers.

Accuracy is that of a simulated user who labels correctly, in suggested and in random order, by the page's
session. Latency is from a key to the painted response in headless Chromium.
"""

import multiprocessing
import shutil
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np

import gssl
from benchmarks.accuracy.worth import labels_needed
from benchmarks.row import Measured, Row
from gssl.datasets import make_block_graph
from gssl.io import Problem
from gssl.label.background import BackgroundFit
from gssl.label.journal import Journal
from gssl.label.server import LabelServer, frame
from gssl.label.session import Session

GRAPHS = (
    "cora_ml",
    "amazon_photo",
    "dblp",
    "coauthor_cs",
    "actor",
    "planetoid/citeseer",
    "chameleon_filtered",
    "amazon_computers",
)
_KEYS = 60
# numbers of labels at which accuracy is measured
BUDGETS = (10, 15, 20, 30, 40, 60, 80, 120, 160)
SEEDS = 3
# least number of labels at which estimates of accuracy are compared with the truth
JUDGED = 30
# the goal, as a share of the final accuracy
SHARE = 0.9


def load_problem(name: str) -> tuple[Problem, list[str]]:
    """Return a graph without labels, and the true class of each node."""
    data = gssl.datasets.load(name if "/" in name else f"graphs/{name}")
    ids = np.array([str(node) for node in data.node_ids], dtype=object)
    problem = Problem(ids, data.adjacency, data.features, np.full(data.n_nodes, None, dtype=object))
    return problem, [str(data.class_names[code]) for code in data.labels]


def accuracy(session: Session, truth: list[str]) -> float:
    """Return the share of unlabelled nodes that are classified correctly."""
    nodes = [node for node in range(session.n_nodes) if node not in session.labelling.codes]
    return float(np.mean([session.prediction(node) == truth[node] for node in nodes]))


@dataclass(frozen=True)
class Point:
    """True accuracy after some labels, the page's estimate, and the share of held-out labels it predicts."""

    budget: int
    accuracy: float
    estimate: float
    share: float


def simulate(session: Session, truth: list[str], order: str, seed: int) -> Iterator[Point]:
    """Label nodes with their true classes, and yield a point at each budget."""
    rng = np.random.default_rng(seed)
    nodes = rng.permutation(session.n_nodes).tolist()
    if session.labelling.codes:
        labelled = list(session.labelling.codes)
        session.act({"do": "label", "nodes": labelled, "label": None}, session.version)
    for budget in BUDGETS:
        while len(session.labelling.codes) < budget:
            done = len(session.labelling.codes)
            # the first node is random, so that seeds differ
            suggestion = session.suggest() if order == "suggested" and done else None
            node = nodes[done] if suggestion is None else suggestion[0]
            session.act({"do": "label", "nodes": [node], "label": truth[node]}, session.version)
        estimate = session.state()["accuracy"]
        hits = np.nan if session.opinion.answer is None else float(session.opinion.answer.hits.mean())
        yield Point(budget, accuracy(session, truth), np.nan if estimate is None else estimate["share"], hits)


def rows(*, quick: bool) -> list[Row]:
    """Return a row for each graph, and one for each size of problem."""
    worth = [
        Row(
            f"labelling-{name.rpartition('/')[2]}",
            f"labels for {SHARE:.0%} of the best accuracy, in suggested order, {name}",
            partial(_worth, name),
            rival="random order",
            at_least=1.0,
            limit="uncertainty is noise where neither features nor links say much",
            long=True,
        )
        for name in GRAPHS
    ]
    latency = [
        Row(
            f"latency-{n}",
            f"95th percentile from a key to the painted answer, {n:,} nodes × 500, {_KEYS} keys",
            partial(_latency, n),
            rival="what feels immediate: 100 ms",
            unit="ms",
            at_most=100.0,
            limit="all nodes are classified again",
            long=True,
        )
        for n in (20_000, 118_000)
    ]
    return [*worth, *latency]


def _worth(name: str) -> Measured:
    problem, truth = load_problem(name)
    session = Session(problem, layout=False)
    runs = {
        order: [list(simulate(session, truth, order, seed)) for seed in range(SEEDS)]
        for order in ("suggested", "random")
    }
    means = {
        order: np.mean([[point.accuracy for point in run] for run in each], axis=0)
        for order, each in runs.items()
    }
    goal = SHARE * max(mean[-1] for mean in means.values())
    needed = {
        order: labels_needed(dict(zip(BUDGETS, mean, strict=True)), goal) for order, mean in means.items()
    }
    notes = [f"accuracy with {', '.join(map(str, BUDGETS))} labels"]
    for order, mean in means.items():
        judged = [point for run in runs[order] for point in run if point.budget >= JUDGED]
        off = np.mean([abs(point.estimate - point.accuracy) for point in judged])
        share_off = np.mean([abs(point.share - point.accuracy) for point in judged])
        notes.append(
            f"{order}: {', '.join(f'{100 * each:.1f}' for each in mean)} (the estimate is off by "
            f"{100 * off:.1f}, the share of held-out labels by {100 * share_off:.1f})"
        )
    ratio = 0.0 if np.isinf(needed["suggested"]) else needed["random"] / needed["suggested"]
    return Measured(
        (ratio,), *(f"{needed[order]:.0f} labels" for order in ("suggested", "random")), "; ".join(notes)
    )


def synthetic(n: int, d: int, n_classes: int) -> tuple[Problem, list[str]]:
    """Return a random problem with dense features and 500 labels, and the class of each node."""
    data = make_block_graph(n, 4 * n, d, n_classes, homophily=0.64, features="dense", random_state=0)
    names = [f"class {code}" for code in data.labels]
    y = np.full(n, None, dtype=object)
    for node in np.random.default_rng(0).choice(n, 500, replace=False):
        y[node] = names[node]
    ids = np.array([f"node {i}" for i in range(n)], dtype=object)
    features = tuple(f"feature {k}" for k in range(d))
    return Problem(ids, data.adjacency, data.features, y, feature_names=features), names


def server_times(session: Session, truth: list[str], n_actions: int) -> dict[str, float]:
    """Return wall-clock and CPU milliseconds of an action, including its response."""
    walls, cpus = [], []
    for _ in range(n_actions):
        suggestion = session.suggest()
        assert suggestion is not None
        wall, cpu = time.perf_counter(), time.process_time()
        session.act({"do": "label", "nodes": [suggestion[0]], "label": truth[suggestion[0]]}, session.version)
        with session.lock:
            following = session.suggest()
            assert following is not None
            frame(session, session.state() | {"card": session.card(*following)})
        walls.append(1e3 * (time.perf_counter() - wall))
        cpus.append(1e3 * (time.process_time() - cpu))
    return {
        "wall_p50": float(np.median(walls)),
        "wall_p95": float(np.percentile(walls, 95)),
        "cpu_p50": float(np.median(cpus)),
    }


def serve(pipe: Connection, n: int, d: int, n_actions: int) -> None:
    """Measure the server alone, then serve the page while AutoClassifier runs in the background."""
    problem, truth = synthetic(n, d, 10)
    with tempfile.TemporaryDirectory() as folder:
        journal = Journal(Path(folder) / "labels.csv.journal")
        start = time.perf_counter()
        session = Session(problem, journal)
        ready = {"ready_s": time.perf_counter() - start}
        times = server_times(session, truth, n_actions)
        with LabelServer(session) as server:
            server.start()
            background = BackgroundFit(session)
            background.start()
            pipe.send((ready | times, server.new_url()))
            pipe.recv()
            pipe.send(session.refits)
            background.stop()
            server.shutdown()
        journal.close()


def browser_times(url: str, n_actions: int) -> dict[str, float]:
    """Return milliseconds from a key to the painted response in headless Chromium, in total and by part."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=flags)
        tab = browser.new_page(viewport={"width": 1400, "height": 1000})
        tab.goto(url)
        tab.wait_for_selector("body[data-ready]")
        version = int(tab.get_attribute("body", "data-version") or 0)
        for _ in range(n_actions):
            version += 1
            tab.keyboard.press("1")
            tab.wait_for_selector(f"body:not(.busy)[data-version='{version}']")
            # a person pauses to read
            tab.wait_for_timeout(300)
        times = tab.evaluate(
            "performance.getEntriesByName('answer').map(each => [each.duration, each.detail.server])"
        )
        browser.close()
    total, server = np.array(times).T
    return {
        "painted_p50": float(np.median(total)),
        "painted_p95": float(np.percentile(total, 95)),
        "browser_p50": float(np.median(total - server)),
    }


def _latency(n: int) -> Measured:
    """Measure with the server in a separate process."""
    spawn = multiprocessing.get_context("spawn")
    ours, theirs = spawn.Pipe()
    # not a daemon, because it starts a process for AutoClassifier
    process = spawn.Process(target=serve, args=(theirs, n, 500, _KEYS))
    process.start()
    times, url = ours.recv()
    times |= browser_times(url, _KEYS)
    ours.send(None)
    times["refits"] = ours.recv()
    process.join()
    note = ", ".join(f"{name} {value:.3g}" for name, value in times.items())
    return Measured((times["painted_p95"],), f"{times['painted_p95']:.0f} ms", note=note)
