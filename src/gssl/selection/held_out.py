"""What a fitted classifier would have said about its own labels, had they been hidden from it."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from gssl.evaluation.held_out import label_folds
from gssl.graph import GraphWarning
from gssl.methods.base import GraphClassifier
from gssl.methods.labels import UNLABELLED, decode_labels

# fitting a head again costs next to nothing, and more folds hide fewer labels at a time
_CHEAP_FOLDS = 20


@dataclass(frozen=True, eq=False)
class HeldOutDistributions:
    """Nodes whose labels were hidden, once each; their class codes; what was said about them."""

    nodes: np.ndarray
    codes: np.ndarray
    distributions: np.ndarray


def held_out_distributions(
    model: Any,
    X: Any,
    adjacency: Any,
    n_folds: int = 5,
    random_state: int = 0,
    *,
    with_priors: bool = True,
    **options: Any,
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
    with_priors : bool, default=True
        Whether the ``priors`` of the model are applied; without, what is said is what labels taught.
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
    if with_priors or model._priors is None:
        return _hidden_by_turns(model, X, adjacency, n_folds, random_state, options)
    given = model.priors, model._priors
    model.priors = model._priors = None
    try:
        return _hidden_by_turns(model, X, adjacency, n_folds, random_state, options)
    finally:
        model.priors, model._priors = given


def hides_cheaply(model: Any) -> bool:
    """Return whether a classifier can say what it would say without some labels, without another fit.

    Parameters
    ----------
    model : classifier

    Returns
    -------
    bool

    Examples
    --------
    >>> import gssl
    >>> hides_cheaply(gssl.AutoClassifier()), hides_cheaply(gssl.OGC())
    (True, False)
    """
    if not isinstance(model, GraphClassifier):
        return False
    return type(model)._distributions_without is not GraphClassifier._distributions_without


def takes_other_labels(fitted: Any, wanted: Any) -> bool:
    """Return whether a fitted classifier, given other labels, becomes what a fit of another one would be.

    What hides labels without a fit keeps no trace of those it had; the parameters must be the same, too.
    """
    return hides_cheaply(fitted) and hasattr(fitted, "update_labels") and _same(fitted, wanted)


def _same(one: Any, other: Any) -> bool:
    """Compare estimators or parameters by what they hold."""
    if type(one) is not type(other):
        return False
    if not hasattr(one, "get_params"):
        # an array has no single answer, and one that is the same object needs none
        return one is other or bool(np.array_equal(one, other))
    ours, theirs = (model.get_params(deep=False) for model in (one, other))
    return all(_same(value, theirs[name]) for name, value in ours.items())


def _hidden_by_turns(
    model: Any, X: Any, adjacency: Any, n_folds: int, random_state: int, options: dict[str, Any]
) -> HeldOutDistributions:
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
