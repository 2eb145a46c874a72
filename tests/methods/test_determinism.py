"""Results depend only on the seed: the same in a repeated fit, a clone, and with any number of threads."""

import numpy as np
import pytest
from sklearn.base import clone
from threadpoolctl import threadpool_limits

import gssl


def test_two_fits_give_identical_bytes(classifier, problem):
    for adjacency in (problem.A, None):
        first = clone(classifier).fit(problem.X, problem.y, adjacency=adjacency)
        second = clone(classifier).fit(problem.X, problem.y, adjacency=adjacency)
        assert first.label_distributions_.tobytes() == second.label_distributions_.tobytes()
        refitted = second.fit(problem.X, problem.y, adjacency=adjacency)
        assert first.label_distributions_.tobytes() == refitted.label_distributions_.tobytes()


def test_sampled_negatives_and_anchors_follow_the_seed(problem):
    def embedding(model, **options):
        return model.fit(problem.X, problem.y, adjacency=problem.A, **options).embedding_

    first, again, other = (
        embedding(gssl.EmbeddingClassifier(gssl.GGC(depth=4, negatives=2, random_state=seed), head="ridge"))
        for seed in (5, 5, 6)
    )
    assert first.tobytes() == again.tobytes()
    assert not np.array_equal(first, other)
    first, again = (embedding(gssl.OGC(random_state=1), anchors=0.5) for _ in range(2))
    assert first.tobytes() == again.tobytes()


@pytest.mark.parametrize("seed", [3, np.random.RandomState(3), np.random.default_rng(3)])
def test_every_kind_of_random_state_is_taken(problem, seed):
    model = gssl.OGC(random_state=seed).fit(problem.X, problem.y, adjacency=problem.A)
    np.testing.assert_array_equal(model.transduction_, problem.truth)


def test_another_seed_gives_another_start(problem):
    starts = [
        gssl.OGC(random_state=seed, max_iter=1).fit(problem.X, problem.y, adjacency=problem.A).coef_
        for seed in (0, 1)
    ]
    assert np.abs(starts[0] - starts[1]).max() > 0.01


@pytest.fixture(scope="module")
def larger_problem():
    """A problem large enough for BLAS to use threads, and noisy enough for near ties."""
    rng = np.random.default_rng(0)
    truth = rng.integers(4, size=700)
    X = np.eye(4)[truth].repeat(50, axis=1) + 1.5 * rng.standard_normal((700, 200))
    linked = rng.random((700, 700)) < np.where(truth[:, None] == truth, 0.02, 0.004)
    A = np.triu(linked, k=1)
    return X / 200, (A | A.T).astype(float), np.where(rng.random(700) < 0.1, truth, -1)


@pytest.mark.parametrize("with_graph", [True, False])
@pytest.mark.filterwarnings("ignore::gssl.graph.GraphWarning")
def test_one_thread_and_two_threads_predict_the_same(classifier, larger_problem, with_graph):
    X, A, y = larger_problem
    results = []
    for n_threads in (1, 2):
        with threadpool_limits(n_threads):
            model = clone(classifier).fit(X, y, adjacency=A if with_graph else None)
            again = model.predict(X, adjacency=A) if with_graph else []
            results.append((model.transduction_, again, model.n_iter_))
    for one, two in zip(*results, strict=True):
        np.testing.assert_array_equal(one, two)
