"""From a method's name to an estimator."""

import inspect
from typing import Any

from gssl import methods
from gssl.methods import EmbeddingClassifier, LabelPropagation
from gssl.methods._classifier import GraphClassifier
from gssl.methods._embedder import Embedder


def classifier_names() -> dict[str, type]:
    """List every method that can classify by the name it has on the command line.

    A classifier stands for itself, an embedder for itself with a logistic head.

    Examples
    --------
    >>> sorted(classifier_names())[:3]
    ['correctandsmooth', 'deepwalk', 'g2cn']
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
    ['deepwalk', 'g2cn', 'ggc', 'ggcm', 'ndls', 'node2vec', 'nograph', 'ppr', 'sgc', 'ssgc']
    """
    return {name: kind for name, kind in classifier_names().items() if issubclass(kind, Embedder)}


def choose_classifier(name: str, seed: int, has_features: bool) -> Any:
    """Make a classifier by name; ``auto`` takes GGCM with features and label propagation without.

    Examples
    --------
    >>> choose_classifier("auto", seed=0, has_features=False)
    LabelPropagation()
    """
    if name == "auto":
        return make(EmbeddingClassifier, seed) if has_features else LabelPropagation()
    model = make(classifier_names()[name], seed)
    if isinstance(model, Embedder):
        model = EmbeddingClassifier(model, random_state=seed)
    if not has_features and model._uses_features:
        raise ValueError(
            f"--method {name} learns from features: give --features, or take --method labelpropagation."
        )
    return model


def make(kind: type, seed: int) -> Any:
    """Make an estimator with its defaults, and the seed where it takes one.

    Examples
    --------
    >>> import gssl
    >>> make(gssl.OGC, 7)
    OGC(random_state=7)
    """
    return kind(random_state=seed) if "random_state" in inspect.signature(kind).parameters else kind()
