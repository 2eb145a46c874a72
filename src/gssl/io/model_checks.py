"""Check the values in the file of a model, and that the parts of a loaded model are consistent."""

import math
import typing
from typing import Any, Literal

import numpy as np

from gssl import methods
from gssl.methods.base import GraphClassifier
from gssl.methods.embedder import Embedder
from gssl.selection import AutoClassifier, AutoRegressor, CalibratedClassifier, Entry, Leaderboard
from gssl.selection.auto_model import AutoModel
from gssl.selection.auto_sets import AutoLabelSets
from gssl.wording import quoted

_AUTOMATIC = (AutoClassifier, AutoLabelSets, AutoRegressor, CalibratedClassifier)
# attributes that set how many steps a prediction takes
_STEPS = ("depth", "max_iter", "n_iter_")
# far more than any method needs
_MOST_STEPS = 10**6
# far more rounds of trees than are ever fitted
_MOST_ROUNDS = 1_000
# no float64 needs a larger power of two
_MOST_SCALED = 1100
# how far the sum of a distribution in single precision may be from one
_ROUNDING = 1e-3


def storable() -> dict[str, Any]:
    """Return the classes that can be saved, by name."""
    known = {name: getattr(methods, name) for name in vars(methods)["__all__"]}
    return known | {kind.__name__: kind for kind in _AUTOMATIC}


def check_steps(model: Any) -> None:
    """Raise if a prediction would take an unreasonable number of steps."""
    for name in _STEPS:
        steps = getattr(model, name, 0)
        if isinstance(steps, int) and steps > _MOST_STEPS:
            raise ValueError(
                f"{name} of its {type(model).__name__} is {steps:,}, and saved models take at most "
                f"{_MOST_STEPS:,} steps."
            )


def check_parts(model: Any) -> None:
    """Check that a model is consistent with its nested models and its own parameters."""
    steps = getattr(model, "n_iter_", 0)
    if isinstance(model, methods.OGC) and not steps:
        raise ValueError("'n_iter_' of its OGC is 0, and OGC takes at least one step.")
    limit = getattr(model, "max_iter", getattr(model, "depth", steps))
    if steps > max(limit, 1):
        raise ValueError(f"it ran {steps} iterations where {limit} were allowed.")
    check_steps(model)
    _check_pulls(model)
    _check_widths(model)
    _check_classes(model)
    if isinstance(model, AutoModel):
        _check_heads(model)
    if (getattr(model, "held_out_codes_", np.empty(0)) < 0).any():
        raise ValueError("'held_out_codes_' has classes that do not exist.")


def _check_pulls(model: Any) -> None:
    held = vars(model)
    parts = [held[name] for name in ("_anchored", "_anchor_scores", "_unseen_coef") if name in held]
    if len(parts) not in (0, 3):
        raise ValueError("it holds only a part of what its OGC predicts with.")
    if parts and parts[1].shape[:2] != (model.n_iter_ + 1, int(parts[0].sum())):
        raise ValueError("'_anchor_scores' does not fit the iterations and anchors of its OGC.")


def _check_widths(model: Any) -> None:
    # methods that do not use features may lack n_features_in_
    d = getattr(model, "n_features_in_", 0)
    widths = {"embedder_": d, "head_": d, "base_": d, "classifier_": d}
    if hasattr(model, "embedder_"):
        if not isinstance(model.embedder_, Embedder):
            raise ValueError(f"its embedder is a {type(model.embedder_).__name__}.")
        widths["head_"] = model.embedder_.embedding_width(d)
    actual = {
        name: getattr(getattr(model, name), "n_features_in_", 0) for name in widths if hasattr(model, name)
    }
    if isinstance(model, Embedder) and "embedding_" in vars(model):
        actual["embedding_"], widths["embedding_"] = model.embedding_.shape[1], model.embedding_width(d)
    for name, width in actual.items():
        if width != widths[name]:
            raise ValueError(f"{name!r} has {width} features and the model {widths[name]}.")


def _check_classes(model: Any) -> None:
    """Check the classes of nested models: a classifier has those of the model, others their codes."""
    for role in ("head", "base", "propagation", "classifier"):
        part = getattr(model, f"{role}_", None)
        if part is None:
            continue
        if role in ("propagation", "classifier") and not isinstance(part, GraphClassifier):
            raise ValueError(f"its {role} is a {type(part).__name__}.")
        expected = model.classes_ if role == "classifier" else np.arange(len(model.classes_))
        classes = getattr(part, "classes_", expected[:0])
        # a head may have seen only some of the classes
        same = np.isin(classes, expected).all() if role == "head" else np.array_equal(classes, expected)
        if not same or not len(classes) or classes.dtype.kind != expected.dtype.kind:
            raise ValueError(f"its {role} knows other classes than the model.")


