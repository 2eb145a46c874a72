"""Create estimators from the method names of the command line."""

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
    """The options that determine the classifier of a run."""

    method: str = "auto"
    seed: int = 0
    # None: calibrate if that needs no further fit, or if ``abstain`` is given
    calibrate: bool | None = None
    abstain: float | None = None
    # seconds, for auto
    time_budget: float | None = None

    @property
    def stage(self) -> str:
        """The name of the fitting stage: choosing, if it compares methods."""
        return "choosing" if self.method == "auto" else "fitting"

    def model(self, has_features: bool) -> Any:
        """Return the classifier, unfitted."""
        model = choose_classifier(self.method, self.seed, has_features)
        if self.time_budget is not None:
            if self.method != "auto":
                raise ValueError(
                    f"--time-budget works with --method auto only: leave it out for {self.method}."
                )
            model.set_params(time_budget=self.time_budget)
        calibrate = self.calibrate
        if calibrate is None:
            calibrate = has_cheap_holdout(model) or self.abstain is not None
        return CalibratedClassifier(model) if calibrate else model


def classifier_names() -> dict[str, type]:
    """Return the classes of all methods that can classify, by name; embedders classify with a head."""
    kinds = {name: getattr(methods, name) for name in vars(methods)["__all__"]}
    return {
        name.lower(): kind
        for name, kind in kinds.items()
        if kind is not EmbeddingClassifier and issubclass(kind, GraphClassifier | Embedder)
    }


def embedder_names() -> dict[str, type]:
    """Return the classes of all embedders by name."""
    return {name: kind for name, kind in classifier_names().items() if issubclass(kind, Embedder)}


def choose_classifier(name: str, seed: int, has_features: bool) -> Any:
    """Return an unfitted classifier by name."""
    if name == "auto":
        return AutoClassifier()
    model = create(classifier_names()[name], seed)
    if isinstance(model, Embedder):
        model = EmbeddingClassifier(model, random_state=seed)
    if not has_features and model.uses_features:
        raise ValueError(
            f"--method {name} learns from features: give --features, or use --method labelpropagation."
        )
    return model


def create(kind: type, seed: int) -> Any:
    """Return an estimator with its default parameters, and the seed if it takes one."""
    return kind(random_state=seed) if "random_state" in inspect.signature(kind).parameters else kind()
