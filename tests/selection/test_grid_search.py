import warnings

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score

import gssl
from gssl.evaluation import held_out_accuracy, masked_labels
from gssl.selection import search

KARATE = gssl.datasets.load("karate")
X, A, Y = KARATE.features, KARATE.adjacency, np.where(np.arange(34) % 3, KARATE.labels, -1)


def test_scores_are_those_of_fits_to_masked_labels():
    grid = {"beta": [0.1, 0.9], "max_iter": [2, 30]}
    best = search(gssl.OGC(random_state=0), grid, X, Y, adjacency=A, n_folds=3, random_state=1)
    table = best.cv_results_
    assert [params["beta"] for params in table["params"]] == [0.1, 0.1, 0.9, 0.9]
    expected = []
    for params in table["params"]:
        model, scores = gssl.OGC(random_state=0, **params), []
        for masked, hidden in masked_labels(Y, 3, 1):
            scores.append(np.mean(model.fit(X, masked, adjacency=A).transduction_[hidden] == Y[hidden]))
        expected.append(scores)
    np.testing.assert_allclose(table["mean_test_score"], np.mean(expected, axis=1))
    np.testing.assert_allclose(table["std_test_score"], np.std(expected, axis=1))
    np.testing.assert_allclose([table[f"split{k}_test_score"] for k in range(3)], np.transpose(expected))
    assert table["rank_test_score"].min() == 1
    assert best.best_score_ == max(table["mean_test_score"])


def test_the_best_is_fitted_to_all_labels_with_parameters_inside_it():
    model = gssl.EmbeddingClassifier(gssl.SGC(depth=0), head=LogisticRegression())
    grid = [{"embedder__depth": [0, 3], "head__C": [1e-9, 100.0]}]
    best = search(model, grid, X, Y, adjacency=A)
    assert best.best_params_ == {"embedder__depth": 3, "head__C": 100.0}
    assert (best.embedder_.depth, best.head_.C) == (3, 100.0)
    assert (model.embedder.depth, model.head.C) == (0, 1.0)  # the given model is not changed
    again = gssl.EmbeddingClassifier(gssl.SGC(depth=3), head=LogisticRegression(C=100.0)).fit(
        X, Y, adjacency=A
    )
    np.testing.assert_array_equal(best.label_distributions_, again.label_distributions_)


def test_of_equal_candidates_the_first_wins_and_ranks_are_shared():
    best = search(gssl.LabelPropagation(), {"tol": [1e-6, 1e-7]}, None, Y, adjacency=A)
    assert best.best_params_ == {"tol": 1e-6}
    assert best.cv_results_["rank_test_score"].tolist() == [1, 1]
    assert best.best_score_ == pytest.approx(held_out_accuracy(best, None, Y, A).accuracy, abs=0.05)


def test_what_is_odd_about_the_graph_is_reported_once():
    looped = csr_array(A + csr_array(np.eye(34)))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        search(gssl.LabelPropagation(), {"class_mass": [False, True]}, None, Y, adjacency=looped)
    assert [str(warning.message) for warning in caught] == ["removed 34 self-loops"]


def test_a_search_result_can_be_saved(tmp_path):
    best = search(gssl.LabelPropagation(), {"tol": [1e-6]}, None, Y, adjacency=A)
    gssl.save(best, tmp_path / "m.gssl")
    loaded = gssl.load(tmp_path / "m.gssl")
    np.testing.assert_array_equal(loaded.transduction_, best.transduction_)
    assert not hasattr(loaded, "cv_results_")


def test_only_classifiers_and_parameters_they_have_are_searched():
    with pytest.raises(ValueError, match="must be a classifier of gssl"):
        search(gssl.SGC(), {"depth": [1]}, X, Y, adjacency=A)
    with pytest.raises(ValueError, match="Invalid parameter 'gamma'"):
        search(gssl.OGC(), {"gamma": [1]}, X, Y, adjacency=A)


@pytest.mark.parametrize("dense", [False, True])
def test_cross_validation_of_scikit_learn_is_pointed_here(dense):
    adjacency = A.toarray() if dense else A
    with pytest.raises(ValueError, match=r"gssl\.selection\.search\(estimator, grid, X, y, adjacency=\)"):
        cross_val_score(
            gssl.OGC(), X, KARATE.labels, params={"adjacency": adjacency}, cv=3, error_score="raise"
        )
    with pytest.raises(ValueError, match=r"gssl\.selection\.search"):
        GridSearchCV(gssl.AutoClassifier(), {"depth": [2]}, cv=3).fit(X, KARATE.labels, adjacency=adjacency)


def test_an_empty_grid_is_one_sentence():
    with pytest.raises(ValueError, match="names no parameters to try"):
        search(gssl.EmbeddingClassifier(gssl.SGC()), [], X, Y, adjacency=A)


def test_only_the_best_is_resumed(tmp_path):
    grid = {"embedder__depth": [1, 2]}
    plain = search(gssl.EmbeddingClassifier(gssl.SGC()), grid, X, Y, adjacency=A, n_folds=2)
    for _ in range(2):
        with gssl.execution(resume=tmp_path):
            found = search(gssl.EmbeddingClassifier(gssl.SGC()), grid, X, Y, adjacency=A, n_folds=2)
        assert found.best_params_ == plain.best_params_
        np.testing.assert_allclose(found.label_distributions_, plain.label_distributions_, atol=1e-6)
