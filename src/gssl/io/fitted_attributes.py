"""What each method holds after fit, and how it is stored: the table behind saved models.

A new method whose attributes are those of its base class needs no line here; one with attributes of its own
needs a line that says what they are. Saving refuses a model with an attribute that no line names.
"""

from dataclasses import dataclass
from typing import Literal

Kind = Literal[
    "float",
    "bool",
    "code",
    "class",
    "matrix",
    "whole",
    "flag",
    "texts",
    "model",
    "transient",
    "text",
    "table",
]


@dataclass(frozen=True)
class Fitted:
    """One attribute of a fitted model.

    Attributes
    ----------
    name : str
    kind : str
        ``float``, ``bool``: an array of that type. ``code``: an int64 array from −1 to below c. ``class``: an
        array of classes, stored as their codes. ``matrix``: an array, a CSR matrix or None. ``whole``: an
        int from 0 on. ``flag``: true or false. ``texts``: an array of str. ``model``: a fitted model of its
        own. ``text``: a str. ``table``: a leaderboard. ``transient``: not
        stored, for it serves only the embeddings of the graph of fit.
    shape : tuple of str
        Letters that mean the same size all over one model: n nodes, d features (``n_features_in_``), c
        classes.
    optional : bool
        Whether a fitted model may lack it.
    """

    name: str
    kind: Kind
    shape: tuple[str, ...] = ()
    optional: bool = False


_D = Fitted("n_features_in_", "whole", optional=True)
_NAMES = Fitted("feature_names_in_", "texts", ("d",), optional=True)
_EMBEDDING = Fitted("embedding_", "float", ("n", "d"), optional=True)
_N_ITER = Fitted("n_iter_", "whole")

# by class name, base classes included: a model holds what its whole line of descent names
FITTED: dict[str, tuple[Fitted, ...]] = {
    "Embedder": (_D, _NAMES, _N_ITER, _EMBEDDING, Fitted("_fitted_on_graph", "flag")),
    "GraphClassifier": (
        _D,
        _NAMES,
        _N_ITER,
        Fitted("_fit_codes", "code", ("n",)),
        Fitted("_fit_features", "matrix", ("n", "d")),
        Fitted("label_distributions_", "float", ("n", "c")),
        Fitted("transduction_", "class", ("n",)),
        Fitted("reached_", "bool", ("n",)),
        Fitted("informed_", "bool", ("n",)),
        Fitted("_priors", "matrix", ("priors", "c")),
        Fitted("_unweighed", "transient", optional=True),
        Fitted("_fit_inputs", "transient", optional=True),
    ),
    "OGC": (
        Fitted("coef_", "float", ("d", "c")),
        Fitted("_steps", "transient", optional=True),
        Fitted("_replayed", "transient", optional=True),
        Fitted("_smoothing", "transient", optional=True),
    ),
    "ManifoldRegularization": (Fitted("coef_", "float", ("d", "c")),),
    "CorrectAndSmooth": (Fitted("base_", "model"),),
    "EmbeddingClassifier": (
        Fitted("embedder_", "model"),
        Fitted("head_", "model"),
        Fitted("embedding_", "transient", optional=True),
    ),
    "CalibratedClassifier": (
        Fitted("classifier_", "model"),
        Fitted("held_out_distributions_", "float", ("h", "c")),
        Fitted("held_out_codes_", "code", ("h",)),
        # they follow from what hidden labels said
        Fitted("calibration_", "transient", optional=True),
        Fitted("coverage_", "transient", optional=True),
        # of no use without the inputs of fit
        Fitted("_fit_budget", "transient", optional=True),
    ),
    "AutoClassifier": (
        Fitted("coef_", "float", ("t", "d", "c"), optional=True),
        Fitted("logistic_coef_", "float", ("t", "d", "c"), optional=True),
        Fitted("logistic_intercept_", "float", ("c",), optional=True),
        Fitted("_shares", "float", ("heads",), optional=True),
        Fitted("propagation_", "model", optional=True),
        Fitted("leaderboard_", "table"),
        Fitted("explain_", "text"),
        Fitted("_unit_rows", "flag", optional=True),
        Fitted("_leave_one_out", "float", ("m", "c")),
    ),
    "LinearHead": (
        _D,
        _NAMES,
        Fitted("coef_", "float", ("d", "c")),
        Fitted("intercept_", "float", ("c",)),
    ),
    "LogisticHead": (_N_ITER,),
    "AdamHead": (Fitted("best_epoch_", "whole"),),
}


def storable() -> dict[str, type]:
    """List the classes that can be saved, by name.

    Examples
    --------
    >>> "OGC" in storable(), "AutoClassifier" in storable()
    (True, True)
    """
    from gssl import methods, selection

    known: dict[str, type] = {name: getattr(methods, name) for name in vars(methods)["__all__"]}
    composed = (selection.AutoClassifier, selection.CalibratedClassifier)
    return {**known, **{kind.__name__: kind for kind in composed}}


def fitted_attributes(kind: type) -> tuple[Fitted, ...]:
    """List what a fitted model of a class holds, beside ``classes_``.

    Examples
    --------
    >>> import gssl
    >>> [attribute.name for attribute in fitted_attributes(gssl.RidgeHead)]
    ['n_features_in_', 'feature_names_in_', 'coef_', 'intercept_']
    """
    found: dict[str, Fitted] = {}
    for base in reversed(kind.__mro__):
        for attribute in FITTED.get(base.__name__, ()):
            found[attribute.name] = attribute
    return tuple(found.values())
