"""What a fitted classifier would have said about its own labels, had they been hidden from it."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from gssl.evaluation.held_out import label_folds
from gssl.graph import GraphWarning
from gssl.methods._labels import UNLABELLED, decode_labels

# fitting a head again costs next to nothing, and more folds hide fewer labels at a time
_CHEAP_FOLDS = 20


@dataclass(frozen=True, eq=False)
class HeldOutDistributions:
    """Nodes whose labels were hidden, once each; their class codes; what was said about them."""

    nodes: np.ndarray
    codes: np.ndarray
    distributions: np.ndarray


def held_out_distributions(
    model: Any, X: Any, adjacency: Any, n_folds: int = 5, random_state: int = 0, **options: Any
) -> HeldOutDistributions:
    """Hide a part of the labels of a fitted classifier at a time and ask it about them; nodes and edges stay.

    Where only a linear head depends on labels, only the head is fitted again, and there are at least
    20 folds; where the classifier keeps its leave-one-out predictions, those are taken; else it is fitted
    once for each fold.

    Parameters
    ----------
    model : fitted classifier
    X : features of fit, or None
    adjacency : graph of fit
    n_folds : int, default=5
        Fewer are made where there are fewer labels to hide.
    random_state : int, default=0
        Draws the folds.
    **options
        Of each fit, where there are any.

    Returns
    -------
    HeldOutDistributions

    Examples
    --------
    >>> import gssl
    >>> data = gssl.datasets.load("karate")
    >>> y = data.labels.copy()
    >>> y[10:30] = -1
    >>> model = gssl.LabelPropagation().fit(None, y, adjacency=data.adjacency)
    >>> found = held_out_distributions(model, None, data.adjacency)
    >>> found.nodes.tolist() == (y != -1).nonzero()[0].tolist()
    True
    """
    codes = model._fit_codes
    P = np.zeros((len(codes), len(model.classes_)))
    cheap = label_folds(codes, max(n_folds, _CHEAP_FOLDS), random_state)
    is_cheap = model._distributions_without(cheap[0]) is not None
    folds = cheap if is_cheap else label_folds(codes, n_folds, random_state)
    for hidden in folds:
        said = model._distributions_without(hidden)
        P[hidden] = _refitted(model, X, adjacency, hidden, options) if said is None else said
    nodes = np.sort(np.concatenate(folds))
    return HeldOutDistributions(nodes, codes[nodes], P[nodes])


def _refitted(model: Any, X: Any, adjacency: Any, hidden: np.ndarray, options: dict[str, Any]) -> np.ndarray:
    masked = model._fit_codes.copy()
    masked[hidden] = UNLABELLED
    with warnings.catch_warnings():
        # what is odd about the graph was told when the model was fitted
        warnings.simplefilter("ignore", GraphWarning)
        # in the caller's own labels, by which weights and priors may be given
        labels = decode_labels(model.classes_, masked)
        fitted = clone(model).fit(X, labels, adjacency=adjacency, **options)
    return np.asarray(fitted.label_distributions_[hidden])
