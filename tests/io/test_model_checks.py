"""Models with inconsistent parts are refused; test_models checks that loading uses these checks."""

from copy import deepcopy

import numpy as np
import pytest

import gssl
from gssl.io.model_checks import check_parts

MODELS = {
    "ogc": gssl.OGC(random_state=0),
    "auto": gssl.AutoClassifier(depth=2),
    "embedding": gssl.EmbeddingClassifier(gssl.SGC()),
    "calibrated": gssl.CalibratedClassifier(gssl.LabelSpreading(), folds=2, random_state=0),
    "smoothed": gssl.CorrectAndSmooth(depth=2),
    "sgc": gssl.SGC(),
}


@pytest.fixture(scope="module")
def models():
    """Fitted models by name, with two text labels on a ring."""
    n = 12
    A = np.roll(np.eye(n), 1, axis=0) + np.roll(np.eye(n), -1, axis=0)
    X = np.random.default_rng(0).random((n, 3))
    y = np.array(["a", "b", None] * 4, dtype=object)
    fitted = {name: model.fit(X, y, adjacency=A) for name, model in MODELS.items()}
    for name in ("_anchored", "_anchor_scores", "_unseen_coef"):
        getattr(fitted["ogc"], name)  # computed on first use
    return fitted


def test_fitted_models_pass(models):
    for model in models.values():
        check_parts(model)


def put(*path):
    """Return a function that sets an attribute, possibly nested; ``path`` ends with the value."""
    *parts, name, value = path

    def change(model):
        for part in parts:
            model = getattr(model, part)
        setattr(model, name, value)

    return change


def drop(*names):
    def change(model):
        for name in names:
            vars(model).pop(name, None)

    return change


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("ogc", put("n_iter_", 0), "'n_iter_' of its OGC is 0, and OGC takes at least one step"),
        ("ogc", put("n_iter_", 65), "it ran 65 iterations where 64 were allowed"),
        ("ogc", put("n_iter_", 1), "'_anchor_scores' does not fit the iterations and anchors"),
        ("ogc", drop("_anchored"), "only a part of what its OGC predicts with"),
        ("sgc", put("depth", 10**7), "depth of its SGC is 10,000,000, and saved models take at most"),
        ("sgc", put("embedding_", np.ones((12, 4))), "'embedding_' has 4 features and the model 3"),
        ("embedding", put("head_", "n_features_in_", 6), "'head_' has 6 features and the model 3"),
        ("embedding", put("head_", "classes_", np.array([0, 9])), "its head knows other classes"),
        ("embedding", put("embedder_", gssl.RidgeHead()), "its embedder is a RidgeHead"),
        ("smoothed", put("base_", "classes_", np.array([0, 9])), "its base knows other classes"),
        ("calibrated", put("held_out_codes_", np.array([-1])), "has classes that do not exist"),
        ("calibrated", put("classifier_", "classes_", np.array(["a", "c"])), "its classifier knows other"),
        ("calibrated", put("classifier_", MODELS["sgc"]), "its classifier is a SGC"),
        ("auto", drop("intercept_"), "'intercept_' of its AutoClassifier is missing"),
        (
            "auto",
            drop("coef_", "link_coef_", "unit_coef_", "standardized_coef_", "propagation_"),
            "its AutoClassifier has nothing that predicts",
        ),
    ],
)
def test_parts_that_do_not_fit_are_refused(models, name, change, message):
    model = deepcopy(models[name])
    change(model)
    with pytest.raises(ValueError, match=message):
        check_parts(model)
