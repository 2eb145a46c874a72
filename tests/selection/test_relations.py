"""Models that tell kinds of links apart: what each adds, in every place where models run, and in words."""

import warnings

import numpy as np
import pytest
from scipy.sparse import csr_array, random_array
from tests.problems import directed_flow, friends_and_noise, random_links

import gssl
from gssl.graph import GraphWarning, check_adjacency
from gssl.selection.neighbour_columns import Neighbourhood
from gssl.selection.node_order import node_keys
from gssl.selection.relations import RelationGain, tree_walks

N = 240


@pytest.fixture(scope="module")
def typed():
    return friends_and_noise()


@pytest.fixture(scope="module")
def flow():
    return directed_flow()


def accuracy(model, y, truth):
    return np.mean(model.transduction_[y == -1] == truth[y == -1])


def test_a_relation_that_follows_the_classes_is_told_from_noise(typed):
    X, relations, y, truth = typed
    model = gssl.AutoClassifier(depth=4).fit(X, y, adjacency=relations)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GraphWarning)
        union = gssl.AutoClassifier(depth=4).fit(X, y, adjacency=check_adjacency(relations).toarray())
    assert accuracy(model, y, truth) > accuracy(union, y, truth) + 0.1
    assert "'friends' links add" in model.explain_
    assert "'noise' links add nothing clear" in model.explain_
    assert "Models read 'friends' links by themselves" in model.explain_
    assert set(model.relation_operators_) <= {"hop:friends", "smooth:friends"}


def test_directions_are_used_where_hidden_labels_gain(flow):
    X, R, y, truth = flow
    directed = gssl.AutoClassifier(depth=2, directed="auto").fit(X, y, adjacency=R)
    with pytest.warns(GraphWarning, match="not symmetric"):
        plain = gssl.AutoClassifier(depth=2).fit(X, y, adjacency=R)
    assert accuracy(directed, y, truth) > accuracy(plain, y, truth) + 0.1
    assert "Directions of links add" in directed.explain_
    assert "out:links" in directed.relation_operators_
    # in the other direction, the same links say nothing
    turned = gssl.AutoClassifier(depth=2, directed=True).fit(X, y, adjacency=csr_array(R.T))
    assert "in:links" in turned.relation_operators_
    assert accuracy(turned, y, truth) > accuracy(plain, y, truth) + 0.1


def test_symmetric_links_are_the_same_with_and_without_directions(typed):
    X, relations, y, _ = typed
    A = check_adjacency({"friends": relations["friends"]})
    plain = gssl.AutoClassifier(depth=3).fit(X, y, adjacency=csr_array(A.toarray()))
    for adjacency, directed in ((A, "auto"), (A, True), ({"friends": A}, False)):
        model = gssl.AutoClassifier(depth=3, directed=directed).fit(X, y, adjacency=adjacency)
        np.testing.assert_array_equal(model.label_distributions_, plain.label_distributions_)


def test_nodes_that_only_kinds_of_links_tell_apart_have_different_keys():
    # two nodes linked to the same third one, by different kinds or in different directions
    one = csr_array(([1.0], ([0], [2])), shape=(3, 3))
    other = csr_array(([1.0], ([1], [2])), shape=(3, 3))
    more = csr_array(([1.0, 1.0], ([1, 2], [2, 1])), shape=(3, 3))
    X = csr_array((3, 0))
    for A in (
        check_adjacency({"a": one, "b": more}, directed=True),
        check_adjacency(csr_array(one + other.T), directed=True),
    ):
        keys = node_keys(X, A)
        assert keys[0] != keys[1]
        # names do not matter
        renamed = {f"z{name}": links for name, links in A.relations.items()}
        np.testing.assert_allclose(node_keys(X, check_adjacency(renamed, directed=True)), keys, rtol=1e-12)
    keys = node_keys(X, check_adjacency(one + other + one.T + other.T))
    assert keys[0] == keys[1]


