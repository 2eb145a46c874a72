"""From a method's name to an estimator."""

import inspect
from dataclasses import dataclass
from typing import Any

from gssl import methods
from gssl.evaluation import has_cheap_holdout
from gssl.methods import EmbeddingClassifier
from gssl.methods.base import GraphClassifier
from gssl.methods.embedder import Embedder
from gssl.selection import AutoClassifier, CalibratedClassifier


@dataclass(frozen=True)
class Choice:
    """The method, whether to calibrate its confidence (None: where that is cheap), and the least allowed."""

    method: str = "auto"
    seed: int = 0
    calibrate: bool | None = None
    abstain: float | None = None

    def model(self, has_features: bool) -> Any:
        """Return the classifier, not fitted yet."""
        model = choose_classifier(self.method, self.seed, has_features)
        return calibrated(model, self.calibrate, self.abstain)


def classifier_names() -> dict[str, type]:
    """Return every method that can classify by its name on the command line; an embedder gets a head."""
    kinds = {name: getattr(methods, name) for name in vars(methods)["__all__"]}
    return {
        name.lower(): kind
        for name, kind in kinds.items()
        if kind is not EmbeddingClassifier and issubclass(kind, GraphClassifier | Embedder)
    }


def embedder_names() -> dict[str, type]:
    """Return every embedder by its name on the command line."""
    return {name: kind for name, kind in classifier_names().items() if issubclass(kind, Embedder)}


def choose_classifier(name: str, seed: int, has_features: bool) -> Any:
    """Return a classifier by name; ``auto`` tries many and judges them by the labels."""
    if name == "auto":
        return AutoClassifier()
    model = make(classifier_names()[name], seed)
    if isinstance(model, Embedder):
        model = EmbeddingClassifier(model, random_state=seed)
    if not has_features and model.uses_features:
        raise ValueError(
            f"--method {name} learns from features: give --features, or take --method labelpropagation."
        )
    return model


def calibrated(model: Any, wanted: bool | None, abstain: float | None = None) -> Any:
    """Return the classifier with a calibrated confidence, if wanted.

    By default it is calibrated where hiding labels needs no other fit, or where nodes are to be left out.
    """
    if wanted is None:
        wanted = has_cheap_holdout(model) or abstain is not None
    return CalibratedClassifier(model) if wanted else model


def make(kind: type, seed: int) -> Any:
    """Return an estimator with its defaults, and the seed where it takes one."""
    return kind(random_state=seed) if "random_state" in inspect.signature(kind).parameters else kind()
