"""Unusual inputs are refused or interpreted as intended."""

import warnings

import numpy as np
import pytest
from scipy.sparse import csr_array

import gssl
from gssl.datasets import Dataset
from gssl.graph import check_adjacency

pd = pytest.importorskip("pandas")


def path(n):
    steps = np.arange(n - 1)
    A = csr_array((np.ones(n - 1), (steps, steps + 1)), shape=(n, n))
    return A + A.T


def test_labels_arrive_however_far_away_they_are():
    y = np.full(3000, -1)
    y[:2] = [0, 1]
    model = gssl.LabelPropagation().fit(None, y, adjacency=path(3000))
    assert (model.transduction_[1:] == 1).all()
    np.testing.assert_allclose(model.label_distributions_[2:, 1], 1.0, atol=1e-5)


def test_a_point_among_unreached_ones_is_unknown_to_predict_too():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(0, 0.1, (20, 2)), rng.normal(50, 0.1, (20, 2))])
    y = [None] * 40
    y[0], y[1:4] = "a", ["b"] * 3
    with pytest.warns(gssl.GraphWarning, match="nothing is known about 20 nodes"):
        model = gssl.LabelPropagation().fit(X, y)
    with pytest.warns(gssl.GraphWarning, match="nothing is known about 2 nodes"):
        predicted = model.predict(X[-2:])
    assert predicted.tolist() == ["b", "b"] == model.transduction_[-2:].tolist()


def test_a_tie_is_no_ignorance():
    model = gssl.LabelPropagation().fit(None, [0, -1, 1], adjacency=path(3))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_allclose(model.predict_proba(None, adjacency=path(3))[1], [0.5, 0.5])
        model.predict(None, adjacency=path(3))


@pytest.mark.parametrize("factor", [1e-300, 1e300])
def test_weights_of_any_size_mean_the_same_to_single_precision(problem, classifier, factor):
    """Tiny weights vanish beside self-loops, so a node may have only its own features."""
    X = problem.X.astype(np.float32)
    classifier.fit(X, problem.y, adjacency=factor * problem.A)
    assert np.mean(classifier.transduction_ == problem.truth) > 0.9


def test_weights_that_overflow_in_a_sum_name_their_row():
    A = np.array([[0, 0, 0], [0, 0, 1e308], [0, 1e308, 0]])
    A[1, 0] = A[0, 1] = 1e308
    with pytest.raises(ValueError, match=r"row 1 .* add up to more"):
        check_adjacency(A)


def test_masked_entries_are_refused(problem):
    mask = np.zeros(36, dtype=bool)
    mask[3] = True
    model = gssl.OGC(random_state=0)
    with pytest.raises(ValueError, match="y has 1 masked"):
        model.fit(problem.X, np.ma.array(problem.y, mask=mask), adjacency=problem.A)
    with pytest.raises(ValueError, match="X has 6 masked"):
        model.fit(np.ma.array(problem.X, mask=np.outer(mask, np.ones(6))), problem.y, adjacency=problem.A)
    with pytest.raises(ValueError, match="adjacency has 36 masked"):
        model.fit(problem.X, problem.y, adjacency=np.ma.array(problem.A, mask=np.outer(mask, np.ones(36))))


@pytest.mark.parametrize(
    ("y", "classes"),
    [
        (pd.array([1, 2, None, 2], dtype="Int64"), [1, 2]),
        (pd.array([True, False, None, True], dtype="boolean"), [False, True]),
        (pd.Series(["x", None, "y", "x"], dtype="string"), ["x", "y"]),
        (pd.Series(["x", "y", "x", "y"], dtype="category"), ["x", "y"]),
        (["x", float("nan"), "y", -1], ["x", "y"]),
        (np.array(["2020-01-01", "NaT", "2021-01-01", "NaT"], dtype="datetime64[D]"), None),
    ],
)
def test_labels_come_back_as_they_were_given(y, classes):
    model = gssl.LabelPropagation().fit(None, y, adjacency=path(4))
    assert len(model.classes_) == 2
    if classes is not None:
        assert model.classes_.tolist() == classes


def test_a_warning_points_at_the_callers_line(problem):
    A = problem.A.copy()
    A[0, 0] = 1
    for call in (
        lambda: check_adjacency(A),
        lambda: gssl.OGC(random_state=0).fit(problem.X, problem.y, adjacency=A),
        lambda: gssl.SGC().fit_transform(problem.X, adjacency=A),
    ):
        with pytest.warns(gssl.GraphWarning, match="self-loop") as caught:
            call()
        assert caught[0].filename == __file__


def test_rounding_is_no_direction(problem):
    scale = np.random.default_rng(0).random(36)
    A = scale[:, None] * problem.A * scale
    A[0, 1] = np.nextafter(A[0, 1], 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not hasattr(check_adjacency(A, directed=True), "relations")


def test_a_dataset_does_not_trust_its_matrix():
    A = csr_array(np.array([[0.0, 1.0], [1.0, 0.0]]))
    A.indices = np.array([10**7, 0], dtype=np.int32)
    A.has_canonical_format = True
    with pytest.raises(ValueError, match="outside 0 … 1"):
        Dataset("x", A, np.eye(2), np.array([0, 1]), np.array(["a", "b"]), ("p", "q"), {})


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"head": None}, "head must be"),
        ({"embedder": gssl.OGC()}, "embedder must be"),
        ({"head": gssl.AdamHead(learning_rate=float("nan"))}, "learning_rate must be"),
        ({"head": gssl.RidgeHead(penalty=-1)}, "penalty must be"),
    ],
)
def test_parts_that_do_not_fit_are_named(problem, settings, message):
    with pytest.raises(ValueError, match=message):
        gssl.EmbeddingClassifier(**settings).fit(problem.X, problem.y, adjacency=problem.A)


@pytest.mark.parametrize(
    "settings", [{"eta_w": float("inf")}, {"beta": 2}, {"max_iter": 0}, {"max_iter": 2.5}, {"loss": "hinge"}]
)
def test_parameters_out_of_range_are_named(problem, settings):
    with pytest.raises(ValueError, match=f"OGC: {next(iter(settings))} must be"):
        gssl.OGC(**settings).fit(problem.X, problem.y, adjacency=problem.A)


def test_a_graph_object_is_told_apart_from_a_matrix(problem):
    nx = pytest.importorskip("networkx")
    with pytest.raises(TypeError, match="to_scipy_sparse_array"):
        gssl.OGC().fit(problem.X, problem.y, adjacency=nx.path_graph(36))
