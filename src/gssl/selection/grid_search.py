"""Grid search on a graph: cross-validation that hides labels instead of removing nodes."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar, cast

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid

from gssl.evaluation import held_out_accuracy
from gssl.evaluation.holdout import label_folds
from gssl.graph import check_adjacency
from gssl.methods.base import GraphClassifier
from gssl.methods.labels import encode_labels
from gssl.scale.execution import without_resume

Classifier = TypeVar("Classifier", bound=GraphClassifier)


def search(
    estimator: Classifier,
    grid: Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Sequence[Any]]],
    X: Any,
    y: Any,
    *,
    adjacency: Any = None,
    n_folds: int = 5,
    random_state: int = 0,
) -> Classifier:
    """Fit a classifier with the parameters from a grid that predict hidden labels best.

    scikit-learn's ``GridSearchCV`` leaves rows out, which cuts a graph apart. Here every node and link stays,
    and each fold hides some labels: see :func:`gssl.evaluation.masked_labels`. All combinations are compared
    on the same folds.

    Parameters
    ----------
    estimator : classifier
        Cloned for every fit.
    grid : dict of str to sequence, or a list of such dicts
        Values to try for each parameter, as for scikit-learn's ``ParameterGrid``. Parameters of an estimator
        inside the classifier are written ``embedder__depth`` or ``head__penalty``.
    X : array-like or sparse matrix of shape (n, d), or None
    y : array-like of shape (n,)
        Labels; −1, None or NaN where there is none.
    adjacency : array-like or sparse matrix of shape (n, n), optional
        Built from the nearest neighbours in X if None.
    n_folds : int, default=5
        Fewer if there are fewer labels to hide.
    random_state : int, default=0
        Draws the folds.

    Returns
    -------
    classifier
        A clone of ``estimator`` with the best parameters, fitted to all labels; ties go to the first in the
        grid. It has three more attributes, which :func:`gssl.save` does not save: ``best_params_`` (dict),
        ``best_score_`` (its mean accuracy over the folds) and ``cv_results_``, a dict of ``params``,
        ``mean_test_score``, ``std_test_score``, ``rank_test_score`` and ``split0_test_score``, … with one
        entry per combination, as in ``GridSearchCV``.

    Examples
    --------
    >>> import gssl
    >>> data = gssl.datasets.load("karate")
    >>> y = data.labels.copy()
    >>> y[12:30] = -1
    >>> model = gssl.EmbeddingClassifier(gssl.SGC(), head=gssl.RidgeHead())
    >>> grid = {"embedder__depth": [1, 4], "head__penalty": [0.01, 1.0]}
    >>> best = search(model, grid, data.features, y, adjacency=data.adjacency, n_folds=4)
    >>> best.best_params_ in best.cv_results_["params"], len(best.cv_results_["mean_test_score"])
    (True, 4)
    >>> best.embedder.depth == best.best_params_["embedder__depth"]
    True
    """
    if not isinstance(estimator, GraphClassifier):
        raise ValueError(f"estimator must be a classifier of gssl, such as OGC(), not {estimator!r}.")
    candidates = [clone(estimator).set_params(**clone(params, safe=False)) for params in ParameterGrid(grid)]
    if not candidates:
        raise ValueError("grid names no parameters to try: give at least one value for one parameter.")
    graphs: dict[Any, Any] = {}
    for candidate in candidates if adjacency is not None else ():
        # here, so that warnings about the graph are issued once
        if candidate.directed not in graphs:
            graphs[candidate.directed] = check_adjacency(
                adjacency, directed=candidate.directed, allow_empty=True
            )
    folds = label_folds(encode_labels(y)[1], n_folds, random_state)
    scores = np.empty((len(candidates), len(folds)))
    for row, candidate in zip(scores, candidates, strict=True):
        with without_resume():  # a resume folder belongs to a single fit
            held_out = held_out_accuracy(
                candidate, X, y, graphs.get(candidate.directed), n_folds, random_state
            )
        hits = held_out.predicted == held_out.truth
        row[:] = [hits[np.searchsorted(held_out.nodes, hidden)].mean() for hidden in folds]
    results = _results(list(ParameterGrid(grid)), scores)
    winner = int(np.argmax(results["mean_test_score"]))
    best: Any = candidates[winner]
    best.fit(X, y, adjacency=graphs.get(best.directed))
    best.cv_results_ = results
    best.best_params_ = results["params"][winner]
    best.best_score_ = float(results["mean_test_score"][winner])
    return cast("Classifier", best)


def _results(params: list[dict[str, Any]], scores: np.ndarray) -> dict[str, Any]:
    """Return the scores as a dict with scikit-learn's names."""
    means = scores.mean(axis=1)
    return {
        "params": params,
        **{f"split{fold}_test_score": scores[:, fold] for fold in range(scores.shape[1])},
        "mean_test_score": means,
        "std_test_score": scores.std(axis=1),
        # equal scores share the lowest of their ranks
        "rank_test_score": np.array([1 + np.count_nonzero(means > mean) for mean in means]),
    }
