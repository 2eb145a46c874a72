"""Programs, their transposes and their sums, against dense algebra in the letters of the module."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from gssl.operators import Filters, Mixture, complement_negatives, normalized_adjacency, normalized_negatives
from gssl.operators.program import NOTHING, Program, Step

N = 11
KINDS = ("complement", "sampled", "none")


def draw_graph(rng, kind):
    A = np.triu(rng.random((N, N)) < 0.3, k=1).astype(float)
    if rng.random() < 0.5:
        A *= rng.integers(1, 4, size=A.shape)
    A = csr_array(A + A.T)
    if kind == "none":
        return Filters(normalized_adjacency(A)), None
    if kind == "sampled":
        other = np.triu(rng.random((N, N)) < 0.3, k=1).astype(float)
        N_hat = normalized_negatives(csr_array(other + other.T))
        return Filters(normalized_adjacency(A), N_hat), N_hat.toarray()
    N_hat = complement_negatives(A, np.float64)
    return Filters(normalized_adjacency(A), N_hat), N_hat @ np.eye(N)


def draw_mixture(rng, sharpens):
    smooth, sharp, keep = rng.normal(size=3) * (rng.random(3) < 0.7)
    return Mixture(smooth=smooth, sharp=sharp if sharpens else 0.0, keep=keep)


def draw_program(rng, sharpens, graphs):
    steps = []
    for _ in range(rng.integers(0, 6)):
        gathers, restarts = rng.random(2) < 0.6
        weighted = rng.random() < 0.2
        gather = draw_mixture(rng, sharpens) if gathers else NOTHING
        restart = draw_mixture(rng, sharpens) if restarts else NOTHING
        if weighted:
            gather, restart = Mixture(keep=rng.normal()), Mixture(keep=rng.normal())
        steps.append(
            Step(
                draw_mixture(rng, sharpens) if rng.random() < 0.9 else NOTHING,
                restart,
                gather,
                float(rng.normal()) if rng.random() < 0.4 else 0.0,
                int(rng.integers(graphs)),
                rng.normal(size=N) if weighted else None,
                rng.normal(size=N) if weighted else None,
            )
        )
    s, e, o = rng.normal(size=3)
    return Program(steps, float(s), float(e) if rng.random() < 0.8 else 0.0, float(o))


def dense_map(program, matrices):
    """Return the matrix F of a program: output = F X."""

    def matrix(mixture, graph):
        A_hat, N_hat = matrices[graph]
        sharp = 0.0 if N_hat is None else mixture.sharp * N_hat
        return mixture.smooth * A_hat + sharp + mixture.keep * np.eye(N)

    U, before, T = program.start * np.eye(N), np.zeros((N, N)), np.zeros((N, N))
    for step in program.steps:
        left = np.eye(N) if step.gather_weights is None else np.diag(step.gather_weights)
        right = np.eye(N) if step.restart_weights is None else np.diag(step.restart_weights)
        T += left @ matrix(step.gather, step.graph) @ U
        C, R = matrix(step.carry, step.graph), matrix(step.restart, step.graph) @ right
        U, before = C @ U + step.past * before + R, U
    return program.end * U + T + program.keep * np.eye(N)


@pytest.fixture(params=range(200))
def drawn(request):
    rng = np.random.default_rng(request.param)
    kind = KINDS[request.param % 3]
    # the complement is one graph, of which the rank-one part is computed
    graphs = [draw_graph(rng, kind) for _ in range(1 if kind == "complement" else 2)]
    program = draw_program(rng, kind != "none", len(graphs))
    matrices = [(filters.A_hat.toarray(), N_hat) for filters, N_hat in graphs]
    return rng, program, lambda k: graphs[k][0], dense_map(program, matrices)


def test_random_programs_and_their_transposes_are_dense_algebra(drawn):
    rng, program, filters, F = drawn
    X = rng.normal(size=(N, 3))
    X.flags.writeable = False  # features are left as they are
    np.testing.assert_allclose(program.run(X, filters), F @ X, atol=1e-9)
    np.testing.assert_allclose(program.run(csr_array(X * (X > 0)), filters), F @ (X * (X > 0)), atol=1e-9)
    np.testing.assert_allclose(program.transpose().run(X, filters), F.T @ X, atol=1e-9)
    nodes = np.array([4, 0, 7])
    E = csr_array((np.ones(3), (nodes, np.arange(3))), shape=(N, 3))
    np.testing.assert_allclose(program.transpose().run(E, filters).T @ X, (F @ X)[nodes], atol=1e-9)
    np.testing.assert_allclose(program.transpose().transpose().run(X, filters), F @ X, atol=1e-9)


def test_programs_add_up_and_are_multiplied_by_numbers(drawn):
    rng, program, filters, F = drawn
    other = draw_program(rng, False, 1)
    G = dense_map(other, [(filters(0).A_hat.toarray(), None)])
    X = rng.normal(size=(N, 2))
    np.testing.assert_allclose((program + 0.5 * other).run(X, filters), (F + 0.5 * G) @ X, atol=1e-9)


def test_the_last_state_is_the_embedding_and_injections_are_added():
    rng = np.random.default_rng(0)
    filters, _ = draw_graph(rng, "none")
    A_hat = filters.A_hat.toarray()
    X, J = rng.normal(size=(N, 2)), rng.normal(size=(3, N, 2))
    program = Program([Step(Mixture(smooth=1.0), past=0.5)] * 3)
    U, before = X, np.zeros_like(X)
    for k, state in enumerate(program.states(X, lambda graph: filters, lambda k: J[k])):
        U, before = A_hat @ U + 0.5 * before + J[k], U
        np.testing.assert_allclose(state.U, U, atol=1e-12)
    np.testing.assert_allclose(program.run(X, lambda graph: filters, lambda k: J[k]), U, atol=1e-12)


def test_a_polynomial_of_one_operator_knows_its_powers(drawn):
    _, program, filters, F = drawn
    powers = program.powers()
    one_graph = len({step.graph for step in program.steps}) <= 1
    weighted = any(step.gather_weights is not None for step in program.steps)
    sharpens = any(m.sharp for step in program.steps for m in (step.carry, step.restart, step.gather))
    assert (powers is not None) == (one_graph and not weighted and not sharpens)
    if powers is not None:
        A_hat = filters(program.steps[0].graph if program.steps else 0).A_hat.toarray()
        expected = sum(p * np.linalg.matrix_power(A_hat, k) for k, p in enumerate(powers))
        np.testing.assert_allclose(F, expected, atol=1e-9)


def test_hops_count_how_far_the_output_of_a_node_looks():
    smooth, keep = Mixture(smooth=1.0), Mixture(keep=1.0)
    assert Program([]).hops == 0
    assert Program([Step(smooth)] * 3).hops == 3
    assert Program([Step(smooth, gather=smooth)] * 3, end=0.0).hops == 3
    assert Program([Step(smooth, gather=keep)] * 3, end=0.0).hops == 2
    assert (Program([Step(smooth)] * 2) + Program([Step(smooth)] * 3)).hops == 3
    assert Program([Step(Mixture(sharp=1.0))]).hops is None
    assert Program([Step(keep, smooth), Step(smooth)]).hops == 2


def test_the_cost_counts_passes_over_the_links_and_steps_over_the_nodes():
    smooth, keep = Mixture(smooth=0.5, keep=0.5), Mixture(keep=1.0)
    assert Program([]).cost(n=10, links=100, width=3) == 0
    assert Program([Step(smooth)] * 4).cost(n=10, links=100, width=3) == 4 * (100 + 10) * 3
    # one pass for all operators of a step, none if nothing is mixed
    both = Program([Step(smooth, gather=Mixture(smooth=1.0, sharp=2.0)), Step(keep, gather=keep)])
    assert both.cost(n=10, links=100, width=1) == 100 + 2 * 10
    # one product with X for all restarts, though the gathers of the transpose need a pass each
    restarts = Program([Step(smooth, restart=smooth), Step(keep, restart=smooth)])
    assert restarts.cost(n=10, links=100, width=1) == 2 * 100 + 2 * 10
    assert restarts.transpose().cost(n=10, links=100, width=1) == 2 * 100 + 2 * 10
    assert Program([Step(keep, smooth, graph=k) for k in range(3)]).cost(n=10, links=100, width=1) == 330


def test_each_step_may_push_apart_on_a_graph_of_its_own():
    rng = np.random.default_rng(0)
    graphs = [draw_graph(rng, "complement") for _ in range(2)]
    steps = [Step(Mixture(smooth=0.5), Mixture(sharp=0.3, keep=0.1), graph=k) for k in (0, 1, 0)]
    program = Program(steps)
    F = dense_map(program, [(filters.A_hat.toarray(), N_hat) for filters, N_hat in graphs])
    E = csr_array((np.ones(2), ([3, 9], [0, 1])), shape=(N, 2))
    np.testing.assert_allclose(program.run(E, lambda k: graphs[k][0]), F @ E.toarray(), atol=1e-12)


@pytest.mark.parametrize("field", ["carry", "restart", "gather"])
def test_a_step_has_its_restart_and_past_to_itself(field):
    for mixture in (Mixture(restart=0.5), Mixture(past=0.5)):
        with pytest.raises(ValueError, match="give those to the Step itself"):
            Step(**{"carry": NOTHING, field: mixture})
