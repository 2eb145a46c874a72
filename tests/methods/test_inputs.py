"""What every method does with its inputs."""

import numpy as np
import pytest
from scipy.sparse import eye_array
from sklearn.base import clone

import gssl

CLASSIFIERS = [
    gssl.OGC(random_state=0),
    gssl.EmbeddingClassifier(gssl.GGCM(depth=2)),
    gssl.CorrectAndSmooth(),
    gssl.ManifoldRegularization(),
]
ESTIMATORS = [
    name for name in gssl.__all__ if hasattr(getattr(gssl, name), "fit") and not name.endswith("Head")
]


@pytest.mark.parametrize("model", CLASSIFIERS, ids=lambda model: type(model).__name__)
def test_without_features_a_classifier_takes_the_identity_and_says_so(model):
    data = gssl.datasets.load("karate")
    y, A = data.mask_labels("default"), data.adjacency
    with pytest.warns(gssl.graph.GraphWarning, match="the identity matrix takes their place"):
        found = clone(model).fit(None, y, adjacency=A)
    expected = clone(model).fit(eye_array(len(y), format="csr"), y, adjacency=A)
    np.testing.assert_array_equal(found.label_distributions_, expected.label_distributions_)
    assert found.n_features_in_ == len(y)


def test_without_features_an_embedder_takes_the_identity():
    A = gssl.datasets.load("karate").adjacency
    with pytest.warns(gssl.graph.GraphWarning, match="identity"):
        U = gssl.SGC(depth=2).fit_transform(None, adjacency=A)
    identity = eye_array(34, format="csr")
    np.testing.assert_array_equal(U, gssl.SGC(depth=2).fit_transform(identity, adjacency=A))


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.filterwarnings("ignore::gssl.graph.GraphWarning")
def test_every_estimator_fits_a_graph_without_features_and_looks_at_it_again(name):
    data = gssl.datasets.load("karate")
    y = np.where(np.arange(34) % 3, data.labels, -1)
    model = getattr(gssl, name)()
    if "random_state" in model.get_params():
        model.set_params(random_state=0)
    model.fit(None, y, adjacency=data.adjacency)
    if not hasattr(model, "predict"):
        U = model.embedding_
        assert len(U) == 34
        np.testing.assert_allclose(model.transform(None, adjacency=data.adjacency), U, atol=1e-12)
        return
    again = model.predict(None, adjacency=data.adjacency)
    np.testing.assert_array_equal(again, model.transduction_)
    given = y != -1
    assert (model.transduction_ == data.labels)[given].mean() > 0.9


def test_neither_features_nor_a_graph_is_refused():
    with pytest.raises(ValueError, match="neither X nor adjacency"):
        gssl.SGC().fit(None)
