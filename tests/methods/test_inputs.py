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


def test_neither_features_nor_a_graph_is_refused():
    with pytest.raises(ValueError, match="neither X nor adjacency"):
        gssl.SGC().fit(None)
