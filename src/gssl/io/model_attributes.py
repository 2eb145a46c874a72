"""The attributes of fitted models, as a saved model holds them.

:data:`FITTED` lists the attributes that each class has after fit. A new method with only those of its base
class needs no entry; :func:`gssl.save` raises on attributes that are not listed.
"""

from dataclasses import dataclass
from typing import Any

from gssl import methods
from gssl.selection import AutoClassifier, CalibratedClassifier

# no float64 needs a larger power of two
MOST_SCALED = 1100
# kinds of values that are stored as plain JSON, and their names in errors
PLAIN = {
    "whole": "a whole number of at least 0",
    "exponent": f"a whole number from -{MOST_SCALED} to {MOST_SCALED}",
    "flag": "true or false",
    "text": "a text",
}
PLAIN_TYPES: dict[str, Any] = {"whole": int, "exponent": int, "flag": bool, "text": str}


@dataclass(frozen=True)
class Fitted:
    """An attribute of a fitted model; a letter in ``shape`` stands for one size throughout the model."""

    name: str
    # float, bool: an array; distribution, shares: rows that sum to one, in single or double precision;
    # code: an int64 array from −1 to below c; class: an array of classes, stored as codes; matrix: an array
    # or a CSR matrix; whole: an int from 0 on; exponent: an int; flag, text; texts: an array of str; table: a
    # leaderboard; model: a fitted model; inputs, recipe: the data of fit, if they are stored; transient: not
    # stored
    kind: str
    shape: tuple[str, ...] = ()
    optional: bool = False
    or_none: bool = False


_INPUT = (
    Fitted("n_features_in_", "whole", optional=True),
    Fitted("feature_names_in_", "texts", ("d",), optional=True),
)
_EMBEDDING = Fitted("embedding_", "float", ("n", "d"), optional=True)
_N_ITER = Fitted("n_iter_", "whole")
_COEF = Fitted("coef_", "float", ("d", "c"))


def _transient(*names: str) -> tuple[Fitted, ...]:
    return tuple(Fitted(name, "transient", optional=True) for name in names)


# by class name; a model has the attributes of all its base classes
FITTED: dict[str, tuple[Fitted, ...]] = {
    # a file has the parameters of fit as its parameters
    "FittedParameters": _transient("_fit_parameters"),
    "Embedder": (*_INPUT, _N_ITER, _EMBEDDING, Fitted("_fitted_on_graph", "flag")),
    "GraphClassifier": (
        *_INPUT,
        _N_ITER,
        Fitted("_fit_codes", "code", ("n",)),
        Fitted("_fit_features", "matrix", ("n", "d"), or_none=True),
        Fitted("_feature_exponent", "exponent", optional=True),
        Fitted("label_distributions_", "distribution", ("n", "c")),
        Fitted("transduction_", "class", ("n",)),
        Fitted("reached_", "bool", ("n",)),
        Fitted("informed_", "bool", ("n",)),
        Fitted("_priors", "shares", ("2", "c"), or_none=True),
        Fitted("_fit_inputs", "inputs", optional=True),
        *_transient("_unweighed", "cv_results_", "best_params_", "best_score_"),
    ),
    "OGC": (
        _COEF,
        # computed on first use; models of earlier versions lack them and cannot predict
        Fitted("_anchored", "bool", ("n",), optional=True),
        Fitted("_anchor_scores", "float", ("k", "a", "c"), optional=True),
        Fitted("_unseen_coef", "float", ("d", "c"), optional=True),
        *_transient("_steps", "_replayed", "_smoothing"),
    ),
    "ManifoldRegularization": (_COEF,),
    "CorrectAndSmooth": (Fitted("base_", "model"),),
    "EmbeddingClassifier": (
        Fitted("embedder_", "model"),
        Fitted("head_", "model"),
        *_transient("embedding_", "_embedded"),
    ),
    "CalibratedClassifier": (
        Fitted("classifier_", "model"),
        Fitted("held_out_distributions_", "distribution", ("h", "c")),
        Fitted("held_out_codes_", "code", ("h",)),
        # computed from those of the classifier, except with priors
        Fitted("label_distributions_", "distribution", ("n", "c"), optional=True),
        # recomputed from the held-out labels
        *_transient("calibration_", "coverage_"),
    ),
    "AutoClassifier": (
        *(
            Fitted(name, "float", ("t", "d", "c"), optional=True)
            for name in ("coef_", "unit_coef_", "standardized_coef_")
        ),
        Fitted("link_coef_", "float", ("t", "l", "c"), optional=True),
        Fitted("intercept_", "float", ("c",), optional=True),
        Fitted("column_scales_", "float", ("2", "d"), optional=True),
        Fitted("propagation_", "model", optional=True),
        Fitted("leaderboard_", "table"),
        Fitted("explain_", "text"),
        Fitted("self_training_", "flag", optional=True),
        Fitted("_held_out_scores", "distribution", ("m", "c")),
        Fitted("_recipe", "recipe", optional=True),
        *_transient("_fitted_average"),
    ),
    "LinearHead": (*_INPUT, _COEF, Fitted("intercept_", "float", ("c",))),
    "LogisticHead": (_N_ITER,),
    "AdamHead": (Fitted("best_epoch_", "whole"),),
}


def fitted_attributes(kind: type) -> tuple[Fitted, ...]:
    """List the fitted attributes of a class, except ``classes_``."""
    attributes: dict[str, Fitted] = {}
    for base in reversed(kind.__mro__):
        attributes |= {attribute.name: attribute for attribute in FITTED.get(base.__name__, ())}
    return tuple(attributes.values())


def storable() -> dict[str, Any]:
    """Return the classes that can be saved, by name."""
    known = {name: getattr(methods, name) for name in vars(methods)["__all__"]}
    return {**known, "AutoClassifier": AutoClassifier, "CalibratedClassifier": CalibratedClassifier}
