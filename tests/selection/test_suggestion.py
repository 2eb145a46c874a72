"""Suggested nodes agree with the equation computed by hand, and are useful on a graph."""

import numpy as np
import pytest
from scipy.sparse import csc_array, csr_array

import gssl
from gssl.selection import suggestions
from gssl.selection.suggestion import cover, smoothed_signature


def by_hand(U, u, labelled, n):
    """Choose nodes greedily by the equation, in dense algebra."""
    K = np.maximum(U @ U.T, 0) ** 4
    chosen = list(labelled)
    rest = np.setdiff1d(np.arange(len(u)), labelled)
    picks = []
    for _ in range(n):
        covered = K[:, chosen].max(axis=1, initial=0.0)
        gain = {j: u[j] * sum(u[i] * max(0.0, K[i, j] - covered[i]) for i in rest if i != j) for j in rest}
        best = max((j for j in rest if j not in picks), key=gain.get)
        picks.append(best)
        chosen.append(best)
    return picks


def test_picks_are_those_of_the_equation():
    rng = np.random.default_rng(0)
    U = rng.standard_normal((60, 4))
    U /= np.linalg.norm(U, axis=1, keepdims=True)
    u = rng.random(60)
    labelled = np.array([3, 40, 41])
    assert cover(U, u, labelled, 12)[0] == by_hand(U, u, labelled, 12)


def test_a_copy_of_a_pick_is_never_picked():
    rng = np.random.default_rng(1)
    U = np.repeat(rng.standard_normal((5, 6)), 4, axis=0)
    U /= np.linalg.norm(U, axis=1, keepdims=True)
    picks, _ = cover(U, np.ones(20), np.array([0]), 20)
    assert sorted(p // 4 for p in picks) == [1, 2, 3, 4]


def test_signatures_keep_the_cosines_of_smoothed_features():
    data = gssl.datasets.load("cora").normalized()
    U = gssl.SSGC(depth=8).fit_transform(data.features, adjacency=data.adjacency)[:300]
    U /= np.maximum(np.linalg.norm(U, axis=1, keepdims=True), 1e-12)
    V = smoothed_signature(data.features, data.adjacency)[:300]
    assert V.shape == (300, 256)
    assert np.abs(U @ U.T - V @ V.T).mean() < 0.06


@pytest.fixture(scope="module")
def cliques():
    """Six cliques of six nodes, two of them with a label, and an isolated node."""
    A = np.kron(np.eye(6), np.ones((6, 6)) - np.eye(6))
    A = np.pad(A, (0, 1))
    for k in range(5):
        A[6 * k, 6 * k + 7] = A[6 * k + 7, 6 * k] = 0.2
    y = np.full(37, None, dtype=object)
    y[2], y[8] = "a", "b"
    return A, y


@pytest.mark.filterwarnings("ignore:nothing is known")
def test_a_batch_spreads_over_the_parts_without_labels(cliques):
    A, y = cliques
    model = gssl.LabelPropagation().fit(None, y, adjacency=A)
    picks = gssl.suggest(model, 4)
    assert sorted(picks // 6) == [2, 3, 4, 5]
    np.testing.assert_array_equal(picks, gssl.suggest(model, 4))
    first = suggestions(model, 1)[0]
    assert {first.label, first.runner_up} == {"a", "b"}
    assert first.why.startswith(first.label)
    assert f"like {first.speaks_for} other nodes" in first.why
    assert first.speaks_for >= 5


@pytest.mark.filterwarnings("ignore:nothing is known")
def test_a_loaded_model_asks_for_its_graph(cliques, tmp_path):
    A, y = cliques
    model = gssl.LabelPropagation().fit(None, y, adjacency=A)
    gssl.save(model, tmp_path / "m.gssl")
    loaded = gssl.load(tmp_path / "m.gssl")
    with pytest.raises(ValueError, match="give suggest adjacency="):
        gssl.suggest(loaded, 2)
    np.testing.assert_array_equal(gssl.suggest(loaded, 4, adjacency=A), gssl.suggest(model, 4))
    for n in (0, -1, 2.5, True):
        with pytest.raises(ValueError, match="how many nodes to suggest"):
            gssl.suggest(model, n)


@pytest.fixture(scope="module")
def wide():
    """Two blocks of twenty nodes with more features than columns of a signature."""
    data = gssl.datasets.make_block_graph(40, 120, 300, 2, features="dense", random_state=0)
    y = np.full(40, -1)
    for code in (0, 1):
        y[np.flatnonzero(data.labels == code)[0]] = code
    return data.features, data.adjacency, y


def test_features_are_read_in_every_form(wide):
    X, A, y = wide
    model = gssl.EmbeddingClassifier(gssl.SGC()).fit(X, y, adjacency=A)
    expected = gssl.suggest(model, 4)
    for form in (csr_array(X), csc_array(X), np.asfortranarray(X), X.tolist()):
        np.testing.assert_array_equal(gssl.suggest(model, 4, X=form, adjacency=A), expected)


@pytest.mark.parametrize("form", [np.asarray, csr_array, csc_array])
def test_features_of_other_nodes_are_refused(wide, form):
    X, A, y = wide
    model = gssl.EmbeddingClassifier(gssl.SGC()).fit(X, y, adjacency=A)
    with pytest.raises(ValueError, match="X has 5 rows but the model was fitted to 40 nodes"):
        gssl.suggest(model, 4, X=form(X[:5]), adjacency=A)
    with pytest.raises(ValueError, match="299 features"):
        gssl.suggest(model, 4, X=form(X[:, 1:]), adjacency=A)
    broken = X.copy()
    broken[3, 7] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        gssl.suggest(model, 4, X=form(broken), adjacency=A)


def test_what_is_given_stands_for_what_is_kept(wide):
    X, A, y = wide
    plain = gssl.LabelPropagation().fit(None, y, adjacency=A)
    expected = gssl.suggest(plain, 4, X=X, adjacency=A)
    np.testing.assert_array_equal(gssl.suggest(plain, 4, X=X), expected)
    assert gssl.suggest(plain, 4).tolist() != expected.tolist()
    model = gssl.EmbeddingClassifier(gssl.SGC()).fit(X, y, adjacency=A)
    np.testing.assert_array_equal(gssl.suggest(model, 4, adjacency=A), gssl.suggest(model, 4))


@pytest.mark.filterwarnings("ignore:nothing is known")
def test_a_problem_names_the_picks(cliques, tmp_path):
    A, y = cliques
    ids = [f"n{k}" for k in range(37)]
    problem = gssl.io.from_scipy(A, y=y, node_ids=ids)
    model = gssl.LabelPropagation().fit(problem)
    picks = gssl.suggest(model, 4)
    assert gssl.suggest(model, 4, problem=problem).tolist() == [ids[node] for node in picks]
    # the problem stands for the graph that a bare model lacks
    gssl.save(model, tmp_path / "m.gssl")
    named = suggestions(gssl.load(tmp_path / "m.gssl"), 4, problem=problem)
    assert [pick.node for pick in named] == picks.tolist()
    table = named.to_pandas()
    assert list(table) == ["id", "label", "model_says", "confidence", "runner_up", "speaks_for", "why"]
    assert table["id"].tolist() == named.ids == [ids[node] for node in picks]
    assert set(table["label"]) == {""}
    assert suggestions(model, 4).ids == [str(node) for node in picks]
    with pytest.raises(ValueError, match=r"the problem has 2 nodes and the model was fitted to 37: give the"):
        gssl.suggest(model, problem=gssl.io.from_scipy([[0, 1], [1, 0]]))
