"""Predictions use the parameters of fit: parameters that are set later belong to the next fit."""

import numpy as np
import pytest
from sklearn.base import clone
from tests import estimators
from tests.estimators import EMBEDDERS, HEADS
from tests.problems import grown

import gssl

# another valid value of every parameter
OTHERS = {
    "agreement": 0.5,
    "alpha": 0.6,
    "alpha_correct": 0.2,
    "alpha_smooth": 0.3,
    "b_high": 1.5,
    "b_low": 0.5,
    "base": gssl.RidgeHead(),
    "beta": 0.7,
    "class_mass": False,
    "class_weight": "balanced",
    "classifier": gssl.LabelSpreading(),
    "decay": 0.4,
    "depth": 1,
    "directed": "auto",
    "embedder": gssl.NoGraph(),
    "epochs": 3,
    "epsilon": 0.5,
    "eta_sup": 0.5,
    "eta_w": 0.1,
    "folds": 3,
    "gamma_ambient": 0.5,
    "gamma_intrinsic": 0.5,
    "head": "ridge",
    "igc_beta": 0.2,
    "igc_decay": 0.9,
    "learning_rate": 0.1,
    "loss": "cross_entropy",
    "max_iter": 1,
    "method": "isotonic",
    "mix": 0.9,
    "negatives": 2.0,
    "operator": "high",
    "patience": 0,
    "penalty": 10.0,
    "priors": "uniform",
    "random_state": 7,
    "scale": "auto",
    "spread": 0.2,
    "step_high": 0.1,
    "step_low": 0.1,
    "time": 1.0,
    "time_budget": 60.0,
    "tol": 0.5,
    "weight_decay": 0.1,
}
CLASSIFIERS = (
    estimators.CLASSIFIERS
    | estimators.COMPOSED
    | {f"{name} and head": gssl.EmbeddingClassifier(model) for name, model in EMBEDDERS.items()}
    | {"calibrated OGC": gssl.CalibratedClassifier(gssl.OGC(random_state=0))}
)


def set_all(model):
    """Set every parameter of a model to another value, nested ones too."""
    for name in model.get_params(deep=True):
        if "__" in name and name.rpartition("__")[2] in OTHERS:
            model.set_params(**{name: clone(OTHERS[name.rpartition("__")[2]], safe=False)})
    changed = {name: clone(OTHERS[name], safe=False) for name in model.get_params(deep=False)}
    model.set_params(**changed)
    model._check_parameters()
    return model


def check_that_setting_changes_nothing(model, predict, path):
    before = predict(model)
    set_all(model)
    np.testing.assert_array_equal(predict(model), before)
    # and a file says with which parameters the model was fitted
    gssl.save(model, path)
    loaded = gssl.load(path)
    # a file holds distributions in single precision
    np.testing.assert_allclose(predict(loaded), before, atol=1e-7)
    np.testing.assert_allclose(predict(set_all(loaded)), before, atol=1e-7)


@pytest.mark.parametrize("name", CLASSIFIERS)
@pytest.mark.parametrize("graph", ["grown", "new"])
def test_parameters_set_after_fit_do_not_change_predictions(problem, tmp_path, name, graph):
    model = clone(CLASSIFIERS[name]).fit(problem.X, problem.y, adjacency=problem.A)
    other = grown(problem, 3, np.full((3, problem.X.shape[1]), 0.2))
    other.A[36, [0, 1]] = other.A[[0, 1], 36] = other.A[37, 36] = other.A[36, 37] = 1
    if graph == "new":
        order = np.random.default_rng(0).permutation(len(other.A))
        other.X[:], other.A[:] = other.X[order], other.A[np.ix_(order, order)]
    if graph == "new" and model.knows_nodes:
        pytest.skip("it predicts graphs that begin with the nodes of fit")

    def predict(model):
        P = model.predict_proba(other.X, adjacency=other.A)
        few = model.predict_proba(other.X, adjacency=other.A, nodes=[0, 36])
        return np.concatenate([P, few])

    check_that_setting_changes_nothing(model, predict, tmp_path / "m.gssl")


@pytest.mark.parametrize("name", EMBEDDERS)
def test_parameters_set_after_fit_do_not_change_embeddings_of_other_graphs(problem, tmp_path, name):
    model = clone(EMBEDDERS[name]).fit(problem.X, adjacency=problem.A)
    other = grown(problem, 1)

    def predict(model):
        return model.transform(other.X, adjacency=other.A)

    check_that_setting_changes_nothing(model, predict, tmp_path / "m.gssl")


@pytest.mark.parametrize("name", HEADS)
def test_parameters_set_after_fit_do_not_change_a_head(problem, tmp_path, name):
    model = clone(HEADS[name]).fit(problem.X, problem.truth)
    check_that_setting_changes_nothing(model, lambda model: model.predict_proba(problem.X), tmp_path / "m")


def test_the_next_fit_uses_the_parameters_that_were_set(problem):
    given = problem.X, problem.y
    model = gssl.OGC(random_state=0).fit(*given, adjacency=problem.A).set_params(beta=0.7, max_iter=5)
    again = gssl.OGC(beta=0.7, max_iter=5, random_state=0).fit(*given, adjacency=problem.A)
    model.fit(*given, adjacency=problem.A)
    for fitted in (model, again):
        assert fitted.n_iter_ <= 5
    found, expected = (fitted.predict_proba(problem.X, adjacency=problem.A) for fitted in (model, again))
    np.testing.assert_array_equal(found, expected)
