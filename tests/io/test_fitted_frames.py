"""Data frames of mixed columns as X: prepared in fit as files are, and in the same way afterwards."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from tests.estimators import CLASSIFIERS, COMPOSED

import gssl
from gssl.io import Preparation, read_features

N = 60
LIBRARIES = {
    "pandas": lambda frame: frame,
    "polars": pl.from_pandas,
    "lazy": lambda frame: pl.from_pandas(frame).lazy(),
    "pyarrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
}


@pytest.fixture(scope="module")
def people():
    """Return a frame with gaps, the graph of two groups, and the labels of some nodes."""
    rng = np.random.default_rng(0)
    group = rng.integers(0, 2, N)
    frame = pd.DataFrame(
        {
            "age": rng.normal(40, 10, N) + 20 * group,
            "class": np.where(rng.random(N) < 0.8, np.where(group, "Ulm", "Bern"), "Rome"),
            "row0": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 99, N), unit="D"),
            "member": rng.random(N) < 0.5,
        }
    )
    frame.loc[3, "age"] = frame.loc[4, "class"] = None
    A = np.triu(rng.random((N, N)) < np.where(group[:, None] == group, 0.15, 0.02), 1)
    y = np.where(np.arange(N) < 20, np.where(group, "a", "b"), None)
    return frame, (A + A.T).astype(float), y


MODELS = ["auto", "ogc", "logistic", "calibrated", "spreading", "correct-and-smooth", "manifold"]


@pytest.mark.filterwarnings("ignore::gssl.GraphWarning")
@pytest.mark.parametrize("name", MODELS)
def test_a_frame_is_what_gssl_read_makes_of_it(name, people, tmp_path):
    model = (CLASSIFIERS | COMPOSED)[name]
    frame, A, y = people
    ids = [str(i) for i in range(N)]
    rows, columns = np.triu(A).nonzero()
    links = pd.DataFrame({"src": rows.astype(str), "dst": columns.astype(str)})
    table = frame.rename(columns={"class": "town"}).assign(id=ids)
    problem = gssl.read(links, features=table, nodes=pd.DataFrame({"id": ids}))
    expected = clone(model).fit(problem.features, y, adjacency=A).predict_proba(problem.features, adjacency=A)
    fitted = clone(model).fit(frame, y, adjacency=A)
    np.testing.assert_allclose(fitted.predict_proba(frame, adjacency=A), expected, atol=1e-6)
    gssl.save(fitted, tmp_path / "m.gssl")
    loaded = gssl.load(tmp_path / "m.gssl")
    np.testing.assert_allclose(loaded.predict_proba(frame, adjacency=A), expected, atol=1e-5)


@pytest.mark.parametrize("library", LIBRARIES)
def test_frames_of_every_library_give_the_same(library, people):
    frame, A, _ = people
    given = LIBRARIES[library](frame)
    expected = gssl.SGC().fit(frame, adjacency=A)
    model = gssl.SGC().fit(given, adjacency=A)
    np.testing.assert_array_equal(model.embedding_, expected.embedding_)
    np.testing.assert_allclose(model.transform(given, adjacency=A), expected.embedding_, atol=1e-6)
    made = Preparation.from_json(model.preparation_)
    assert made.names == ("age", "class=Bern", "class=Rome", "class=Ulm", "class=missing", "row0", "member")
    # a new fit forgets the frame
    model.fit(model.embedding_, adjacency=A)
    assert not hasattr(model, "preparation_")


def test_new_rows_are_prepared_as_those_of_fit(people):
    """The new frame has another order of columns, an unknown category and only missing ages."""
    frame, A, y = people
    model = gssl.EmbeddingClassifier(gssl.SGC()).fit(frame, y, adjacency=A)
    new, links = frame.iloc[:10, ::-1].assign(**{"class": "Paris", "age": np.nan}), A[:10, :10]
    made = Preparation.from_json(model.preparation_)
    table = new.assign(id=range(10))
    features = read_features(table, id="id", columns=list(new.columns), encoding=made.encoding)
    X = made.apply(features).matrix
    # the median, and none of the categories
    np.testing.assert_allclose(X[:, 0], (made.fill[0] - made.shift[0]) / made.scale[0], rtol=1e-6)
    assert not X[:, 1:5].any()
    expected = model.predict_proba(X, adjacency=links)
    np.testing.assert_array_equal(model.predict_proba(new, adjacency=links), expected)


def test_a_frame_of_numbers_is_taken_as_it_is(people):
    frame, A, _ = people
    numbers = frame[["age", "member"]].fillna(1.0)
    model = gssl.SGC().fit(numbers, adjacency=A)
    assert not hasattr(model, "preparation_")
    assert model.feature_names_in_.tolist() == ["age", "member"]
    expected = gssl.SGC().fit(numbers.to_numpy(dtype=float), adjacency=A).embedding_
    np.testing.assert_array_equal(model.embedding_, expected)
    with pytest.raises(ValueError, match=r"column 'class' of X does not hold numbers, but X of fit did"):
        model.transform(frame, adjacency=A)


def test_a_missing_column_is_refused_and_labels_may_be_a_series():
    pl = pytest.importorskip("polars")
    X = pl.DataFrame({"age": [1.0, 2.0, 8.0, 9.0], "job": ["x", "x", "y", "y"]})
    A = np.eye(4)[[1, 0, 3, 2]]
    y = pl.Series(["young", None, "old", None])
    model = gssl.EmbeddingClassifier(gssl.SGC(), head="ridge").fit(X, y, adjacency=A)
    assert model.transduction_.tolist() == ["young", "young", "old", "old"]
    with pytest.raises(ValueError, match="X has no column 'age', which it had in fit"):
        model.predict(X.drop("age"), adjacency=A)
