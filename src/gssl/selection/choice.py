"""Classifiers and embedders by name, as the command line chooses them."""

import inspect
import sys
from typing import Any

from gssl.evaluation.holdout import has_cheap_holdout
from gssl.methods import EmbeddingClassifier
from gssl.methods.base import GraphClassifier
from gssl.methods.embedder import Embedder
from gssl.selection.auto import AutoClassifier
from gssl.selection.calibrated import CalibratedClassifier


def classifier(
    method: str = "auto",
    *,
    random_state: int = 0,
    calibrate: bool | None = None,
    time_budget: float | None = None,
) -> Any:
    """Return the classifier that ``gssl classify`` fits, unfitted.

    Parameters
    ----------
    method : str, default="auto"
        ``"auto"`` for :class:`AutoClassifier`, or the name of any other method in lower case. An embedder
        classifies with the default head of :class:`gssl.EmbeddingClassifier`.
    random_state : int, default=0
        Seed of methods that use one.
    calibrate : bool, optional
        Whether to wrap the classifier in :class:`CalibratedClassifier`. If None, only if that needs no
        further fit.
    time_budget : float, optional
        Seconds after which ``"auto"`` tries no more methods.

    Returns
    -------
    classifier

    Examples
    --------
    >>> classifier()
    CalibratedClassifier(classifier=AutoClassifier())
    >>> classifier("ogc")
    OGC(random_state=0)
    >>> classifier("sgc", calibrate=False)
    EmbeddingClassifier(embedder=SGC(), random_state=0)
    """
    if time_budget is not None and method != "auto":
        raise ValueError(f"`time_budget` works with `method` auto only: leave it out for {method}.")
    model = AutoClassifier(time_budget=time_budget) if method == "auto" else _named(method, random_state)
    if has_cheap_holdout(model) if calibrate is None else calibrate:
        return CalibratedClassifier(model)
    return model


def embedder(method: str, *, random_state: int = 0) -> Any:
    """Return an embedder by name, as ``gssl embed`` does, unfitted.

    Parameters
    ----------
    method : str
        The name of an embedder in lower case.
    random_state : int, default=0
        Seed of methods that use one.

    Returns
    -------
    embedder

    Examples
    --------
    >>> embedder("ggcm")
    GGCM(random_state=0)
    """
    return _create(_find(method, embedder_names()), random_state)


def classifier_names() -> dict[str, type]:
    """Return the classes of all methods that can classify, by name; embedders classify with a head."""
    # looked up, because modules of the library do not import gssl itself
    methods = sys.modules["gssl.methods"]
    kinds = {name: getattr(methods, name) for name in vars(methods)["__all__"]}
    return {
        name.lower(): kind
        for name, kind in kinds.items()
        if kind is not EmbeddingClassifier and issubclass(kind, GraphClassifier | Embedder)
    }


def embedder_names() -> dict[str, type]:
    """Return the classes of all embedders by name."""
    return {name: kind for name, kind in classifier_names().items() if issubclass(kind, Embedder)}


def _named(method: str, seed: int) -> Any:
    model = _create(_find(method, classifier_names()), seed)
    return EmbeddingClassifier(model, random_state=seed) if isinstance(model, Embedder) else model


def _find(method: str, kinds: dict[str, type]) -> type:
    if method not in kinds:
        raise ValueError(f"there is no method {method!r}: choose one of {', '.join(sorted(kinds))}.")
    return kinds[method]


def _create(kind: type, seed: int) -> Any:
    """Return an estimator with its default parameters, and the seed if it takes one."""
    return kind(random_state=seed) if "random_state" in inspect.signature(kind).parameters else kind()