def _check_heads(model: AutoModel) -> None:
    """Check that an average has everything it needs to predict, or that a propagation replaces it."""
    held, kind = vars(model), type(model).__name__
    averaged = [name for name in held if name.endswith("coef_") or name == "_recipe"]
    if not averaged and "propagation_" not in held and not held.keys() & {"_linear_residuals", "_constant"}:
        raise ValueError(f"its {kind} has nothing that predicts.")
    if isinstance(model, AutoRegressor):
        _check_numbers(model)
    if "intercept_" in held and not averaged:
        raise ValueError(f"its {kind} has an intercept without coefficients.")
    needed = ["intercept_"] if averaged else []
    needed += ["column_scales_"] if "standardized" in model._kinds() else []
    needed += ["product_scales_"] if "products" in model._kinds() else []
    for name in needed:
        if name not in held:
            raise ValueError(f"{name!r} of its {kind} is missing.")


def _check_numbers(model: AutoRegressor) -> None:
    """Check that the numbers of a regressor fit each other."""
    log, _, spread = model._number_scale
    near, far, weight, rounds = model._pool
    known = int((model.fit_codes >= 0).sum())
    if len(model._known_values) != known or known < 1:
        raise ValueError("it has other known numbers than nodes that have one.")
    if log not in (0.0, 1.0) or not spread > 0 or not model._factor[0] > 0:
        raise ValueError("'_number_scale' is no scale of numbers.")
    if not all(0.0 <= reach < 1.0 for reach in (near, far)) or not 0.0 <= weight <= 1.0:
        raise ValueError("'_pool' has weights outside 0 to 1.")
    if weight and (not 1 <= rounds <= _MOST_ROUNDS or not hasattr(model, "_tree_residuals")):
        raise ValueError("its trees lack rounds or residuals.")


def fits_hint(value: Any, hint: Any) -> bool:
    """Return whether the value of a parameter is one that its type hint allows."""
    if hint is float or hint is int:
        number = isinstance(value, int if hint is int else int | float) and not isinstance(value, bool)
        # NumPy takes no integers beyond 64 bits
        return number and (math.isfinite(value) if isinstance(value, float) else -(2**63) <= value < 2**63)
    if hint == int | None:
        return value is None or (fits_hint(value, int) and value >= 0)
    if typing.get_origin(hint) is Literal:
        return value in typing.get_args(hint)
    if isinstance(value, list):
        return all(isinstance(part, bool | int | float | str) for part in value)
    return value is None or isinstance(value, bool | int | float | str | dict)


def read_plain(name: str, kind: str, value: Any) -> Any:
    """Return a value that is stored as it is; raise unless it is of its kind."""
    match kind:
        case "whole":
            fits, expected = type(value) is int and value >= 0, "a whole number of at least 0"
        case "exponent":
            fits = type(value) is int and abs(value) <= _MOST_SCALED
            expected = f"a whole number from -{_MOST_SCALED} to {_MOST_SCALED}"
        case "flag":
            fits, expected = type(value) is bool, "true or false"
        case _:
            fits, expected = type(value) is str, "a text"
    if not fits:
        raise ValueError(f"{name!r} is {quoted(value)}, not {expected}.")
    return value


def read_array(name: str, kind: str, array: Any) -> np.ndarray:
    """Return an array; raise unless there is one, of this kind of dtype and finite."""
    if not isinstance(array, np.ndarray):
        raise ValueError(f"the numbers of {name!r} are missing.")
    # no method computes in half precision
    if array.dtype.kind != kind or (kind == "f" and array.dtype.itemsize < 4):
        raise ValueError(f"{name!r} is stored as {array.dtype}, which is not supported.")
    if kind == "f" and not np.isfinite(array).all():
        raise ValueError(f"{name!r} holds NaN or infinity.")
    return array


def check_distributions(name: str, P: np.ndarray) -> None:
    """Raise unless every row is a distribution: not negative, and with the sum one up to rounding."""
    if P.size and (P.min() < 0 or (np.abs(P.sum(axis=1, dtype=np.float64) - 1.0) > _ROUNDING).any()):
        raise ValueError(f"{name!r} holds rows that are not distributions: not negative, with the sum one.")


def read_classes(stored: Any, *, in_order: bool = True) -> np.ndarray:
    """Return the classes of a model; raise unless they are different values, in order if asked."""
    try:
        dtype = np.dtype(stored["dtype"])
        if dtype.kind not in "Uiufb":
            raise TypeError(dtype)
        # a damaged dtype may claim texts of any length, which every class would take in memory
        if dtype.kind == "U" and dtype.itemsize > 4 * max(1024, *map(len, stored["values"])):
            raise TypeError(dtype)
        classes = np.array(stored["values"], dtype=dtype)
        same = classes.tolist() == stored["values"]
    except (TypeError, ValueError, KeyError, OverflowError) as error:
        raise ValueError("its classes are not a list of text or numbers.") from error
    if classes.ndim != 1 or not same or len(classes) == 0 or len(np.unique(classes)) != len(classes):
        raise ValueError("its classes are not a list of different values.")
    if in_order and not np.array_equal(np.sort(classes), classes):
        raise ValueError("its classes are not in order.")
    return classes


def read_table(name: str, value: Any) -> Leaderboard:
    """Return a leaderboard; raise unless it is a list of entries."""
    kinds = typing.get_type_hints(Entry)
    try:
        entries = [Entry(**row) for row in value]
        fit = all(type(getattr(e, key)) is kind for e in entries for key, kind in kinds.items())
    except TypeError:
        fit = False
    if not fit:
        raise ValueError(f"{name!r} is not a table of models.")
    return Leaderboard(entries)
