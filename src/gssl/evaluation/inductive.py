"""Accuracy on nodes that did not exist while a model was fitted (Sect. 5.3, Table 2)."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn.base import clone

from gssl.evaluation.metrics import accuracy
from gssl.graph import check_adjacency


def inductive_accuracy(
    model: Any,
    X: Any,
    y: Any,
    adjacency: Any,
    split: Mapping[str, Any],
    *,
    seen: Iterable[str] = ("train",),
) -> float:
    r"""Fit on the subgraph of some parts of a split, then score the test nodes on the whole graph.

    With seen nodes S and test nodes T,

    .. math:: f = \mathrm{fit}(X_S, A_{SS}, y_S), \qquad
              \frac1{|T|} \sum_{i \in T} [f(X, A)_i = y_i].

    All that is not seen is cut off for fit: nodes, their features, their links and their labels. With one
    class per node this is also the micro-averaged F1 of Table 2.

    Parameters
    ----------
    model : classifier
        Cloned; one that scores new graphs by ``predict(X, adjacency=)``.
    X : array-like or sparse matrix of shape (n, d)
    y : array-like of shape (n,)
        Class of every node of the split; −1 where unknown.
    adjacency : sparse matrix or array-like of shape (n, n)
    split : mapping
        Node numbers by part, such as ``data.splits["public"]``; ``"test"`` is scored.
    seen : iterable of str, default=("train",)
        The parts that fit sees, with all of their labels.

    Returns
    -------
    float

    Examples
    --------
    >>> import gssl
    >>> data = gssl.datasets.make_synthetic_reddit(2000, n_features=64)
    >>> model = gssl.EmbeddingClassifier(gssl.SGC(), head="ridge")
    >>> inductive_accuracy(model, data.features, data.labels, data.adjacency, data.splits["public"]) > 0.7
    True
    """
    A = check_adjacency(adjacency, allow_empty=True)
    n = A.shape[0]
    y = np.asarray(y)
    test = _nodes(split, ["test"])
    first = _nodes(split, [seen] if isinstance(seen, str) else seen)
    if np.intersect1d(first, test).size:
        raise ValueError("a test node is among those that fit would see: name parts without test nodes.")
    unseen = np.ones(n, dtype=bool)
    unseen[first] = False
    # seen nodes first: models of labels alone take the first nodes of a grown graph for those of fit
    order = np.concatenate([first, np.flatnonzero(unseen)])
    X = X.tocsr()[order] if issparse(X) else np.asarray(X)[order]
    A = csr_array(A[order][:, order])
    n_seen = first.size
    fitted = clone(model).fit(X[:n_seen], y[first], adjacency=A[:n_seen, :n_seen])
    predicted = np.empty(n, dtype=fitted.classes_.dtype)
    predicted[order] = fitted.predict(X, adjacency=A)
    return accuracy(y, predicted, test)


def _nodes(split: Mapping[str, Any], parts: Iterable[str]) -> np.ndarray:
    parts = list(parts)
    for part in parts:
        if part not in split:
            raise ValueError(f"the split has no part {part!r}; it has {', '.join(split)}.")
    return np.sort(np.concatenate([np.asarray(split[part], dtype=np.int64) for part in parts]))
