"""The table *Threads* of docs/trust.md: which calls are safe in several threads, for every estimator."""

import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, nullcontext
from threading import Barrier, Event

import numpy as np
import pytest
from sklearn.base import clone
from tests.estimators import CHOOSING, EMBEDDERS, EVERY, HEADS, REGRESSORS, fit, results, small_problem

import gssl
from gssl.graph import GraphWarning
from gssl.graph.validate import warn_user, without_warnings
from gssl.io import from_scipy, write_columns
from gssl.label.journal import Journal
from gssl.label.session import Session, StaleError
from gssl.operators import get_threads, set_threads
from gssl.scale.execution import current_settings

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def fitted():
    """Every estimator, fitted to its small problem."""
    return {name: fit(name, small_problem(name)) for name in EVERY}


def at_once(calls):
    """Run calls in eight threads, all of them begun together, and return their results in order."""
    start = Barrier(8)

    def run(k):
        if k < 8:
            start.wait(60)
        return calls[k]()

    with ThreadPoolExecutor(8) as pool:
        return list(pool.map(run, range(len(calls))))


def said(value):
    """Return a result as text: numbers with all digits, and tables and explanations in words."""
    if hasattr(value, "columns") and callable(value.columns):
        return repr(value.columns())
    if isinstance(value, bytes | str):
        return repr(value)
    return repr([one.text() for one in value] if isinstance(value, list) else np.asarray(value).tolist())


def read_only(name, model, folder):
    """Return the read-only calls of a fitted estimator; what it refuses, it refuses in the same words."""
    X, A = small_problem(name).X, small_problem(name).A

    def saved():
        file = folder / f"{name}.gssl"
        gssl.save(model, file, problem=name not in EMBEDDERS and name not in HEADS)
        return file.read_bytes()

    calls = [
        saved,
        lambda: model.transform(X, adjacency=A),
        lambda: model.predict(X) if name in HEADS else model.predict(X, adjacency=A),
        lambda: model.predict_proba(X) if name in HEADS else model.predict_proba(X, adjacency=A),
        lambda: model.predict_intervals(X, adjacency=A),
        lambda: model.transduction(abstain=0.5),
        lambda: model.predict_sets(),
        lambda: gssl.audit(model, 2),
        lambda: list(gssl.why(model, [0, 1, 2])),
        lambda: gssl.suggest(model, 5),
        lambda: repr(model),
    ]

    def outcome(call):
        try:
            return said(call())
        except (AttributeError, TypeError, ValueError) as error:
            return str(error)

    return [lambda call=call: outcome(call) for call in calls]


def test_fits_of_separate_objects_at_once_give_the_results_of_each_alone(fitted):
    names = [*EVERY, *EVERY]
    together = at_once([lambda name=name: fit(name, small_problem(name)) for name in names])
    for name, model in zip(names, together, strict=True):
        alone, problem = results(name, fitted[name], small_problem(name)), small_problem(name)
        # BLAS rounds differently with another number of threads, which other fits may limit
        np.testing.assert_allclose(results(name, model, problem), alone, rtol=0, atol=1e-5)


@pytest.mark.parametrize("name", EVERY)
def test_read_only_calls_of_one_object_at_once_give_the_results_of_each_alone(fitted, tmp_path, name):
    calls = read_only(name, fitted[name], tmp_path)
    alone = [call() for call in calls]
    assert sum(text.startswith(("[", "b'", "{")) for text in alone) >= 2
    for k, text in enumerate(at_once(calls * 3)):
        assert text == alone[k % len(calls)]


@pytest.mark.parametrize("name", CHOOSING)
def test_a_loaded_model_may_be_asked_by_all_threads_at_first(fitted, tmp_path, name):
    """What it computes on first use is computed by whoever asks, and is the same."""
    gssl.save(fitted[name], tmp_path / "m.gssl", problem=True)
    alone = [call() for call in read_only(name, gssl.load(tmp_path / "m.gssl"), tmp_path)[1:]]
    calls = read_only(name, gssl.load(tmp_path / "m.gssl"), tmp_path)[1:]
    for k, text in enumerate(at_once(calls[::-1] * 2)):
        assert text == alone[::-1][k % len(calls)]


UPDATED = ["ogc", "ridge", "auto", "calibrated", "auto-regressor", "auto-sets"]


@pytest.mark.parametrize("name", UPDATED)
def test_update_labels_beside_readers_is_never_seen_half_done(tmp_path, name):
    problem = small_problem(name)
    answers = [problem.y, problem.y[::-1].copy()]
    model = fit(name, problem)
    done = Event()

    def views():
        gssl.save(model, tmp_path / "m.gssl")
        yield results(name, gssl.load(tmp_path / "m.gssl"), problem)
        predict = model.predict_intervals if name in REGRESSORS else model.predict_proba
        yield predict(problem.X, adjacency=problem.A)
        columns = gssl.audit(model, 2).columns()
        judged = columns["deviations" if name in REGRESSORS else "probability"]
        # equal doubts may stand in any order
        rows = sorted(zip(columns["id"], columns.get("label", columns["id"]), judged, strict=True))
        yield np.array([float(number) for row in rows for number in (row[0], row[2])])

    states = []
    for y in (answers[1], answers[0]):
        model.update_labels(y)
        states.append([np.array(view) for view in views()])

    def read():
        seen = []
        while not done.is_set():
            for k, view in enumerate(views()):
                same = [
                    view.shape == state[k].shape and np.allclose(view, state[k], atol=1e-4, equal_nan=True)
                    for state in states
                ]
                seen.append(any(same))
        return seen

    with ThreadPoolExecutor(2) as pool:
        readers = [pool.submit(read) for _ in range(2)]
        try:
            for y in (answers[1], answers[0]):
                model.update_labels(y)
        finally:
            done.set()
    assert all(same for reader in readers for same in reader.result())


