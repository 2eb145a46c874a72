"""An embedder with a head."""

import numpy as np

import gssl


def test_the_same_features_on_another_graph_are_another_question(problem):
    """The embedding of fit must not be reused for another graph."""
    other = np.roll(np.roll(problem.A, 5, axis=0), 5, axis=1)
    model = gssl.EmbeddingClassifier(gssl.SGC()).fit(problem.X, problem.y, adjacency=problem.A)
    asked = model.predict_proba(problem.X, adjacency=other)
    np.testing.assert_allclose(asked, model.predict_proba(problem.X.copy(), adjacency=other), atol=1e-12)
    assert np.abs(asked - model.label_distributions_).max() > 0.01
