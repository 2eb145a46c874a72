"""What a fitted model must not do behind its user's back."""

import threading

import numpy as np
import pytest
from scipy.sparse import csr_array
from threadpoolctl import threadpool_info

import gssl
from gssl.operators import small_algebra
from gssl.operators._kernels.threads import run_parts


def test_the_same_features_on_another_graph_are_another_question(problem):
    """The embedding of fit must not answer for a graph that fit has not seen."""
    other = np.roll(np.roll(problem.A, 5, axis=0), 5, axis=1)
    model = gssl.EmbeddingClassifier(gssl.SGC()).fit(problem.X, problem.y, adjacency=problem.A)
    asked = model.predict_proba(problem.X, adjacency=other)
    np.testing.assert_allclose(asked, model.predict_proba(problem.X.copy(), adjacency=other), atol=1e-12)
    assert np.abs(asked - model.label_distributions_).max() > 0.01


def test_an_embedder_fitted_with_a_graph_asks_for_one(problem):
    model = gssl.GGCM().fit(problem.X, adjacency=problem.A)
    with pytest.raises(ValueError, match="fitted with a graph"):
        model.transform(problem.X)
    np.testing.assert_array_equal(model.transform(problem.X, adjacency=problem.A), model.embedding_)


def test_embeddings_of_a_fit_are_those_of_its_own_parameters(problem):
    model = gssl.OGC(random_state=0).fit(problem.X, problem.y, adjacency=problem.A)
    expected = gssl.OGC(random_state=0).fit(problem.X, problem.y, adjacency=problem.A).embedding_
    model.set_params(beta=0.9)
    np.testing.assert_array_equal(model.embedding_, expected)


def test_score_counts_labelled_nodes_only(problem, classifier):
    classifier.fit(problem.X, problem.y, adjacency=problem.A)
    score = classifier.score(problem.X, problem.y, adjacency=problem.A)
    predicted = classifier.predict(problem.X, adjacency=problem.A)
    known = problem.y >= 0
    assert score == np.mean(predicted[known] == problem.y[known])


def test_many_classes_cost_no_square_of_their_number():
    n = 4000
    steps = np.arange(n - 1)
    A = csr_array((np.ones(n - 1), (steps, steps + 1)), shape=(n, n))
    y = np.where(np.arange(n) % 2 == 0, np.arange(n) // 2, -1)
    model = gssl.LabelPropagation().fit(None, y, adjacency=A + A.T)
    assert len(model.classes_) == 2000
    assert (model.transduction_[::2] == y[::2]).all()


def blas_threads():
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


def test_blocks_of_small_algebra_that_overlap_leave_blas_as_it_was():
    before = blas_threads()
    first_in, second_in, first_out = threading.Event(), threading.Event(), threading.Event()

    def first():
        with small_algebra():
            first_in.set()
            second_in.wait(5)
        first_out.set()

    def second():
        first_in.wait(5)
        with small_algebra():
            second_in.set()
            first_out.wait(5)

    callers = [threading.Thread(target=target) for target in (first, second)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert blas_threads() == before


def test_parts_may_run_parts():
    done = []
    run_parts(lambda outer: run_parts(lambda inner: done.append((outer, inner)), 3), 3)
    assert sorted(done) == [(outer, inner) for outer in range(3) for inner in range(3)]


@pytest.mark.parametrize("head", [gssl.LogisticHead(penalty=-1), gssl.LogisticHead(max_iter=-3)])
def test_a_head_refuses_what_it_cannot_solve(head):
    with pytest.raises(ValueError, match=r"LogisticHead: .* must be"):
        head.fit([[0.0], [1.0]], [0, 1])
