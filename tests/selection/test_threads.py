"""Read-only calls change nothing, and calls in several threads see one state of a model."""

from concurrent.futures import ThreadPoolExecutor
from threading import Event

import numpy as np
import pytest

import gssl
from gssl.datasets import make_block_graph

PRIORS = [0.7, 0.2, 0.1]


@pytest.fixture(scope="module")
def problem():
    data = make_block_graph(400, 1600, 30, 3, features="dense", random_state=0)
    y = np.where(np.arange(400) % 5 == 0, data.labels, -1)
    return data.features, y, data.adjacency, data.labels


MODELS = {
    "auto": lambda: gssl.AutoClassifier(depth=3, priors=PRIORS),
    "calibrated": lambda: gssl.CalibratedClassifier(gssl.AutoClassifier(depth=3, priors=PRIORS)),
    "linear": lambda: gssl.EmbeddingClassifier(gssl.SGC(), head="ridge", priors=PRIORS),
    "spreading": lambda: gssl.LabelSpreading(),
}


def calls(model, X, A):
    """Return the read-only calls of a model, each as a function that returns numbers."""
    return [
        lambda: model.predict_proba(X, adjacency=A),
        lambda: model.predict(X, adjacency=A),
        lambda: model.transduction(abstain=0.5),
        lambda: gssl.audit(model, 2).p_wrong,
        lambda: gssl.audit(model, 2).probability,
        lambda: np.array([one.probability for one in gssl.why(model, [0, 1, 2])]),
        lambda: gssl.suggest(model, 5),
        lambda: model.label_distributions_,
    ]


@pytest.mark.parametrize("name", MODELS)
def test_read_only_calls_in_eight_threads_agree(problem, name):
    X, y, A, _ = problem
    model = MODELS[name]().fit(X, y, adjacency=A)
    alone = [call() for call in calls(model, X, A)]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda call: call(), calls(model, X, A) * 6))
    for k, result in enumerate(together):
        np.testing.assert_array_equal(result, alone[k % len(alone)])


@pytest.mark.parametrize("name", ["auto", "calibrated", "linear"])
def test_update_labels_beside_readers_is_never_seen_half_done(problem, name):
    X, y, A, truth = problem
    other = np.where(np.arange(400) % 5 == 1, truth, -1)
    model = MODELS[name]().fit(X, y, adjacency=A)
    results = [model.predict_proba(X, adjacency=A), None]
    changed = MODELS[name]().fit(X, other, adjacency=A)
    results[1] = changed.predict_proba(X, adjacency=A)
    done = Event()

    def read():
        seen = []
        while not done.is_set():
            P = model.predict_proba(X, adjacency=A)
            seen.append(min(float(np.abs(P - result).max()) for result in results))
        return seen

    with ThreadPoolExecutor(3) as pool:
        readers = [pool.submit(read) for _ in range(3)]
        for labels in (other, y, other, y):
            model.update_labels(labels)
        done.set()
    assert max(difference for reader in readers for difference in reader.result()) < 1e-4


@pytest.mark.parametrize("name", MODELS)
def test_a_failed_fit_leaves_the_model_as_it_was(problem, name):
    X, y, A, _ = problem
    model = MODELS[name]().fit(X, y, adjacency=A)
    before = dict(vars(model))
    with pytest.raises(ValueError, match="one class"):
        model.fit(X, np.where(y == 0, 0, -1), adjacency=A)
    assert vars(model) == before
