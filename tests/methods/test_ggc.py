"""GGC and GGCM agree with dense algebra, for every kind of negatives."""

import numpy as np
import pytest
from scipy.sparse import csr_array, issparse
from tests.methods.dense import assert_depths, dense_A_hat, dense_N_hat

import gssl


def negatives_of_each_depth(A, negatives, depth, seed):
    if issparse(negatives):
        return [negatives.toarray()] * depth
    if negatives == "complement":
        return [np.ones_like(A) - np.eye(len(A)) - (A > 0)] * depth
    seeds = np.random.default_rng(seed).integers(2**63, size=depth)
    return [gssl.graph.sample_negatives(A, negatives, random_state=int(seed)).toarray() for seed in seeds]


@pytest.mark.parametrize("negatives", ["complement", 2, "own"])
@pytest.mark.parametrize("multiscale", [False, True], ids=["GGC", "GGCM"])
def test_ggc_and_ggcm(random_problem, negatives, multiscale):
    X, A = random_problem.X, random_problem.A
    depth, beta, decay, igc_beta, igc_decay, alpha = 4, 0.9, 0.8, 0.7, 0.5, 0.3
    I, A_hat, U = np.eye(len(A)), dense_A_hat(A), X  # noqa: E741
    if isinstance(negatives, str) and negatives == "own":
        # heterophily: linked nodes themselves are the negatives
        negatives = csr_array(A)
    expected, gathered = [X], []
    for k, N in enumerate(negatives_of_each_depth(A, negatives, depth, seed=7), start=1):
        b, c = beta * decay ** (k - 1), igc_beta * igc_decay ** (k - 1)
        smo = (b * A_hat + (1 - b) * I) @ U
        sharp = (c * dense_N_hat(N) + (1 - c) * I) @ U
        gathered.append((smo + sharp) / 2)
        U = smo if multiscale else gathered[-1]
        expected.append(alpha * X + (1 - alpha) * sum(gathered) / k if multiscale else U)
    settings = {"beta": beta, "decay": decay, "igc_beta": igc_beta, "igc_decay": igc_decay}
    settings |= {"depth": depth, "negatives": negatives, "random_state": 7}
    model = gssl.GGCM(alpha=alpha, **settings) if multiscale else gssl.GGC(**settings)
    assert_depths(model, X, A, expected)


def test_negatives_of_another_size_are_an_error(random_problem):
    model = gssl.GGC(negatives=csr_array((3, 3)))
    with pytest.raises(ValueError, match=r"negatives has shape \(3, 3\), but the graph has 25 nodes"):
        model.fit(random_problem.X, adjacency=random_problem.A)


def test_negatives_of_the_caller_survive_a_memory_budget(random_problem, tmp_path):
    X, A = random_problem.X, random_problem.A
    model = gssl.GGC(depth=3, negatives=csr_array(A))
    whole = model.fit_transform(X, adjacency=A)
    with gssl.execution(memory="1MB", resume=tmp_path):
        again = gssl.GGC(depth=3, negatives=csr_array(A)).fit_transform(X, adjacency=A)
    np.testing.assert_allclose(again, whole, atol=1e-12)
    other = gssl.GGC(depth=3, negatives=csr_array(A[::-1, ::-1]))
    with (
        gssl.execution(memory="1MB", resume=tmp_path),
        pytest.raises(ValueError, match="other features, graph"),
    ):
        other.fit(X, adjacency=A)
