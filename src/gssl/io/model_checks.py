"""Check that the parts and parameters of a loaded model are consistent."""

from typing import Any

import numpy as np

from gssl import methods
from gssl.methods.base import GraphClassifier
from gssl.methods.embedder import Embedder
from gssl.selection import AutoClassifier

# attributes that set how many steps a prediction takes
_STEPS = ("depth", "max_iter", "n_iter_")
# far more than any method needs
_MOST_STEPS = 10**6


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
    if isinstance(model, AutoClassifier):
        _check_heads(model)
    if (getattr(model, "held_out_codes_", np.empty(0)) < 0).any():
        raise ValueError("'held_out_codes_' names classes that are not there.")


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
    found = {
        name: getattr(getattr(model, name), "n_features_in_", 0) for name in widths if hasattr(model, name)
    }
    if isinstance(model, Embedder) and "embedding_" in vars(model):
        found["embedding_"], widths["embedding_"] = model.embedding_.shape[1], model.embedding_width(d)
    for name, width in found.items():
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
        found = getattr(part, "classes_", expected[:0])
        # a head may have seen only some of the classes
        same = np.isin(found, expected).all() if role == "head" else np.array_equal(found, expected)
        if not same or not len(found) or found.dtype.kind != expected.dtype.kind:
            raise ValueError(f"its {role} knows other classes than the model.")


def _check_heads(model: AutoClassifier) -> None:
    """Check that an average has everything it needs to predict, or that a propagation replaces it."""
    held = vars(model)
    averaged = [name for name in held if name.endswith("coef_")]
    if not averaged and "propagation_" not in held:
        raise ValueError("its AutoClassifier has nothing that predicts.")
    needed = ["intercept_"] if averaged else []
    needed += ["column_scales_"] if "standardized_coef_" in held else []
    for name in needed:
        if name not in held:
            raise ValueError(f"{name!r} of its AutoClassifier is missing.")
