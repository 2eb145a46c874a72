"""From a method's name to an estimator."""

import inspect
from typing import Any

from gssl import methods
from gssl.evaluation import has_cheap_holdout
from gssl.methods import EmbeddingClassifier
from gssl.methods.base import GraphClassifier
from gssl.methods.embedder import Embedder
from gssl.selection import AutoClassifier, CalibratedClassifier


def classifier_names() -> dict[str, type]:
    """List every method that can classify by the name it has on the command line.

    A classifier stands for itself, an embedder for itself with a logistic head.

    Examples
    --------
    >>> sorted(classifier_names())[:3]
    ['correctandsmooth', 'g2cn', 'ggc']
    """
    kinds = {name: getattr(methods, name) for name in vars(methods)["__all__"]}
    return {
        name.lower(): kind
        for name, kind in kinds.items()
        if kind is not EmbeddingClassifier and issubclass(kind, GraphClassifier | Embedder)
    }


def embedder_names() -> dict[str, type]:
    """List every embedder by the name it has on the command line.

    Examples
    --------
    >>> sorted(embedder_names())
    ['g2cn', 'ggc', 'ggcm', 'ndls', 'nograph', 'ppr', 'sgc', 'ssgc']
    """
    return {name: kind for name, kind in classifier_names().items() if issubclass(kind, Embedder)}


def choose_classifier(name: str, seed: int, has_features: bool) -> Any:
    """Make a classifier by name; ``auto`` tries many and judges them by the labels, with features or without.

    Examples
    --------
    >>> choose_classifier("auto", seed=0, has_features=False)
    AutoClassifier()
    """
    if name == "auto":
        return AutoClassifier()
    model = make(classifier_names()[name], seed)
    if isinstance(model, Embedder):
        model = EmbeddingClassifier(model, random_state=seed)
    if not has_features and model._uses_features:
        raise ValueError(
            f"--method {name} learns from features: give --features, or take --method labelpropagation."
        )
    return model


def calibrated(model: Any, wanted: bool | None, abstain: float | None = None) -> Any:
    """Wrap a classifier so that its confidence can be believed, if wanted; None: if cheap, or if it counts.

    It is cheap where labels can be hidden without another fit, and it counts where nodes are to be left
    without a label because of it.

    Examples
    --------
    >>> import gssl
    >>> calibrated(gssl.OGC(), None)
    OGC()
    >>> calibrated(gssl.OGC(), None, abstain=0.7)
    CalibratedClassifier(classifier=OGC())
    >>> calibrated(gssl.EmbeddingClassifier(), None)
    CalibratedClassifier(classifier=EmbeddingClassifier())
    """
    if wanted is None:
        wanted = has_cheap_holdout(model) or abstain is not None
    return CalibratedClassifier(model) if wanted else model


def make(kind: type, seed: int) -> Any:
    """Make an estimator with its defaults, and the seed where it takes one.

    Examples
    --------
    >>> import gssl
    >>> make(gssl.OGC, 7)
    OGC(random_state=7)
    """
    return kind(random_state=seed) if "random_state" in inspect.signature(kind).parameters else kind()