def test_a_graph_to_predict_may_lack_some_relations_but_not_all(typed, flow):
    X, relations, y, _ = typed
    model = gssl.AutoClassifier(depth=3).fit(X, y, adjacency=relations)
    assert model.relations_used == ["friends"]
    alone = model.predict_proba(X, adjacency={"friends": relations["friends"]})
    np.testing.assert_allclose(alone, model.label_distributions_, atol=1e-6)
    for wrong, has in (
        ({"freinds": relations["friends"]}, "has 'freinds'"),
        (relations["friends"], "one kind"),
    ):
        with pytest.raises(
            ValueError, match=f"reads links of the kinds 'friends', .*{has}.* named as in fit"
        ):
            model.predict(X, adjacency=wrong)
    # symmetric links, or none, are links in both directions
    X, R, y, _ = flow
    model = gssl.AutoClassifier(depth=2, directed=True).fit(X, y, adjacency=R)
    for links in (csr_array(R + R.T), csr_array(R.shape)):
        assert np.isfinite(model.predict_proba(X, adjacency=links)).all()


def test_directions_of_sparse_features_are_those_of_dense_ones():
    rng = np.random.default_rng(7)
    n = 400
    kind = rng.integers(0, 2, n)
    X = np.zeros((n, 1500))
    X[np.arange(n)[:, None], rng.integers(0, 700, (n, 4)) + 700 * kind[:, None]] = 1.0
    R = random_array((n, n), density=1.2 / n, rng=rng, data_sampler=lambda size: np.ones(size)).tocsr()
    R.setdiag(0)
    ahead = np.asarray(R @ (2.0 * kind - 1.0)) > 0
    y = np.where(rng.random(n) < 0.1, ahead.astype(int), -1)
    models = [
        gssl.EmbeddingClassifier(gssl.HopFilter(1, "out"), "ridge").fit(features, y, adjacency=R)
        for features in (X, csr_array(X))
    ]
    np.testing.assert_allclose(models[1].label_distributions_, models[0].label_distributions_, atol=1e-8)


def test_parameters_set_after_fit_do_not_change_directions(flow):
    X, R, y, _ = flow
    embedder = gssl.HopFilter(1, "out").fit(X, adjacency=R)
    np.testing.assert_array_equal(
        embedder.set_params(operator="hop").transform(X, adjacency=R), embedder.embedding_
    )
    model = gssl.AutoClassifier(depth=2, directed=True).fit(X, y, adjacency=R)
    P = model.set_params(directed=False).predict_proba(X, adjacency=R)
    np.testing.assert_allclose(P, model.label_distributions_, atol=1e-6)


def test_a_search_tries_directions(flow):
    X, R, y, _ = flow
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GraphWarning)
        best = gssl.selection.search(
            gssl.EmbeddingClassifier(gssl.HopFilter(1)),
            {"embedder__operator": ["hop", "out", "in"]},
            X,
            y,
            adjacency=R,
        )
    assert best.embedder.operator == "out"


def test_noise_in_many_kinds_promises_nothing():
    gaps, claims = [], 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        truth = rng.integers(0, 3, 500)
        X = rng.normal(size=(500, 8)) + np.eye(8)[truth]
        y = np.where(np.arange(500) < 100, truth, -1)
        relations = {f"n{k}": random_links(rng, truth, 0.0, 500) for k in range(30)}
        model = gssl.AutoClassifier(depth=2).fit(X, y, adjacency=relations)
        promised = float(model.explain_.split(" %")[0])
        gaps.append(promised - 100 * accuracy(model, y, truth))
        claims += "links add" in model.explain_.replace("links add nothing clear", "")
    assert np.mean(gaps) < 6.0
    assert claims <= 1


def test_a_run_belongs_to_its_relations(typed, tmp_path):
    X, relations, y, _ = typed
    with gssl.execution(resume=tmp_path):
        gssl.AutoClassifier(depth=2).fit(X, y, adjacency=relations)
    # the union is the same, the relations are not
    swapped = dict(zip(relations, reversed(relations.values()), strict=True))
    with gssl.execution(resume=tmp_path), pytest.raises(ValueError, match="other"):
        gssl.AutoClassifier(depth=2).fit(X, y, adjacency=swapped)


