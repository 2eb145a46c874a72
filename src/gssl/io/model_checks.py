"""Whether the parts of a model that was read from a file fit together."""

from typing import Any

import numpy as np

from gssl.methods.base import GraphClassifier
from gssl.methods.embedder import Embedder
from gssl.selection import AutoClassifier

# what a prediction repeats
_STEPS = ("depth", "max_iter", "n_iter_")
# far more than any method needs, and on a small graph still a matter of seconds
_MOST_STEPS = 10**6
# whose files of the first format meant something else: how heads were averaged, where priors came in
_CHANGED = ("AutoClassifier", "CalibratedClassifier")


def outdated(description: Any, version: int) -> str | None:
    """Name the class in a description whose files of this version cannot be read any more, if there is one.

    Parameters
    ----------
    description : dict
        As :func:`gssl.io.model_writing.describe` gives it, or what a file has in its place.
    version : int

    Returns
    -------
    str or None

    Examples
    --------
    >>> base = {"class": "AutoClassifier", "fitted": {}}
    >>> outdated({"class": "CorrectAndSmooth", "fitted": {"base_": base}}, 1), outdated(base, 2)
    ('AutoClassifier', None)
    """
    left = [description] if version < 2 else []
    while left:
        part = left.pop()
        if isinstance(part, dict):
            if part.get("class") in _CHANGED:
                return str(part["class"])
            fitted = part.get("fitted")
            left += fitted.values() if isinstance(fitted, dict) else []
    return None


def check_work(model: Any) -> None:
    """Refuse a model whose prediction would take more steps than anybody waits for.

    Parameters
    ----------
    model : estimator

    Examples
    --------
    >>> import gssl
    >>> check_work(gssl.SGC(depth=10**9))
    Traceback (most recent call last):
    ValueError: depth of its SGC is 1,000,000,000, and saved models take at most 1,000,000 steps.
    """
    for name in _STEPS:
        steps = getattr(model, name, 0)
        if isinstance(steps, int) and steps > _MOST_STEPS:
            raise ValueError(
                f"{name} of its {type(model).__name__} is {steps:,}, and saved models take at most "
                f"{_MOST_STEPS:,} steps."
            )


def check_parts(model: Any) -> None:
    """Check what one model says about another inside it, and about its own parameters.

    Parameters
    ----------
    model : fitted estimator

    Examples
    --------
    >>> import gssl
    >>> model = gssl.OGC(max_iter=4)
    >>> model.n_iter_ = 5
    >>> check_parts(model)
    Traceback (most recent call last):
    ValueError: it ran 5 iterations where 4 were allowed.
    """
    steps = getattr(model, "n_iter_", 0)
    limit = getattr(model, "max_iter", getattr(model, "depth", steps))
    if steps > max(limit, 1):
        raise ValueError(f"it ran {steps} iterations where {limit} were allowed.")
    check_work(model)
    # features may be missing where a method does not use them
    d = getattr(model, "n_features_in_", 0)
    widths = {"embedder_": d, "head_": d, "base_": d, "classifier_": d}
    if hasattr(model, "embedder_"):
        if not isinstance(model.embedder_, Embedder):
            raise ValueError(f"its embedder is a {type(model.embedder_).__name__}.")
        widths["head_"] = model.embedder_._width(d)
    for name, width in widths.items():
        if hasattr(model, name):
            _check_width(name, getattr(getattr(model, name), "n_features_in_", 0), width)
    if isinstance(model, Embedder) and "embedding_" in vars(model):
        _check_width("embedding_", model.embedding_.shape[1], model._width(d))
    if hasattr(model, "head_"):
        _check_codes("head", model.head_, model, fewest=1)
    if hasattr(model, "base_"):
        # its distributions are taken as they are, so it must know every class
        _check_codes("base", model.base_, model, fewest=len(model.classes_))
    for role in ("classifier", "propagation"):
        if hasattr(model, f"{role}_"):
            _check_classifier(role, getattr(model, f"{role}_"), model)
    if isinstance(model, AutoClassifier):
        _check_heads(model)
    if (getattr(model, "held_out_codes_", np.empty(0)) < 0).any():
        raise ValueError("'held_out_codes_' names classes that are not there.")


def _check_heads(model: AutoClassifier) -> None:
    """Check that an average has all it takes to predict, or another model in its place."""
    held = vars(model)
    if "propagation_" in held:
        return
    if "coef_" not in held and "logistic_coef_" not in held:
        raise ValueError("its AutoClassifier has nothing that predicts.")
    needed = ["_shares", "_unit_rows", *(["logistic_intercept_"] if "logistic_coef_" in held else [])]
    for name in needed:
        if name not in held:
            raise ValueError(f"{name!r} of its AutoClassifier is missing.")
    if len(model._shares) != 2:
        raise ValueError(f"'_shares' has {len(model._shares)} numbers, not one for each kind of head.")


def _check_width(name: str, found: int, expected: int) -> None:
    if found != expected:
        raise ValueError(f"{name!r} has {found} features and the model {expected}.")


def _check_codes(role: str, part: Any, model: Any, fewest: int) -> None:
    codes = getattr(part, "classes_", np.array([], dtype=np.int64))
    inside = codes.dtype.kind == "i" and fewest <= len(codes) <= len(model.classes_)
    if not inside or codes.min() < 0 or codes.max() >= len(model.classes_):
        raise ValueError(f"its {role} knows other classes than the model.")


def _check_classifier(role: str, part: Any, model: Any) -> None:
    if not isinstance(part, GraphClassifier):
        raise ValueError(f"its {role} is a {type(part).__name__}.")
    # labels were handed on as they are, or as codes
    known = model.classes_ if role == "classifier" else np.arange(len(model.classes_))
    if not np.array_equal(part.classes_, known):
        raise ValueError(f"its {role} knows other classes than the model.")