@pytest.mark.parametrize("name", ["auto", "calibrated", "ridge", "spreading"])
def test_a_failed_fit_leaves_the_model_as_it_was(fitted, name):
    problem, model = small_problem(name), fitted[name]
    before = dict(vars(model))
    with pytest.raises(ValueError, match="one class"):
        model.fit(problem.X, np.where(problem.y == 0, 0, -1), adjacency=problem.A)
    assert vars(model) == before


def make_problems(n_problems):
    """Return different problems, in whose passes and products several threads take part."""
    for seed in range(n_problems):
        data = gssl.datasets.make_block_graph(300 + 10 * seed, 3000, 100, 3, random_state=seed)
        y = np.where(np.random.default_rng(seed).random(len(data.labels)) < 0.1, data.labels, -1)
        yield data.features.toarray(), y, data.adjacency


# those that run by columns, and one that does not
BY_COLUMNS = [
    *(gssl.OGC(random_state=0), gssl.EmbeddingClassifier(gssl.SGC()), gssl.LabelPropagation()),
    *(gssl.EmbeddingClassifier(gssl.GGCM(depth=3)), gssl.CorrectAndSmooth(depth=5)),
    *(gssl.ManifoldRegularization(), gssl.LabelSpreading(), gssl.AutoClassifier(depth=2)),
]


@pytest.mark.parametrize("memory", [None, "500kB"])
def test_an_execution_belongs_to_its_thread(memory):
    """Every other fit runs within a budget, if there is one, while kernels share one pool of threads."""
    problems = list(make_problems(len(BY_COLUMNS)))

    def run(k):
        X, y, A = problems[k]
        with gssl.execution(memory=memory) if memory and k % 2 else nullcontext():
            assert (current_settings().memory is None) == (not memory or k % 2 == 0)
            model = clone(BY_COLUMNS[k]).fit(X, y, adjacency=A)
            return model.transduction_, model.predict_proba(X, adjacency=A)

    calls = [lambda k=k: run(k) for k in range(len(BY_COLUMNS))]
    alone = [call() for call in calls]
    for (classes, P), (expected, expected_P) in zip(at_once(calls), alone, strict=True):
        np.testing.assert_array_equal(classes, expected)
        np.testing.assert_allclose(P, expected_P, atol=1e-5)


def test_set_threads_beside_fits_changes_no_result(fitted):
    before = get_threads()
    try:
        calls = [lambda n=1 + k % 3: set_threads(n) for k in range(8)]
        calls += [lambda: fit("ogc", small_problem("ogc")).label_distributions_] * 8
        for P in at_once(calls[::2] + calls[1::2])[4:8]:
            np.testing.assert_array_equal(P, fitted["ogc"].label_distributions_)
    finally:
        set_threads(None)
    assert get_threads() == before


def test_warnings_left_out_in_one_thread_are_issued_in_another():
    inside, told = Event(), Event()

    def silent():
        with without_warnings(GraphWarning):
            inside.set()
            told.wait(60)
            warn_user("this one is not issued")

    with ThreadPoolExecutor(1) as pool:
        quiet = pool.submit(silent)
        inside.wait(60)
        with pytest.warns(GraphWarning, match="this one is issued"):
            warn_user("this one is issued")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            told.set()
            quiet.result()
    assert caught == []


def test_tables_are_read_and_written_and_reports_made_at_once(fitted, tmp_path):
    problem = small_problem("auto")
    graph = from_scipy(problem.A, problem.y, features=problem.X)
    model = gssl.AutoClassifier(depth=2).fit(graph)

    def write_and_read(k):
        edges, labels = tmp_path / f"e{k}.csv", tmp_path / "labels.csv"
        write_columns(edges, {"source": ["a", "b"], "target": ["b", f"c{k}"]})
        # all of them write this one
        write_columns(labels, {"id": ["a", "b"], "label": ["x", "y"]})
        gssl.write_report(model, graph, tmp_path / f"p{k}.html", seconds=1.0)
        return sorted(gssl.read(edges, labels=labels).node_ids)

    assert at_once([lambda k=k: write_and_read(k) for k in range(8)]) == [
        ["a", "b", f"c{k}"] for k in range(8)
    ]
    pages = {(tmp_path / f"p{k}.html").read_bytes() for k in range(8)}
    assert len(pages) == 1
    assert not list(tmp_path.glob(".gssl-*"))


def test_actions_on_one_session_are_done_one_after_another(tmp_path):
    problem = small_problem("auto")
    graph = from_scipy(problem.A, features=problem.X)

    def label(session, node):
        while True:
            try:
                action = {"do": "label", "nodes": [node], "label": f"class {node % 3}"}
                return session.act(action, session.version)
            except StaleError:
                session.suggest()

    with closing(Journal(tmp_path / "l.journal")) as journal:
        session = Session(graph, journal, layout=False)
        at_once([lambda node=node: label(session, node) for node in range(24)])
        session.write(tmp_path / "l.csv")
    with closing(Journal(tmp_path / "l.journal")) as journal:
        again = Session(graph, journal, layout=False)
    assert again.version == session.version == 24
    assert {node: again.labelling.label(node) for node in range(24)} == {
        k: f"class {k % 3}" for k in range(24)
    }