def test_trees_count_the_neighbours_of_each_relation_apart():
    rng = np.random.default_rng(4)
    n = 900
    X = rng.normal(size=(n, 3))
    R = random_array((n, n), density=3 / n, rng=rng, data_sampler=lambda size: np.ones(size)).tocsr()
    # whether the largest feature of a node that it links to is large: no linear model can tell
    truth = np.asarray((R @ (np.abs(X[:, :1]) > 1.0)) > 0).ravel().astype(int)
    y = np.where(rng.random(n) < 0.6, truth, -1)
    model = gssl.AutoClassifier(depth=2, directed=True).fit(X, y, adjacency=R)
    assert model.has_trees
    assert model.tree_walks_.tolist() == ["out:links", "in:links"]
    P = model.predict_proba(X, adjacency=R)
    np.testing.assert_allclose(P, model.label_distributions_, atol=1e-6)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", GraphWarning)
        plain = gssl.AutoClassifier(depth=2).fit(X, y, adjacency=R)
    assert accuracy(model, y, truth) > accuracy(plain, y, truth) + 0.05


def test_numbers_are_propagated_over_the_relation_that_they_follow():
    rng = np.random.default_rng(5)
    n = 300
    ring = csr_array((np.ones(n), (np.arange(n), (np.arange(n) + 1) % n)), shape=(n, n))
    ring, noises = csr_array(ring + ring.T), [random_links(rng, np.zeros(n), 0.0, 900) for _ in range(8)]
    truth = np.sin(np.arange(n) * 2 * np.pi / 60) * 10
    y = np.where(rng.random(n) < 0.5, truth, np.nan)
    X = rng.normal(size=(n, 3))
    relations = {"next": ring} | {str(k): noise for k, noise in enumerate(noises)}
    model = gssl.AutoRegressor(depth=4).fit(X, y, adjacency=relations)
    hidden = np.isnan(y)
    error = np.mean((model.transduction_[hidden] - truth[hidden]) ** 2) / truth.var()
    assert error < 0.1
    assert "over 'next' links" in model.explain_
    answers = model.predict(X, adjacency=relations)
    np.testing.assert_allclose(answers, model.transduction_, rtol=1e-6)


def test_several_labels_follow_their_own_relations():
    rng = np.random.default_rng(6)
    truth = rng.integers(0, 2, (N, 2))
    relations = {str(k): random_links(rng, truth[:, k], 0.95, 700) for k in range(2)}
    Y = np.where(rng.random(N) < 0.5, 1.0, np.nan)[:, None] * truth
    X = rng.normal(size=(N, 4)) + 0.7 * (2 * truth - 1) @ rng.normal(size=(2, 4))
    model = gssl.AutoClassifier(depth=2).fit(X, Y, adjacency=relations)
    hidden = np.isnan(Y[:, 0])
    assert np.mean(model.transduction_[hidden] == truth[hidden]) > 0.8
    assert "log-likelihood" in model.explain_
    P = model.predict_proba(X, adjacency=relations)
    np.testing.assert_allclose(P, model.label_distributions_, atol=1e-6)


def test_methods_that_do_not_tell_relations_apart_use_the_union_and_say_so(typed):
    X, relations, y, _ = typed
    union = check_adjacency(relations, relation_weight={"noise": 0.1})
    with pytest.warns(GraphWarning, match=r"GGCM uses the union of 2 relations \('friends', 'noise'\)"):
        U = gssl.GGCM(depth=2).fit_transform(X, adjacency=union)
    np.testing.assert_array_equal(
        U, gssl.GGCM(depth=2).fit_transform(X, adjacency=csr_array(union.toarray()))
    )
    with pytest.warns(GraphWarning, match="OGC uses the union"):
        gssl.OGC(random_state=0).fit(X, y, adjacency=relations)
    with pytest.warns(GraphWarning, match="ignores the directions"):
        gssl.LabelSpreading().fit(
            None, y, adjacency=check_adjacency(np.triu(relations["noise"].toarray()), directed=True)
        )


