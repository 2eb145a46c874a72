"""Class weights of any head, also of estimators nested in it, such as those of a pipeline."""

from typing import Any

import numpy as np

from gssl.methods.labels import UNLABELLED, class_positions, class_weights


def encode_class_weights(head: Any, classes: np.ndarray) -> Any:
    """Replace classes by codes in the class weights of a head, because it is fitted to codes."""
    for name, weights in _class_weight_parameters(head).items():
        if isinstance(weights, dict):
            positions = class_positions(weights, classes, "class_weight")
            head.set_params(**{name: dict(zip(positions, weights.values(), strict=True))})
    return head


def mean_class_weights(head: Any, codes: np.ndarray, training: np.ndarray) -> np.ndarray:
    """Return the mean weight of each class's labels in the fit of the head; validation labels have 0."""
    given = _class_weight_parameters(head)
    class_weight = next(iter(given.values()), None)
    if any(other != class_weight for other in given.values()):
        raise ValueError(
            f"priors need to know what a label counted, but {' and '.join(given)} of the head differ: "
            "make them equal, or leave priors out."
        )
    if isinstance(class_weight, str) and class_weight == "balanced_subsample":
        class_weight = "balanced"  # balanced for each tree, so on average for all labels
    every = np.arange(codes.max() + 1)
    weights = class_weights(class_weight, every, codes[training])
    counts = np.bincount(codes[training], minlength=len(every))
    labels = np.bincount(codes[codes != UNLABELLED], minlength=len(every))
    return np.asarray(weights * counts / labels)


def _class_weight_parameters(head: Any) -> dict[str, Any]:
    parameters = head.get_params(deep=True).items()
    return {name: value for name, value in parameters if name.rpartition("__")[2] == "class_weight"}
