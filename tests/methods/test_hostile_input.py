"""Unusual inputs are refused or interpreted as intended."""

import warnings
from datetime import date

import numpy as np
import pytest
from scipy.sparse import csr_array
from tests.problems import path

import gssl
from gssl.datasets import Dataset
from gssl.graph import check_adjacency

pd = pytest.importorskip("pandas")


def test_labels_arrive_however_far_away_they_are():
    y = np.full(3000, -1)
    y[:2] = [0, 1]
    model = gssl.LabelPropagation().fit(None, y, adjacency=csr_array(path(3000)))
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
        (pd.array([True, False, None, True], dtype="boolean"), [False, True]),
        (["x", float("nan"), "y", -1], ["x", "y"]),
        (
            np.array(["2020-01-01", "NaT", "2021-01-01", "NaT"], dtype="datetime64[D]"),
            [date(2020, 1, 1), date(2021, 1, 1)],
        ),
    ],
)
def test_labels_come_back_as_they_were_given(y, classes):
    assert gssl.LabelPropagation().fit(None, y, adjacency=path(4)).classes_.tolist() == classes


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
    ("model", "message"),
    [
        *(
            (gssl.OGC(**{name: value}), f"OGC: {name} must be")
            for name, value in (
                ("eta_w", float("inf")),
                ("beta", 2),
                ("max_iter", 0),
                ("max_iter", 2.5),
                ("loss", "hinge"),
            )
        ),
        (gssl.LabelPropagation(max_iter=0), "max_iter must be"),
        (gssl.ManifoldRegularization(gamma_ambient=0), "gamma_ambient must be"),
        (gssl.ManifoldRegularization(gamma_intrinsic=-1), "gamma_intrinsic must be"),
        (gssl.ManifoldRegularization(max_iter=0), "max_iter must be"),
        (gssl.CorrectAndSmooth(scale="fdiff"), "scale must be"),
        (gssl.CorrectAndSmooth(scale=-1.0), "scale must be"),
        (gssl.CorrectAndSmooth(alpha_smooth=2), "alpha_smooth must be"),
        (gssl.CorrectAndSmooth(depth=0), "depth must be"),
        (gssl.EmbeddingClassifier(head=None), "head must be"),
        (gssl.EmbeddingClassifier(gssl.OGC()), "embedder must be"),
        (gssl.EmbeddingClassifier(head=gssl.AdamHead(learning_rate=float("nan"))), "learning_rate must be"),
        (gssl.EmbeddingClassifier(head=gssl.RidgeHead(penalty=-1)), "penalty must be"),
        (gssl.EmbeddingClassifier(head=gssl.LogisticHead(penalty=-1)), "LogisticHead: penalty must be"),
        (gssl.EmbeddingClassifier(head=gssl.LogisticHead(max_iter=-3)), "LogisticHead: max_iter must be"),
    ],
    ids=str,
)
def test_parameters_out_of_range_are_named(problem, model, message):
    with pytest.raises(ValueError, match=message):
        model.fit(problem.X, problem.y, adjacency=problem.A)


def test_a_graph_object_is_told_apart_from_a_matrix(problem):
    nx = pytest.importorskip("networkx")
    with pytest.raises(TypeError, match="to_scipy_sparse_array"):
        gssl.OGC().fit(problem.X, problem.y, adjacency=nx.path_graph(36))