def test_a_hop_filter_follows_directions(flow):
    X, R, _, _ = flow
    out, into = (np.bincount(index, minlength=N) for index in R.nonzero())
    scaled = R.toarray() / np.sqrt(np.maximum(out, 1))[:, None] / np.sqrt(np.maximum(into, 1))
    np.testing.assert_allclose(gssl.HopFilter(1, "out").fit_transform(X, adjacency=R), scaled @ X, atol=1e-12)
    np.testing.assert_allclose(
        gssl.HopFilter(2, "in").fit_transform(X, adjacency=R), scaled.T @ scaled.T @ X, atol=1e-12
    )
    with pytest.raises(ValueError, match="directions of one kind of links, but there are 2"):
        gssl.HopFilter(1, "out").fit(X, adjacency=check_adjacency({"a": R, "b": R}, directed=True))


def test_advice_works_on_typed_links(typed):
    X, relations, y, _ = typed
    model = gssl.selection.CalibratedClassifier(gssl.AutoClassifier(depth=3))
    model.fit(X, y, adjacency=relations)
    assert len(gssl.suggest(model, 3)) == 3
    assert len(gssl.audit(model).to_pandas())
    node = int(np.flatnonzero(y == -1)[0])
    (explanation,) = gssl.why(model, node)
    text = explanation.text()
    assert "friends" in text
    parts = explanation.intercept + explanation.shares.sum(axis=0) + explanation.unlabelled
    np.testing.assert_allclose(parts, explanation.scores, atol=1e-8)


def test_a_path_names_the_direction_of_its_links(flow):
    X, R, y, _ = flow
    model = gssl.AutoClassifier(depth=2, directed=True).fit(X, y, adjacency=R)
    text = "\n".join(one.text() for one in gssl.why(model, np.arange(40)))
    assert "a neighbour (links, out)" in text
    assert "a neighbour (links, in)" in text


def test_wrong_directions_are_named():
    with pytest.raises(ValueError, match='AutoClassifier: directed must be True, False or "auto", not 3'):
        gssl.AutoClassifier(directed=3).fit([[1.0], [2.0]], [0, 1], adjacency=[[0, 1], [1, 0]])


def test_trees_read_the_relations_that_add_most():
    gains = [RelationGain(str(k), (f"out:{k}", f"in:{k}"), k / 10, 0.01) for k in range(5)]
    assert tree_walks(gains) == [f"{kind}:{k}" for k in (4, 3, 2) for kind in ("out", "in")]
    # one that clearly costs accuracy is left out, one that makes no difference is not
    gains = [RelationGain("a", ("hop:a",), -0.1, 0.01), RelationGain("b", ("hop:b",), -0.1, 0.1)]
    assert tree_walks(gains) == ["hop:b"]
    assert not tree_walks([])


def test_columns_of_a_relation_are_means_over_its_neighbours(flow):
    X, R, y, _ = flow
    A = check_adjacency(R, directed=True)
    nearby = Neighbourhood(X, A, np.zeros((6, 0)), np.arange(6), walks=["out:links", "in:links"])
    for k, links in enumerate((R.toarray(), R.toarray().T)):
        count = links.sum(axis=1, keepdims=True)
        means = links @ X / np.maximum(count, 1)
        columns = nearby.fixed[:, -12 + 6 * k :][:, :6]
        np.testing.assert_allclose(columns, means, rtol=2e-4, atol=1e-6)
        np.testing.assert_allclose(nearby.fixed[:, [2 + k]], np.log1p(count), rtol=2e-4)
    answers = np.eye(2)[np.maximum(y, 0)]
    shown = nearby.answer_columns(answers, y >= 0)
    known = (y >= 0)[:, None] * answers
    prior = answers[y >= 0].mean(axis=0)
    out = R.toarray() @ known
    expected = (out + prior) / (out.sum(axis=1, keepdims=True) + 1.0)
    np.testing.assert_allclose(shown[:, 4:6], expected, atol=1e-3)
